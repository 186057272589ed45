//! Two 4-bit numbers a byte: the lower halves come first, then the upper ones.

const std = @import("std");

/// Values j of the first half from the lower, of the second from the upper half of byte j.
pub fn unpack(comptime bytes: usize, packed_bytes: [bytes]u8) @Vector(2 * bytes, u8) {
    const pairs: @Vector(bytes, u8) = packed_bytes;
    const low = pairs & @as(@Vector(bytes, u8), @splat(15));
    return std.simd.join(low, pairs >> @splat(4));
}

/// The inverse of `unpack`; numbers must be below 16.
pub fn pack(comptime bytes: usize, numbers: @Vector(2 * bytes, u8)) [bytes]u8 {
    const low = std.simd.extract(numbers, 0, bytes);
    const high = std.simd.extract(numbers, bytes, bytes);
    return low | (high << @splat(4));
}

test "packing undoes unpacking" {
    const bytes = [_]u8{ 0x10, 0x32, 0xfe, 0x00 };
    const numbers = unpack(4, bytes);
    try std.testing.expectEqual([_]u8{ 0, 2, 14, 0, 1, 3, 15, 0 }, @as([8]u8, numbers));
    try std.testing.expectEqual(bytes, pack(4, numbers));
}
