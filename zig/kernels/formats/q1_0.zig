//! q1_0: 128 signs with one scale; value = d where the bit is set, -d elsewhere.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");

pub const dtype: DType = .q1_0;
pub const len = 128;
pub const group = 128;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Bit j % 8 of byte j / 8 belongs to value j.
    bits: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const set: @Vector(len, bool) = @bitCast(@as(u128, @bitCast(block.bits)));
    const plus: @Vector(len, i8) = @splat(1);
    out.q = @select(i8, set, plus, -%plus);
    out.scales = .{half.toFloat(block.d)};
}

/// The scale is the mean magnitude, summed in order.
pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var sum: f32 = 0;
        for (x) |value| sum += @abs(value);
        block.d = half.fromFloat(sum / len);
        const zero: @Vector(len, f32) = @splat(0);
        const mask: u128 = @bitCast(@as(@Vector(len, f32), x.*) >= zero);
        block.bits = @bitCast(mask);
    }
}
