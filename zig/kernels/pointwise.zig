//! Functions of one value and some numbers that the graph fixes.

const std = @import("std");
const abi = @import("abi.zig");
const elementwise = @import("../ops.zig").elementwise;
const activations = @import("activations.zig");
const elementary = @import("elementary.zig");
const map = @import("map.zig");
const simd = @import("simd.zig");
const vector = @import("vector.zig");
const V = vector.V;
const splat = vector.splat;

pub const scale: abi.Kernel = Pointwise(elementwise.ScaleParams, scaled).kernel;
pub const clamp: abi.Kernel = Pointwise(elementwise.ClampParams, clamped).kernel;
pub const leaky_relu: abi.Kernel = Pointwise(elementwise.LeakyReluParams, leaked).kernel;
pub const xielu: abi.Kernel = Pointwise(elementwise.XieluParams, xieluOf).kernel;
pub const fill: abi.Kernel = Pointwise(elementwise.FillParams, filled).kernel;

fn Pointwise(comptime Params: type, comptime f: anytype) type {
    return struct {
        const kernel: abi.Kernel = .{ .plan = plan, .run = run };
        const apply = map.loop(1, Params, f);

        fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
            map.plan(result, task, 1, 1);
        }

        fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
            map.run(task, 1, task.as(Params).*, apply, begin, end);
        }
    };
}

inline fn scaled(p: elementwise.ScaleParams, x: V) V {
    return simd.mulAdd(x, splat(p.factor), splat(p.offset));
}

inline fn clamped(p: elementwise.ClampParams, x: V) V {
    return activations.clamp(x, p.low, p.high);
}

inline fn leaked(p: elementwise.LeakyReluParams, x: V) V {
    return @select(f32, x > splat(0), x, x * splat(p.slope));
}

/// alpha_positive x^2 + beta x above 0, else alpha_negative (e^min(x, epsilon) - 1 - x) + beta x.
inline fn xieluOf(p: elementwise.XieluParams, x: V) V {
    const linear = x * splat(p.beta);
    const positive = simd.mulAdd(x * x, splat(p.alpha_positive), linear);
    const low = @select(f32, splat(p.epsilon) < x, splat(p.epsilon), x);
    const difference = elementary.expm1(low) - x;
    const negative = simd.mulAdd(difference, splat(p.alpha_negative), linear);
    return @select(f32, x > splat(0), positive, negative);
}

inline fn filled(p: elementwise.FillParams, _: V) V {
    return splat(p.value);
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const Op = @import("../ops.zig").Op;

fn check(op: Op, kernel: abi.Kernel, p: anytype, exact: *const fn (@TypeOf(p), f64) f64) !void {
    const sizes = [_][4]u64{ .{ 37, 3, 2, 1 }, .{ 5000, 1, 1, 1 } };
    inline for (.{ .f32, .f16 }) |dtype| for (sizes) |ne| {
        var trial: Trial = .init(9);
        defer trial.deinit();
        const x = trial.random(dtype, ne, .gaps);
        const y = trial.empty(dtype, ne, .packed_rows);
        try trial.run(op, kernel, p, &.{x}, &.{y});
        var walk: Walk = .{ .ne = ne };
        while (walk.next()) |at| try trial.expectNear(y, at, exact(p, trial.get(x, at)), 1e-6);
    };
}

test "scale, clamp, leaky_relu, xielu and fill follow their definitions" {
    const exact = struct {
        fn scale(p: elementwise.ScaleParams, x: f64) f64 {
            return x * p.factor + p.offset;
        }
        fn clamp(p: elementwise.ClampParams, x: f64) f64 {
            return std.math.clamp(x, p.low, p.high);
        }
        fn leak(p: elementwise.LeakyReluParams, x: f64) f64 {
            return if (x > 0) x else x * p.slope;
        }
        fn xielu(p: elementwise.XieluParams, x: f64) f64 {
            if (x > 0) return p.alpha_positive * x * x + p.beta * x;
            return (std.math.expm1(@min(x, p.epsilon)) - x) * p.alpha_negative + p.beta * x;
        }
        fn fill(p: elementwise.FillParams, _: f64) f64 {
            return p.value;
        }
    };
    try check(.scale, scale, elementwise.ScaleParams{ .factor = -3.7, .offset = 0.5 }, exact.scale);
    try check(.clamp, clamp, elementwise.ClampParams{ .low = -0.5, .high = 0.75 }, exact.clamp);
    try check(.leaky_relu, leaky_relu, elementwise.LeakyReluParams{ .slope = 0.1 }, exact.leak);
    try check(.fill, fill, elementwise.FillParams{ .value = 2.5 }, exact.fill);
    try check(.xielu, xielu, elementwise.XieluParams{
        .alpha_negative = 1.671,
        .alpha_positive = 1.171,
        .beta = 0.5,
        .epsilon = -1e-6,
    }, exact.xielu);
}

test "clamp keeps NaN" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.of(.f32, .{ 2, 1, 1, 1 }, &.{ std.math.nan(f64), std.math.inf(f64) });
    const p: elementwise.ClampParams = .{ .low = -1, .high = 1 };
    try trial.run(.clamp, clamp, p, &.{x}, &.{x});
    try std.testing.expect(std.math.isNan(trial.get(x, .{ 0, 0, 0, 0 })));
    try std.testing.expectEqual(1, trial.get(x, .{ 1, 0, 0, 0 }));
}
