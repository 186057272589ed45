//! q8_1: q8_0 with d * (sum of q) beside the scale; value = d * q.
//! The reference keeps activations in it; no file holds it.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const q8_0 = @import("q8_0.zig");

pub const dtype: DType = .q8_1;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    s: u16 align(1),
    q: [len]i8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    out.q = block.q;
    out.scales = .{half.toFloat(block.d)};
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const scaled = q8_0.scale(src[i * len ..][0..len].*);
        const sum = @reduce(.Add, @as(@Vector(len, i16), scaled.q));
        block.d = half.fromFloat(scaled.d);
        block.s = half.fromFloat(@as(f32, @floatFromInt(sum)) * scaled.d);
        block.q = scaled.q;
    }
}
