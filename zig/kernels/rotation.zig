//! What the rotary embeddings share: tables of a row's cosines and sines, and turning heads by
//! them.

const std = @import("std");
const abi = @import("abi.zig");
const angles = @import("angles.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const V = vector.V;
const lanes = vector.lanes;

/// Pairs are neighbours, or lie half of the rotated part apart.
pub const neighbours = 0;
pub const halves = 1;

pub fn plan(task: *const abi.Task, result: *abi.Plan, pairs: u64) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    if (task.sources[2]) |factors| if (factors.nb[0] != 4) return;
    split.byRow(result, x.ne[2] * x.ne[3], x.ne[0] * x.ne[1] + pairs * 16);
    if (x.ne[0] * x.ne[1] == 0) result.items = 0;
    result.thread_scratch = Tables.bytes(x.ne[0], pairs);
}

pub fn factorsOf(task: *const abi.Task) ?[*]const f32 {
    const factors = task.sources[2] orelse return null;
    return @ptrCast(@alignCast(factors.data));
}

/// A thread's tables, each padded to whole vectors, and room for a head on its way in and out.
pub const Tables = struct {
    /// Radians per position, one for each pair.
    frequencies: [*]f64,
    /// One value for each rotated element; where its partner is subtracted the sine is negative.
    /// Of halves only the first is stored.
    cosines: [*]f32,
    sines: [*]f32,
    in: [*]f32,
    out: [*]f32,

    pub fn of(scratch: abi.Scratch, head_dim: u64, pairs: u64) Tables {
        const size: usize = @intCast(vector.padded(2 * pairs));
        const head: usize = @intCast(vector.padded(head_dim));
        const floats: [*]align(64) f32 = @ptrCast(scratch);
        return .{
            .cosines = floats,
            .sines = floats + size,
            .in = floats + 2 * size,
            .out = floats + 2 * size + head,
            .frequencies = @ptrCast(@alignCast(floats + 2 * size + 2 * head)),
        };
    }

    fn bytes(head_dim: u64, pairs: u64) u64 {
        const floats = 2 * vector.padded(2 * pairs) + 2 * vector.padded(head_dim);
        return floats * @sizeOf(f32) + vector.padded(pairs) * @sizeOf(f64);
    }

    /// Angles of the pairs from number i on.
    pub fn set(t: Tables, style: u32, i: usize, angle: angles.Wide, magnitude: f32) void {
        const both = angles.sinCos(angle);
        const cosine = @as(V, @floatCast(both.cos)) * vector.splat(magnitude);
        const sine = @as(V, @floatCast(both.sin)) * vector.splat(magnitude);
        if (style == halves) {
            vector.store(t.cosines + i, cosine);
            vector.store(t.sines + i, sine);
        } else {
            // The second vector may lie behind the last pair, in what is filled next.
            t.cosines[2 * i ..][0..lanes].* = interlaced(cosine, cosine, 0);
            t.sines[2 * i ..][0..lanes].* = interlaced(-sine, sine, 0);
            if (2 * i + lanes >= t.sines - t.cosines) return;
            t.cosines[2 * i + lanes ..][0..lanes].* = interlaced(cosine, cosine, 1);
            t.sines[2 * i + lanes ..][0..lanes].* = interlaced(-sine, sine, 1);
        }
    }
};

/// The first or second half of a0, b0, a1, b1, …
fn interlaced(a: V, b: V, comptime half: usize) V {
    const mask = comptime blk: {
        var list: [lanes]i32 = undefined;
        for (&list, 0..) |*index, i| {
            const source: i32 = @intCast(i / 2 + half * lanes / 2);
            index.* = if (i % 2 == 0) source else ~source;
        }
        break :blk list;
    };
    return @shuffle(f32, a, b, mask);
}

/// Turns every head of a row and copies what is not rotated.
pub fn turnRow(task: *const abi.Task, item: u64, style: u32, pairs: u32, tables: Tables) void {
    const x = task.source(0);
    const y = task.output();
    const j = item % x.ne[2];
    const k = item / x.ne[2];
    const n: usize = @intCast(x.ne[0]);
    for (0..x.ne[1]) |head| {
        const source = x.data + head * x.nb[1] + j * x.nb[2] + k * x.nb[3];
        const target = y.data + head * y.nb[1] + j * y.nb[2] + k * y.nb[3];
        const from = staging.readRow(x, source, tables.in);
        const to = staging.target(y, target, 0, tables.out);
        switch (style) {
            neighbours => turnNeighbours(to, from, tables, 2 * pairs),
            halves => turnHalves(to, from, tables, pairs),
            else => unreachable, // The shape rule refuses it.
        }
        if (to != from) @memcpy(to[2 * pairs .. n], from[2 * pairs .. n]);
        staging.writeRow(y, target, to);
    }
}

fn turnNeighbours(y: [*]f32, x: [*]const f32, tables: Tables, n: usize) void {
    var i: usize = 0;
    while (i + lanes <= n) : (i += lanes) {
        vector.store(y + i, turned(vector.load(x + i), tables, i));
    }
    if (i < n) vector.storePart(y + i, turned(vector.loadPart(x + i, n - i), tables, i), n - i);
}

inline fn turned(v: V, tables: Tables, i: usize) V {
    const exchanged = comptime blk: {
        var mask: [lanes]i32 = undefined;
        for (&mask, 0..) |*index, lane| index.* = lane ^ 1;
        break :blk mask;
    };
    const partner = @shuffle(f32, v, undefined, exchanged);
    return simd.mulAdd(v, vector.load(tables.cosines + i), partner * vector.load(tables.sines + i));
}

fn turnHalves(y: [*]f32, x: [*]const f32, tables: Tables, half: usize) void {
    var i: usize = 0;
    while (i < half) : (i += lanes) {
        const n = @min(lanes, half - i);
        const whole = n == lanes;
        const a = if (whole) vector.load(x + i) else vector.loadPart(x + i, n);
        const b = if (whole) vector.load(x + half + i) else vector.loadPart(x + half + i, n);
        const cosine = vector.load(tables.cosines + i);
        const sine = vector.load(tables.sines + i);
        const first = simd.mulAdd(a, cosine, -(b * sine));
        const second = simd.mulAdd(b, cosine, a * sine);
        if (whole) {
            vector.store(y + i, first);
            vector.store(y + half + i, second);
        } else {
            vector.storePart(y + i, first, n);
            vector.storePart(y + half + i, second, n);
        }
    }
}
