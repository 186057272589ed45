//! The extreme values of a block. Of equal ones the first counts, as the sign of a zero may show.

const std = @import("std");

/// The first value whose magnitude no other exceeds, with its sign; 0 when all are 0 or NaN.
pub fn signed(comptime n: usize, x: @Vector(n, f32)) f32 {
    const magnitudes = @abs(x);
    const largest = @reduce(.Max, magnitudes);
    if (!(largest > 0)) return 0;
    return first(n, x, magnitudes == @as(@Vector(n, f32), @splat(largest)));
}

pub fn lowest(comptime n: usize, x: @Vector(n, f32)) f32 {
    return first(n, x, x == @as(@Vector(n, f32), @splat(@reduce(.Min, x))));
}

pub fn highest(comptime n: usize, x: @Vector(n, f32)) f32 {
    return first(n, x, x == @as(@Vector(n, f32), @splat(@reduce(.Max, x))));
}

fn first(comptime n: usize, x: @Vector(n, f32), marked: @Vector(n, bool)) f32 {
    const mask: std.meta.Int(.unsigned, n) = @bitCast(marked);
    const values: [n]f32 = x;
    return if (mask == 0) 0 else values[@ctz(mask)];
}

test "the first of equal magnitudes wins, zeros and NaN give 0" {
    const nan = std.math.nan(f32);
    try std.testing.expectEqual(@as(f32, -3), signed(4, .{ 1, -3, 3, 2 }));
    try std.testing.expectEqual(@as(f32, 2), signed(4, .{ 1, nan, 2, -1 }));
    try std.testing.expectEqual(@as(f32, 0), signed(4, .{ 0, -0.0, 0, 0 }));
    try std.testing.expectEqual(@as(f32, 0), signed(4, .{ nan, nan, nan, nan }));
    try std.testing.expectEqual(@as(f32, -1), lowest(4, .{ 3, nan, -1, 2 }));
    try std.testing.expectEqual(@as(f32, 3), highest(4, .{ 3, nan, -1, 2 }));
    const zero: u32 = @bitCast(lowest(4, .{ 1, -0.0, 0, 2 }));
    try std.testing.expectEqual(@as(u32, 0x80000000), zero);
}
