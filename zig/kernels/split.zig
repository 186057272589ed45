//! How kernels cut their work into items and how many items are handed out together.

const std = @import("std");
const abi = @import("abi.zig");
const Tensor = abi.Tensor;

/// Long rows are cut into pieces of this many values, so that one row can feed several threads.
pub const chunk_values = 4096;

/// Values that are cheap to compute and make up one hand-out: some microseconds of streaming.
const group_values = 16 * 1024;

/// A piece of a row.
pub const Chunk = struct { row: u64, begin: u64, end: u64 };

/// The rows of a tensor in pieces of at most `chunk_values` values.
pub const Chunks = struct {
    len: u64,
    per_row: u64,
    rows: u64,

    pub fn of(t: *const Tensor) Chunks {
        const per_row = std.math.divCeil(u64, t.ne[0], chunk_values) catch unreachable;
        return .{ .len = t.ne[0], .per_row = per_row, .rows = t.rows() };
    }

    /// `cost` is the price of one value, where 1 is reading, adding and writing it.
    pub fn plan(chunks: Chunks, result: *abi.Plan, cost: u64) void {
        byRow(result, chunks.per_row * chunks.rows, @min(chunks.len, chunk_values) * cost);
    }

    pub fn at(chunks: Chunks, item: u64) Chunk {
        const begin = item % chunks.per_row * chunk_values;
        return .{
            .row = item / chunks.per_row,
            .begin = begin,
            .end = @min(begin + chunk_values, chunks.len),
        };
    }
};

/// One item per row, where a row costs as much as streaming `row_cost` values.
pub fn byRow(result: *abi.Plan, rows: u64, row_cost: u64) void {
    result.supported = true;
    result.items = if (row_cost == 0) 0 else rows;
    result.grain = @max(1, group_values / @max(row_cost, 1));
}

/// Joins dimensions that lie behind each other in all of the tensors, which have the same sizes
/// and one value per block. Afterwards rows are as long and as few as possible.
pub fn collapse(tensors: []Tensor) void {
    var last: usize = 0;
    for (1..4) |d| {
        const n = tensors[0].ne[d];
        if (n == 1) continue;
        const first = tensors[0].ne[last] == 1;
        const joins = for (tensors) |t| {
            if (!first and t.nb[d] != t.nb[last] *% t.ne[last]) break false;
        } else true;
        if (!joins) last += 1;
        for (tensors) |*t| {
            if (first or !joins) t.nb[last] = t.nb[d];
            t.ne[last] = if (joins) t.ne[last] * n else n;
        }
    }
    for (tensors) |*t| {
        for (last + 1..4) |d| {
            t.ne[d] = 1;
            t.nb[d] = 0;
        }
    }
}

const testing = std.testing;

fn made(ne: [4]u64, nb: [4]u64) Tensor {
    return .{ .data = undefined, .dtype = .f32, .ne = ne, .nb = nb };
}

test "contiguous tensors become one row, a gap keeps rows apart" {
    var both = [_]Tensor{
        made(.{ 5, 7, 3, 2 }, .{ 4, 20, 140, 420 }),
        made(.{ 5, 7, 3, 2 }, .{ 4, 20, 160, 480 }),
    };
    collapse(both[0..1]);
    try testing.expectEqual([4]u64{ 210, 1, 1, 1 }, both[0].ne);
    both[0] = made(.{ 5, 7, 3, 2 }, .{ 4, 20, 140, 420 });
    collapse(&both);
    try testing.expectEqual([4]u64{ 35, 6, 1, 1 }, both[0].ne);
    try testing.expectEqual([4]u64{ 4, 160, 0, 0 }, both[1].nb);
}

test "a dimension of one element takes the stride of the next" {
    var list = [_]Tensor{made(.{ 1, 1, 8, 3 }, .{ 4, 4, 12, 400 })};
    collapse(&list);
    try testing.expectEqual([4]u64{ 8, 3, 1, 1 }, list[0].ne);
    try testing.expectEqual([4]u64{ 12, 400, 0, 0 }, list[0].nb);
}

test "chunks cover every value of every row once" {
    const t = made(.{ 9000, 2, 1, 1 }, .{ 4, 36000, 72000, 72000 });
    const chunks: Chunks = .of(&t);
    var result: abi.Plan = .{};
    chunks.plan(&result, 1);
    try testing.expectEqual(6, result.items);
    try testing.expectEqual(Chunk{ .row = 1, .begin = 8192, .end = 9000 }, chunks.at(5));
}
