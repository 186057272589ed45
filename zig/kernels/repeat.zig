//! y[i] = x[i mod size] along every dimension (repeat), and the sum of what repeat would have made
//! of each element (repeat_back).

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const units = @import("units.zig");
const vector = @import("vector.zig");
const SizesParams = @import("../ops.zig").arranging.SizesParams;

pub const repeat: abi.Kernel = .{ .plan = plan, .run = run };
pub const repeat_back: abi.Kernel = .{ .plan = planBack, .run = runBack };

/// One item is a piece of a row of y.
fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    split.Chunks.of(task.output()).plan(result, 1);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const chunks: split.Chunks = .of(y);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        var at = units.outer(y, chunk.row);
        const to = units.rowAt(y, at);
        for (&at, x.ne[1..]) |*index, n| index.* %= n;
        const from = units.rowAt(x, at);
        var i = chunk.begin;
        while (i < chunk.end) {
            const start = i % x.ne[0];
            const single = x.ne[0] == 1;
            const most = if (single) chunk.end else x.ne[0] - start;
            const n: usize = @intCast(@min(chunk.end - i, most));
            const step = if (single) 0 else x.nb[0];
            units.move(to + i * y.nb[0], y.nb[0], from + start * x.nb[0], step, n, units.size(y));
            i += n;
        }
    }
}

/// One item is a row of y.
fn planBack(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    if (!staging.isFloat(x.dtype)) return;
    const cost = if (y.rows() == 0) 0 else x.ne[0] * x.rows() / y.rows();
    split.byRow(result, y.rows(), @max(cost, y.ne[0]));
    result.thread_scratch = staging.rowsBytes(1, x.ne[0]) + staging.rowsBytes(2, 2 * y.ne[0]);
}

fn runBack(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(y.ne[0]);
    const rest: abi.Scratch = @alignCast(scratch + staging.rowsBytes(1, x.ne[0]));
    const sums: []f64 = @as([*]f64, @ptrCast(rest))[0..n];
    const result = staging.scratchRow(rest, 1, 2 * n);
    for (begin..end) |row| {
        const at = units.outer(y, row);
        @memset(sums, 0);
        const counts = [_]u64{ x.ne[1] / y.ne[1], x.ne[2] / y.ne[2], x.ne[3] / y.ne[3] };
        for (0..counts[0] * counts[1] * counts[2]) |r| {
            const from = units.rowAt(x, .{
                at[0] + r % counts[0] * y.ne[1],
                at[1] + r / counts[0] % counts[1] * y.ne[2],
                at[2] + r / counts[0] / counts[1] * y.ne[3],
            });
            const values = staging.readRow(x, from, staging.scratchRow(scratch, 0, x.ne[0]));
            for (0..x.ne[0] / n) |part| {
                for (sums, values[part * n ..]) |*sum, value| sum.* += value;
            }
        }
        for (result[0..n], sums) |*value, sum| value.* = @floatCast(sum);
        staging.writeRow(y, units.rowAt(y, at), result);
    }
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

fn paramsOf(ne: [4]u64) SizesParams {
    return .{
        .n0 = @intCast(ne[0]),
        .n1 = @intCast(ne[1]),
        .n2 = @intCast(ne[2]),
        .n3 = @intCast(ne[3]),
    };
}

test "repeat along every dimension, for elements of any size and any order" {
    for ([_]@import("../dtype.zig").DType{ .f32, .f16, .i64 }) |dtype| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            for ([_][2][4]u64{
                .{ .{ 5, 2, 1, 2 }, .{ 10, 6, 4, 2 } },
                .{ .{ 1, 3, 2, 1 }, .{ 5000, 3, 2, 2 } },
                .{ .{ 7, 3, 2, 1 }, .{ 7, 3, 2, 1 } },
                .{ .{ 7, 3, 2, 1 }, .{ 0, 3, 2, 1 } },
            }) |sizes| {
                var trial: Trial = .init(4);
                defer trial.deinit();
                const x = trial.random(dtype, sizes[0], order);
                const y = trial.empty(dtype, sizes[1], order);
                try trial.run(.repeat, repeat, paramsOf(y.ne), &.{x}, &.{y});
                var walk: Walk = .{ .ne = y.ne };
                while (walk.next()) |at| {
                    var from = at;
                    for (&from, x.ne) |*index, n| index.* %= n;
                    try std.testing.expectEqual(trial.get(x, from), trial.get(y, at));
                }
            }
        }
    }
}

test "repeat_back sums over all repetitions" {
    for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
        var trial: Trial = .init(4);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 14, 6, 4, 2 }, order);
        const y = trial.empty(.f32, .{ 7, 2, 1, 2 }, .gaps);
        try trial.run(.repeat_back, repeat_back, paramsOf(y.ne), &.{x}, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            var expected: f64 = 0;
            var all: Walk = .{ .ne = x.ne };
            while (all.next()) |from| {
                const meets = for (from, at, y.ne) |index, own, n| {
                    if (index % n != own) break false;
                } else true;
                if (meets) expected += trial.get(x, from);
            }
            try trial.expectNear(y, at, expected, 1e-6);
        }
    }
}
