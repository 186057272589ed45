//! q4_0: 32 values of 4 bits with one scale; value = d * (q - 8).

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const layout = @import("../../dtype.zig").layout;
const half = @import("f16.zig");
const rounding = @import("rounding.zig");
const extreme = @import("extreme.zig");
const nibbles = @import("nibbles.zig");

pub const dtype: DType = .q4_0;
pub const len = 32;

pub const Block = extern struct {
    d: u16 align(1),
    /// Byte j holds value j in its lower and value j + 16 in its upper half.
    q: [len / 2]u8,
};

comptime {
    std.debug.assert(@sizeOf(Block) == layout(dtype).block_bytes);
    std.debug.assert(len == layout(dtype).block_len);
}

const V = @Vector(len, f32);

pub fn dequantizeRow(src: [*]const u8, dst: [*]f32, n: usize) void {
    const blocks: [*]const Block = @ptrCast(src);
    for (blocks[0 .. n / len], 0..) |*block, i| {
        const raw: @Vector(len, i8) = @intCast(nibbles.unpack(len / 2, block.q));
        const q = raw - @as(@Vector(len, i8), @splat(8));
        dst[i * len ..][0..len].* =
            @as(V, @floatFromInt(q)) * @as(V, @splat(half.toFloat(block.d)));
    }
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const blocks: [*]Block = @ptrCast(dst);
    for (blocks[0 .. n / len], 0..) |*block, i| {
        const x: V = src[i * len ..][0..len].*;
        const d = extreme.signed(len, x) / -8;
        const inverse = if (d != 0) 1 / d else 0;
        block.d = half.fromFloat(d);
        const q = rounding.truncate(x * @as(V, @splat(inverse)) + @as(V, @splat(8.5)));
        block.q = nibbles.pack(len / 2, @intCast(rounding.clamp(q, 0, 15)));
    }
}
