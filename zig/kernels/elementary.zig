//! Elementary functions on vectors of f32, written without libm so that they stay in registers.
//! Relative error at most 2 units in the last place; NaN, infinities and subnormals as in IEEE 754.
//!
//! The polynomials are those of Cephes (Moshier 1984-1992, single precision).

const std = @import("std");
const builtin = @import("builtin");

/// Whether one instruction multiplies and adds; without it @mulAdd would call libc.
const has_fma = switch (builtin.cpu.arch) {
    .x86_64 => builtin.cpu.has(.x86, .fma),
    .aarch64 => true,
    else => false,
};

/// a * b + c, rounded once where the processor can.
pub inline fn mulAdd(a: anytype, b: @TypeOf(a), c: @TypeOf(a)) @TypeOf(a) {
    return if (has_fma) @mulAdd(@TypeOf(a), a, b, c) else a * b + c;
}

/// The polynomial with the given coefficients, highest power first.
pub inline fn polynomial(x: anytype, comptime coefficients: []const comptime_float) @TypeOf(x) {
    var sum: @TypeOf(x) = @splat(coefficients[0]);
    inline for (coefficients[1..]) |c| sum = mulAdd(sum, x, @as(@TypeOf(x), @splat(c)));
    return sum;
}

/// The larger of x and low; NaN stays NaN.
pub inline fn atLeast(x: anytype, comptime low: comptime_float) @TypeOf(x) {
    const bound: @TypeOf(x) = @splat(low);
    return @select(f32, bound > x, bound, x);
}

/// The smaller of x and high; NaN stays NaN.
pub inline fn atMost(x: anytype, comptime high: comptime_float) @TypeOf(x) {
    const bound: @TypeOf(x) = @splat(high);
    return @select(f32, bound < x, bound, x);
}

/// e^x. With n the integer next to x / ln 2 it is 2^n e^r, |r| <= ln 2 / 2.
pub inline fn exp(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const I = @Vector(@typeInfo(V).vector.len, i32);
    // Beyond these the result is 0 or infinity anyway.
    const bounded = atMost(atLeast(x, -104.5), 89.0);
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the lowest bits.
    const magic: V = @splat(0x1.8p23);
    const shifted = mulAdd(bounded, @as(V, @splat(std.math.log2e)), magic);
    const n = shifted - magic;
    // ln 2 in two parts, the first with few enough bits that n times it is exact.
    const high = mulAdd(n, @as(V, @splat(-0.693359375)), bounded);
    const r = mulAdd(n, @as(V, @splat(2.12194440e-4)), high);
    const tail = polynomial(r, &.{
        1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5,
    });
    const power = mulAdd(tail, r * r, r) + @as(V, @splat(1));
    // Two factors, because 2^n itself may be out of range where the product is subnormal.
    const whole = @as(I, @bitCast(shifted)) -% @as(I, @bitCast(magic));
    const half = whole >> @splat(1);
    return power * exp2Integer(V, half) * exp2Integer(V, whole -% half);
}

inline fn exp2Integer(V: type, n: anytype) V {
    return @bitCast((n +% @as(@TypeOf(n), @splat(127))) << @splat(23));
}

/// 1 / (1 + e^-x).
pub inline fn sigmoid(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one: V = @splat(1);
    const e = exp(-@abs(x));
    const positive = one / (one + e);
    return @select(f32, x < @as(V, @splat(0)), e * positive, positive);
}

/// x sigmoid(x), which goes to -0 for large negative x, also at -inf.
pub inline fn silu(x: anytype) @TypeOf(x) {
    return atLeast(x, -200.0) * sigmoid(x);
}

pub inline fn tanh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const U = @Vector(@typeInfo(V).vector.len, u32);
    const a = @abs(x);
    const one: V = @splat(1);
    const z = x * x;
    const p = polynomial(z, &.{
        -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1,
    });
    const near = mulAdd(p * z, x, x);
    const far = one - @as(V, @splat(2)) / (exp(a + a) + one);
    const sign = @as(U, @bitCast(x)) & @as(U, @splat(1 << 31));
    const signed: V = @bitCast(@as(U, @bitCast(far)) | sign);
    return @select(f32, a < @as(V, @splat(0.625)), near, signed);
}

const testing = std.testing;

/// Distance in units in the last place of f32, subnormals included.
fn ulps(expected: f64, got: f32) f64 {
    if (std.math.isNan(expected)) return if (std.math.isNan(got)) 0 else std.math.inf(f64);
    const rounded: f32 = @floatCast(expected);
    if (rounded == got) return 0;
    if (std.math.isInf(rounded) or std.math.isInf(got)) return std.math.inf(f64);
    const exponent = if (expected == 0) -149 else std.math.frexp(expected).exponent - 24;
    const unit = std.math.ldexp(@as(f64, 1), @max(exponent, -149));
    return @abs(expected - got) / unit;
}

fn check(
    comptime f: anytype,
    comptime exact: fn (f64) f64,
    low: f32,
    high: f32,
    most: f64,
) !void {
    const n = @import("simd.zig").lanes;
    var worst: f64 = 0;
    var step: f32 = 0;
    while (step < 20_000) : (step += n) {
        var x: @Vector(n, f32) = undefined;
        inline for (0..n) |i| x[i] = low + (high - low) * ((step + i) / 20_000);
        const y = f(x);
        inline for (0..n) |i| worst = @max(worst, ulps(exact(x[i]), y[i]));
    }
    const inf = std.math.inf(f32);
    const special = [_]f32{ 0, -0.0, inf, -inf, std.math.nan(f32), 1e-40, -1e-40, 3e38, -3e38 };
    for (special) |value| {
        const y = f(@as(@Vector(n, f32), @splat(value)));
        worst = @max(worst, ulps(exact(value), y[0]));
    }
    if (worst > most) std.debug.print("worst error: {d} ulp\n", .{worst});
    try testing.expect(worst <= most);
}

const reference = struct {
    fn exp(x: f64) f64 {
        return @exp(x);
    }
    fn sigmoid(x: f64) f64 {
        return 1 / (1 + @exp(-x));
    }
    fn silu(x: f64) f64 {
        return if (x == -std.math.inf(f64)) 0 else x / (1 + @exp(-x));
    }
    fn tanh(x: f64) f64 {
        return std.math.tanh(x);
    }
};

test "exp is within 2 units in the last place, from subnormal results to overflow" {
    try check(exp, reference.exp, -106, 90, 2);
    try check(exp, reference.exp, -1, 1, 2);
}

test "sigmoid and silu keep their relative accuracy for large negative x" {
    try check(sigmoid, reference.sigmoid, -100, 40, 3);
    try check(silu, reference.silu, -85, 40, 3);
}

test "tanh is accurate near zero and saturates" {
    try check(tanh, reference.tanh, -1, 1, 2);
    try check(tanh, reference.tanh, -12, 12, 2);
}
