//! iq3_xxs: 256 values, four to a grid point, with 7-bit signs of eight values; groups of 32 have a
//! 4-bit scale s. value = d * (s + 1/2) / 2 * sign * grid

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq_fit = @import("iq_fit.zig");
const iq_signs = @import("iq_signs.zig");
const searching = @import("search.zig");

pub const dtype: DType = .iq3_xxs;
pub const len = 256;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    points: [64]u8,
    /// For each group four times seven bits of signs, then four bits of scale.
    signs_and_scales: [8]u32 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(block.d);
    for (block.signs_and_scales, &out.scales, 0..) |code, *scale, i| {
        scale.* = d * (0.5 + @as(f32, @floatFromInt(code >> 28))) * 0.5;
        var magnitudes: [32]i8 = undefined;
        for (block.points[i * 8 ..][0..8], 0..) |point, j| {
            magnitudes[j * 4 ..][0..4].* = grids.iq3_xxs.values(point);
        }
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, iq_signs.expand(code));
    }
}

const Fitter = iq_fit.Fitter(grids.iq3_xxs, group, .{
    .tries = 15,
    .step = 0.2,
    .tiny = 1e-8,
    .even_signs = true,
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
        for (&block.signs_and_scales, &scales, 0..) |*code, *scale, j| {
            const fitted = Fitter.fit(x[j * 32 ..][0..32], weights[j * 32 ..][0..32]);
            scale.* = fitted.scale;
            for (block.points[j * 8 ..][0..8], fitted.points) |*point, index| {
                point.* = @intCast(index);
            }
            code.* = iq_signs.compress(fitted.signs);
        }
        const unit = @reduce(.Max, @as(@Vector(8, f32), scales)) / 31;
        if (!(unit > 0)) {
            block.* = std.mem.zeroes(Block);
            continue;
        }
        block.d = half.fromFloat(unit * 1.0125); // The reference found this factor to help.
        for (&block.signs_and_scales, iq_fit.scaleNumbers(8, 15, scales, unit)) |*code, number| {
            code.* |= @as(u32, number) << 28;
        }
    }
}
