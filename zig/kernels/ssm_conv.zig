//! A short convolution over each channel's tokens (Gu and Dao 2023, arXiv:2312.00752):
//! y[channel, t] = sum over k of kernel[k, channel] x[t + k, channel]. One item is one channel of
//! one sequence.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");

pub const ssm_conv: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    const kernel = task.source(1);
    if (x.nb[0] != 4 or kernel.nb[0] != 4 or task.output().nb[0] != 4) return;
    split.byRow(result, x.ne[1] * x.ne[2], task.output().ne[1] * kernel.ne[0] * 2);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const kernel = task.source(1);
    const y = task.output();
    const width: usize = @intCast(kernel.ne[0]);
    for (begin..end) |index| {
        const channel = index % x.ne[1];
        const sequence = index / x.ne[1];
        const from: [*]const f32 = @ptrCast(@alignCast(x.row(index)));
        const weights: [*]const f32 = @ptrCast(@alignCast(kernel.row(channel)));
        const to = y.data + channel * 4 + sequence * y.nb[2];
        for (0..@intCast(y.ne[1])) |t| {
            var sum: f32 = 0;
            for (weights[0..width], from[t..]) |weight, value| sum += weight * value;
            @as(*f32, @ptrCast(@alignCast(to + t * y.nb[1]))).* = sum;
        }
    }
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "ssm_conv of several widths, sequences and tokens" {
    for ([_]u64{ 1, 3, 4, 9 }) |width| for ([_]u64{ 0, 1, 6 }) |tokens| {
        var trial: Trial = .init(width);
        defer trial.deinit();
        const x = trial.random(.f32, .{ width - 1 + tokens, 10, 2, 1 }, .gaps);
        const kernel = trial.random(.f32, .{ width, 10, 1, 1 }, .gaps);
        const y = trial.empty(.f32, .{ 10, tokens, 2, 1 }, .gaps);
        try trial.run(.ssm_conv, ssm_conv, .{}, &.{ x, kernel }, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            var expected: f64 = 0;
            for (0..width) |k| {
                const value = trial.get(x, .{ at[1] + k, at[0], at[2], 0 });
                expected += value * trial.get(kernel, .{ k, at[0], 0, 0 });
            }
            try trial.expectNear(y, at, expected, 1e-6);
        }
    };
}
