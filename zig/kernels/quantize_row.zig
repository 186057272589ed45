//! quantize_row: f32 rows to q8_row, the form in which activations meet quantized weights.
//!
//! 32 neighbouring values share the scale s = max|x| / 127 and become q = round(x / s), ties to
//! even; the sums of 16 neighbouring q follow. A block with an infinity or a NaN gets that as its
//! scale and q = 0, so that whatever is computed with it is NaN; a block whose largest value is
//! below 2^-120 becomes 0.

const std = @import("std");
const abi = @import("abi.zig");
const simd = @import("simd.zig");

pub const quantize_row: abi.Kernel = .{ .plan = plan, .run = run };

const block_len = 32;
/// Values that are worth a hand-out to a thread.
const grain_values = 8192;

fn plan(task: *const abi.Task, out: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    out.* = .{};
    if (x.dtype != .f32 or y.dtype != .q8_row) return;
    if (x.nb[0] != 4 or y.nb[0] != 40 or y.layout != 0) return;
    out.supported = true;
    out.items = if (x.ne[0] == 0) 0 else x.rows();
    out.grain = @max(1, grain_values / @max(1, x.ne[0]));
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    for (begin..end) |index| quantizeRow(x.row(index), y.row(index), x.ne[0]);
}

fn quantizeRow(x: [*]const u8, y: [*]u8, n: usize) void {
    const scales = y + n;
    const sums = scales + n / 8;
    for (0..n / block_len) |b| {
        const block = quantizeBlock(simd.load(@Vector(block_len, f32), x + b * block_len * 4));
        y[b * block_len ..][0..block_len].* = @bitCast(block.q);
        scales[b * 4 ..][0..4].* = @bitCast(block.scale);
        sums[b * 4 ..][0..4].* = @bitCast(block.sums);
    }
}

const Block = struct { q: [block_len]i8, scale: f32, sums: [2]i16 };

inline fn quantizeBlock(x: @Vector(block_len, f32)) Block {
    const V = @Vector(block_len, f32);
    const Bits = @Vector(block_len, u32);
    // Magnitudes are ordered as their bits are, infinity above the numbers and NaN above it.
    const magnitudes = @as(Bits, @bitCast(x)) & @as(Bits, @splat(0x7fffffff));
    const largest: f32 = @bitCast(@reduce(.Max, magnitudes));
    const usable = largest >= 0x1p-120 and largest < std.math.inf(f32);
    if (!usable) return .{
        .q = @splat(0),
        .scale = if (largest < 1) 0 else largest,
        .sums = .{ 0, 0 },
    };
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the lowest bits.
    const magic: V = @splat(0x1.8p23);
    const shifted: Bits = @bitCast(x * @as(V, @splat(127 / largest)) + magic);
    const q: @Vector(block_len, i8) = @bitCast(@as(@Vector(block_len, u8), @truncate(shifted)));
    const wide: [2]@Vector(16, i16) = @bitCast(@as(@Vector(block_len, i16), q));
    return .{
        .q = q,
        .scale = largest / 127,
        .sums = .{ @reduce(.Add, wide[0]), @reduce(.Add, wide[1]) },
    };
}
