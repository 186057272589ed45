//! The value of the largest magnitude in a block.

const std = @import("std");

/// The first value whose magnitude no other exceeds, with its sign; 0 when all are 0 or NaN.
pub fn signed(comptime n: usize, x: @Vector(n, f32)) f32 {
    const magnitudes = @abs(x);
    const largest = @reduce(.Max, magnitudes);
    if (!(largest > 0)) return 0;
    const Mask = std.meta.Int(.unsigned, n);
    const mask: Mask = @bitCast(magnitudes == @as(@Vector(n, f32), @splat(largest)));
    const values: [n]f32 = x;
    return values[@ctz(mask)];
}

test "the first of equal magnitudes wins, zeros and NaN give 0" {
    const nan = std.math.nan(f32);
    try std.testing.expectEqual(@as(f32, -3), signed(4, .{ 1, -3, 3, 2 }));
    try std.testing.expectEqual(@as(f32, 2), signed(4, .{ 1, nan, 2, -1 }));
    try std.testing.expectEqual(@as(f32, 0), signed(4, .{ 0, -0.0, 0, 0 }));
    try std.testing.expectEqual(@as(f32, 0), signed(4, .{ nan, nan, nan, nan }));
}
