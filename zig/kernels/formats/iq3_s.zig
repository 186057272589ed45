//! iq3_s: 256 values, four to a grid point, with a sign bit each; groups of 32 have a 4-bit
//! scale s. value = d * (2 * s + 1) * sign * grid

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq_fit = @import("iq_fit.zig");
const iq_signs = @import("iq_signs.zig");
const searching = @import("search.zig");

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
            magnitudes[j * 4 ..][0..4].* = grids.iq3_s.values(low | high << 8);
        }
        const signs: u32 = @bitCast(block.signs[i * 4 ..][0..4].*);
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, signs);
    }
}

const Fitter = iq_fit.Fitter(grids.iq3_s, group, .{
    .tries = 9,
    .step = 0.2,
    .tiny = 0,
    .again = .all_if_one_is_off_grid,
});

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var weights: [len]f32 = undefined;
        if (importance) |all| {
            const sigma2 = 2 * searching.sumOfSquares(x) / len;
            searching.weigh(x, all + i * len, sigma2, &weights);
        } else for (x, &weights) |value, *weight| weight.* = value * value;
        var scales: [8]f32 = undefined;
        block.* = std.mem.zeroes(Block);
        var place: usize = 0;
        for (&scales, 0..) |*scale, j| {
            const fitted = Fitter.fit(x[j * 32 ..][0..32], weights[j * 32 ..][0..32]);
            scale.* = fitted.scale;
            // The reference stores nothing for a group of zeros, so that the lower bits and signs
            // of later groups of the block move up and are read for the wrong group.
            if (fitted.empty) continue;
            block.signs[place * 4 ..][0..4].* = fitted.signs;
            for (block.points[place * 8 ..][0..8], fitted.points, 0..) |*point, index, k| {
                point.* = @truncate(index);
                block.points_high[j] |= @as(u8, @intCast(index >> 8)) << @intCast(k);
            }
            place += 1;
        }
        const unit = @reduce(.Max, @as(@Vector(8, f32), scales)) / 31;
        if (!(unit > 0)) continue;
        block.d = half.fromFloat(unit * 1.033); // The reference found this factor to help.
        const numbers = iq_fit.scaleNumbers(8, 15, scales, unit);
        for (&block.scales, 0..) |*byte, j| byte.* = numbers[2 * j] | numbers[2 * j + 1] << 4;
    }
}
