//! IEEE 754 half precision: 1 sign, 5 exponent and 10 mantissa bits.

const std = @import("std");
const builtin = @import("builtin");
const DType = @import("../../dtype.zig").DType;

pub const dtype: DType = .f16;

/// Whether the processor converts, so that the compiler does not call a library function.
const in_hardware = switch (builtin.cpu.arch) {
    .x86_64 => builtin.cpu.has(.x86, .f16c),
    .aarch64 => true,
    else => false,
};

/// Values handled at once.
const lanes = 16;

pub fn dequantizeRow(src: [*]const u8, dst: [*]f32, n: usize) void {
    const values: [*]align(1) const u16 = @ptrCast(src);
    var i: usize = 0;
    while (i + lanes <= n) : (i += lanes) {
        dst[i..][0..lanes].* = widen(lanes, values[i..][0..lanes].*);
    }
    while (i < n) : (i += 1) dst[i] = toFloat(values[i]);
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const values: [*]align(1) u16 = @ptrCast(dst);
    var i: usize = 0;
    while (i + lanes <= n) : (i += lanes) {
        values[i..][0..lanes].* = narrow(lanes, src[i..][0..lanes].*);
    }
    while (i < n) : (i += 1) values[i] = fromFloat(src[i]);
}

pub fn toFloat(bits: u16) f32 {
    return widen(1, .{bits})[0];
}

pub fn fromFloat(value: f32) u16 {
    return narrow(1, .{value})[0];
}

pub fn widen(comptime n: usize, bits: @Vector(n, u16)) @Vector(n, f32) {
    if (in_hardware) return @floatCast(@as(@Vector(n, f16), @bitCast(bits)));
    return widenInSoftware(n, bits);
}

/// Rounds to nearest, ties to even; every NaN becomes the quiet one of its sign.
pub fn narrow(comptime n: usize, values: @Vector(n, f32)) @Vector(n, u16) {
    if (!in_hardware) return narrowInSoftware(n, values);
    const halves: @Vector(n, u16) = @bitCast(@as(@Vector(n, f16), @floatCast(values)));
    const quiet = (halves & splat(n, u16, 0x8000)) | splat(n, u16, 0x7e00);
    return @select(u16, values != values, quiet, halves);
}

/// Moves the exponent by 112 with a multiplication, which is exact and normalises subnormals.
fn widenInSoftware(comptime n: usize, bits: @Vector(n, u16)) @Vector(n, f32) {
    const wide: @Vector(n, u32) = bits;
    const magnitude = wide & splat(n, u32, 0x7fff);
    const in_place = magnitude << @splat(13);
    const scaled = @as(@Vector(n, f32), @bitCast(in_place)) * splat(n, f32, 0x1p112);
    const quiet = @select(
        u32,
        magnitude > splat(n, u32, 0x7c00),
        splat(n, u32, 0x7fc00000),
        splat(n, u32, 0x7f800000),
    );
    const special = magnitude >= splat(n, u32, 0x7c00);
    const normal: @Vector(n, u32) = @bitCast(scaled);
    const absolute = @select(u32, special, in_place | quiet, normal);
    return @bitCast(absolute | ((wide & splat(n, u32, 0x8000)) << @splat(16)));
}

fn narrowInSoftware(comptime n: usize, values: @Vector(n, f32)) @Vector(n, u16) {
    const bits: @Vector(n, u32) = @bitCast(values);
    const magnitude = bits & splat(n, u32, 0x7fffffff);
    const absolute: @Vector(n, f32) = @bitCast(magnitude);
    // An odd last kept bit rounds a tie up; a carry runs on into the exponent as it should.
    const odd = (magnitude >> @splat(13)) & splat(n, u32, 1);
    const rounded = (magnitude +% splat(n, u32, 0xfff) +% odd) >> @splat(13);
    const normal = rounded -% splat(n, u32, 112 << 10);
    // One unit in the last place of 0.5 is the smallest subnormal, 2^-24.
    const aligned: @Vector(n, u32) = @bitCast(absolute + splat(n, f32, 0.5));
    const subnormal = aligned -% splat(n, u32, @bitCast(@as(f32, 0.5)));
    var half = @select(u32, absolute < splat(n, f32, 0x1p-14), subnormal, normal);
    half = @select(u32, absolute >= splat(n, f32, 65520), splat(n, u32, 0x7c00), half);
    half = @select(u32, values != values, splat(n, u32, 0x7e00), half);
    return @truncate(half | ((bits >> @splat(16)) & splat(n, u32, 0x8000)));
}

fn splat(comptime n: usize, comptime T: type, value: T) @Vector(n, T) {
    return @splat(value);
}

test "every half survives the way to f32 and back, NaN as the quiet one" {
    for (0..1 << 16) |i| {
        const bits: u16 = @intCast(i);
        const expected = if (bits & 0x7fff > 0x7c00) (bits & 0x8000) | 0x7e00 else bits;
        try std.testing.expectEqual(expected, fromFloat(toFloat(bits)));
        const software = widenInSoftware(1, .{bits});
        const expected_bits: u32 = @bitCast(toFloat(bits));
        try std.testing.expectEqual(expected_bits, @as(u32, @bitCast(software[0])));
        try std.testing.expectEqual(expected, narrowInSoftware(1, software)[0]);
    }
}

test "halves are rounded to nearest with ties to even, by the processor and in software" {
    const cases = [_]struct { f32, u16 }{
        .{ 1.0, 0x3c00 },               .{ -1.0, 0xbc00 },
        .{ 1.00048828125, 0x3c00 },     .{ 1.00146484375, 0x3c02 },
        .{ 65519.996, 0x7bff },         .{ 65520.0, 0x7c00 },
        .{ 0x1p-25, 0x0000 },           .{ 0x1.8p-24, 0x0002 },
        .{ 0x1.000002p-25, 0x0001 },    .{ 0x1.ffep-15, 0x0400 },
        .{ 0x1p-149, 0x0000 },          .{ -0.0, 0x8000 },
        .{ std.math.inf(f32), 0x7c00 }, .{ -3e38, 0xfc00 },
    };
    for (cases) |case| {
        try std.testing.expectEqual(case[1], fromFloat(case[0]));
        try std.testing.expectEqual(case[1], narrowInSoftware(1, .{case[0]})[0]);
    }
}
