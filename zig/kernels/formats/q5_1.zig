//! q5_1: 32 values of 5 bits with a scale and an offset; value = d * q + m.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const q5_0 = @import("q5_0.zig");
const uniform = @import("uniform.zig");

pub const dtype: DType = .q5_1;
pub const len = 32;
pub const group = 32;
pub const has_mins = true;

pub const Block = extern struct {
    d: u16 align(1),
    m: u16 align(1),
    /// The fifth bits and the lower ones, laid out as in q5_0.
    high: u32 align(1),
    low: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    out.q = @bitCast(q5_0.join(block.low, block.high));
    out.scales = .{half.toFloat(block.d)};
    out.mins = .{-half.toFloat(block.m)};
}

pub const quantizeRow = uniform.Affine(@This(), 31).quantizeRow;

pub fn store(block: *Block, d: f32, m: f32, levels: *const [len]u8) void {
    block.d = half.fromFloat(d);
    block.m = half.fromFloat(m);
    planes.pack(4, 16, levels, &block.low);
    block.high = q5_0.fifthBits(levels);
}
