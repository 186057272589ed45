//! mxfp4: 32 values of 4-bit floats with one power of two (Open Compute Project, Microscaling
//! Formats v1.0, 2023); value = 2^(e - 127) * float, unpacked as half of one and twice the other.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const fp4 = @import("fp4.zig");
const lookup = @import("lookup.zig");
const planes = @import("planes.zig");

pub const dtype: DType = .mxfp4;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    e: u8,
    /// Byte j holds value j in its lower and value j + 16 in its upper half.
    q: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    planes.unpack(4, 16, &block.q, &numbers);
    out.q = lookup.sixteen(len, fp4.doubled, numbers);
    out.scales = .{halfScale(block.e)};
}

/// 2^(e - 128). 255 would be NaN by the specification, but the reference reads a number.
fn halfScale(e: u8) f32 {
    // 2^-128 and 2^-127 are subnormal.
    const bits = if (e < 2) @as(u32, 0x00200000) << @intCast(e) else @as(u32, e - 1) << 23;
    return @bitCast(bits);
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x: @Vector(len, f32) = src[i * len ..][0..len].*;
        const largest = @reduce(.Max, @abs(x));
        // The largest number is 6, whose exponent is 2. Exponents below -125 wrap around, as they
        // do in the reference.
        const e = if (largest > 0) floorLog2(largest) - 2 + 127 else 0;
        block.e = @truncate(@as(u32, @bitCast(e)));
        planes.pack(4, 16, &fp4.nearest(len, x, halfScale(block.e)), &block.q);
    }
}

/// floor(log2(x)) for x > 0, with the logarithm rounded to f32 first: just below a power of two
/// that may be the power.
fn floorLog2(x: f32) i32 {
    if (!std.math.isFinite(x)) return 128;
    const parts = std.math.frexp(x); // x = significand * 2^exponent, significand in [0.5, 1)
    const exponent: f64 = @floatFromInt(parts.exponent);
    const gap = (1 - @as(f64, parts.significand)) * std.math.log2e;
    const logarithm: f32 = @floatCast(exponent - gap);
    return if (logarithm == exponent) parts.exponent else parts.exponent - 1;
}

test "the exponent is that of a logarithm rounded to f32" {
    try std.testing.expectEqual(2, floorLog2(4));
    try std.testing.expectEqual(1, floorLog2(0x1.fffffep1)); // log2 is a float below 2
    try std.testing.expectEqual(4, floorLog2(0x1.fffffep3)); // log2 is 4 as a float
    try std.testing.expectEqual(-1, floorLog2(0x1.fffffep-1));
    try std.testing.expectEqual(-149, floorLog2(0x1p-149));
}
