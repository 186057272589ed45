//! q5_0: 32 values of 5 bits with one scale; value = d * (q - 16).

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const uniform = @import("uniform.zig");

pub const dtype: DType = .q5_0;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Bit j is the fifth bit of value j.
    high: u32 align(1),
    /// Byte j holds the lower bits of value j in its lower and of value j + 16 in its upper half.
    low: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const numbers = join(block.low, block.high);
    blocks.shifted(len, &numbers, -16, &out.q);
    out.scales = .{half.toFloat(block.d)};
}

/// The 5-bit numbers of `low` and `high`; q5_1 has the same two fields.
pub fn join(low: [16]u8, high: u32) [len]u8 {
    var numbers: [len]u8 = undefined;
    planes.unpack(4, 16, &low, &numbers);
    const set: @Vector(len, bool) = @bitCast(high);
    const sixteen: @Vector(len, u8) = @splat(16);
    const zero: @Vector(len, u8) = @splat(0);
    return @as(@Vector(len, u8), numbers) | @select(u8, set, sixteen, zero);
}

pub const quantizeRow = uniform.Symmetric(@This(), 16).quantizeRow;

pub fn store(block: *Block, d: f32, levels: *const [len]u8) void {
    block.d = half.fromFloat(d);
    planes.pack(4, 16, levels, &block.low);
    block.high = fifthBits(levels);
}

pub fn fifthBits(levels: *const [len]u8) u32 {
    const sixteen: @Vector(len, u8) = @splat(16);
    const all: @Vector(len, u8) = levels.*;
    return @bitCast((all & sixteen) == sixteen);
}
