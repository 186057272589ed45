//! x with more elements around it: zeros, the other end of the dimension, or a mirror image. One
//! item is a piece of a row of y.

const std = @import("std");
const abi = @import("abi.zig");
const arranging = @import("../ops.zig").arranging;
const split = @import("split.zig");
const units = @import("units.zig");
const Tensor = abi.Tensor;
const Kind = arranging.PadKind;
const Params = arranging.PadParams;

pub const pad: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    split.Chunks.of(task.output()).plan(result, 1);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const p = task.as(Params);
    const kind: Kind = @enumFromInt(p.kind);
    const before = p.before();
    const chunks: split.Chunks = .of(y);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        var at = units.outer(y, chunk.row);
        const to = units.rowAt(y, at);
        const inside = for (&at, before[1..], x.ne[1..]) |*index, b, n| {
            index.* = sourceOf(kind, index.*, b, n) orelse break false;
        } else true;
        const row: Row = .{ .x = x, .y = y, .to = to, .from = units.rowAt(x, at) };
        if (inside) row.fill(kind, before[0], chunk) else row.clear(chunk.begin, chunk.end);
    }
}

/// Where the element at `index` of a padded dimension comes from; null where it is 0.
fn sourceOf(kind: Kind, index: u64, before: u64, n: u64) ?u64 {
    if (index >= before and index < before + n) return index - before;
    return switch (kind) {
        .zeros => null,
        .circular => (index + n - before) % n,
        .reflect => if (index < before) before - index else 2 * n - 2 - (index - before),
    };
}

const Row = struct {
    x: *const Tensor,
    y: *const Tensor,
    to: [*]u8,
    /// Not to be looked at where the whole row is padding.
    from: [*]const u8,

    fn fill(row: Row, kind: Kind, before: u64, chunk: split.Chunk) void {
        const n = row.x.ne[0];
        const first = @min(@max(chunk.begin, before), chunk.end);
        const end = @max(@min(chunk.end, before + n), first);
        if (kind == .zeros) {
            row.clear(chunk.begin, first);
            row.clear(end, chunk.end);
        } else {
            for (chunk.begin..first) |i| row.move(i, sourceOf(kind, i, before, n).?, 1);
            for (end..chunk.end) |i| row.move(i, sourceOf(kind, i, before, n).?, 1);
        }
        if (first < end) row.move(first, first - before, @intCast(end - first));
    }

    fn move(row: Row, index: u64, source: u64, n: usize) void {
        const to = row.to + index * row.y.nb[0];
        const from = row.from + source * row.x.nb[0];
        units.move(to, row.y.nb[0], from, row.x.nb[0], n, units.size(row.y));
    }

    fn clear(row: Row, begin: u64, end: u64) void {
        const n: usize = @intCast(end - begin);
        units.clear(row.to + begin * row.y.nb[0], row.y.nb[0], n, units.size(row.y));
    }
};

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

fn check(kind: Kind, ne: [4]u64, p: [8]u32) !void {
    for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(4);
        defer trial.deinit();
        const x = trial.random(.f32, ne, order);
        var padded = ne;
        for (&padded, 0..) |*n, d| n.* += p[2 * d] + p[2 * d + 1];
        const y = trial.empty(.f32, padded, order);
        const params: Params = .{
            .before0 = p[0],
            .after0 = p[1],
            .before1 = p[2],
            .after1 = p[3],
            .before2 = p[4],
            .after2 = p[5],
            .before3 = p[6],
            .after3 = p[7],
            .kind = @intFromEnum(kind),
        };
        try trial.run(.pad, pad, params, &.{x}, &.{y});
        var walk: Walk = .{ .ne = padded };
        while (walk.next()) |at| {
            var from: [4]u64 = undefined;
            var zero = false;
            for (&from, at, ne, 0..) |*source, index, n, d| {
                var i = @as(i64, @intCast(index)) - p[2 * d];
                const size: i64 = @intCast(n);
                if (i < 0 or i >= size) switch (kind) {
                    .zeros => zero = true,
                    .circular => i = @mod(i, size),
                    .reflect => i = if (i < 0) -i else 2 * (size - 1) - i,
                };
                source.* = if (zero) 0 else @intCast(i);
            }
            const expected = if (zero) 0 else trial.get(x, from);
            try std.testing.expectEqual(expected, trial.get(y, at));
        }
    }
}

test "pad with zeros, around, and with a mirror image" {
    try check(.zeros, .{ 5, 4, 3, 2 }, .{ 1, 3, 2, 0, 0, 2, 1, 1 });
    try check(.zeros, .{ 5000, 2, 1, 1 }, .{ 4097, 3, 0, 0, 0, 0, 0, 0 });
    try check(.zeros, .{ 0, 2, 1, 1 }, .{ 2, 3, 0, 1, 0, 0, 0, 0 });
    try check(.circular, .{ 5, 4, 3, 2 }, .{ 5, 3, 4, 1, 0, 2, 1, 2 });
    try check(.reflect, .{ 7, 3, 2, 1 }, .{ 6, 2, 0, 0, 0, 0, 0, 0 });
    try check(.reflect, .{ 4100, 2, 1, 1 }, .{ 3, 4099, 0, 0, 0, 0, 0, 0 });
}
