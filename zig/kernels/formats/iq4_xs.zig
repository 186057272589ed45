//! iq4_xs: 256 values out of sixteen unevenly spaced ones; groups of 32 have a 6-bit scale s.
//! value = d * (s - 32) * levels[q]

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const half = @import("f16.zig");
const iq4 = @import("iq4.zig");
const lookup = @import("lookup.zig");
const planes = @import("planes.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

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
        out.q[i * 32 ..][0..32].* = lookup.sixteen(32, iq4.levels, numbers);
        const low: i32 = block.scales_low[i / 2] >> (4 * (i % 2)) & 15;
        const high: i32 = block.scales_high >> (2 * i) & 3;
        out.scales[i] = d * @as(f32, @floatFromInt((low | high << 4) - 32));
    }
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        const columns = iq4.Search.turn(x, 8);
        var weights: [32]iq4.Search.V = undefined;
        if (importance) |all| {
            var natural: [len]f32 = undefined;
            const sigma2 = searching.sumOfSquares(x) * (2.0 / 256.0);
            searching.weigh(x, all + i * len, sigma2, &natural);
            weights = iq4.Search.turn(&natural, 8);
        } else for (columns, &weights) |value, *weight| weight.* = value * value;
        store(block, x, iq4.scales(&columns, &weights));
    }
}

/// The scale of the largest magnitude becomes -32.
fn store(block: *Block, x: *const [len]f32, scales: @Vector(8, f32)) void {
    const d = -extreme.signed(8, scales) / 32;
    const inverse = if (d != 0) 1 / d else 0;
    const units = rounding.nearestIn(scales * @as(@Vector(8, f32), @splat(inverse)), -32, 31);
    block.d = half.fromFloat(d);
    block.scales_high = 0;
    block.scales_low = @splat(0);
    inline for (0..8) |i| {
        const scale = d * @as(f32, @floatFromInt(units[i]));
        const scale_inverse = if (scale != 0) 1 / scale else 0;
        const values: @Vector(32, f32) = x[i * 32 ..][0..32].*;
        const numbers = iq4.nearest(32, values * @as(@Vector(32, f32), @splat(scale_inverse)));
        planes.pack(4, 16, &numbers, block.q[i * 16 ..][0..16]);
        const stored: u8 = @intCast(units[i] + 32);
        block.scales_low[i / 2] |= (stored & 15) << (4 * (i % 2));
        block.scales_high |= @as(u16, stored >> 4) << (2 * i);
    }
}
