//! q2_K: 256 values of 2 bits; groups of 16 have a 4-bit scale s and a 4-bit min m.
//! value = d * s * q - dmin * m

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const levelling = @import("levels.zig");
const planes = @import("planes.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

pub const dtype: DType = .q2_K;
pub const len = 256;
pub const group = 16;
pub const has_mins = true;

pub const Block = extern struct {
    /// Scales in the lower, mins in the upper halves.
    scales: [16]u8,
    /// Each half of the block: 32 bytes with four planes of 32 values.
    q: [64]u8,
    d: u16 align(1),
    dmin: u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    const numbers: *[len]u8 = @ptrCast(&out.q);
    inline for (0..2) |i| {
        planes.unpack(2, 32, block.q[i * 32 ..][0..32], numbers[i * 128 ..][0..128]);
    }
    const scaled = unpackScales(block);
    out.scales = scaled.scales;
    out.mins = scaled.mins;
}

const Scaled = struct { scales: [16]f32, mins: [16]f32 };

fn unpackScales(block: *const Block) Scaled {
    const V = @Vector(16, f32);
    const bytes: @Vector(16, u8) = block.scales;
    const scales = bytes & @as(@Vector(16, u8), @splat(15));
    const mins = bytes >> @splat(4);
    return .{
        .scales = @as(V, @splat(half.toFloat(block.d))) * @as(V, @floatFromInt(scales)),
        .mins = @as(V, @splat(half.toFloat(block.dmin))) * @as(V, @floatFromInt(mins)),
    };
}

const Search = searching.Search(16, 16);
const tries: searching.Tries = .{ .first = -0.5, .step = 0.1, .count = 16 };

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var levels: [len]u8 = undefined;
        if (importance) |all| {
            fitByImportance(block, x, all + i * len, &levels);
        } else fit(block, x, &levels);
        const scaled = unpackScales(block);
        levelling.nearest(16, 3, x, scaled.scales, scaled.mins, &levels);
        inline for (0..2) |j| {
            planes.pack(2, 32, levels[j * 128 ..][0..128], block.q[j * 32 ..][0..32]);
        }
    }
}

fn fit(block: *Block, x: *const [len]f32, levels: *[len]u8) void {
    const columns = Search.turn(x, 16);
    var weights: [16]Search.V = undefined;
    for (columns, &weights) |value, *weight| weight.* = @abs(value);
    const found = Search.affine(.absolute, 3, tries, &columns, &weights);
    Search.turnBack(&found.levels, levels);
    const largest_scale = searching.atLeastZero(found.scales);
    const largest_min = searching.atLeastZero(found.mins);
    block.d = half.fromFloat(largest_scale / 15);
    block.dmin = half.fromFloat(largest_min / 15);
    const mins = fourBits(found.mins, largest_min) << @splat(4);
    block.scales = fourBits(found.scales, largest_scale) | mins;
}

/// The numbers in units that make the largest 15.
fn fourBits(numbers: Search.V, largest: f32) @Vector(16, u8) {
    const inverse: f32 = if (largest > 0) 15 / largest else 0;
    return rounding.lowByte(rounding.nearest(numbers * @as(Search.V, @splat(inverse))));
}

fn fitByImportance(
    block: *Block,
    x: *const [len]f32,
    importance: [*]const f32,
    levels: *[len]u8,
) void {
    const columns = Search.turn(x, 16);
    var natural: [len]f32 = undefined;
    searching.weigh(x, importance, searching.sumOfSquares(x) / len, &natural);
    const weights = Search.turn(&natural, 16);
    const found = Search.affine(.squared, 3, searching.fine_tries, &columns, &weights);
    Search.turnBack(&found.levels, levels);
    const both = levelling.fitScales(16, 15, found.scales, found.mins, Search.sum(&weights));
    block.d = half.fromFloat(both.d);
    block.dmin = half.fromFloat(both.dmin);
    for (&block.scales, both.scales, both.mins) |*byte, scale, min| byte.* = scale | min << 4;
}
