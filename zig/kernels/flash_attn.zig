//! Attention with a mask that the graph brings: y = softmax(scale q . k + slope mask) v, in tiles
//! with a running softmax (Dao et al. 2022, arXiv:2205.14135). A row that is masked throughout
//! gives zeros. One item is some rows of one head.

const std = @import("std");
const abi = @import("abi.zig");
const alibi = @import("alibi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const masked = @import("../ops.zig").masked;
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const products = @import("attention/products.zig");
const softmax = @import("attention/softmax.zig");
const tile_cells = @import("attention/work.zig").tile_cells;
const Tensor = abi.Tensor;
const Params = masked.FlashAttnParams;

pub const flash_attn: abi.Kernel = .{ .plan = plan, .run = run };

/// Rows that share each key and value that is read.
const rows_together = 32;
/// Fewer rows where that leaves less work than this many items.
const items_wanted = 16;

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const queries = task.source(0);
    if (queries.nb[0] != 4 or task.output().nb[0] != 4) return;
    for ([_]*const Tensor{ task.source(1), task.source(2) }) |t| {
        if (t.nb[0] != dtypes.layout(t.dtype).block_bytes) return;
        if (!formats.canDequantize(t.dtype)) return;
    }
    const w: Work = .of(task);
    result.supported = true;
    result.items = w.tiles * queries.ne[2] * queries.ne[3];
    result.thread_scratch = w.scratchBytes();
}

const Work = struct {
    key_size: usize,
    value_size: usize,
    /// Rows of one item, and items that cover all rows.
    row_tile: usize,
    tiles: usize,

    fn of(task: *const abi.Task) Work {
        const queries = task.source(0);
        const heads = @max(1, queries.ne[2] * queries.ne[3]);
        const wanted = std.math.divCeil(u64, items_wanted, heads) catch unreachable;
        const row_tile = std.math.clamp(queries.ne[1] / wanted, 1, rows_together);
        return .{
            .key_size = @intCast(vector.padded(queries.ne[0])),
            .value_size = @intCast(vector.padded(task.source(2).ne[0])),
            .row_tile = @intCast(row_tile),
            .tiles = @intCast(std.math.divCeil(u64, queries.ne[1], row_tile) catch unreachable),
        };
    }

    fn scratchBytes(w: Work) usize {
        const per_row = w.key_size + w.value_size + 2 * tile_cells + vector.lanes;
        const staged = tile_cells * (w.key_size + w.value_size);
        return (w.row_tile * per_row + staged) * @sizeOf(f32) + w.row_tile * @sizeOf(f64);
    }
};

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const w: Work = .of(task);
    const queries = task.source(0);
    var next: [*]f32 = @ptrCast(scratch);
    for (@intCast(begin)..@intCast(end)) |index| {
        const first = index % w.tiles * w.row_tile;
        next = @ptrCast(scratch);
        const totals: [*]f64 = @ptrCast(scratch);
        next += 2 * w.row_tile;
        const tile: Tile = .{
            .task = task,
            .p = task.as(Params),
            .w = w,
            .head = index / w.tiles % queries.ne[2],
            .batch = index / w.tiles / queries.ne[2],
            .first = first,
            .rows = @min(w.row_tile, @as(usize, @intCast(queries.ne[1])) - first),
            .totals = totals,
            .queries = take(&next, w.row_tile * w.key_size),
            .sums = take(&next, w.row_tile * w.value_size),
            .scores = take(&next, w.row_tile * tile_cells),
            .largest = take(&next, w.row_tile),
            .mask = take(&next, w.row_tile * tile_cells),
            .keys = take(&next, tile_cells * w.key_size),
            .values = take(&next, tile_cells * w.value_size),
        };
        tile.attend();
    }
}

fn take(next: *[*]f32, count: usize) [*]f32 {
    defer next.* += count;
    return next.*;
}

const Tile = struct {
    task: *const abi.Task,
    p: *const Params,
    w: Work,
    head: u64,
    batch: u64,
    first: usize,
    rows: usize,
    totals: [*]f64,
    queries: [*]f32, // [rows, key_size]
    sums: [*]f32, // [rows, value_size]
    scores: [*]f32, // [rows, tile_cells]
    largest: [*]f32,
    mask: [*]f32, // [rows, tile_cells]
    keys: [*]f32, // [tile_cells, key_size]
    values: [*]f32, // [tile_cells, value_size]

    fn attend(t: *const Tile) void {
        t.prepare();
        const count: usize = @intCast(t.task.source(1).ne[1]);
        const slope = alibi.slope(t.p.alibi_max, t.head, t.task.source(0).ne[2]);
        var first: usize = 0;
        while (first < count) : (first += tile_cells) {
            const n = @min(tile_cells, count - first);
            if (t.readMask(first, n, slope)) t.addKeys(first, n);
        }
        for (0..t.rows) |row| t.write(row);
    }

    fn prepare(t: *const Tile) void {
        const source = t.task.source(0);
        const dim: usize = @intCast(source.ne[0]);
        const first = t.sink();
        for (0..t.rows) |row| {
            const bytes = source.data + (t.first + row) * source.nb[1] + t.head * source.nb[2] +
                t.batch * source.nb[3];
            const from: [*]const f32 = @ptrCast(@alignCast(bytes));
            const to = t.queries[row * t.w.key_size ..][0..t.w.key_size];
            for (to[0..dim], from) |*value, x| value.* = x * t.p.scale;
            @memset(to[dim..], 0);
            @memset(t.sums[row * t.w.value_size ..][0..t.w.value_size], 0);
            t.largest[row] = first;
            t.totals[row] = if (first == -std.math.inf(f32)) 0 else 1;
        }
    }

    fn sink(t: *const Tile) f32 {
        const sinks = t.task.sources[4] orelse return -std.math.inf(f32);
        return @as(*const f32, @ptrCast(@alignCast(sinks.data + t.head * sinks.nb[0]))).*;
    }

    /// The mask times the slope for n keys; false where it hides all of them from all rows.
    fn readMask(t: *const Tile, first: usize, n: usize, slope: f32) bool {
        const mask = t.task.sources[3] orelse return true;
        const outer = t.head % mask.ne[2] * mask.nb[2] + t.batch % mask.ne[3] * mask.nb[3];
        var visible = false;
        for (0..t.rows) |row| {
            const from = mask.data + (t.first + row) * mask.nb[1] + outer;
            var buffer: staging.Buffer = undefined;
            const values = staging.read(mask, from, first, n, &buffer);
            for (t.mask[row * tile_cells ..][0..n], values) |*bias, value| {
                bias.* = value * slope;
                visible = visible or value != -std.math.inf(f32);
            }
        }
        return visible;
    }

    fn addKeys(t: *const Tile, first: usize, n: usize) void {
        const keys = t.stage(t.task.source(1), t.keys, t.w.key_size, first, n);
        products.score(.f32, t.scores, t.queries, t.rows, &keys, n, t.w.key_size);
        const values = t.stage(t.task.source(2), t.values, t.w.value_size, first, n);
        for (0..t.rows) |row| {
            const scores = t.scores + row * tile_cells;
            if (t.p.softcap != 0) softmax.limit(scores, n, t.p.softcap);
            if (t.task.sources[3] != null) {
                const mask = t.mask + row * tile_cells;
                for (scores[0..n], mask) |*score, bias| score.* += bias;
            }
            const sums = t.sums[row * t.w.value_size ..][0..t.w.value_size];
            const state: softmax.State = .{
                .largest = &t.largest[row],
                .total = &t.totals[row],
                .sums = sums,
            };
            softmax.advance(state, scores, n);
        }
        const weights: products.Weights = .{ .first = t.scores };
        products.addWeighted(.f32, t.sums, weights, t.rows, values[0..n], t.w.value_size);
    }

    /// Rows of this head's keys or values as f32: where they are, or in `staged`.
    fn stage(
        t: *const Tile,
        source: *const Tensor,
        staged: [*]f32,
        size: usize,
        first: usize,
        n: usize,
    ) products.Rows {
        const queries = t.task.source(0);
        const head = t.head / (queries.ne[2] / source.ne[2]);
        const batch = t.batch / (queries.ne[3] / source.ne[3]);
        const start = source.data + head * source.nb[2] + batch * source.nb[3];
        const dim: usize = @intCast(source.ne[0]);
        var rows: products.Rows = undefined;
        for (rows[0..n], first.., 0..) |*row, key, j| {
            row.* = start + key * source.nb[1];
            if (source.dtype == .f32 and dim == size) continue;
            const values = staged[j * size ..][0..size];
            const known = formats.dequantizeRow(source.dtype, row.*, values.ptr, dim);
            std.debug.assert(known);
            @memset(values[dim..], 0);
            row.* = @ptrCast(values);
        }
        @memset(rows[n..], rows[n - 1]);
        return rows;
    }

    fn write(t: *const Tile, row: usize) void {
        const y = t.task.output();
        const bytes = y.data + t.head * y.nb[1] + (t.first + row) * y.nb[2] + t.batch * y.nb[3];
        const to: [*]f32 = @ptrCast(@alignCast(bytes));
        const total = t.totals[row];
        const factor: f32 = if (total == 0) 0 else @floatCast(1 / total);
        const sums = t.sums[row * t.w.value_size ..];
        for (to[0..@intCast(y.ne[0])], sums) |*value, sum| value.* = sum * factor;
    }
};

const DType = dtypes.DType;
const Trial = @import("trial.zig").Trial;

const Case = struct {
    queries: [4]u64,
    /// Keys, their heads and batches.
    keys: [3]u64,
    value_dim: u64 = 32,
    dtype: DType = .f16,
    mask: ?[4]u64 = null,
    sinks: bool = false,
    p: Params = .{ .scale = 0.2, .alibi_max = 0, .softcap = 0 },
};

fn check(case: Case) !void {
    var trial: Trial = .init(case.queries[0]);
    defer trial.deinit();
    const dim, const rows, const heads, const batches = case.queries;
    const count, const kv_heads, const kv_batches = case.keys;
    const q = trial.random(.f32, case.queries, .gaps);
    const k = trial.random(case.dtype, .{ dim, count, kv_heads, kv_batches }, .gaps);
    const value_ne: [4]u64 = .{ case.value_dim, count, kv_heads, kv_batches };
    const v = trial.random(case.dtype, value_ne, .packed_rows);
    const mask = if (case.mask) |ne| trial.random(.f16, ne, .packed_rows) else null;
    if (mask) |m| for (0..m.ne[0]) |i| for (0..rows) |r| {
        const hidden = i > r * 3 or r == 1;
        if (hidden) trial.set(m, .{ i, r, 0, 0 }, -std.math.inf(f64));
    };
    const sinks = trial.random(.f32, .{ heads, 1, 1, 1 }, .packed_rows);
    const y = trial.empty(.f32, .{ case.value_dim, heads, rows, batches }, .gaps);
    const sources = .{ q, k, v, mask, if (case.sinks) sinks else null };
    try trial.run(.flash_attn, flash_attn, case.p, &sources, &.{y});
    for (0..batches) |b| for (0..heads) |h| for (0..rows) |r| {
        var sums: [128]f64 = @splat(0);
        var total: f64 = if (case.sinks) @exp(trial.get(sinks, .{ h, 0, 0, 0 })) else 0;
        const kh = h / (heads / kv_heads);
        const kb = b / (batches / kv_batches);
        for (0..count) |i| {
            var score: f64 = 0;
            for (0..dim) |d| {
                score += trial.get(q, .{ d, r, h, b }) * trial.get(k, .{ d, i, kh, kb });
            }
            score *= case.p.scale;
            const cap: f64 = case.p.softcap;
            if (cap != 0) score = cap * std.math.tanh(score / cap);
            if (mask) |m| {
                const bias = trial.get(m, .{ i, r, h % m.ne[2], b % m.ne[3] });
                score += bias * alibi.slope(case.p.alibi_max, h, heads);
            }
            total += @exp(score);
            for (sums[0..case.value_dim], 0..) |*sum, d| {
                sum.* += @exp(score) * trial.get(v, .{ d, i, kh, kb });
            }
        }
        for (sums[0..case.value_dim], 0..) |sum, d| {
            const expected = if (total == 0) 0 else sum / total;
            try trial.expectNear(y, .{ d, h, r, b }, expected, 1e-5);
        }
    };
}

test "flash_attn of grouped heads and batches, any sizes and dtypes" {
    try check(.{ .queries = .{ 64, 1, 8, 1 }, .keys = .{ 64, 2, 1 } });
    try check(.{ .queries = .{ 40, 37, 2, 2 }, .keys = .{ 20, 2, 2 }, .value_dim = 24 });
    try check(.{ .queries = .{ 64, 5, 4, 2 }, .keys = .{ 70, 1, 1 }, .dtype = .q8_0 });
    try check(.{ .queries = .{ 48, 3, 2, 1 }, .keys = .{ 131, 2, 1 }, .dtype = .f32 });
    try check(.{ .queries = .{ 64, 0, 2, 1 }, .keys = .{ 5, 2, 1 } });
}

test "flash_attn with masks, slopes, sinks and softcap" {
    try check(.{ .queries = .{ 32, 9, 4, 2 }, .keys = .{ 33, 4, 2 }, .mask = .{ 33, 9, 1, 1 } });
    try check(.{
        .queries = .{ 32, 40, 6, 1 },
        .keys = .{ 150, 3, 1 },
        .mask = .{ 150, 64, 2, 1 },
        .sinks = true,
        .p = .{ .scale = 0.2, .alibi_max = 8, .softcap = 5 },
    });
}
