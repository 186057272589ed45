//! iq1_s: 256 values, eight to a grid point of -1, 0, 1; groups of 32 have a 3-bit scale s and a
//! common shift. value = d * (2 * s + 1) * (grid +- 1/8), unpacked in eighths.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const grids = @import("grids.zig");

pub const dtype: DType = .iq1_s;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// The lower eight bits of each grid point.
    points: [32]u8,
    /// The upper three bits of four grid points, three bits of scale, the shift's sign.
    groups: [8]u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    for (block.groups, &out.scales, 0..) |code, *scale, i| {
        scale.* = d * @as(f32, @floatFromInt(2 * (code >> 12 & 7) + 1)) * 0.125;
        for (block.points[i * 4 ..][0..4], 0..) |low, j| {
            const high = code >> @intCast(3 * j) & 7;
            out.q[i * 32 + j * 8 ..][0..8].* = eighths(low | high << 8, code >> 15 != 0);
        }
    }
}

/// The values of a grid point, shifted by an eighth and multiplied by eight.
pub fn eighths(point: u16, down: bool) @Vector(8, i8) {
    const values: @Vector(8, i8) = grids.iq1.values[point];
    return values * @as(@Vector(8, i8), @splat(8)) +
        @as(@Vector(8, i8), @splat(if (down) -1 else 1));
}
