//! iq3_xxs: 256 values, four to a grid point, with 7-bit signs of eight values; groups of 32 have a
//! 4-bit scale s. value = d * (s + 1/2) / 2 * sign * grid

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");
const iq_signs = @import("iq_signs.zig");

pub const dtype: DType = .iq3_xxs;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    points: [64]u8,
    /// For each group four times seven bits of signs, then four bits of scale.
    signs_and_scales: [8]u32 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    for (block.signs_and_scales, &out.scales, 0..) |code, *scale, i| {
        scale.* = d * (0.5 + @as(f32, @floatFromInt(code >> 28))) * 0.5;
        var magnitudes: [32]i8 = undefined;
        for (block.points[i * 8 ..][0..8], 0..) |point, j| {
            magnitudes[j * 4 ..][0..4].* = grids.iq3_xxs.values[point];
        }
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, iq_signs.expand(code));
    }
}
