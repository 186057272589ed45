//! iq2_xs: 256 values, eight to a grid point, with 7-bit signs; groups of 16 have a 4-bit scale s.
//! value = d * (s + 1/2) / 4 * sign * grid

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");
const iq_signs = @import("iq_signs.zig");

pub const dtype: DType = .iq2_xs;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Nine bits of grid point, then seven bits of signs.
    points_and_signs: [32]u16 align(1),
    /// The even groups' in the lower, the odd ones' in the upper halves.
    scales: [8]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    for (block.points_and_signs, 0..) |code, i| {
        const signs = iq_signs.eighth(@truncate(code >> 9));
        out.q[i * 8 ..][0..8].* = iq_signs.apply(8, grids.iq2_xs.values[code & 511], signs);
    }
    unpackScales(half.toFloat(block.d), block.scales, &out.scales);
}

/// iq2_s has the same scales.
pub fn unpackScales(d: f32, bytes: [8]u8, scales: *[16]f32) void {
    for (bytes, 0..) |byte, i| {
        scales[2 * i] = d * (0.5 + @as(f32, @floatFromInt(byte & 15))) * 0.25;
        scales[2 * i + 1] = d * (0.5 + @as(f32, @floatFromInt(byte >> 4))) * 0.25;
    }
}
