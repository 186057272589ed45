//! How attention is cut into items, and where an item keeps its numbers.

const std = @import("std");
const abi = @import("../abi.zig");
const dtypes = @import("../../dtype.zig");
const ops = @import("../../ops.zig");
const products = @import("products.zig");
const vector = @import("../vector.zig");
const Tensor = abi.Tensor;

/// Cells whose scores are computed before the softmax moves on. Part of the result's rounding,
/// so it is the same everywhere.
pub const tile_cells = 64;

/// Items that a long prompt or a large batch should give, and those that few rows should give.
const items_wanted = 32;
const items_wanted_few = 8;

/// With at most so many queries an item reads halves in place instead of widening them first.
const direct_queries_max = 8;

/// Some rows and some of the query heads that share a kv head.
pub const Item = struct {
    kv_head: usize,
    head_begin: usize,
    head_end: usize,
    row_begin: usize,
    row_end: usize,

    pub fn heads(item: Item) usize {
        return item.head_end - item.head_begin;
    }
};

pub const Work = struct {
    head_dim: usize,
    value_dim: usize,
    kv_heads: usize,
    /// Query heads per kv head.
    group: usize,
    rows: usize,
    /// Query heads and rows of one item, at most.
    head_chunk: usize,
    row_tile: usize,
    /// How keys and values are multiplied: where they lie, or null when they are staged as f32.
    key_element: ?products.Element,
    value_element: ?products.Element,

    pub fn of(task: *const abi.Task) Work {
        const queries = task.source(0);
        const keys = task.source(1);
        const values = task.source(2);
        const head_dim: usize = @intCast(queries.ne[0]);
        const kv_heads: usize = @intCast(keys.ne[0] / queries.ne[0]);
        var w: Work = .{
            .head_dim = head_dim,
            .value_dim = @intCast(values.ne[0] / kv_heads),
            .kv_heads = kv_heads,
            .group = @intCast(queries.ne[1] / kv_heads),
            .rows = @intCast(queries.ne[2]),
            .head_chunk = undefined,
            .row_tile = undefined,
            .key_element = undefined,
            .value_element = undefined,
        };
        w.cut();
        w.key_element = elementOf(keys, w.head_dim, w.queriesMax());
        w.value_element = elementOf(values, w.value_dim, w.queriesMax());
        return w;
    }

    /// One row of all heads, which are computed one kv head after the other.
    pub fn whole(task: *const abi.Task) Work {
        var w: Work = .of(task);
        w.head_chunk = w.kv_heads * w.group;
        w.row_tile = 1;
        w.key_element = elementOf(task.source(1), w.head_dim, w.group);
        w.value_element = elementOf(task.source(2), w.value_dim, w.group);
        return w;
    }

    /// Chooses head_chunk and row_tile, by sizes alone.
    fn cut(w: *Work) void {
        // The queries of an item stay in the first or second cache.
        const queries_max = std.math.clamp(16 * 1024 / vector.padded(w.head_dim), 16, 64);
        w.head_chunk = @min(w.group, queries_max);
        while (w.head_chunk > 1 and w.kv_heads * w.chunks() * w.rows < items_wanted_few) {
            w.head_chunk = (w.head_chunk + 1) / 2;
        }
        const tiles_wanted = @max(1, items_wanted / (w.kv_heads * w.chunks()));
        w.row_tile = @min(queries_max / w.head_chunk, w.rows / tiles_wanted);
        w.row_tile = @max(1, w.row_tile);
    }

    fn chunks(w: *const Work) usize {
        return std.math.divCeil(usize, w.group, w.head_chunk) catch unreachable;
    }

    pub fn queriesMax(w: *const Work) usize {
        return w.head_chunk * w.row_tile;
    }

    pub fn items(w: *const Work) usize {
        const tiles = std.math.divCeil(usize, w.rows, w.row_tile) catch unreachable;
        return tiles * w.kv_heads * w.chunks();
    }

    /// The last rows come first: they see most, so that no thread is left with them at the end.
    pub fn at(w: *const Work, index: usize) Item {
        const per_tile = w.kv_heads * w.chunks();
        const tile = (w.items() - 1 - index) / per_tile;
        const rest = index % per_tile;
        const kv_head = rest / w.chunks();
        const first = rest % w.chunks() * w.head_chunk;
        const base = kv_head * w.group;
        return .{
            .kv_head = kv_head,
            .head_begin = base + first,
            .head_end = base + @min(first + w.head_chunk, w.group),
            .row_begin = tile * w.row_tile,
            .row_end = @min((tile + 1) * w.row_tile, w.rows),
        };
    }

    pub fn scratchBytes(w: *const Work) usize {
        var end: usize = 0;
        _ = Numbers.layOut(w, alignment, &end); // Any base will do to count.
        return end;
    }
};

/// Rows of halves are read in place for few queries, those of f32 always; both need whole vectors.
fn elementOf(t: *const Tensor, dim: usize, queries: usize) ?products.Element {
    if (dim % vector.lanes != 0) return null;
    return switch (t.dtype) {
        .f32 => .f32,
        .f16 => if (queries <= direct_queries_max) .f16 else null,
        .bf16 => if (queries <= direct_queries_max) .bf16 else null,
        else => null,
    };
}

const alignment = 64;

/// An item's numbers in the thread's scratch. Rows of queries, sums, keys and values are padded to
/// whole vectors.
pub const Numbers = struct {
    queries: [*]f32, // [queries, head_dim]
    sums: [*]f32, // [queries, value_dim]
    scores: [*]f32, // [queries, tile_cells]
    /// The largest score so far, and the sum of e^(score - largest).
    largest: [*]f32,
    totals: [*]f64,
    /// Rows as f32, where they are not read in place.
    keys: [*]f32, // [tile_cells, head_dim]
    values: [*]f32, // [tile_cells, value_dim]
    slopes: [*]f32, // [head_chunk]

    pub fn of(w: *const Work, scratch: [*]align(64) u8) Numbers {
        var end: usize = 0;
        return layOut(w, @intFromPtr(scratch), &end);
    }

    /// The numbers without those of the first `count` queries.
    pub fn from(numbers: Numbers, w: *const Work, count: usize) Numbers {
        var rest = numbers;
        rest.queries += count * vector.padded(w.head_dim);
        rest.sums += count * vector.padded(w.value_dim);
        rest.scores += count * tile_cells;
        rest.largest += count;
        rest.totals += count;
        rest.slopes += count;
        return rest;
    }

    fn layOut(w: *const Work, base: usize, end: *usize) Numbers {
        const queries = w.queriesMax();
        const key_size = vector.padded(w.head_dim);
        const value_size = vector.padded(w.value_dim);
        const keys = if (w.key_element == null) tile_cells * key_size else 0;
        const values = if (w.value_element == null) tile_cells * value_size else 0;
        return .{
            .totals = place(f64, base, end, queries),
            .queries = place(f32, base, end, queries * key_size),
            .sums = place(f32, base, end, queries * value_size),
            .scores = place(f32, base, end, queries * tile_cells),
            .largest = place(f32, base, end, queries),
            .keys = place(f32, base, end, keys),
            .values = place(f32, base, end, values),
            .slopes = place(f32, base, end, w.head_chunk),
        };
    }

    fn place(T: type, base: usize, end: *usize, count: usize) [*]T {
        const start = end.*;
        end.* = std.mem.alignForward(usize, start + count * @sizeOf(T), alignment);
        return @ptrFromInt(base + start);
    }
};

fn sized(head_dim: usize, kv_heads: usize, group: usize, rows: usize) Work {
    var w: Work = .{
        .head_dim = head_dim,
        .value_dim = head_dim,
        .kv_heads = kv_heads,
        .group = group,
        .rows = rows,
        .head_chunk = undefined,
        .row_tile = undefined,
        .key_element = null,
        .value_element = null,
    };
    w.cut();
    return w;
}

test "items cover every row of every head once" {
    for ([_]usize{ 1, 3, 8 }) |kv_heads| for ([_]usize{ 1, 4, 7, 128 }) |group| {
        for ([_]usize{ 1, 2, 9, 100, 513 }) |rows| {
            const w = sized(64, kv_heads, group, rows);
            var seen: [513 * 8 * 128]u8 = undefined;
            const all = seen[0 .. rows * kv_heads * group];
            @memset(all, 0);
            for (0..w.items()) |index| {
                const item = w.at(index);
                const queries = item.heads() * (item.row_end - item.row_begin);
                try std.testing.expect(queries <= w.queriesMax());
                for (item.row_begin..item.row_end) |row| {
                    for (item.head_begin..item.head_end) |head| {
                        try std.testing.expectEqual(item.kv_head, head / group);
                        all[row * kv_heads * group + head] += 1;
                    }
                }
            }
            for (all) |count| try std.testing.expectEqual(1, count);
        }
    };
}

test "one row of few kv heads still gives several threads work" {
    try std.testing.expect(sized(128, 1, 8, 1).items() >= 8);
    try std.testing.expect(sized(128, 8, 4, 1).items() >= 8);
    try std.testing.expect(sized(576, 1, 128, 1).items() >= 8);
}
