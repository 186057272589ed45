//! How the k formats end: small numbers for the scales of 256 values, and the levels that are
//! nearest once the scales are those numbers.

const rounding = @import("rounding.zig");
const Search = @import("search.zig").Search;

/// Scales and mins of groups as small numbers times one scale and one min.
pub fn ScalesAndMins(comptime groups: usize) type {
    return struct { d: f32, dmin: f32, scales: [groups]u8, mins: [groups]u8 };
}

/// Fits numbers 0 .. max to the scales and to the mins, each group with its weight.
pub fn fitScales(
    comptime groups: usize,
    comptime max: u8,
    scales: [groups]f32,
    mins: [groups]f32,
    weights: [groups]f32,
) ScalesAndMins(groups) {
    const Pair = Search(2, groups);
    var values: [groups]Pair.V = undefined;
    var pair_weights: [groups]Pair.V = undefined;
    for (scales, mins, &values) |scale, min, *value| value.* = .{ scale, min };
    for (weights, &pair_weights) |weight, *value| value.* = @splat(weight);
    const found = Pair.nonNegative(max, &values, &pair_weights);
    var out: ScalesAndMins(groups) = undefined;
    out.d = found.scales[0];
    out.dmin = found.scales[1];
    for (found.levels, &out.scales, &out.mins) |level, *scale, *min| {
        scale.* = @min(max, rounding.lowByte(level[0]));
        min.* = @min(max, rounding.lowByte(level[1]));
    }
    return out;
}

/// The nearest levels 0 .. max of 256 values once scales and mins are rounded; groups whose scale
/// became 0 keep theirs.
pub fn nearest(
    comptime groups: usize,
    comptime max: u8,
    x: *const [256]f32,
    scales: [groups]f32,
    mins: [groups]f32,
    levels: *[256]u8,
) void {
    const n = 256 / groups;
    const V = @Vector(n, f32);
    for (scales, mins, 0..) |scale, min, i| {
        if (scale == 0) continue;
        const values: V = x[i * n ..][0..n].*;
        const exact = (values + @as(V, @splat(min))) / @as(V, @splat(scale));
        levels[i * n ..][0..n].* = rounding.lowByte(rounding.nearestIn(exact, 0, max));
    }
}

/// Like `nearest` for signed levels around 0, stored with `half` added.
pub fn nearestSigned(
    comptime half: u8,
    x: *const [256]f32,
    scales: [16]f32,
    levels: *[256]u8,
) void {
    const V = @Vector(16, f32);
    for (scales, 0..) |scale, i| {
        if (scale == 0) continue;
        const values: V = x[i * 16 ..][0..16].*;
        const exact = values / @as(V, @splat(scale));
        const held = rounding.nearestIn(exact, -@as(i32, half), @as(i32, half) - 1);
        levels[i * 16 ..][0..16].* = rounding.lowByte(held +% @as(@Vector(16, i32), @splat(half)));
    }
}
