//! q8_K: 256 values of 8 bits with one scale and the sums of 16 neighbours each; value = d * q.
//! The reference keeps activations in it; no file holds it.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const rounding = @import("rounding.zig");

pub const dtype: DType = .q8_K;
pub const len = 256;
pub const group = 256;
pub const has_mins = false;

pub const Block = extern struct {
    d: f32 align(1),
    q: [len]i8,
    sums: [len / 16]i16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    out.q = block.q;
    out.scales = .{block.d};
}

/// The value of the largest magnitude becomes -127.
pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const V = @Vector(16, f32);
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        const largest = extreme.signedOf(x);
        const inverse = if (largest == 0) 0 else -127 / largest;
        block.d = if (largest == 0) 0 else 1 / inverse;
        for (&block.sums, 0..) |*sum, j| {
            const values: V = x[j * 16 ..][0..16].*;
            const numbers = rounding.nearest(values * @as(V, @splat(inverse)));
            const capped = @min(numbers, @as(@Vector(16, i32), @splat(127)));
            const q: @Vector(16, i8) = @bitCast(rounding.lowByte(capped));
            block.q[j * 16 ..][0..16].* = q;
            sum.* = @reduce(.Add, @as(@Vector(16, i16), q));
        }
    }
}
