//! y = x / max(|x|, epsilon) for each row, where |x| is its Euclidean length. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const scaleRow = @import("rms_norm.zig").scaleRow;

pub const l2_norm: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), x.ne[0] * 2);
    result.thread_scratch = staging.rowsBytes(2, x.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    const epsilon: f64 = task.as(ops.NormParams).epsilon;
    for (begin..end) |index| {
        const from = staging.readRow(x, x.row(index), staging.scratchRow(scratch, 0, n));
        const to = staging.target(y, y.row(index), 0, staging.scratchRow(scratch, 1, n));
        const length = @sqrt(sums.squares(from, n, 0));
        // A length that is NaN stays so.
        const divisor = if (length < epsilon) epsilon else length;
        scaleRow(to, from, null, @floatCast(1 / divisor), n);
        staging.writeRow(y, y.row(index), to);
    }
}

const Trial = @import("trial.zig").Trial;

test "l2_norm of rows, and of rows shorter than epsilon" {
    for ([_]u64{ 1, 37, 128, 1025 }) |n| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
            for ([_]f32{ 1e-6, 100 }) |epsilon| {
                var trial: Trial = .init(n);
                defer trial.deinit();
                const x = trial.random(.f32, .{ n, 3, 2, 1 }, order);
                const y = trial.empty(.f32, x.ne, .gaps);
                const params: ops.NormParams = .{ .epsilon = epsilon };
                try trial.run(.l2_norm, l2_norm, params, &.{x}, &.{y});
                for (0..6) |r| {
                    var sum: f64 = 0;
                    for (0..n) |i| {
                        const value = trial.get(x, .{ i, r % 3, r / 3, 0 });
                        sum += value * value;
                    }
                    for (0..n) |i| {
                        const at: [4]u64 = .{ i, r % 3, r / 3, 0 };
                        const expected = trial.get(x, at) / @max(@sqrt(sum), epsilon);
                        try trial.expectNear(y, at, expected, 1e-6);
                    }
                }
            }
        }
    }
}
