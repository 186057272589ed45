//! The extreme values of a block. Of equal ones the first counts, as the sign of a zero may show.

const std = @import("std");

/// The first value whose magnitude no other exceeds, with its sign; 0 when all are 0 or NaN.
pub fn signed(comptime n: usize, x: @Vector(n, f32)) f32 {
    const magnitudes = @abs(x);
    const largest = @reduce(.Max, magnitudes);
    if (!(largest > 0)) return 0;
    return first(n, x, magnitudes == @as(@Vector(n, f32), @splat(largest)));
}

/// `signed` of any multiple of 16 values.
pub fn signedOf(x: []const f32) f32 {
    var found: f32 = 0;
    var i: usize = 0;
    while (i < x.len) : (i += 16) {
        const here = signed(16, x[i..][0..16].*);
        if (@abs(here) > @abs(found)) found = here;
    }
    return found;
}

/// The largest magnitude of any multiple of 16 values; NaN counts as nothing.
pub fn magnitude(x: []const f32) f32 {
    var largest: @Vector(16, f32) = @splat(0);
    var i: usize = 0;
    while (i < x.len) : (i += 16) {
        largest = @max(largest, @abs(@as(@Vector(16, f32), x[i..][0..16].*)));
    }
    return @reduce(.Max, largest);
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
    var many: [48]f32 = @splat(1);
    many[40] = -2;
    many[47] = 2;
    try std.testing.expectEqual(@as(f32, -2), signedOf(&many));
    try std.testing.expectEqual(@as(f32, 2), magnitude(&many));
    const zero: u32 = @bitCast(lowest(4, .{ 1, -0.0, 0, 2 }));
    try std.testing.expectEqual(@as(u32, 0x80000000), zero);
}
