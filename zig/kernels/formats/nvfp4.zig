//! nvfp4: 64 values of 4-bit floats; groups of 16 have an unsigned 8-bit float of four exponent
//! and three mantissa bits as scale. value = scale * float, unpacked as half of one and twice the
//! other.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const fp4 = @import("fp4.zig");
const lookup = @import("lookup.zig");
const planes = @import("planes.zig");

pub const dtype: DType = .nvfp4;
pub const len = 64;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    scales: [4]u8,
    /// Each quarter of the block: eight bytes with two planes of eight values.
    q: [32]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [16]u8 = undefined;
    inline for (0..4) |i| {
        planes.unpack(4, 8, block.q[i * 8 ..][0..8], &numbers);
        out.q[i * 16 ..][0..16].* = lookup.sixteen(16, fp4.doubled, numbers);
        out.scales[i] = half_scales[block.scales[i]];
    }
}

/// Half of each scale; the sign bit is ignored, and 0x7f (NaN) counts as 0.
const half_scales: [256]f32 = blk: {
    @setEvalBranchQuota(2000);
    var table: [256]f32 = undefined;
    for (&table, 0..) |*value, byte| {
        const exponent: u32 = byte >> 3 & 15;
        const mantissa: u32 = byte & 7;
        const subnormal = @as(f32, @floatFromInt(mantissa)) * 0x1p-10;
        const normal: f32 = @bitCast((exponent + 127 - 7 - 1) << 23 | mantissa << 20);
        value.* = if (byte == 0x7f) 0 else if (exponent == 0) subnormal else normal;
    }
    break :blk table;
};

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        inline for (0..4) |j| {
            const x: @Vector(16, f32) = src[i * len + j * 16 ..][0..16].*;
            block.scales[j] = encodeScale(@reduce(.Max, @abs(x)) / 6);
            const codes = fp4.nearest(16, x, half_scales[block.scales[j]]);
            planes.pack(4, 8, &codes, block.q[j * 8 ..][0..8]);
        }
    }
}

/// The nearest scale, ties up; 448 for all that would be 256 or more, as the reference has it.
fn encodeScale(x: f32) u8 {
    if (!(x > 0)) return 0;
    if (x < 0x1p-6) return @intFromFloat(@min(x * 512 + 0.5, 7)); // Subnormal: units of 2^-9.
    const bits: u32 = @bitCast(@min(x, 448));
    const rounded = (bits + (1 << 19)) >> 20; // The exponent and three mantissa bits.
    const code = rounded - ((127 - 7) << 3);
    return if (code < 15 << 3) @intCast(code) else 0x7e;
}
