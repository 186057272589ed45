//! One step of AdamW (Loshchilov and Hutter 2017, arXiv:1711.05101) and of gradient descent with
//! weight decay. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const lines = @import("lines.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const Tensor = abi.Tensor;

pub const opt_step_adamw: abi.Kernel = .{ .plan = plan, .run = runAdamw };
pub const opt_step_sgd: abi.Kernel = .{ .plan = plan, .run = runSgd };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    for (task.sources[0..task.source_count]) |source| if (!staging.isDirect(source.?)) return;
    for (task.outputs[0..task.output_count]) |output| if (!staging.isDirect(output.?)) return;
    const w = task.source(0);
    split.byRow(result, w.rows(), w.ne[0] * 4);
}

fn rowOf(t: *const Tensor, index: u64) [*]f32 {
    return @ptrCast(@alignCast(t.row(index)));
}

fn runAdamw(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const numbers: [*]const f32 = @ptrCast(@alignCast(task.source(4).data));
    for (begin..end) |index| {
        lines.each(@intCast(task.source(0).ne[0]), Adamw{
            .numbers = numbers,
            .w = rowOf(task.source(0), index),
            .gradient = rowOf(task.source(1), index),
            .m = rowOf(task.source(2), index),
            .v = rowOf(task.source(3), index),
            .to_w = rowOf(task.outputs[0].?, index),
            .to_m = rowOf(task.outputs[1].?, index),
            .to_v = rowOf(task.outputs[2].?, index),
        });
    }
}

const Adamw = struct {
    /// alpha, beta1, beta2, epsilon, weight decay, corrections of mean and variance
    numbers: [*]const f32,
    w: [*]const f32,
    gradient: [*]const f32,
    m: [*]const f32,
    v: [*]const f32,
    to_w: [*]f32,
    to_m: [*]f32,
    to_v: [*]f32,

    pub inline fn step(a: Adamw, comptime n: usize, i: usize) void {
        const alpha, const beta1, const beta2, const epsilon = a.numbers[0..4].*;
        const decay, const correct_m, const correct_v = a.numbers[4..7].*;
        const s = struct {
            inline fn splat(value: f32) lines.Lane(n) {
                return lines.splat(n, value);
            }
        }.splat;
        const gradient = lines.load(n, a.gradient, i);
        const m = simd.mulAdd(lines.load(n, a.m, i), s(beta1), gradient * s(1 - beta1));
        const square = gradient * gradient * s(1 - beta2);
        const v = simd.mulAdd(lines.load(n, a.v, i), s(beta2), square);
        const change = m * s(correct_m) / (@sqrt(v * s(correct_v)) + s(epsilon));
        const kept = lines.load(n, a.w, i) * s(1 - alpha * decay);
        lines.store(n, a.to_w, i, simd.mulAdd(change, s(-alpha), kept));
        lines.store(n, a.to_m, i, m);
        lines.store(n, a.to_v, i, v);
    }
};

fn runSgd(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const numbers: [*]const f32 = @ptrCast(@alignCast(task.source(2).data));
    for (begin..end) |index| {
        lines.each(@intCast(task.source(0).ne[0]), Sgd{
            .alpha = numbers[0],
            .decay = numbers[1],
            .w = rowOf(task.source(0), index),
            .gradient = rowOf(task.source(1), index),
            .to = rowOf(task.output(), index),
        });
    }
}

const Sgd = struct {
    alpha: f32,
    decay: f32,
    w: [*]const f32,
    gradient: [*]const f32,
    to: [*]f32,

    pub inline fn step(g: Sgd, comptime n: usize, i: usize) void {
        const kept = lines.load(n, g.w, i) * lines.splat(n, 1 - g.alpha * g.decay);
        const gradient = lines.load(n, g.gradient, i);
        lines.store(n, g.to, i, simd.mulAdd(gradient, lines.splat(n, -g.alpha), kept));
    }
};

const Trial = @import("trial.zig").Trial;

test "opt_step_adamw and opt_step_sgd follow their definitions" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const ne: [4]u64 = .{ 37, 3, 2, 1 };
    const w = trial.random(.f32, ne, .gaps);
    const gradient = trial.random(.f32, ne, .packed_rows);
    const m = trial.random(.f32, ne, .packed_rows);
    const v = trial.random(.f32, ne, .gaps);
    for (0..222) |i| {
        const at: [4]u64 = .{ i % 37, i / 37 % 3, i / 111, 0 };
        trial.set(v, at, @abs(trial.get(v, at)));
    }
    const list = [_]f64{ 0.1, 0.9, 0.99, 1e-3, 0.2, 1.5, 2.5 };
    const numbers = trial.of(.f32, .{ 7, 1, 1, 1 }, &list);
    const new_w = trial.empty(.f32, ne, .gaps);
    const new_m = trial.empty(.f32, ne, .gaps);
    const new_v = trial.empty(.f32, ne, .packed_rows);
    const sources = .{ w, gradient, m, v, numbers };
    const outputs = .{ new_w, new_m, new_v };
    try trial.run(.opt_step_adamw, opt_step_adamw, .{}, &sources, &outputs);
    const two = trial.of(.f32, .{ 2, 1, 1, 1 }, &.{ 0.1, 0.2 });
    const plain = trial.empty(.f32, ne, .gaps);
    try trial.run(.opt_step_sgd, opt_step_sgd, .{}, &.{ w, gradient, two }, &.{plain});
    for (0..222) |i| {
        const at: [4]u64 = .{ i % 37, i / 37 % 3, i / 111, 0 };
        const g = trial.get(gradient, at);
        const mean = trial.get(m, at) * 0.9 + g * 0.1;
        const variance = trial.get(v, at) * 0.99 + g * g * 0.01;
        const kept = trial.get(w, at) * (1 - 0.1 * 0.2);
        const change = mean * 1.5 / (@sqrt(variance * 2.5) + 1e-3);
        try trial.expectNear(new_w, at, kept - 0.1 * change, 1e-5);
        try trial.expectNear(new_m, at, mean, 1e-6);
        try trial.expectNear(new_v, at, variance, 1e-6);
        try trial.expectNear(plain, at, kept - 0.1 * g, 1e-6);
    }
}
