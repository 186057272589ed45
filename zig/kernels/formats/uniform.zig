//! How q4_0, q4_1, q5_0 and q5_1 are written: evenly spaced levels for 32 values.
//!
//! Without an importance matrix the extremes alone decide; with one the scale is searched for.

const std = @import("std");
const extreme = @import("extreme.zig");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

const len = 32;
const V = @Vector(len, f32);
const Bytes = @Vector(len, u8);

/// Blocks searched side by side.
const lanes = 8;
const Search = searching.Search(lanes, len);

/// value = d * (level - half) with levels 0 .. 2 * half - 1; `format.store` writes d and levels.
pub fn Symmetric(comptime format: type, comptime half: comptime_int) type {
    return struct {
        pub fn quantizeRow(
            src: [*]const f32,
            dst: [*]u8,
            n: usize,
            importance: ?[*]const f32,
        ) void {
            const blocks: [*]format.Block = @ptrCast(dst);
            if (importance) |weights| return byImportance(src[0..n], blocks, weights);
            for (blocks[0 .. n / len], 0..) |*block, i| {
                const x: V = src[i * len ..][0..len].*;
                const d = extreme.signed(len, x) / -half;
                const inverse = if (d != 0) 1 / d else 0;
                const exact = x * @as(V, @splat(inverse)) + @as(V, @splat(half + 0.5));
                format.store(block, d, &held(2 * half - 1, exact));
            }
        }

        fn byImportance(row: []const f32, blocks: [*]format.Block, importance: [*]const f32) void {
            var batches: Batches = .init(row, importance);
            while (batches.next()) |batch| {
                const found = Search.symmetric(half, &batch.x, &batch.w);
                const scales: [lanes]f32 = found.scales;
                var levels: [lanes * len]u8 = undefined;
                Search.turnBack(&found.levels, &levels);
                for (0..batch.count) |i| {
                    format.store(&blocks[batch.first + i], scales[i], levels[i * len ..][0..len]);
                }
            }
        }
    };
}

/// value = d * level + m with levels 0 .. max; `format.store` writes d, m and levels.
pub fn Affine(comptime format: type, comptime max: comptime_int) type {
    return struct {
        pub fn quantizeRow(
            src: [*]const f32,
            dst: [*]u8,
            n: usize,
            importance: ?[*]const f32,
        ) void {
            const blocks: [*]format.Block = @ptrCast(dst);
            if (importance) |weights| return byImportance(src[0..n], blocks, weights);
            for (blocks[0 .. n / len], 0..) |*block, i| {
                const x: V = src[i * len ..][0..len].*;
                const low = extreme.lowest(len, x);
                const d = (extreme.highest(len, x) - low) / max;
                const inverse = if (d != 0) 1 / d else 0;
                const exact = (x - @as(V, @splat(low))) * @as(V, @splat(inverse));
                format.store(block, d, low, &held(max, exact + @as(V, @splat(0.5))));
            }
        }

        fn byImportance(row: []const f32, blocks: [*]format.Block, importance: [*]const f32) void {
            var batches: Batches = .init(row, importance);
            while (batches.next()) |batch| {
                const tries = searching.fine_tries;
                const found = Search.affine(.squared, max, tries, &batch.x, &batch.w);
                const scales: [lanes]f32 = found.scales;
                const mins: [lanes]f32 = found.mins;
                var levels: [lanes * len]u8 = undefined;
                Search.turnBack(&found.levels, &levels);
                for (0..batch.count) |i| {
                    const block = &blocks[batch.first + i];
                    format.store(block, scales[i], -mins[i], levels[i * len ..][0..len]);
                }
            }
        }
    };
}

/// Cut off towards zero, as signed bytes that are at most `max`.
fn held(comptime max: i8, exact: V) [len]u8 {
    const numbers: @Vector(len, i8) = @bitCast(rounding.lowByte(rounding.truncate(exact)));
    return @as(Bytes, @bitCast(@min(numbers, @as(@Vector(len, i8), @splat(max)))));
}

/// The blocks of a row in batches of `lanes`, each with its weights.
const Batches = struct {
    row: []const f32,
    importance: [*]const f32,
    sigma2: f32,
    position: usize = 0,

    const Batch = struct { x: [len]Search.V, w: [len]Search.V, first: usize, count: usize };

    fn init(row: []const f32, importance: [*]const f32) Batches {
        const mean = searching.sumOfSquares(row) / @as(f32, @floatFromInt(row.len));
        return .{ .row = row, .importance = importance, .sigma2 = mean };
    }

    fn next(batches: *Batches) ?Batch {
        const first = batches.position / len;
        const count: usize = @min(lanes, batches.row.len / len - first);
        if (count == 0) return null;
        const x = batches.row[batches.position..][0 .. count * len];
        var weights: [lanes * len]f32 = undefined;
        const importance = batches.importance + batches.position;
        searching.weigh(x, importance, batches.sigma2, weights[0..x.len]);
        batches.position += x.len;
        return .{
            .x = Search.turn(x.ptr, count),
            .w = Search.turn(&weights, count),
            .first = first,
            .count = count,
        };
    }
};
