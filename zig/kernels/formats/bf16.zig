//! Brain floats: the upper 16 bits of an f32.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;

pub const dtype: DType = .bf16;

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
    return @bitCast(@as(@Vector(n, u32), bits) << @splat(16));
}

/// Rounds to nearest, ties to even; a NaN keeps its upper bits and becomes quiet.
pub fn narrow(comptime n: usize, values: @Vector(n, f32)) @Vector(n, u16) {
    const Bits = @Vector(n, u32);
    const bits: Bits = @bitCast(values);
    const upper = bits >> @splat(16);
    const odd = upper & @as(Bits, @splat(1));
    const rounded = (bits +% @as(Bits, @splat(0x7fff)) +% odd) >> @splat(16);
    const quiet = upper | @as(Bits, @splat(0x40));
    return @truncate(@select(u32, values != values, quiet, rounded));
}

test "brain floats are rounded to nearest with ties to even and NaN stays NaN" {
    const cases = [_]struct { u32, u16 }{
        .{ 0x3f800000, 0x3f80 }, .{ 0x3f808000, 0x3f80 }, .{ 0x3f818000, 0x3f82 },
        .{ 0x3f808001, 0x3f81 }, .{ 0x7f7fffff, 0x7f80 }, .{ 0x80000001, 0x8000 },
        .{ 0xff800000, 0xff80 }, .{ 0x7f800001, 0x7fc0 }, .{ 0xffffffff, 0xffff },
    };
    for (cases) |case| {
        try std.testing.expectEqual(case[1], fromFloat(@bitCast(case[0])));
    }
    for (0..1 << 16) |i| {
        const bits: u16 = @intCast(i);
        const expected = if (bits & 0x7fff > 0x7f80) bits | 0x40 else bits;
        try std.testing.expectEqual(expected, fromFloat(toFloat(bits)));
    }
}
