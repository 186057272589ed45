//! q8_0: 32 values of 8 bits with one scale; value = d * q.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const rounding = @import("rounding.zig");

pub const dtype: DType = .q8_0;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    q: [len]i8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    out.q = block.q;
    out.scales = .{half.toFloat(block.d)};
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const scaled = scale(src[i * len ..][0..len].*);
        block.d = half.fromFloat(scaled.d);
        block.q = scaled.q;
    }
}

const Scaled = struct { d: f32, q: @Vector(len, i8) };

/// The largest magnitude becomes 127, ties are rounded away from zero; q8_1 does the same.
pub fn scale(x: @Vector(len, f32)) Scaled {
    const d = @reduce(.Max, @abs(x)) / 127;
    const inverse = if (d != 0) 1 / d else 0;
    const q = rounding.roundAway(x * @as(@Vector(len, f32), @splat(inverse)));
    return .{ .d = d, .q = @bitCast(rounding.lowByte(q)) };
}
