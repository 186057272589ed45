//! iq1_s: 256 values, eight to a grid point of -1, 0, 1; groups of 32 have a 3-bit scale s and a
//! common shift. value = d * (2 * s + 1) * (grid +- 1/8), unpacked in eighths.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const grids = @import("grids.zig");
const half = @import("f16.zig");
const iq1_fit = @import("iq1_fit.zig");
const iq_fit = @import("iq_fit.zig");
const searching = @import("search.zig");

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
    const values: @Vector(8, i8) = grids.iq1.values(point);
    return values *% @as(@Vector(8, i8), @splat(8)) +%
        @as(@Vector(8, i8), @splat(if (down) -1 else 1));
}

pub const needs_importance = true;

const Fitter = iq1_fit.Fitter(group, 1, 1e-12);

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var weights: [len]f32 = undefined;
        const sigma2 = 2 * searching.sumOfSquares(x) / len;
        searching.weigh(x, importance.? + i * len, sigma2, &weights);
        var fitted: [8]Fitter.Fitted = undefined;
        var scales: [8]f32 = undefined;
        for (&fitted, &scales, &block.groups, 0..) |*one, *scale, *code, j| {
            one.* = Fitter.fit(x[j * 32 ..][0..32], weights[j * 32 ..][0..32]);
            scale.* = one.scale;
            code.* = 0;
            for (one.points, block.points[j * 4 ..][0..4], 0..) |point, *low, k| {
                low.* = @truncate(point);
                code.* |= (point >> 8) << @intCast(3 * k);
            }
        }
        block.d = 0;
        const unit = @reduce(.Max, @as(@Vector(8, f32), scales)) / 15;
        if (!(unit > 0)) continue;
        block.d = half.fromFloat(unit * 1.125); // The reference found this factor to help.
        const numbers = iq_fit.scaleNumbers(8, 7, scales, unit);
        for (&block.groups, numbers, fitted) |*code, number, one| {
            code.* |= @as(u16, number) << 12 | @as(u16, @intFromEnum(one.shifts[0])) << 15;
        }
    }
}
