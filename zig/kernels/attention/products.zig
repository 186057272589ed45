//! Attention's two matrix products, for rows of keys and values that lie anywhere in memory.
//! Every result is summed in the same order however many queries are computed together.

const std = @import("std");
const simd = @import("../simd.zig");
const vector = @import("../vector.zig");
const tile_cells = @import("work.zig").tile_cells;
const V = vector.V;
const lanes = vector.lanes;

/// What keys and values are made of where they are multiplied.
pub const Element = enum { f32, f16, bf16 };

/// Rows that are multiplied at once, at most.
pub const rows_max = tile_cells;

/// Rows of one tile; the entries behind the last are valid rows too, up to a multiple of 8.
pub const Rows = [tile_cells][*]const u8;

const queries_together = if (simd.register_count == 32) 4 else 2;
/// Keys that stay in the first cache while all queries are multiplied with them.
const near_bytes = 16 * 1024;

inline fn load(comptime element: Element, row: [*]const u8, i: usize) V {
    return switch (element) {
        .f32 => simd.load(V, row + i * 4),
        .f16 => simd.loadF16(lanes, row + i * 2),
        .bf16 => simd.loadBf16(lanes, row + i * 2),
    };
}

/// scores[q][j] = queries[q] . keys[j], for j < n rounded up to 8; rows have `size` values.
pub fn score(
    element: Element,
    scores: [*]f32, // [count, tile_cells]
    queries: [*]const f32, // [count, size]
    count: usize,
    keys: *const Rows,
    n: usize,
    size: usize,
) void {
    switch (element) {
        inline else => |known| {
            const together = @max(8, near_bytes / 4 / size / 8 * 8);
            var first: usize = 0;
            while (first < n) : (first += together) {
                const end = @min(first + together, n);
                var q: usize = 0;
                inline for (.{ 4, 2, 1 }) |step| if (step <= queries_together) {
                    while (q + step <= count) : (q += step) {
                        const s = scores + q * tile_cells;
                        scoreTile(known, step, s, queries + q * size, keys, first, end, size);
                    }
                };
            }
        },
    }
}

fn scoreTile(
    comptime element: Element,
    comptime count: usize,
    scores: [*]f32,
    queries: [*]const f32,
    keys: *const Rows,
    first: usize,
    end: usize,
    size: usize,
) void {
    // More keys for a single query, so that additions do not wait for each other.
    const columns = if (count == 1) 8 else 4;
    var j = first;
    while (j < end) : (j += columns) {
        const rows = keys[j..][0..columns].*;
        var sums: [count][columns]V = @splat(@splat(@splat(0)));
        var i: usize = 0;
        while (i < size) : (i += lanes) {
            var k: [columns]V = undefined;
            inline for (&k, rows) |*v, row| v.* = load(element, row, i);
            inline for (&sums, 0..) |*line, q| {
                const query = vector.load(queries + q * size + i);
                inline for (line, k) |*sum, key| sum.* = simd.mulAdd(query, key, sum.*);
            }
        }
        inline for (sums, 0..) |line, q| {
            inline for (0..columns / 4) |c| {
                const four = sumFour(line[4 * c ..][0..4].*);
                scores[q * tile_cells + j + 4 * c ..][0..4].* = four;
            }
        }
    }
}

/// The sums of the lanes of four vectors.
inline fn sumFour(v: [4]V) @Vector(4, f32) {
    const first = addNeighbours(v[0], v[1]);
    const second = addNeighbours(v[2], v[3]);
    const mixed = addNeighbours(first, second);
    // Every 128-bit part now holds the four partial sums.
    var part = std.simd.extract(mixed, 0, 4);
    inline for (1..lanes / 4) |i| part += std.simd.extract(mixed, 4 * i, 4);
    return part;
}

/// In each 128-bit part: a0 + a1, a2 + a3, b0 + b1, b2 + b3.
inline fn addNeighbours(a: V, b: V) V {
    const even = comptime pick(0);
    const odd = comptime pick(1);
    return @shuffle(f32, a, b, even) + @shuffle(f32, a, b, odd);
}

fn pick(comptime start: i32) [lanes]i32 {
    var mask: [lanes]i32 = undefined;
    for (0..lanes) |i| {
        const part: i32 = @intCast(i / 4 * 4);
        const inside: i32 = @intCast(i % 2 * 2);
        mask[i] = if (i % 4 < 2) part + inside + start else ~(part + inside + start);
    }
    return mask;
}

/// Weights of one query behind each other, and `step` floats from one query to the next.
pub const Weights = struct { first: [*]const f32, step: usize = tile_cells };

/// sums[q] += weights[q][0] values[0] + weights[q][1] values[1] + …, for rows of `size` values.
pub fn addWeighted(
    element: Element,
    sums: [*]f32, // [count, size]
    weights: Weights,
    count: usize,
    values: []const [*]const u8,
    size: usize,
) void {
    switch (element) {
        inline else => |known| {
            var i: usize = 0;
            inline for (.{ 4, 1 }) |columns| {
                while (i + columns * lanes <= size) : (i += columns * lanes) {
                    var q: usize = 0;
                    inline for (.{ 4, 2, 1 }) |step| if (step <= queries_together) {
                        while (q + step <= count) : (q += step) {
                            const w: Weights = .{
                                .first = weights.first + q * weights.step,
                                .step = weights.step,
                            };
                            const s = sums + q * size + i;
                            addTile(known, step, columns, s, w, values, size, i);
                        }
                    };
                }
            }
        },
    }
}

fn addTile(
    comptime element: Element,
    comptime count: usize,
    comptime columns: usize,
    sums: [*]f32,
    weights: Weights,
    values: []const [*]const u8,
    size: usize,
    start: usize,
) void {
    var tile: [count][columns]V = undefined;
    inline for (&tile, 0..) |*line, q| {
        inline for (line, 0..) |*sum, c| sum.* = vector.load(sums + q * size + c * lanes);
    }
    for (values, 0..) |row, j| {
        var v: [columns]V = undefined;
        inline for (&v, 0..) |*value, c| value.* = load(element, row, start + c * lanes);
        inline for (&tile, 0..) |*line, q| {
            const weight = vector.splat(weights.first[q * weights.step + j]);
            inline for (line, v) |*sum, value| sum.* = simd.mulAdd(weight, value, sum.*);
        }
    }
    inline for (tile, 0..) |line, q| {
        inline for (line, 0..) |sum, c| vector.store(sums + q * size + c * lanes, sum);
    }
}

const testing = std.testing;

test "scores and weighted sums of any number of queries and rows" {
    const size = comptime vector.padded(72);
    var prng: std.Random.DefaultPrng = .init(1);
    const r = prng.random();
    var rows: [tile_cells][size]f32 = undefined;
    for (&rows) |*row| for (row) |*value| {
        value.* = r.floatNorm(f32);
    };
    var pointers: Rows = undefined;
    for (&pointers, 0..) |*p, i| p.* = @ptrCast(&rows[i * 37 % tile_cells]);
    var queries: [7][size]f32 = undefined;
    for (&queries) |*query| for (query) |*value| {
        value.* = r.floatNorm(f32);
    };
    for (1..8) |count| for ([_]usize{ 1, 7, 8, 33, 64 }) |n| {
        var scores: [7][tile_cells]f32 = undefined;
        score(.f32, &scores[0], &queries[0], count, &pointers, n, size);
        var sums: [7][size]f32 = @splat(@splat(0.5));
        const weights: Weights = .{ .first = &scores[0] };
        addWeighted(.f32, &sums[0], weights, count, pointers[0..n], size);
        for (0..count) |q| {
            var expected: [size]f64 = @splat(0.5);
            for (0..n) |j| {
                var dot: f64 = 0;
                for (queries[q], rows[j * 37 % tile_cells]) |a, b| dot += @as(f64, a) * b;
                try testing.expectApproxEqAbs(dot, scores[q][j], 2e-5);
                const weight: f64 = scores[q][j];
                for (&expected, rows[j * 37 % tile_cells]) |*e, b| e.* += weight * b;
            }
            for (expected, sums[q]) |e, s| try testing.expectApproxEqAbs(e, s, 1e-3);
        }
    };
}
