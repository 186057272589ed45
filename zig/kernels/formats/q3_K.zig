//! q3_K: 256 values of 3 bits; groups of 16 have a 6-bit scale s.
//! value = d * (s - 32) * (q - 4)

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const half = @import("f16.zig");
const levelling = @import("levels.zig");
const planes = @import("planes.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

pub const dtype: DType = .q3_K;
pub const len = 256;
pub const group = 16;
pub const has_mins = false;

pub const Block = extern struct {
    /// Eight planes of 32 third bits.
    high: [32]u8,
    /// Each half of the block: 32 bytes with four planes of 32 values' lower bits.
    low: [64]u8,
    /// See `unpackScales`.
    scales: [12]u8,
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
        planes.unpack(2, 32, block.low[i * 32 ..][0..32], numbers[i * 128 ..][0..128]);
    }
    planes.unpack(1, 32, &block.high, &high);
    planes.merge(len, 2, &numbers, &high);
    blocks.shifted(len, &numbers, -4, &out.q);
    out.scales = scalesOf(block);
}

fn scalesOf(block: *const Block) [16]f32 {
    const d = half.toFloat(block.d);
    var scales: [16]f32 = undefined;
    for (unpackScales(block.scales), &scales) |number, *scale| {
        scale.* = d * @as(f32, @floatFromInt(@as(i32, number) - 32));
    }
    return scales;
}

/// Bytes 0..7 hold the lower four bits of scales 0..7 (low) and 8..15 (high), bytes 8..11 four
/// planes of four upper two bits.
fn unpackScales(bytes: [12]u8) [16]u8 {
    var scales: [16]u8 = undefined;
    var upper: [16]u8 = undefined;
    planes.unpack(4, 8, bytes[0..8], &scales);
    planes.unpack(2, 4, bytes[8..12], &upper);
    for (&scales, upper) |*scale, bits| scale.* |= bits << 4;
    return scales;
}

fn packScales(scales: [16]u8) [12]u8 {
    var bytes: [12]u8 = undefined;
    var upper: [16]u8 = undefined;
    for (scales, &upper) |scale, *bits| bits.* = scale >> 4;
    planes.pack(4, 8, &scales, bytes[0..8]);
    planes.pack(2, 4, &upper, bytes[8..12]);
    return bytes;
}

const Search = searching.Search(16, 16);

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x = src[i * len ..][0..len];
        var levels: [len]u8 = undefined;
        if (importance) |all| {
            fitByImportance(block, x, all + i * len, &levels);
        } else fit(block, x, &levels);
        levelling.nearestSigned(4, x, scalesOf(block), &levels);
        inline for (0..2) |j| {
            planes.pack(2, 32, levels[j * 128 ..][0..128], block.low[j * 32 ..][0..32]);
        }
        planes.above(len, 2, &levels, &levels);
        planes.pack(1, 32, &levels, &block.high);
    }
}

/// The scale of the largest magnitude becomes -32.
fn fit(block: *Block, x: *const [len]f32, levels: *[len]u8) void {
    const columns = Search.turn(x, 16);
    const found = Search.symmetricByMoves(4, &columns);
    Search.turnBack(&found.levels, levels);
    const largest = extreme.signed(16, found.scales);
    if (largest == 0) {
        block.d = half.fromFloat(0);
        block.scales = @splat(0);
        return;
    }
    const inverse = -32 / largest;
    block.d = half.fromFloat(1 / inverse);
    const units = rounding.nearest(found.scales * @as(Search.V, @splat(inverse)));
    const Signed = @Vector(16, i8);
    const signed: Signed = @bitCast(rounding.lowByte(units));
    const held = @min(@max(signed, @as(Signed, @splat(-32))), @as(Signed, @splat(31)));
    block.scales = packScales(@as(@Vector(16, u8), @intCast(held +% @as(Signed, @splat(32)))));
}

fn fitByImportance(
    block: *Block,
    x: *const [len]f32,
    importance: [*]const f32,
    levels: *[len]u8,
) void {
    const columns = Search.turn(x, 16);
    var natural: [len]f32 = undefined;
    searching.weigh(x, importance, 2 * searching.sumOfSquares(x) / len, &natural);
    const weights = Search.turn(&natural, 16);
    const found = Search.symmetric(4, &columns, &weights);
    Search.turnBack(&found.levels, levels);
    const One = searching.Search(1, 16);
    const scales: [16]f32 = found.scales;
    const sums: [16]f32 = Search.sum(&weights);
    const outer = One.symmetric(32, &One.turn(&scales, 1), &One.turn(&sums, 1));
    var units: [16]u8 = undefined;
    One.turnBack(&outer.levels, &units);
    block.d = half.fromFloat(outer.scales[0]);
    block.scales = packScales(units);
}
