//! q5_K: 256 values of 5 bits; groups of 32 have a 6-bit scale s and a 6-bit min m.
//! value = d * s * q - dmin * m

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const k_scales = @import("k_scales.zig");
const planes = @import("planes.zig");
const searching = @import("search.zig");

pub const dtype: DType = .q5_K;
pub const len = 256;
pub const group = 32;
pub const has_mins = true;

pub const Block = extern struct {
    d: u16 align(1),
    dmin: u16 align(1),
    scales: [12]u8,
    /// Eight planes of 32 fifth bits.
    high: [32]u8,
    /// Each quarter of the block: 32 bytes with two planes of 32 values' lower bits.
    low: [128]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const numbers: *[len]u8 = @ptrCast(&out.q);
    var high: [len]u8 = undefined;
    inline for (0..4) |i| {
        planes.unpack(4, 32, block.low[i * 32 ..][0..32], numbers[i * 64 ..][0..64]);
    }
    planes.unpack(1, 32, &block.high, &high);
    planes.merge(len, 4, numbers, &high);
    k_scales.scale(block.scales, block.d, block.dmin, &out.scales, &out.mins);
}

const tries: searching.Tries = .{ .first = -0.5, .step = 0.1, .count = 16 };

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const weights = if (importance) |all| all + i * len else null;
        const fitted = k_scales.fit(31, tries, src[i * len ..][0..len], weights);
        block.d = fitted.d;
        block.dmin = fitted.dmin;
        block.scales = fitted.scales;
        var high: [len]u8 = undefined;
        planes.above(len, 4, &fitted.levels, &high);
        planes.pack(1, 32, &high, &block.high);
        inline for (0..4) |j| {
            planes.pack(4, 32, fitted.levels[j * 64 ..][0..64], block.low[j * 32 ..][0..32]);
        }
    }
}
