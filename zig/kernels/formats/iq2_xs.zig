//! iq2_xs: 256 values, eight to a grid point, with 7-bit signs; groups of 16 have a 4-bit scale s.
//! value = d * (s + 1/2) / 4 * sign * grid

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq_fit = @import("iq_fit.zig");
const iq_signs = @import("iq_signs.zig");
const searching = @import("search.zig");

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
        out.q[i * 8 ..][0..8].* = iq_signs.apply(8, grids.iq2_xs.values(code & 511), signs);
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

pub const needs_importance = true;

const Fitter = iq_fit.Fitter(grids.iq2_xs, group, .{
    .tries = 9,
    .step = 0.1,
    .tiny = searching.tiny,
    .even_signs = true,
});

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var weights: [len]f32 = undefined;
        searching.weigh(x, importance.? + i * len, searching.sumOfSquares(x) / len, &weights);
        var scales: [16]f32 = undefined;
        for (&scales, 0..) |*scale, j| {
            const fitted = Fitter.fit(x[j * 16 ..][0..16], weights[j * 16 ..][0..16]);
            scale.* = fitted.scale;
            for (fitted.points, fitted.signs, 0..) |point, signs, k| {
                block.points_and_signs[2 * j + k] = point | @as(u16, signs & 127) << 9;
            }
        }
        const unit = @reduce(.Max, @as(@Vector(16, f32), scales)) / 31;
        if (!(unit > 0)) {
            block.* = std.mem.zeroes(Block);
            continue;
        }
        block.d = half.fromFloat(unit);
        const numbers = iq_fit.scaleNumbers(16, 15, scales, unit);
        for (&block.scales, 0..) |*byte, j| byte.* = numbers[2 * j] | numbers[2 * j + 1] << 4;
    }
}
