//! y[i] = x[0] + … + x[i] along each row, summed in f64. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");

pub const cumsum: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), x.ne[0] * 8);
    result.thread_scratch = staging.rowsBytes(2, x.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    for (begin..end) |index| {
        const from = staging.readRow(x, x.row(index), staging.scratchRow(scratch, 0, n));
        const to = staging.target(y, y.row(index), 0, staging.scratchRow(scratch, 1, n));
        var sum: f64 = 0;
        for (to[0..n], from) |*value, step| {
            sum += step;
            value.* = @floatCast(sum);
        }
        staging.writeRow(y, y.row(index), to);
    }
}

const Trial = @import("trial.zig").Trial;

test "cumsum of rows in any order" {
    for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
        for ([_]u64{ 1, 37, 2050 }) |n| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const x = trial.random(.f32, .{ n, 3, 2, 1 }, order);
            const y = trial.empty(.f32, x.ne, .gaps);
            try trial.run(.cumsum, cumsum, .{}, &.{x}, &.{y});
            for (0..6) |r| {
                var expected: f64 = 0;
                for (0..n) |i| {
                    const at: [4]u64 = .{ i, r % 3, r / 3, 0 };
                    expected += trial.get(x, at);
                    try trial.expectNear(y, at, expected, 1e-6);
                }
            }
        }
    }
}
