//! q6_K: 256 values of 6 bits; groups of 16 have an 8-bit scale s.
//! value = d * s * (q - 32)

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const half = @import("f16.zig");
const levelling = @import("levels.zig");
const planes = @import("planes.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

pub const dtype: DType = .q6_K;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    /// Each half of the block: 64 bytes with two planes of 64 values' lower bits.
    low: [128]u8,
    /// Each half of the block: 32 bytes with four planes of 32 values' upper bits.
    high: [64]u8,
    scales: [16]i8,
    d: u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    var high: [len]u8 = undefined;
    inline for (0..2) |i| {
        planes.unpack(4, 64, block.low[i * 64 ..][0..64], numbers[i * 128 ..][0..128]);
        planes.unpack(2, 32, block.high[i * 32 ..][0..32], high[i * 128 ..][0..128]);
    }
    planes.merge(len, 4, &numbers, &high);
    blocks.shifted(len, &numbers, -32, &out.q);
    out.scales = scalesOf(block);
}

fn scalesOf(block: *const Block) [16]f32 {
    const V = @Vector(16, f32);
    const scales: @Vector(16, i8) = block.scales;
    return @as(V, @splat(half.toFloat(block.d))) * @as(V, @floatFromInt(scales));
}

const Search = searching.Search(16, 16);

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        const columns = Search.turn(x, 16);
        var weights: [16]Search.V = undefined;
        if (importance) |all| {
            weights = Search.turn(all + i * len, 16);
        } else for (columns, &weights) |value, *weight| weight.* = value * value;
        const found = Search.symmetric(32, &columns, &weights);
        const largest = extreme.signed(16, found.scales);
        if (@abs(largest) < searching.tiny) {
            block.* = std.mem.zeroes(Block);
            continue;
        }
        var levels: [len]u8 = undefined;
        Search.turnBack(&found.levels, &levels);
        // The scale of the largest magnitude becomes -128.
        const inverse = -128 / largest;
        block.d = half.fromFloat(1 / inverse);
        const units = rounding.nearest(found.scales * @as(Search.V, @splat(inverse)));
        const capped = @min(units, @as(@Vector(16, i32), @splat(127)));
        block.scales = @as(@Vector(16, i8), @bitCast(rounding.lowByte(capped)));
        levelling.nearestSigned(32, x, scalesOf(block), &levels);
        store(block, &levels);
    }
}

fn store(block: *Block, levels: *const [len]u8) void {
    var high: [len]u8 = undefined;
    planes.above(len, 4, levels, &high);
    inline for (0..2) |i| {
        planes.pack(4, 64, levels[i * 128 ..][0..128], block.low[i * 64 ..][0..64]);
        planes.pack(2, 32, high[i * 128 ..][0..128], block.high[i * 32 ..][0..32]);
    }
}
