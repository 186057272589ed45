//! iq2_s: 256 values, eight to a grid point, with a sign bit each; groups of 16 have a 4-bit
//! scale s. value = d * (s + 1/2) / 4 * sign * grid

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq2_xs = @import("iq2_xs.zig");
const iq_fit = @import("iq_fit.zig");
const iq_signs = @import("iq_signs.zig");
const searching = @import("search.zig");

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
        const magnitudes = grids.iq2_s.values(low | high << 8);
        out.q[i * 8 ..][0..8].* = iq_signs.apply(8, magnitudes, signs);
    }
    iq2_xs.unpackScales(half.toFloat(block.d), block.scales, &out.scales);
}

const Fitter = iq_fit.Fitter(grids.iq2_s, group, .{ .tries = 9, .step = 0.1, .tiny = 1e-8 });

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        const sigma2 = 2 * searching.sumOfSquares(x) / len;
        var weights: [len]f32 = undefined;
        if (importance) |all| {
            searching.weigh(x, all + i * len, sigma2, &weights);
        } else for (x, &weights) |value, *weight| weight.* = 0.25 * sigma2 + value * value;
        var scales: [16]f32 = undefined;
        block.* = std.mem.zeroes(Block);
        for (&scales, 0..) |*scale, j| {
            const fitted = Fitter.fit(x[j * 16 ..][0..16], weights[j * 16 ..][0..16]);
            scale.* = fitted.scale;
            block.signs[j * 2 ..][0..2].* = fitted.signs;
            for (fitted.points, 2 * j..) |point, k| {
                block.points[k] = @truncate(point);
                block.points_high[k / 4] |= @as(u8, @intCast(point >> 8)) << @intCast(2 * (k % 4));
            }
        }
        const unit = @reduce(.Max, @as(@Vector(16, f32), scales)) / 31;
        if (!(unit > 0)) continue;
        block.d = half.fromFloat(unit * 0.9875); // The reference found this factor to help.
        const numbers = iq_fit.scaleNumbers(16, 15, scales, unit);
        for (&block.scales, 0..) |*byte, j| byte.* = numbers[2 * j] | numbers[2 * j + 1] << 4;
    }
}
