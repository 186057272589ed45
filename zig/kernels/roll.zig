//! y[i] = x[i - shift], where indices wrap around. One item is a piece of a row of y.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const units = @import("units.zig");
const RollParams = @import("../ops.zig").arranging.RollParams;

pub const roll: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    split.Chunks.of(task.output()).plan(result, 1);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const p = task.as(RollParams);
    const shifts = [_]i32{ p.shift1, p.shift2, p.shift3 };
    const chunks: split.Chunks = .of(y);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        var at = units.outer(y, chunk.row);
        const to = units.rowAt(y, at);
        for (&at, shifts, x.ne[1..]) |*index, shift, n| index.* = sourceOf(index.*, shift, n);
        const from = units.rowAt(x, at);
        var i = chunk.begin;
        while (i < chunk.end) {
            const start = sourceOf(i, p.shift0, x.ne[0]);
            const n: usize = @intCast(@min(chunk.end - i, x.ne[0] - start));
            const target = to + i * y.nb[0];
            units.move(target, y.nb[0], from + start * x.nb[0], x.nb[0], n, units.size(y));
            i += n;
        }
    }
}

fn sourceOf(index: u64, shift: i32, n: u64) u64 {
    return @intCast(@mod(@as(i64, @intCast(index)) - shift, @as(i64, @intCast(n))));
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "roll forwards, backwards and more than once around" {
    for ([_][4]u64{ .{ 7, 4, 3, 2 }, .{ 4100, 2, 1, 1 }, .{ 7, 0, 1, 1 } }) |ne| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            for ([_][4]i32{ .{ 2, -1, 1, 0 }, .{ -3, 9, -5, 1 }, .{ 4099, 0, 0, 0 } }) |shifts| {
                var trial: Trial = .init(4);
                defer trial.deinit();
                const x = trial.random(.f16, ne, order);
                const y = trial.empty(.f16, ne, .gaps);
                const params: RollParams = .{
                    .shift0 = shifts[0],
                    .shift1 = shifts[1],
                    .shift2 = shifts[2],
                    .shift3 = shifts[3],
                };
                try trial.run(.roll, roll, params, &.{x}, &.{y});
                var walk: Walk = .{ .ne = ne };
                while (walk.next()) |at| {
                    var from: [4]u64 = undefined;
                    for (&from, at, shifts, ne) |*source, index, shift, n| {
                        const moved = @as(i64, @intCast(index)) - shift;
                        source.* = @intCast(@mod(moved, @as(i64, @intCast(n))));
                    }
                    try std.testing.expectEqual(trial.get(x, from), trial.get(y, at));
                }
            }
        }
    }
}
