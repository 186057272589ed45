//! What all quantized formats have in common. Every format can be unpacked into small integers:
//!
//!   value[i] = scale[i / group] * q[i] - min[i / group]
//!
//! with q an i8; formats without `has_mins` have no second term. A format's file declares
//!
//!   dtype, len          values in a block
//!   group               values that share a scale
//!   has_mins
//!   Block               the bytes of a block, of alignment 1
//!   unpack(*const Block, *Unpacked(format)) void
//!
//! and both `dequantizeRow` and the dot products follow from them.

const std = @import("std");
const assert = std.debug.assert;
const layout = @import("../../dtype.zig").layout;

/// One block as integers with their scales.
pub fn Unpacked(comptime format: type) type {
    return struct {
        q: [format.len]i8 align(64),
        scales: [format.len / format.group]f32,
        mins: if (format.has_mins) [format.len / format.group]f32 else void,
    };
}

/// `dequantizeRow` of a format: one multiplication and at most one subtraction a value, in this
/// order, so that the result is bit-exact.
pub fn dequantizer(comptime format: type) fn ([*]const u8, [*]f32, usize) void {
    return struct {
        fn dequantizeRow(src: [*]const u8, dst: [*]f32, n: usize) void {
            const lanes = @min(format.group, 32);
            const V = @Vector(lanes, f32);
            const blocks: [*]const format.Block = @ptrCast(src);
            var unpacked: Unpacked(format) = undefined;
            for (blocks[0 .. n / format.len], 0..) |*block, i| {
                format.unpack(block, &unpacked);
                const out = dst[i * format.len ..][0..format.len];
                for (0..format.len / lanes) |j| {
                    const q: @Vector(lanes, i8) = unpacked.q[j * lanes ..][0..lanes].*;
                    const g = j * lanes / format.group;
                    var values = @as(V, @floatFromInt(q)) * @as(V, @splat(unpacked.scales[g]));
                    if (format.has_mins) values -= @as(V, @splat(unpacked.mins[g]));
                    out[j * lanes ..][0..lanes].* = values;
                }
            }
        }
    }.dequantizeRow;
}

/// Adds `shift` to each of `n` small numbers.
pub fn shifted(comptime n: usize, numbers: *const [n]u8, shift: i8, out: *[n]i8) void {
    const lanes = @min(n, 64);
    const V = @Vector(lanes, i8);
    inline for (0..n / lanes) |i| {
        const raw: V = @bitCast(numbers[i * lanes ..][0..lanes].*);
        out[i * lanes ..][0..lanes].* = raw +% @as(V, @splat(shift));
    }
}

/// Proves at compile time that a format's block is the one of the dtype table.
pub fn check(comptime format: type) void {
    const expected = layout(format.dtype);
    assert(@sizeOf(format.Block) == expected.block_bytes);
    assert(@alignOf(format.Block) == 1);
    assert(format.len == expected.block_len);
    assert(format.len % format.group == 0);
}
