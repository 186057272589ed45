//! Small numbers packed in planes: of `bytes` bytes, all lowest bits hold the first `bytes`
//! numbers, the next bits the numbers after those, and so on.

const std = @import("std");

/// Numbers of `bits` bits in `bytes` bytes.
pub fn count(comptime bits: usize, comptime bytes: usize) usize {
    return bytes * (8 / bits);
}

pub fn unpack(
    comptime bits: usize,
    comptime bytes: usize,
    src: *const [bytes]u8,
    dst: *[count(bits, bytes)]u8,
) void {
    const V = @Vector(bytes, u8);
    const all: V = src.*;
    const mask: V = @splat((1 << bits) - 1);
    inline for (0..8 / bits) |plane| {
        dst[plane * bytes ..][0..bytes].* = (all >> @splat(plane * bits)) & mask;
    }
}

/// The inverse of `unpack`; bits above the lowest `bits` are dropped.
pub fn pack(
    comptime bits: usize,
    comptime bytes: usize,
    src: *const [count(bits, bytes)]u8,
    dst: *[bytes]u8,
) void {
    const V = @Vector(bytes, u8);
    const mask: V = @splat((1 << bits) - 1);
    var all: V = @splat(0);
    inline for (0..8 / bits) |plane| {
        const numbers: V = src[plane * bytes ..][0..bytes].*;
        all |= (numbers & mask) << @splat(plane * bits);
    }
    dst.* = all;
}

/// Puts `upper` above the lowest `shift` bits of each number.
pub fn merge(
    comptime n: usize,
    comptime shift: u3,
    numbers: *[n]u8,
    upper: *const [n]u8,
) void {
    const V = @Vector(32, u8);
    for (0..n / 32) |i| {
        const low: V = numbers[i * 32 ..][0..32].*;
        const high: V = upper[i * 32 ..][0..32].*;
        numbers[i * 32 ..][0..32].* = low | (high << @splat(shift));
    }
}

/// What lies above the lowest `shift` bits of each number.
pub fn above(comptime n: usize, comptime shift: u3, numbers: *const [n]u8, upper: *[n]u8) void {
    const V = @Vector(32, u8);
    for (0..n / 32) |i| {
        upper[i * 32 ..][0..32].* = @as(V, numbers[i * 32 ..][0..32].*) >> @splat(shift);
    }
}

test "numbers of 1, 2 and 4 bits are found plane by plane, and packing undoes unpacking" {
    const bytes = [_]u8{ 0x1b, 0xe4 };
    var fours: [4]u8 = undefined;
    unpack(4, 2, &bytes, &fours);
    try std.testing.expectEqual([_]u8{ 0xb, 0x4, 0x1, 0xe }, fours);
    var twos: [8]u8 = undefined;
    unpack(2, 2, &bytes, &twos);
    try std.testing.expectEqual([_]u8{ 3, 0, 2, 1, 1, 2, 0, 3 }, twos);
    var ones: [16]u8 = undefined;
    unpack(1, 2, &bytes, &ones);
    try std.testing.expectEqual([_]u8{ 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1 }, ones);
    var numbers: [64]u8 = @splat(5);
    merge(64, 4, &numbers, &@as([64]u8, @splat(3)));
    try std.testing.expectEqual([1]u8{0x35} ** 64, numbers);
    above(64, 4, &numbers, &numbers);
    try std.testing.expectEqual([1]u8{3} ** 64, numbers);
    var back: [2]u8 = undefined;
    inline for (.{ .{ 4, &fours }, .{ 2, &twos }, .{ 1, &ones } }) |case| {
        pack(case[0], 2, case[1], &back);
        try std.testing.expectEqual(bytes, back);
    }
}
