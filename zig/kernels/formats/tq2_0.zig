//! tq2_0: 256 values out of -1, 0, 1 of 2 bits; value = d * (q - 1).

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const rounding = @import("rounding.zig");

pub const dtype: DType = .tq2_0;
pub const len = 256;
pub const group = 256;
pub const has_mins = false;

pub const Block = extern struct {
    /// Each half of the block: 32 bytes with four planes of 32 values.
    q: [64]u8,
    d: u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    inline for (0..2) |i| {
        planes.unpack(2, 32, block.q[i * 32 ..][0..32], numbers[i * 128 ..][0..128]);
    }
    blocks.shifted(len, &numbers, -1, &out.q);
    out.scales = .{half.toFloat(block.d)};
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        var trits: [len]u8 = undefined;
        block.d = half.fromFloat(ternary(src[i * len ..][0..len], &trits));
        inline for (0..2) |j| {
            planes.pack(2, 32, trits[j * 128 ..][0..128], block.q[j * 32 ..][0..32]);
        }
    }
}

/// 0, 1 or 2 for each value, and the largest magnitude, which is the scale; tq1_0 has the same.
pub fn ternary(x: *const [len]f32, trits: *[len]u8) f32 {
    const V = @Vector(32, f32);
    const d = extreme.magnitude(x);
    const inverse = if (d != 0) 1 / d else 0;
    for (0..len / 32) |i| {
        const values: V = x[i * 32 ..][0..32].*;
        const rounded = rounding.roundAway(values * @as(V, @splat(inverse)));
        trits[i * 32 ..][0..32].* = rounding.lowByte(rounded) +% @as(@Vector(32, u8), @splat(1));
    }
    return d;
}
