//! How the iq2 and iq3 formats are written: the search for a group's scale and grid points.
//!
//! Magnitudes become odd numbers 1, 3, 5 .. times a scale, the signs are kept apart. Around the
//! scale that makes the largest magnitude the largest number others are tried; for each, points
//! that are not on the grid are replaced by a neighbour; and the scale with the least weighted
//! squared error wins. Sums are taken in order, as in search.zig.

const std = @import("std");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

pub const Settings = struct {
    /// Tries on each side of the first scale, and the step between them.
    tries: comptime_int,
    step: f32,
    /// Groups whose magnitudes are all smaller are zero; so are those of magnitude 0.
    tiny: f32,
    /// Signs are stored in seven bits: an odd number of them is made even at the least cost.
    even_signs: bool = false,
    /// The tries begin at a scale fitted without the grid.
    prefit: bool = false,
    /// Which points are chosen again for the best scale.
    again: enum { off_grid, all_if_one_is_off_grid, all } = .off_grid,
};

pub fn Fitter(comptime grid: type, comptime n: usize, comptime settings: Settings) type {
    return struct {
        const dims = grid.dims;
        const points = n / dims;
        const V = @Vector(n, f32);
        const largest_number = 2 * grid.levels - 1;

        pub const Fitted = struct {
            scale: f32,
            points: [points]u16,
            /// Eight bits for eight values, also where seven are stored.
            signs: [n / 8]u8,
            /// All values are too small for a scale.
            empty: bool = false,

            const none: Fitted = .{
                .scale = 0,
                .points = @splat(0),
                .signs = @splat(0),
                .empty = true,
            };
        };

        /// Fits n values with their weights.
        pub fn fit(x: *const [n]f32, w: *const [n]f32) Fitted {
            var out: Fitted = .{ .scale = 0, .points = @splat(0), .signs = undefined };
            var group: Group = .init(x, w, &out.signs);
            const largest = group.largest();
            if (!(largest > 0) or largest < settings.tiny) return .none;
            var start = largest;
            out.scale = largest / largest_number;
            if (settings.prefit) {
                const One = searching.Search(1, n);
                const fitted = One.nonNegative(
                    grid.levels + 1,
                    &One.turn(&group.x, 1),
                    &One.turn(w, 1),
                );
                out.scale = fitted.scales[0];
                start = out.scale * grid.levels;
                if (!(start > 0)) return .none;
            }
            group.tryScales(start, &out);
            group.refine(&out);
            if (out.scale < 0) {
                out.scale = -out.scale;
                for (&out.signs) |*signs| signs.* = ~signs.*;
            }
            return out;
        }

        const Group = struct {
            /// Magnitudes; one of eight may be negative where the number of signs was odd.
            x: [n]f32,
            w: [n]f32,
            /// Square roots of the weights, which choose among neighbours.
            roots: [n]f32,
            on_grid: [points]bool,

            fn init(x: *const [n]f32, w: *const [n]f32, signs: *[n / 8]u8) Group {
                const weights: V = w.*;
                const roots: V = @sqrt(weights);
                var group: Group = .{
                    .x = undefined,
                    .w = weights,
                    .roots = roots,
                    .on_grid = @splat(settings.again != .all_if_one_is_off_grid),
                };
                for (signs, 0..) |*byte, i| {
                    const values: @Vector(8, f32) = x[i * 8 ..][0..8].*;
                    const kept = values >= @as(@Vector(8, f32), @splat(0));
                    byte.* = ~@as(u8, @bitCast(kept));
                    group.x[i * 8 ..][0..8].* = @select(f32, kept, values, -values);
                    if (settings.even_signs and @popCount(byte.*) % 2 == 1) {
                        const cheapest = group.cheapestFlip(i * 8);
                        group.x[i * 8 + cheapest] = -group.x[i * 8 + cheapest];
                        byte.* ^= @as(u8, 1) << @intCast(cheapest);
                    }
                }
                return group;
            }

            fn cheapestFlip(group: *const Group, first: usize) usize {
                var best: usize = 0;
                var best_cost: f32 = undefined;
                for (group.x[first..][0..8], group.w[first..][0..8], 0..) |x, w, i| {
                    const cost = w * x * x;
                    if (i == 0 or cost < best_cost) {
                        best = i;
                        best_cost = cost;
                    }
                }
                return best;
            }

            fn largest(group: *const Group) f32 {
                return @reduce(.Max, @as(V, group.x));
            }

            fn tryScales(group: *Group, start: f32, out: *Fitted) void {
                var best: f32 = 0;
                for (0..2 * settings.tries + 1) |i| {
                    const step: f32 = @floatFromInt(@as(i32, @intCast(i)) - settings.tries);
                    const inverse = (largest_number + step * settings.step) / start;
                    const levels = group.levelsAt(inverse);
                    var chosen: [points]u16 = undefined;
                    var on_grid: [points]bool = undefined;
                    for (0..points) |k| {
                        const code = codeOf(&levels, k);
                        const index = grid.find(code);
                        on_grid[k] = index != null;
                        chosen[k] = index orelse group.neighbour(code, k, 1 / inverse);
                    }
                    const sums = group.correlate(&chosen);
                    if (sums.q2 > 0 and sums.qx * sums.qx > best * sums.q2) {
                        out.scale = sums.qx / sums.q2;
                        best = out.scale * sums.qx;
                        out.points = chosen;
                        group.on_grid = on_grid;
                    }
                }
            }

            /// Chooses points again for the best scale, and the scale again for those points.
            fn refine(group: *const Group, out: *Fitted) void {
                if (!(out.scale > 0)) return;
                const all_on_grid = @reduce(.And, @as(@Vector(points, bool), group.on_grid));
                if (settings.again != .all and all_on_grid) return;
                const levels = group.levelsAt(1 / out.scale);
                for (0..points) |k| {
                    if (settings.again != .off_grid or !group.on_grid[k]) {
                        const code = codeOf(&levels, k);
                        out.points[k] = grid.find(code) orelse
                            group.neighbour(code, k, out.scale);
                    }
                }
                const sums = group.correlate(&out.points);
                if (sums.q2 > 0) out.scale = sums.qx / sums.q2;
            }

            fn levelsAt(group: *const Group, inverse: f32) [n]u8 {
                const scaled = @as(V, @splat(inverse)) * @as(V, group.x) - @as(V, @splat(1));
                const exact = @as(V, @splat(0.5)) * scaled;
                return rounding.lowByte(rounding.nearestIn(exact, 0, grid.levels - 1));
            }

            fn codeOf(levels: *const [n]u8, point: usize) u16 {
                return grid.encode(levels[point * dims ..][0..dims].*);
            }

            fn neighbour(group: *const Group, code: u16, point: usize, scale: f32) u16 {
                const P = @Vector(dims, f32);
                const x: P = group.x[point * dims ..][0..dims].*;
                const root: P = group.roots[point * dims ..][0..dims].*;
                var costs: grid.Costs = undefined;
                inline for (0..grid.levels) |level| {
                    const diff = @as(P, @splat(scale * (2 * level + 1))) - x;
                    const cost: [dims]f32 = root * diff * diff;
                    for (&costs, cost) |*row, value| row[level] = value;
                }
                return grid.nearest(code, &costs);
            }

            const Sums = struct { qx: f32, q2: f32 };

            fn correlate(group: *const Group, chosen: *const [points]u16) Sums {
                var odd: [n]u8 = undefined;
                for (chosen, 0..) |index, k| {
                    const levels = grid.decode(grid.codes[index]);
                    odd[k * dims ..][0..dims].* = levels *% @as(@Vector(dims, u8), @splat(2)) +%
                        @as(@Vector(dims, u8), @splat(1));
                }
                const q: V = @floatFromInt(@as(@Vector(n, u8), odd));
                const qx: [n]f32 = @as(V, group.w) * @as(V, group.x) * q;
                const q2: [n]f32 = @as(V, group.w) * q * q;
                var sums: Sums = .{ .qx = 0, .q2 = 0 };
                for (qx, q2) |a, b| {
                    sums.qx += a;
                    sums.q2 += b;
                }
                return sums;
            }
        };
    };
}

/// Numbers 0 .. max for which 2 * number + 1 times `unit` is nearest to each scale.
pub fn scaleNumbers(comptime n: usize, comptime max: u8, scales: [n]f32, unit: f32) [n]u8 {
    const V = @Vector(n, f32);
    const scaled = @as(V, @splat(1 / unit)) * @as(V, scales) - @as(V, @splat(1));
    const exact = @as(V, @splat(0.5)) * scaled;
    return rounding.lowByte(rounding.nearestIn(exact, 0, max));
}
