//! iq3_s: 256 values, four to a grid point, with a sign bit each; groups of 32 have a 4-bit scale s.
//! value = d * (2 * s + 1) * sign * grid

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");
const iq_signs = @import("iq_signs.zig");

pub const dtype: DType = .iq3_s;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// The lower eight bits of each grid point.
    points: [64]u8,
    /// The ninth bits of eight grid points each, the first lowest.
    points_high: [8]u8,
    signs: [32]u8,
    /// The even groups' in the lower, the odd ones' in the upper halves.
    scales: [4]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    for (&out.scales, 0..) |*scale, i| {
        const s: u32 = block.scales[i / 2] >> @intCast(4 * (i % 2)) & 15;
        scale.* = d * @as(f32, @floatFromInt(2 * s + 1));
        var magnitudes: [32]i8 = undefined;
        for (block.points[i * 8 ..][0..8], 0..) |low, j| {
            const high: u16 = block.points_high[i] >> @intCast(j) & 1;
            magnitudes[j * 4 ..][0..4].* = grids.iq3_s.values[low | high << 8];
        }
        const signs: u32 = @bitCast(block.signs[i * 4 ..][0..4].*);
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, signs);
    }
}
