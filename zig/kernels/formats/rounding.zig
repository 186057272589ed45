//! Float to integer conversions that are defined for every input, with the results that the
//! reference's C code has on x86-64 wherever that code is defined.

const std = @import("std");

/// The nearest integer, ties to even, as the mantissa of x + 1.5 * 2^23 holds it: exact for
/// |x| < 2^22, and some number of the same 23 bits for all else.
pub fn nearest(x: anytype) Like(@TypeOf(x), i32) {
    const Float = @TypeOf(x);
    const shifted: Like(Float, i32) = @bitCast(x + fill(Float, 12582912.0));
    const Int = @TypeOf(shifted);
    return (shifted & fill(Int, 0x007fffff)) -% fill(Int, 0x00400000);
}

/// `nearest`, then held inside [low, high].
pub fn nearestIn(x: anytype, low: i32, high: i32) Like(@TypeOf(x), i32) {
    return clamp(nearest(x), low, high);
}

pub fn clamp(x: anytype, low: i32, high: i32) @TypeOf(x) {
    return @max(fill(@TypeOf(x), low), @min(fill(@TypeOf(x), high), x));
}

/// Towards zero; the smallest i32 for NaN and for all outside the range of i32, as the
/// processor's conversion gives it. Its lowest byte is 0.
pub fn truncate(x: anytype) Like(@TypeOf(x), i32) {
    const Float = @TypeOf(x);
    const inside = @abs(x) < fill(Float, 2147483648.0);
    const least = fill(Float, -2147483648.0);
    if (@typeInfo(Float) != .vector) return @intFromFloat(if (inside) x else least);
    return @intFromFloat(@select(f32, inside, x, least));
}

/// Ties away from zero; the smallest i32 for NaN and for all outside the range of i32.
pub fn roundAway(x: anytype) Like(@TypeOf(x), i32) {
    return truncate(@round(x));
}

/// The lowest byte, which is what a conversion to an 8-bit type leaves in C.
pub fn lowByte(x: anytype) Like(@TypeOf(x), u8) {
    return @truncate(@as(Like(@TypeOf(x), u32), @bitCast(x)));
}

/// `Element`, or a vector of it when `Model` is a vector.
pub fn Like(comptime Model: type, comptime Element: type) type {
    return switch (@typeInfo(Model)) {
        .vector => |v| @Vector(v.len, Element),
        else => Element,
    };
}

/// `value` in every lane of `T`.
pub fn fill(comptime T: type, value: anytype) T {
    return if (@typeInfo(T) == .vector) @splat(value) else value;
}

test "nearest rounds ties to even and every float gives some integer" {
    const V = @Vector(4, f32);
    const ties: V = .{ 0.5, 1.5, -2.5, -3.5 };
    try std.testing.expectEqual(@Vector(4, i32){ 0, 2, -2, -4 }, nearest(ties));
    try std.testing.expectEqual(@as(i32, -4), nearest(@as(f32, -3.5)));
    try std.testing.expectEqual(@as(i32, 7), nearestIn(@as(f32, 9), -8, 7));
    for ([_]f32{ std.math.inf(f32), -std.math.inf(f32), std.math.nan(f32), 3e38 }) |x| {
        try std.testing.expect(nearest(x) >= -0x400000);
        try std.testing.expect(nearest(x) < 0x400000);
    }
}

test "rounding away and truncating give the least integer where none can hold the float" {
    try std.testing.expectEqual(@as(i32, 3), roundAway(@as(f32, 2.5)));
    try std.testing.expectEqual(@as(i32, -3), roundAway(@as(f32, -2.5)));
    try std.testing.expectEqual(@as(i32, 0), roundAway(@as(f32, 0.49999997)));
    try std.testing.expectEqual(@as(i32, -2), truncate(@as(f32, -2.9)));
    for ([_]f32{ std.math.inf(f32), std.math.nan(f32), 2147483648.0, -3e38 }) |x| {
        try std.testing.expectEqual(std.math.minInt(i32), truncate(x));
        try std.testing.expectEqual(0, lowByte(truncate(x)));
    }
}
