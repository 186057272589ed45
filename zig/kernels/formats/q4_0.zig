//! q4_0: 32 values of 4 bits with one scale; value = d * (q - 8).

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const uniform = @import("uniform.zig");

pub const dtype: DType = .q4_0;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Byte j holds value j in its lower and value j + 16 in its upper half.
    q: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    planes.unpack(4, 16, &block.q, &numbers);
    blocks.shifted(len, &numbers, -8, &out.q);
    out.scales = .{half.toFloat(block.d)};
}

pub const quantizeRow = uniform.Symmetric(@This(), 8).quantizeRow;

pub fn store(block: *Block, d: f32, levels: *const [len]u8) void {
    block.d = half.fromFloat(d);
    planes.pack(4, 16, levels, &block.q);
}
