//! iq4_xs: 256 values out of sixteen unevenly spaced ones; groups of 32 have a 6-bit scale s.
//! value = d * (s - 32) * levels[q]

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const lookup = @import("lookup.zig");
const iq4 = @import("iq4.zig");

pub const dtype: DType = .iq4_xs;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Two upper bits of each scale, the first lowest.
    scales_high: u16 align(1),
    /// Four lower bits of each scale: the even ones in the lower, the odd ones in the upper halves.
    scales_low: [4]u8,
    /// Each group: sixteen bytes with two planes of sixteen values.
    q: [128]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    inline for (0..8) |i| {
        var numbers: [32]u8 = undefined;
        planes.unpack(4, 16, block.q[i * 16 ..][0..16], &numbers);
        inline for (0..2) |j| {
            out.q[i * 32 + j * 16 ..][0..16].* =
                lookup.sixteen(iq4.levels, numbers[j * 16 ..][0..16].*);
        }
        const low: i32 = block.scales_low[i / 2] >> (4 * (i % 2)) & 15;
        const high: i32 = block.scales_high >> (2 * i) & 3;
        out.scales[i] = d * @as(f32, @floatFromInt((low | high << 4) - 32));
    }
}
