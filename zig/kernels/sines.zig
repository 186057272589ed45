//! Sine and cosine of any f32, to f32 accuracy.

const std = @import("std");
const angles = @import("angles.zig");
const vector = @import("vector.zig");
const V = vector.V;
const lanes = vector.lanes;

/// Up to here angles.sinCos reduces its argument itself.
const reducible = 0x1p30;

pub inline fn sin(x: V) V {
    return @floatCast(sinCos(x).sin);
}

pub inline fn cos(x: V) V {
    return @floatCast(sinCos(x).cos);
}

fn sinCos(x: V) angles.SinCos {
    if (@reduce(.Or, @abs(x) >= vector.splat(reducible))) {
        var reduced: [lanes]f64 = undefined;
        const values: [lanes]f32 = x;
        for (&reduced, values) |*angle, value| angle.* = reduce(value);
        return angles.sinCos(reduced);
    }
    return angles.sinCos(x);
}

/// The first 256 bits of 2 / pi.
const two_over_pi: u256 = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561;

/// An angle of at most pi that differs from x by whole turns (Payne and Hanek 1983): the binary
/// digits of x * 2 / pi that count no whole turns are computed exactly.
fn reduce(x: f32) f64 {
    const bits: u32 = @bitCast(x);
    const exponent: i32 = @as(i32, @intCast(bits >> 23 & 0xff)) - 150;
    if (exponent < 0 or @abs(x) < reducible) return x;
    if (exponent == 105) return std.math.nan(f64);
    const mantissa: u320 = bits & 0x7fffff | 0x800000;
    // Quarter turns in units of 2^-256, of which 4 * 2^256 are a whole turn.
    const quarters = mantissa * two_over_pi << @intCast(exponent);
    const turn: u258 = @truncate(quarters);
    const signed: i64 = @bitCast(@as(u64, @truncate(turn >> 194)));
    const angle = @as(f64, @floatFromInt(signed)) * (0x1p-62 * std.math.pi / 2.0);
    return if (x < 0) -angle else angle;
}

test "sine and cosine of small, large and infinite f32" {
    var x: f32 = 1e-30;
    while (x < std.math.inf(f32)) : (x *= 1.7) {
        for ([_]f32{ x, -x }) |value| {
            const wide: f64 = value;
            const v = vector.splat(value);
            try std.testing.expectApproxEqAbs(@sin(wide), sin(v)[0], 1e-7);
            try std.testing.expectApproxEqAbs(@cos(wide), cos(v)[0], 1e-7);
        }
    }
    const largest = std.math.floatMax(f32); // Against 300 digits of pi.
    try std.testing.expectApproxEqAbs(-0.5218765233336585, sin(vector.splat(largest))[0], 1e-7);
    const inf = std.math.inf(f32);
    try std.testing.expect(std.math.isNan(sin(vector.splat(inf))[0]));
    try std.testing.expect(std.math.isNan(cos(vector.splat(-inf))[0]));
    try std.testing.expect(std.math.isNan(cos(vector.splat(std.math.nan(f32)))[0]));
}
