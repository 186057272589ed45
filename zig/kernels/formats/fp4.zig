//! The 4-bit floats of mxfp4 and nvfp4: a sign, two exponent bits and one mantissa bit.

const std = @import("std");

/// Twice each number, which makes them integers; minus zero is zero.
pub const doubled = [16]i8{ 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/// For each value the code whose number times `scale` is nearest, of equally near ones the first.
pub fn nearest(comptime n: usize, x: @Vector(n, f32), scale: f32) [n]u8 {
    const V = @Vector(n, f32);
    var codes: @Vector(n, u8) = @splat(0);
    var best = @abs(@as(V, @splat(doubled[0] * scale)) - x);
    inline for (doubled[1..], 1..) |number, code| {
        const distance = @abs(@as(V, @splat(number * scale)) - x);
        const nearer = distance < best;
        best = @select(f32, nearer, distance, best);
        codes = @select(u8, nearer, @as(@Vector(n, u8), @splat(code)), codes);
    }
    return codes;
}

test "the nearest number is found, the smaller code on a tie" {
    const x: @Vector(8, f32) = .{ 0, -0.1, 2.5, 5, -100, 7, 10, -1.5 };
    try std.testing.expectEqual([8]u8{ 0, 0, 2, 4, 15, 5, 6, 9 }, nearest(8, x, 1));
}
