//! iq2_xxs: 256 values, eight to a grid point, with 7-bit signs; groups of 32 have a 4-bit scale s.
//! value = d * (s + 1/2) / 4 * sign * grid

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq_fit = @import("iq_fit.zig");
const iq_signs = @import("iq_signs.zig");
const searching = @import("search.zig");

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
        for (one.points, 0..) |point, j| magnitudes[j * 8 ..][0..8].* = grids.iq2_xxs.values(point);
        out.q[i * 32 ..][0..32].* = iq_signs.apply(32, magnitudes, iq_signs.expand(code));
    }
}

pub const needs_importance = true;

const Fitter = iq_fit.Fitter(grids.iq2_xxs, group, .{
    .tries = 6,
    .step = 0.1,
    .tiny = searching.tiny,
    .even_signs = true,
    .prefit = true,
    .again = .all,
});

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var weights: [len]f32 = undefined;
        searching.weigh(x, importance.? + i * len, searching.sumOfSquares(x) / len, &weights);
        var scales: [8]f32 = undefined;
        block.* = std.mem.zeroes(Block);
        for (&block.groups, &scales, 0..) |*one, *scale, j| {
            const fitted = Fitter.fit(x[j * 32 ..][0..32], weights[j * 32 ..][0..32]);
            scale.* = fitted.scale;
            for (&one.points, fitted.points) |*point, index| point.* = @intCast(index);
            one.signs_and_scale = iq_signs.compress(fitted.signs);
        }
        const unit = @reduce(.Max, @as(@Vector(8, f32), scales)) / 31;
        if (!(unit > 0)) {
            block.* = std.mem.zeroes(Block);
            continue;
        }
        block.d = half.fromFloat(unit);
        for (&block.groups, iq_fit.scaleNumbers(8, 15, scales, unit)) |*one, number| {
            one.signs_and_scale |= @as(u32, number) << 28;
        }
    }
}
