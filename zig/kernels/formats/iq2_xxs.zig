//! iq2_xxs: 256 values, eight to a grid point, with 7-bit signs; groups of 32 have a 4-bit scale s.
//! value = d * (s + 1/2) / 4 * sign * grid

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");
const iq_signs = @import("iq_signs.zig");

pub const dtype: DType = .iq2_xxs;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    groups: [8]Group,

    pub const Group = extern struct {
        points: [4]u8,
        /// Four times seven bits of signs, then four bits of scale.
        signs_and_scale: u32 align(1),
    };
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    for (&block.groups, &out.scales, 0..) |*one, *scale, i| {
        const code = one.signs_and_scale;
        scale.* = d * (0.5 + @as(f32, @floatFromInt(code >> 28))) * 0.25;
        var magnitudes: [32]i8 = undefined;
        for (one.points, 0..) |point, j| magnitudes[j * 8 ..][0..8].* = grids.iq2_xxs.values[point];
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, iq_signs.expand(code));
    }
}
