//! iq1_m: 256 values, eight to a grid point of -1, 0, 1 with a shift; groups of 16 have a 3-bit
//! scale s. value = d * (2 * s + 1) * (grid +- 1/8), unpacked in eighths.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const iq1_s = @import("iq1_s.zig");
const half = @import("f16.zig");

pub const dtype: DType = .iq1_m;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    /// The lower eight bits of each grid point.
    points: [32]u8,
    /// For each grid point the upper three bits and the shift's sign, the first lower.
    points_high: [16]u8,
    /// Four scales each, the first lowest; the upper four bits are a quarter of d, the first lowest.
    scales: [4]u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(scaleBits(block.scales));
    for (&out.scales, block.points_high, 0..) |*scale, high, i| {
        const s: u32 = block.scales[i / 4] >> @intCast(3 * (i % 4)) & 7;
        scale.* = d * @as(f32, @floatFromInt(2 * s + 1)) * 0.125;
        inline for (0..2) |j| {
            const upper: u16 = high >> (4 * j) & 15;
            const point = block.points[2 * i + j] | (upper & 7) << 8;
            out.q[i * 16 + j * 8 ..][0..8].* = iq1_s.eighths(point, upper > 7);
        }
    }
}

fn scaleBits(words: [4]u16) u16 {
    return words[0] >> 12 | (words[1] >> 12 << 4) | (words[2] >> 12 << 8) | (words[3] >> 12 << 12);
}
