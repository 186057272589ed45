//! Sine and cosine of large angles, and the logarithm and powers that rotary frequencies need, in
//! f64 vectors without libm. Polynomials: Cephes (Moshier 1984-1992, double precision).

const std = @import("std");
const elementary = @import("elementary.zig");
const simd = @import("simd.zig");
const mulAdd = elementary.mulAdd;
const polynomial = elementary.polynomial;

pub const lanes = simd.lanes;
pub const Wide = @Vector(lanes, f64);
const Bits = @Vector(lanes, u64);

/// Adding it rounds to an integer and leaves that in the lowest bits.
const magic: Wide = @splat(0x1.8p52);

pub const SinCos = struct { sin: Wide, cos: Wide };

/// Absolute error below 1e-9 for |x| up to 2^31.
pub inline fn sinCos(x: Wide) SinCos {
    const shifted = mulAdd(x, @as(Wide, @splat(2.0 / std.math.pi)), magic);
    const n = shifted - magic;
    // pi / 2 in three parts; the first two have 22 bits each, so that n times them is exact.
    var r = mulAdd(n, @as(Wide, @splat(-0x1.921fb0p+0)), x);
    r = mulAdd(n, @as(Wide, @splat(-0x1.5110b0p-22)), r);
    r = mulAdd(n, @as(Wide, @splat(-0x1.18469898cc517p-44)), r);
    const z = r * r;
    const odd = polynomial(z, &.{
        1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
        -1.98412698295895385996e-4, 8.33333333332211858878e-3,  -1.66666666666666307295e-1,
    });
    const even = polynomial(z, &.{
        -1.13585365213876817300e-11, 2.08757008419747316778e-9,  -2.75573141792967388112e-7,
        2.48015872888517045348e-5,   -1.38888888888730564116e-3, 4.16666666666665929218e-2,
    });
    const sine = mulAdd(odd * z, r, r);
    const cosine = mulAdd(even, z * z, mulAdd(z, @as(Wide, @splat(-0.5)), @as(Wide, @splat(1))));
    const quarter: Bits = @bitCast(shifted);
    const one: Bits = @splat(1);
    const exchanged = (quarter & one) != @as(Bits, @splat(0));
    const sine_sign = (quarter & @as(Bits, @splat(2))) << @splat(62);
    const cosine_sign = ((quarter +% one) & @as(Bits, @splat(2))) << @splat(62);
    return .{
        .sin = flip(@select(f64, exchanged, cosine, sine), sine_sign),
        .cos = flip(@select(f64, exchanged, sine, cosine), cosine_sign),
    };
}

inline fn flip(x: Wide, sign: Bits) Wide {
    return @bitCast(@as(Bits, @bitCast(x)) ^ sign);
}

const taylor: [14]comptime_float = blk: {
    var coefficients: [14]comptime_float = undefined;
    var factorial: comptime_float = 1;
    for (0..coefficients.len) |i| {
        if (i > 0) factorial *= i;
        coefficients[coefficients.len - 1 - i] = 1.0 / factorial;
    }
    break :blk coefficients;
};

/// e^x for |x| <= 700, larger ones are taken as that.
pub inline fn exp(x: Wide) Wide {
    const limit: Wide = @splat(700);
    const bounded = @select(f64, x > limit, limit, @select(f64, x < -limit, -limit, x));
    const shifted = mulAdd(bounded, @as(Wide, @splat(std.math.log2e)), magic);
    const n = shifted - magic;
    const high = mulAdd(n, @as(Wide, @splat(-6.93145751953125e-1)), bounded);
    const r = mulAdd(n, @as(Wide, @splat(-1.42860682030941723212e-6)), high);
    // The Taylor series; its first missing term is below 2^-57 for |r| <= ln 2 / 2.
    const series = polynomial(r, &taylor);
    const exponent = @as(Bits, @bitCast(shifted)) +% @as(Bits, @splat(1023));
    return series * @as(Wide, @bitCast(exponent << @splat(52)));
}

/// The natural logarithm; NaN unless x is positive, normal and finite.
pub fn ln(x: f64) f64 {
    if (!(x >= std.math.floatMin(f64) and x <= std.math.floatMax(f64))) return std.math.nan(f64);
    const bits: u64 = @bitCast(x);
    // Split into 2^n and a factor next to 1: from sqrt(1/2) to sqrt(2).
    const shift = bits -% @as(u64, @bitCast(@as(f64, std.math.sqrt1_2)));
    const n: f64 = @floatFromInt(@as(i64, @bitCast(shift)) >> 52);
    const m: f64 = @bitCast(bits -% (shift & (0xfff << 52)));
    // ln m = 2 atanh s
    const s = (m - 1) / (m + 1);
    var series: f64 = 0;
    comptime var k = 23;
    inline while (k >= 1) : (k -= 2) series = series * s * s + 1.0 / @as(comptime_float, k);
    return n * std.math.ln2 + 2 * s * series;
}

const testing = std.testing;

test "sine and cosine of angles up to a million are within 1e-9" {
    var prng: std.Random.DefaultPrng = .init(1);
    const r = prng.random();
    for (0..2000) |_| {
        var x: [lanes]f64 = undefined;
        for (&x) |*value| {
            const most: f64 = if (r.boolean()) 1e6 else 10;
            value.* = (r.float(f64) - 0.5) * 2 * most;
        }
        const both = sinCos(x);
        const sine: [lanes]f64 = both.sin;
        const cosine: [lanes]f64 = both.cos;
        for (x, sine, cosine) |angle, s, c| {
            try testing.expectApproxEqAbs(@sin(angle), s, 1e-9);
            try testing.expectApproxEqAbs(@cos(angle), c, 1e-9);
        }
    }
}

test "ln and exp agree with the library within 4e-15" {
    var x: f64 = 1e-4;
    while (x < 1e9) : (x *= 1.37) {
        try testing.expectApproxEqRel(@log(x), ln(x), 4e-15);
        const back: [lanes]f64 = exp(@splat(ln(x)));
        try testing.expectApproxEqRel(x, back[0], 2e-14);
    }
    try testing.expect(std.math.isNan(ln(0)));
    try testing.expect(std.math.isNan(ln(-1)));
    try testing.expect(std.math.isNan(ln(std.math.inf(f64))));
}
