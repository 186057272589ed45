//! Signs of the iq formats: a bit for each value, set where it is negative.
//!
//! Formats with seven bits for eight values leave the eighth out: it makes their number even.

const std = @import("std");

/// All eight bits of seven.
pub fn eighth(seven: u7) u8 {
    const parity: u8 = @popCount(seven) & 1;
    return seven | parity << 7;
}

/// The signs of 32 values from four times seven bits, the first lowest; four bits are left over.
pub fn expand(code: u32) u32 {
    var signs: u32 = 0;
    inline for (0..4) |i| {
        const byte = eighth(@truncate(code >> (7 * i)));
        signs |= @as(u32, byte) << (8 * i);
    }
    return signs;
}

/// The inverse of `expand`: the eighth bits are dropped.
pub fn compress(signs: [4]u8) u32 {
    var code: u32 = 0;
    inline for (signs, 0..) |byte, i| code |= @as(u32, byte & 127) << (7 * i);
    return code;
}

pub fn apply(
    comptime n: usize,
    magnitudes: @Vector(n, i8),
    signs: std.meta.Int(.unsigned, n),
) @Vector(n, i8) {
    const negative: @Vector(n, bool) = @bitCast(signs);
    return @select(i8, negative, -%magnitudes, magnitudes);
}

test "the number of signs is even" {
    for (0..128) |seven| {
        const all = eighth(@intCast(seven));
        try std.testing.expectEqual(0, @popCount(all) % 2);
        try std.testing.expectEqual(seven, all & 127);
    }
    try std.testing.expectEqual(0x0381_00ff, expand(0x7f | 0x1 << 14 | 0x3 << 21 | 0xf << 28));
    try std.testing.expectEqual(0x0123_4567, compress(@bitCast(expand(0x0123_4567))));
    const signed: [4]i8 = apply(4, .{ 1, 2, 3, 0 }, 0b1010);
    try std.testing.expectEqual([_]i8{ 1, -2, 3, 0 }, signed);
}
