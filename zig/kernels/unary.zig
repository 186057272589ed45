//! Functions of one value: y = f(x), in f32, f16 or bf16.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const activations = @import("activations.zig");
const elementary = @import("elementary.zig");
const map = @import("map.zig");
const sines = @import("sines.zig");
const V = @import("vector.zig").V;
const Kind = ops.elementwise.UnaryKind;
const Params = ops.elementwise.UnaryParams;

pub const unary: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    map.plan(result, task, 1, 3);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const kind: Kind = @enumFromInt(task.as(Params).kind);
    map.run(task, 1, {}, functions.get(kind), begin, end);
}

const functions = blk: {
    var list: std.EnumArray(Kind, map.Apply(1, void)) = .initUndefined();
    for (std.enums.values(Kind)) |kind| list.set(kind, map.loop(1, void, Function(kind).call));
    break :blk list;
};

fn Function(comptime kind: Kind) type {
    return struct {
        inline fn call(_: void, x: V) V {
            return switch (kind) {
                .abs => @abs(x),
                .sgn => activations.sgn(x),
                .neg => -x,
                .step => activations.step(x),
                .tanh => elementary.tanh(x),
                .elu => activations.elu(x),
                .relu => activations.relu(x),
                .sigmoid => elementary.sigmoid(x),
                .gelu => activations.gelu(x),
                .gelu_quick => activations.geluQuick(x),
                .gelu_erf => activations.geluErf(x),
                .silu => elementary.silu(x),
                .hardswish => activations.hardswish(x),
                .hardsigmoid => activations.hardsigmoid(x),
                .exp => elementary.exp(x),
                .expm1 => elementary.expm1(x),
                .softplus => activations.softplus(x),
                .floor => @floor(x),
                .ceil => @ceil(x),
                .round => activations.round(x),
                .trunc => @trunc(x),
                .sqr => x * x,
                .sqrt => @sqrt(x),
                .log => elementary.log(x),
                .sin => sines.sin(x),
                .cos => sines.cos(x),
            };
        }
    };
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const testing = std.testing;

/// The definitions, in f64.
pub fn exact(kind: Kind, x: f64) f64 {
    const tanh_argument = @sqrt(2.0 / std.math.pi) * x * (1 + 0.044715 * x * x);
    return switch (kind) {
        .abs => @abs(x),
        .sgn => if (x > 0) 1 else if (x < 0) -1 else 0,
        .neg => -x,
        .step => if (x > 0) 1 else 0,
        .tanh => std.math.tanh(x),
        .elu => if (x > 0) x else std.math.expm1(x),
        .relu => if (x < 0) 0 else x,
        .sigmoid => 1 / (1 + @exp(-x)),
        .gelu => if (x < -20) 0 else 0.5 * x * (1 + std.math.tanh(tanh_argument)),
        .gelu_quick => if (x < -500) 0 else x / (1 + @exp(-1.702 * x)),
        .gelu_erf => if (x < -20) 0 else 0.5 * x * (1 + erf(x / @sqrt(2.0))),
        .silu => if (x < -500) 0 else x / (1 + @exp(-x)),
        .hardswish => if (x < -3) 0 else if (x > 3) x else x * (x + 3) / 6,
        .hardsigmoid => if (x < -3) 0 else if (x > 3) 1 else (x + 3) / 6,
        .exp => @exp(x),
        .expm1 => std.math.expm1(x),
        .softplus => if (x > 20) x else std.math.log1p(@exp(x)),
        .floor => @floor(x),
        .ceil => @ceil(x),
        .round => @round(x),
        .trunc => @trunc(x),
        .sqr => x * x,
        .sqrt => @sqrt(x),
        .log => @log(x),
        .sin => @sin(x),
        .cos => @cos(x),
    };
}

/// By the series of Abramowitz and Stegun 7.1.6.
fn erf(x: f64) f64 {
    if (@abs(x) > 6) return std.math.sign(x);
    var term = x;
    var sum = x;
    var n: f64 = 1;
    while (n < 200) : (n += 1) {
        term *= 2 * x * x / (2 * n + 1);
        sum += term;
    }
    return sum * @exp(-x * x) * 2 / @sqrt(std.math.pi);
}

fn expectExact(trial: *Trial, kind: Kind, x: abi.Tensor, y: abi.Tensor) !void {
    var walk: Walk = .{ .ne = x.ne };
    while (walk.next()) |at| {
        const value = trial.get(x, at);
        errdefer std.debug.print("{t} of {d}\n", .{ kind, value });
        const limit: f64 = if (y.dtype == .f16) 65504 else std.math.floatMax(f32);
        const expected = exact(kind, value);
        if (@abs(expected) > limit) continue;
        try trial.expectNear(y, at, expected, 1e-6);
    }
}

test "every function in every float dtype and order" {
    for (std.enums.values(Kind)) |kind| {
        const sizes = [_][4]u64{ .{ 37, 3, 2, 1 }, .{ 5000, 1, 1, 1 } };
        inline for (.{ .f32, .f16, .bf16 }) |dtype| for (sizes) |ne| {
            var trial: Trial = .init(@intFromEnum(kind));
            defer trial.deinit();
            const x = trial.random(dtype, ne, if (dtype == .f16) .permuted else .gaps);
            const y = trial.empty(dtype, ne, .packed_rows);
            const params: Params = .{ .kind = @intFromEnum(kind) };
            try trial.run(.unary, unary, params, &.{x}, &.{y});
            try expectExact(&trial, kind, x, y);
        };
    }
}

test "functions of extreme values" {
    const inf = std.math.inf(f64);
    const nan = std.math.nan(f64);
    const values = [_]f64{
        0,     -0.0,  0.5,  -0.5,  1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 1e-8,
        -1e-8, 3,     -3,   10,    -10, 50,   -50, 88,   -88,        1e-40,       -1e-40,
        1e30,  -1e30, 3e38, -3e38, inf, -inf, nan,
    };
    for (std.enums.values(Kind)) |kind| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.of(.f32, .{ values.len, 1, 1, 1 }, &values);
        const y = trial.empty(.f32, x.ne, .packed_rows);
        const params: Params = .{ .kind = @intFromEnum(kind) };
        try trial.run(.unary, unary, params, &.{x}, &.{y});
        for (values, 0..) |value, i| {
            errdefer std.debug.print("{t} of {d}\n", .{ kind, value });
            const as_f32: f32 = @floatCast(value);
            const expected: f32 = @floatCast(exact(kind, as_f32));
            const got: f32 = @floatCast(trial.get(y, .{ i, 0, 0, 0 }));
            if (std.math.isNan(expected)) {
                try testing.expect(std.math.isNan(got));
            } else if (std.math.isInf(expected)) {
                try testing.expectEqual(expected, got);
            } else {
                try testing.expectApproxEqAbs(expected, got, @max(1e-6 * @abs(expected), 1e-7));
            }
        }
    }
}

test "ties and signed zeros of the roundings" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.of(.f32, .{ 6, 1, 1, 1 }, &.{ 0.5, -0.5, 2.5, -2.5, -0.25, 8388609 });
    const y = trial.empty(.f32, x.ne, .packed_rows);
    const params: Params = .{ .kind = @intFromEnum(Kind.round) };
    try trial.run(.unary, unary, params, &.{x}, &.{y});
    for ([_]f64{ 1, -1, 3, -3, -0.0, 8388609 }, 0..) |expected, i| {
        const got = trial.get(y, .{ i, 0, 0, 0 });
        try testing.expectEqual(expected, got);
        try testing.expectEqual(std.math.signbit(expected), std.math.signbit(got));
    }
}
