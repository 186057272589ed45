//! q8_0: 32 values of 8 bits with one scale; value = d * q.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const layout = @import("../../dtype.zig").layout;
const half = @import("f16.zig");
const rounding = @import("rounding.zig");

pub const dtype: DType = .q8_0;
pub const len = 32;

pub const Block = extern struct {
    d: u16 align(1),
    q: [len]i8,
};

comptime {
    std.debug.assert(@sizeOf(Block) == layout(dtype).block_bytes);
    std.debug.assert(len == layout(dtype).block_len);
}

const V = @Vector(len, f32);

pub fn dequantizeRow(src: [*]const u8, dst: [*]f32, n: usize) void {
    const blocks: [*]const Block = @ptrCast(src);
    for (blocks[0 .. n / len], 0..) |*block, i| {
        const q: @Vector(len, i8) = block.q;
        const values = @as(V, @floatFromInt(q)) * @as(V, @splat(half.toFloat(block.d)));
        dst[i * len ..][0..len].* = values;
    }
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const blocks: [*]Block = @ptrCast(dst);
    for (blocks[0 .. n / len], 0..) |*block, i| {
        const x: V = src[i * len ..][0..len].*;
        const scaled = scale(x);
        block.d = half.fromFloat(scaled.d);
        block.q = scaled.q;
    }
}

/// The largest magnitude becomes 127; ties are rounded away from zero. q8_1 does the same.
pub fn scale(x: V) struct { d: f32, q: @Vector(len, i8) } {
    const d = @reduce(.Max, @abs(x)) / 127;
    const inverse = if (d != 0) 1 / d else 0;
    const q = rounding.roundAway(x * @as(V, @splat(inverse)));
    return .{ .d = d, .q = @truncate(q) };
}
