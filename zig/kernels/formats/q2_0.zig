//! q2_0: 64 values out of -1, 0, 1, 2 with one scale; value = d * (q - 1).

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const rounding = @import("rounding.zig");

pub const dtype: DType = .q2_0;
pub const len = 64;
pub const group = 64;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Bits 2 * (j % 4) and above of byte j / 4 hold value j.
    q: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    for (block.q, 0..) |byte, i| {
        inline for (0..4) |j| out.q[4 * i + j] = @as(i8, @intCast(byte >> (2 * j) & 3)) - 1;
    }
    out.scales = .{half.toFloat(block.d)};
}

/// The largest magnitude becomes 1, so that 2 is never written.
pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const V = @Vector(len, f32);
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x: V = src[i * len ..][0..len].*;
        const d = @reduce(.Max, @abs(x));
        const inverse = if (d > 0) 1 / d else 0;
        block.d = half.fromFloat(d);
        const rounded = rounding.roundAway(x * @as(V, @splat(inverse)));
        const levels: [len]u8 = rounding.lowByte(rounding.clamp(rounded, -1, 2) +
            @as(@Vector(len, i32), @splat(1)));
        for (&block.q, 0..) |*byte, j| {
            byte.* = 0;
            inline for (0..4) |k| byte.* |= levels[4 * j + k] << (2 * k);
        }
    }
}
