//! Elementary functions on vectors of f32, written without libm so that they stay in registers.
//! Relative error of a few units in the last place, as the tests say; NaN, infinities and
//! subnormals as in IEEE 754.
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
    const power = mulAdd(polynomial(r, &exp_tail), r * r, r) + @as(V, @splat(1));
    // Two factors, because 2^n itself may be out of range where the product is subnormal.
    const whole = @as(I, @bitCast(shifted)) -% @as(I, @bitCast(magic));
    const half = whole >> @splat(1);
    return power * exp2Integer(V, half) * exp2Integer(V, whole -% half);
}

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
const exp_tail = [_]comptime_float{
    1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5,
};

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

/// e^x - 1 without cancellation next to 0.
pub inline fn expm1(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const series = mulAdd(polynomial(x, &exp_tail), x * x, x);
    const near = @abs(x) < @as(V, @splat(0.35));
    return @select(f32, near, series, exp(x) - @as(V, @splat(1)));
}

/// The natural logarithm: -inf of 0, NaN of what is negative.
pub inline fn log(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const I = @Vector(@typeInfo(V).vector.len, i32);
    const tiny = x < @as(V, @splat(std.math.floatMin(f32)));
    const scaled = @select(f32, tiny, x * @as(V, @splat(0x1p25)), x);
    // x = 2^n m with m from sqrt(1/2) to sqrt(2).
    const bits: I = @bitCast(scaled);
    const shift = bits -% @as(I, @splat(@bitCast(@as(f32, std.math.sqrt1_2))));
    const whole = shift >> @splat(23);
    const m: V = @bitCast(bits -% (whole << @splat(23)));
    const n = @as(V, @floatFromInt(whole)) - @select(
        f32,
        tiny,
        @as(V, @splat(25)),
        @as(V, @splat(0)),
    );
    const f = m - @as(V, @splat(1));
    const z = f * f;
    const p = polynomial(f, &.{
        7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,  -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1,
    });
    const low = mulAdd(n, @as(V, @splat(-2.12194440e-4)), p * f * z);
    const series = f + mulAdd(z, @as(V, @splat(-0.5)), low);
    const finite = mulAdd(n, @as(V, @splat(0.693359375)), series);
    const inf: V = @splat(std.math.inf(f32));
    const zero: V = @splat(0);
    const positive = @select(f32, x < inf, finite, x);
    const not_negative = @select(f32, x == zero, -inf, positive);
    return @select(f32, x < zero, @as(V, @splat(std.math.nan(f32))), not_negative);
}

/// log(1 + x) for x >= 0, without losing a small x in the sum.
pub inline fn log1p(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one: V = @splat(1);
    const sum = one + x;
    // What rounding the sum took away is put back as a factor (Goldberg 1991, theorem 4).
    const corrected = log(sum) * (x / (sum - one));
    const large = x > @as(V, @splat(0x1p25));
    return @select(f32, sum == one, x, @select(f32, large, log(x), corrected));
}

/// 1 - erf(x) for x >= 0, with small relative error also where it is tiny.
pub inline fn erfc(argument: anytype) @TypeOf(argument) {
    const V = @TypeOf(argument);
    const x = atMost(argument, 20.0); // Beyond it the result is 0.
    const one: V = @splat(1);
    const z = x * x;
    const near = one - x * polynomial(z, &erf_near);
    // e^(-x^2) with the square's rounding error taken into account.
    const cut: V = @bitCast(@as(@Vector(@typeInfo(V).vector.len, u32), @bitCast(x)) &
        @as(@Vector(@typeInfo(V).vector.len, u32), @splat(0xfffff000)));
    const power = exp(-(cut * cut)) * exp((cut - x) * (cut + x));
    const inverse = one / x;
    const y = inverse * inverse;
    const middle = polynomial(y, &.{
        2.326819970068386e-2,  -1.387039388740657e-1, 3.687424674597105e-1,
        -5.824733027278666e-1, 6.210004621745983e-1,  -4.944515323274145e-1,
        3.404879937665872e-1,  -2.741127028184656e-1, 5.638259427386472e-1,
    });
    const far = polynomial(y, &.{
        -1.047766399936249e+1, 1.297719955372516e+1,  -7.495518717768503e+0,
        2.921019019210786e+0,  -1.015265279202700e+0, 4.218463358204948e-1,
        -2.820767439740514e-1, 5.641895067754075e-1,
    });
    const tail = @select(f32, x < @as(V, @splat(2)), middle, far) * inverse * power;
    return @select(f32, x < one, near, atMost(tail, 1.0));
}

pub inline fn erf(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const U = @Vector(@typeInfo(V).vector.len, u32);
    const a = @abs(x);
    const near = x * polynomial(x * x, &erf_near);
    const far = @as(V, @splat(1)) - erfc(a);
    const sign = @as(U, @bitCast(x)) & @as(U, @splat(1 << 31));
    const signed: V = @bitCast(@as(U, @bitCast(far)) | sign);
    return @select(f32, a < @as(V, @splat(1)), near, signed);
}

const erf_near = [_]comptime_float{
    7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
    1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710e+0,
};

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
    fn expm1(x: f64) f64 {
        return std.math.expm1(x);
    }
    fn log(x: f64) f64 {
        return @log(x);
    }
    fn log1p(x: f64) f64 {
        return std.math.log1p(x);
    }
    /// Abramowitz and Stegun 7.1.6, and the continued fraction 7.1.14 where it is faster.
    fn erf(x: f64) f64 {
        if (@abs(x) > 2) return std.math.copysign(1 - tail(@abs(x)), x);
        var term = x;
        var sum = x;
        var n: f64 = 1;
        while (n < 100) : (n += 1) {
            term *= 2 * x * x / (2 * n + 1);
            sum += term;
        }
        return sum * @exp(-x * x) * 2 / @sqrt(std.math.pi);
    }
    fn erfc(x: f64) f64 {
        return if (x > 2) tail(x) else 1 - reference.erf(x);
    }
    fn tail(x: f64) f64 {
        if (x > 40) return 0;
        var fraction: f64 = x;
        var n: f64 = 200;
        while (n >= 1) : (n -= 1) fraction = x + n / 2 / fraction;
        return @exp(-x * x) / @sqrt(std.math.pi) / fraction;
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

test "expm1 and log1p keep small arguments, log has the right limits" {
    try check(expm1, reference.expm1, -1, 1, 4);
    try check(expm1, reference.expm1, -20, 88, 4);
    try check(log, reference.log, 0, 3, 3);
    try check(log, reference.log, 1e-44, 1e-37, 3);
    try check(ofAbsolute(log1p), ofAbsoluteExact(reference.log1p), 0, 1e-3, 4);
    try check(ofAbsolute(log1p), ofAbsoluteExact(reference.log1p), 0, 1e9, 4);
}

test "erf and erfc, also far out" {
    try check(erf, reference.erf, -1.5, 1.5, 4);
    try check(erf, reference.erf, -6, 6, 4);
    try check(ofAbsolute(erfc), ofAbsoluteExact(reference.erfc), 0, 2.5, 12);
    try check(ofAbsolute(erfc), ofAbsoluteExact(reference.erfc), 1, 9, 12);
}

/// f(|x|), for functions that are only defined there.
fn ofAbsolute(comptime f: anytype) fn (Lanes) Lanes {
    return struct {
        fn call(x: Lanes) Lanes {
            return f(@select(f32, x < @as(Lanes, @splat(0)), -x, x));
        }
    }.call;
}

fn ofAbsoluteExact(comptime f: fn (f64) f64) fn (f64) f64 {
    return struct {
        fn call(x: f64) f64 {
            return f(@abs(x));
        }
    }.call;
}

const Lanes = @import("simd.zig").F32;
