//! iq2_s: 256 values, eight to a grid point, with a sign bit each; groups of 16 have a 4-bit scale s.
//! value = d * (s + 1/2) / 4 * sign * grid

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");
const iq2_xs = @import("iq2_xs.zig");
const iq_signs = @import("iq_signs.zig");

pub const dtype: DType = .iq2_s;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// The lower eight bits of each grid point.
    points: [32]u8,
    signs: [32]u8,
    /// The upper two bits of four grid points each, the first lowest.
    points_high: [8]u8,
    /// Laid out as in iq2_xs.
    scales: [8]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    for (block.points, block.signs, 0..) |low, signs, i| {
        const high: u16 = block.points_high[i / 4] >> @intCast(2 * (i % 4)) & 3;
        const magnitudes = grids.iq2_s.values[low | high << 8];
        out.q[i * 8 ..][0..8].* = iq_signs.apply(8, magnitudes, signs);
    }
    iq2_xs.unpackScales(half.toFloat(block.d), block.scales, &out.scales);
}
