//! iq1_m: 256 values, eight to a grid point of -1, 0, 1 with a shift; groups of 16 have a 3-bit
//! scale s. value = d * (2 * s + 1) * (grid +- 1/8), unpacked in eighths.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const iq1_fit = @import("iq1_fit.zig");
const iq1_s = @import("iq1_s.zig");
const iq_fit = @import("iq_fit.zig");
const searching = @import("search.zig");

pub const dtype: DType = .iq1_m;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    /// The lower eight bits of each grid point.
    points: [32]u8,
    /// For each grid point the upper three bits and the shift's sign, the first lower.
    points_high: [16]u8,
    /// Four scales each, the first lowest; above them four bits of d, the lowest in the first word.
    scales: [4]u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const d = half.toFloat(scaleBits(block.scales));
    for (&out.scales, block.points_high, 0..) |*scale, high, i| {
        const s: u32 = block.scales[i / 4] >> @intCast(3 * (i % 4)) & 7;
        scale.* = d * @as(f32, @floatFromInt(2 * s + 1)) * 0.125;
        inline for (0..2) |j| {
            const upper: u16 = high >> (4 * j) & 15;
            const point = block.points[2 * i + j] | (upper & 7) << 8;
            out.q[i * 16 + j * 8 ..][0..8].* = iq1_s.eighths(point, upper > 7);
        }
    }
}

fn scaleBits(words: [4]u16) u16 {
    return words[0] >> 12 | (words[1] >> 12 << 4) | (words[2] >> 12 << 8) | (words[3] >> 12 << 12);
}

const Fitter = iq1_fit.Fitter(group, 2, 1e-7);

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var weights: [len]f32 = undefined;
        if (importance) |all| {
            const sigma2 = 2 * searching.sumOfSquares(x) / len;
            searching.weigh(x, all + i * len, sigma2, &weights);
        } else for (x, &weights) |value, *weight| weight.* = value * value;
        var fitted: [16]Fitter.Fitted = undefined;
        var scales: [16]f32 = undefined;
        for (&fitted, &scales, &block.points_high, 0..) |*one, *scale, *high, j| {
            one.* = Fitter.fit(x[j * 16 ..][0..16], weights[j * 16 ..][0..16]);
            scale.* = one.scale;
            block.points[2 * j] = @truncate(one.points[0]);
            block.points[2 * j + 1] = @truncate(one.points[1]);
            high.* = @intCast(one.points[0] >> 8 | one.points[1] >> 8 << 4);
        }
        block.scales = @splat(0);
        const unit = @reduce(.Max, @as(@Vector(16, f32), scales)) / 15;
        if (unit > 0) storeScales(block, x, &weights, &fitted, scales, unit);
    }
}

/// Rounds the scales, then fits d to the rounded ones.
fn storeScales(
    block: *Block,
    x: *const [len]f32,
    weights: *const [len]f32,
    fitted: *const [16]Fitter.Fitted,
    scales: [16]f32,
    unit: f32,
) void {
    const numbers = iq_fit.scaleNumbers(16, 7, scales, unit);
    var sums: iq1_fit.Sums = .{};
    for (fitted, numbers, &block.points_high, 0..) |*one, number, *high, i| {
        block.scales[i / 4] |= @as(u16, number) << @intCast(3 * (i % 4));
        for (one.points, one.shifts, 0..) |point, shift, j| {
            high.* |= @as(u8, @intFromEnum(shift)) << @intCast(4 * j + 3);
            var q = one.meaning(j);
            for (&q) |*value| value.* *= @floatFromInt(2 * number + 1);
            const first = i * 16 + j * 8;
            sums.add(point, q, x[first..][0..8], weights[first..][0..8]);
        }
    }
    const d = if (sums.q2 > 0) sums.qx / sums.q2 else unit;
    const bits = half.fromFloat(d * 1.1125); // The reference found this factor to help.
    for (&block.scales, 0..) |*word, i| word.* |= bits >> @intCast(4 * i) << 12;
}
