//! What q4_K and q5_K share: eight groups of 32 values whose eight 6-bit scales and eight 6-bit
//! mins lie in twelve bytes.
//!
//! Bytes 0..3 hold scales 0..3 and bytes 4..7 mins 0..3 in their lower six bits; bytes 8..11 hold
//! the lower halves of scales (low) and mins (high) 4..7, whose upper two bits are the upper two
//! bits of bytes 0..3 and 4..7.

const std = @import("std");
const half = @import("f16.zig");
const levelling = @import("levels.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

pub const Search = searching.Search(8, 32);

pub const Pair = struct { scales: [8]u8, mins: [8]u8 };

pub fn unpack(bytes: [12]u8) Pair {
    var pair: Pair = undefined;
    for (0..4) |i| {
        pair.scales[i] = bytes[i] & 63;
        pair.mins[i] = bytes[i + 4] & 63;
        pair.scales[i + 4] = (bytes[i + 8] & 15) | (bytes[i] >> 6 << 4);
        pair.mins[i + 4] = (bytes[i + 8] >> 4) | (bytes[i + 4] >> 6 << 4);
    }
    return pair;
}

/// The scales and mins of the eight groups, multiplied by those of the block.
pub fn scale(bytes: [12]u8, d: u16, dmin: u16, scales: *[8]f32, mins: *[8]f32) void {
    const V = @Vector(8, f32);
    const pair = unpack(bytes);
    const small_scales: @Vector(8, u8) = pair.scales;
    const small_mins: @Vector(8, u8) = pair.mins;
    scales.* = @as(V, @splat(half.toFloat(d))) * @as(V, @floatFromInt(small_scales));
    mins.* = @as(V, @splat(half.toFloat(dmin))) * @as(V, @floatFromInt(small_mins));
}

/// The inverse of `unpack`; all numbers must be below 64.
pub fn pack(pair: Pair) [12]u8 {
    var bytes: [12]u8 = undefined;
    for (0..4) |i| {
        bytes[i] = pair.scales[i] | (pair.scales[i + 4] >> 4 << 6);
        bytes[i + 4] = pair.mins[i] | (pair.mins[i + 4] >> 4 << 6);
        bytes[i + 8] = (pair.scales[i + 4] & 15) | (pair.mins[i + 4] << 4);
    }
    return bytes;
}

/// What a block of q4_K or q5_K holds, levels not yet packed.
pub const Fitted = struct { d: u16, dmin: u16, scales: [12]u8, levels: [256]u8 };

/// Finds scales, mins and levels 0 .. max. `tries` apply without importance.
pub fn fit(
    comptime max: u8,
    tries: searching.Tries,
    x: *const [256]f32,
    importance: ?[*]const f32,
) Fitted {
    const columns = Search.turn(x, 8);
    var out: Fitted = undefined;
    if (importance) |factors| {
        var natural: [256]f32 = undefined;
        searching.weigh(x, factors, 2 * searching.sumOfSquares(x) / 256, &natural);
        const weights = Search.turn(&natural, 8);
        const found = Search.affine(.squared, max, searching.fine_tries, &columns, &weights);
        Search.turnBack(&found.levels, &out.levels);
        const both = levelling.fitScales(8, 63, found.scales, found.mins, Search.sum(&weights));
        out.d = half.fromFloat(both.d);
        out.dmin = half.fromFloat(both.dmin);
        out.scales = pack(.{ .scales = both.scales, .mins = both.mins });
    } else {
        const found = Search.affine(.squared, max, tries, &columns, &plainWeights(&columns));
        Search.turnBack(&found.levels, &out.levels);
        const largest_scale = searching.atLeastZero(found.scales);
        const largest_min = searching.atLeastZero(found.mins);
        out.d = half.fromFloat(largest_scale / 63);
        out.dmin = half.fromFloat(largest_min / 63);
        out.scales = pack(.{
            .scales = sixBits(found.scales, largest_scale),
            .mins = sixBits(found.mins, largest_min),
        });
    }
    var scales: [8]f32 = undefined;
    var mins: [8]f32 = undefined;
    scale(out.scales, out.d, out.dmin, &scales, &mins);
    levelling.nearest(8, max, x, scales, mins, &out.levels);
    return out;
}

/// Each value's magnitude above the root mean square of its group.
fn plainWeights(x: *const [32]Search.V) [32]Search.V {
    var squares: [32]Search.V = undefined;
    for (x, &squares) |value, *square| square.* = value * value;
    const mean = @sqrt(Search.sum(&squares) / @as(Search.V, @splat(32)));
    var weights: [32]Search.V = undefined;
    for (x, &weights) |value, *weight| weight.* = mean + @abs(value);
    return weights;
}

/// The numbers in units that make the largest 63.
fn sixBits(numbers: Search.V, largest: f32) [8]u8 {
    const inverse: f32 = if (largest > 0) 63 / largest else 0;
    const units = rounding.nearest(numbers * @as(Search.V, @splat(inverse)));
    return @min(rounding.lowByte(units), @as(@Vector(8, u8), @splat(63)));
}

test "packing undoes unpacking" {
    var random: std.Random.DefaultPrng = .init(7);
    var bytes: [12]u8 = undefined;
    for (0..100) |_| {
        random.fill(&bytes);
        try std.testing.expectEqual(bytes, pack(unpack(bytes)));
    }
}
