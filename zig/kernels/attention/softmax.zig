//! The softmax of a row of scores that comes in tiles (Milakov and Gimelshein 2018,
//! arXiv:1805.02867): only the largest score and the sum of exponentials are kept.

const std = @import("std");
const elementary = @import("../elementary.zig");
const vector = @import("../vector.zig");
const V = vector.V;
const lanes = vector.lanes;

pub const State = struct {
    /// The largest score so far.
    largest: *f32,
    /// The sum of e^(score - largest).
    total: *f64,
    /// The sum of value * e^(score - largest), padded to whole vectors.
    sums: []f32,
};

/// Turns the n scores into weights e^(score - largest) and brings the state up to date. The row
/// has room for whole vectors.
pub fn advance(state: State, scores: [*]f32, n: usize) void {
    const low = -std.math.inf(f32);
    const end = vector.padded(n);
    @memset(scores[n..end], low);
    var most = vector.splat(state.largest.*);
    var i: usize = 0;
    while (i < end) : (i += lanes) most = greater(most, vector.load(scores + i));
    const largest = @reduce(.Max, most);
    // While all scores are -infinity their weights are 0.
    const shift = if (largest == low) 0 else largest;
    var sum = vector.splat(0);
    i = 0;
    while (i < end) : (i += lanes) {
        const weight = elementary.exp(vector.load(scores + i) - vector.splat(shift));
        vector.store(scores + i, weight);
        sum += weight;
    }
    if (largest != state.largest.*) rescale(state, shift);
    state.largest.* = largest;
    state.total.* += @reduce(.Add, sum);
}

fn rescale(state: State, shift: f32) void {
    const factor = elementary.exp(vector.splat(state.largest.* - shift));
    state.total.* *= factor[0];
    var i: usize = 0;
    while (i < state.sums.len) : (i += lanes) {
        vector.store(state.sums.ptr + i, vector.load(state.sums.ptr + i) * factor);
    }
}

inline fn greater(a: V, b: V) V {
    return @select(f32, a > b, a, b);
}

/// Scores become cap * tanh(score / cap).
pub fn limit(scores: [*]f32, n: usize, cap: f32) void {
    const factor = vector.splat(1 / cap);
    var i: usize = 0;
    while (i < n) : (i += lanes) {
        const v = vector.load(scores + i);
        vector.store(scores + i, elementary.tanh(v * factor) * vector.splat(cap));
    }
}

test "tiles of any size give the softmax of the whole row" {
    var prng: std.Random.DefaultPrng = .init(4);
    var all: [150]f32 = undefined;
    for (&all) |*value| value.* = prng.random().floatNorm(f32) * 20;
    var largest: f64 = -1e30;
    var total: f64 = 0;
    for (all) |value| largest = @max(largest, value);
    for (all) |value| total += @exp(value - largest);

    var state_largest = -std.math.inf(f32);
    var state_total: f64 = 0;
    var sums: [lanes]f32 = @splat(0);
    const state: State = .{ .largest = &state_largest, .total = &state_total, .sums = &sums };
    var first: usize = 0;
    for ([_]usize{ 1, 17, 64, 5, 63 }) |n| {
        var tile: [64]f32 = undefined;
        @memcpy(tile[0..n], all[first..][0..n]);
        advance(state, &tile, n);
        for (tile[0..n], all[first..][0..n]) |weight, value| sums[0] += weight * value;
        first += n;
    }
    var mean: f64 = 0;
    for (all) |value| mean += value * @exp(value - largest) / total;
    try std.testing.expectApproxEqRel(total, state_total, 1e-6);
    try std.testing.expectApproxEqRel(mean, sums[0] / state_total, 1e-6);
}
