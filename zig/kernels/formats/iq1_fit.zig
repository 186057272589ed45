//! How iq1_s and iq1_m are written: the exact best split of a group into three levels.
//!
//! With the values sorted, a split is two positions: those below the first get the lowest level,
//! those from the second on the highest. Sums before each position give the best scale of every
//! split, and the split with the least weighted squared error wins. Afterwards points that are not
//! on the grid are replaced by a neighbour. Sums are taken in order, as in search.zig.

const std = @import("std");
const grid = @import("grids.zig").iq1;

/// What the levels 0, 1, 2 stand for: -1, 0, 1 moved up or down by an eighth.
pub const meanings = [2][3]f32{ .{ -0.875, 0.125, 1.125 }, .{ -1.125, -0.125, 0.875 } };

pub const Shift = enum(u1) { up, down };

/// Splits of one first position scored side by side.
const lanes = 8;
const V = @Vector(lanes, f32);

/// Groups of n values of which each `n / shifts` share a shift.
pub fn Fitter(comptime n: usize, comptime shifts: usize, comptime tiny: f32) type {
    return struct {
        const points = n / 8;
        const kinds = 1 << shifts;

        pub const Fitted = struct {
            scale: f32,
            points: [points]u16,
            shifts: [shifts]Shift,

            const none: Fitted = .{ .scale = 0, .points = @splat(0), .shifts = @splat(.up) };

            pub fn meaning(fitted: *const Fitted, point: usize) [3]f32 {
                return meanings[@intFromEnum(fitted.shifts[point * shifts / points])];
            }
        };

        pub fn fit(x: *const [n]f32, w: *const [n]f32) Fitted {
            if (!(@reduce(.Max, @abs(@as(@Vector(n, f32), x.*))) >= tiny)) return .none;
            const order = sort(x);
            const split = bestSplit(&.init(x, w, order)) orelse return .none;
            var levels: [n]u8 = undefined;
            for (order, 0..) |index, place| {
                const level: u8 = @as(u8, @intFromBool(place >= split.first)) +
                    @intFromBool(place >= split.second);
                levels[index] = if (split.scale < 0) 2 - level else level;
            }
            const kind = if (split.scale < 0) kinds - 1 - split.kind else split.kind;
            var out: Fitted = undefined;
            out.scale = @abs(split.scale);
            inline for (&out.shifts, 0..) |*shift, i| {
                shift.* = @enumFromInt(kind >> (shifts - 1 - i) & 1);
            }
            choosePoints(x, w, levels, &out);
            return out;
        }

        /// The positions of the values in ascending order, of equal values the first one first.
        fn sort(x: *const [n]f32) [n]u8 {
            var order: [n]u8 = undefined;
            for (x, 0..) |value, i| {
                var place = i;
                while (place > 0 and x[order[place - 1]] > value) : (place -= 1) {
                    order[place] = order[place - 1];
                }
                order[place] = @intCast(i);
            }
            return order;
        }

        /// Sums of w * x and w over the sorted values before each position, kept apart for each
        /// shift; the tail lets a vector be read at the last position.
        const Prefixes = struct {
            x: [shifts][n + 1 + lanes]f32,
            w: [shifts][n + 1 + lanes]f32,

            fn init(x: *const [n]f32, w: *const [n]f32, order: [n]u8) Prefixes {
                var sums: Prefixes = .{ .x = @splat(@splat(0)), .w = @splat(@splat(0)) };
                for (order, 0..) |index, place| {
                    const own = index / (n / shifts);
                    for (0..shifts) |i| {
                        sums.x[i][place + 1] = sums.x[i][place];
                        sums.w[i][place + 1] = sums.w[i][place];
                    }
                    sums.x[own][place + 1] += w[index] * x[index];
                    sums.w[own][place + 1] += w[index];
                }
                return sums;
            }
        };

        const Split = struct { first: usize, second: usize, kind: usize, scale: f32 };

        fn bestSplit(sums: *const Prefixes) ?Split {
            var best: ?Split = null;
            var best_score = -std.math.floatMax(f32);
            for (0..n + 1) |first| {
                var start = first;
                while (start <= n) : (start += lanes) {
                    const scores = score(sums, first, start);
                    if (!anyBetter(&scores, n + 1 - start, best_score)) continue;
                    for (0..@min(lanes, n + 1 - start)) |lane| for (scores, 0..) |each, kind| {
                        const qx = @as([lanes]f32, each.qx)[lane];
                        const q2 = @as([lanes]f32, each.q2)[lane];
                        if (!(q2 > 0 and qx * qx > best_score * q2)) continue;
                        const scale = qx / q2;
                        best_score = scale * qx;
                        best = .{
                            .first = first,
                            .second = start + lane,
                            .kind = kind,
                            .scale = scale,
                        };
                    };
                }
            }
            return best;
        }

        /// Sums of w * q * x and of w * q * q.
        const Score = struct { qx: V, q2: V };

        fn anyBetter(scores: *const [kinds]Score, valid: usize, best: f32) bool {
            var better: @Vector(lanes, bool) = @splat(false);
            for (scores) |each| {
                const gain = each.qx * each.qx > @as(V, @splat(best)) * each.q2;
                const both = @select(bool, each.q2 > @as(V, @splat(0)), gain, better);
                better = @select(bool, better, better, both);
            }
            const limit: @Vector(lanes, u32) = @splat(@intCast(valid));
            const inside = std.simd.iota(u32, lanes) < limit;
            return @reduce(.Or, @select(bool, inside, better, inside));
        }

        /// The splits at `first` and at each of the positions from `start` on; bit 0 of a kind is
        /// the shift of the last part.
        fn score(sums: *const Prefixes, first: usize, start: usize) [kinds]Score {
            if (shifts == 1) {
                return .{
                    byParts(sums, first, start, meanings[0]),
                    byParts(sums, first, start, meanings[1]),
                };
            }
            const halves = [2][2]Score{
                .{ byTotals(sums, 0, first, start, 0), byTotals(sums, 0, first, start, 1) },
                .{ byTotals(sums, 1, first, start, 0), byTotals(sums, 1, first, start, 1) },
            };
            var out: [kinds]Score = undefined;
            inline for (&out, 0..) |*each, kind| {
                const a = halves[0][kind >> 1];
                const b = halves[1][kind & 1];
                each.* = .{ .qx = a.qx + b.qx, .q2 = a.q2 + b.q2 };
            }
            return out;
        }

        fn byParts(sums: *const Prefixes, first: usize, start: usize, q: [3]f32) Score {
            const x = &sums.x[0];
            const w = &sums.w[0];
            const x_here: V = x[start..][0..lanes].*;
            const w_here: V = w[start..][0..lanes].*;
            const x_middle = (x_here - @as(V, @splat(x[first]))) * @as(V, @splat(q[1]));
            const x_high = (@as(V, @splat(x[n])) - x_here) * @as(V, @splat(q[2]));
            const w_middle = (w_here - @as(V, @splat(w[first]))) * @as(V, @splat(q[1]));
            const w_high = (@as(V, @splat(w[n])) - w_here) * @as(V, @splat(q[2]));
            return .{
                .qx = @as(V, @splat(x[first] * q[0])) + x_middle + x_high,
                .q2 = @as(V, @splat(w[first] * q[0] * q[0])) + w_middle * @as(V, @splat(q[1])) +
                    w_high * @as(V, @splat(q[2])),
            };
        }

        /// The same sums for one half, written as what the total loses at each position: meanings
        /// of neighbouring levels differ by 1.
        fn byTotals(
            sums: *const Prefixes,
            half: usize,
            first: usize,
            start: usize,
            comptime shift: usize,
        ) Score {
            const q = meanings[shift];
            const low_step = q[0] * q[0] - q[1] * q[1];
            const high_step = q[1] * q[1] - q[2] * q[2];
            const x = &sums.x[half];
            const w = &sums.w[half];
            const x_here: V = x[start..][0..lanes].*;
            const w_here: V = w[start..][0..lanes].*;
            const w_first = w[n] * q[2] * q[2] + w[first] * low_step;
            return .{
                .qx = @as(V, @splat(x[n] * q[2])) - (@as(V, @splat(x[first])) + x_here),
                .q2 = @as(V, @splat(w_first)) + w_here * @as(V, @splat(high_step)),
            };
        }

        /// Puts every eight levels on the grid, and fits the scale again where that moved any.
        fn choosePoints(x: *const [n]f32, w: *const [n]f32, levels: [n]u8, out: *Fitted) void {
            var all_on_grid = true;
            for (&out.points, 0..) |*point, i| {
                const code = grid.encode(levels[i * 8 ..][0..8].*);
                const q = out.meaning(i);
                point.* = grid.find(code) orelse blk: {
                    all_on_grid = false;
                    break :blk neighbour(code, out.scale, q, x[i * 8 ..][0..8], w[i * 8 ..][0..8]);
                };
            }
            if (all_on_grid) return;
            var sums: Sums = .{};
            for (out.points, 0..) |point, i| {
                sums.add(point, out.meaning(i), x[i * 8 ..][0..8], w[i * 8 ..][0..8]);
            }
            if (sums.qx > 0 and sums.q2 > 0) out.scale = sums.qx / sums.q2;
        }
    };
}

fn neighbour(code: u16, scale: f32, q: [3]f32, x: *const [8]f32, w: *const [8]f32) u16 {
    const Eight = @Vector(8, f32);
    var costs: grid.Costs = undefined;
    inline for (0..3) |level| {
        const diff = @as(Eight, @splat(scale * q[level])) - @as(Eight, x.*);
        const cost: [8]f32 = @as(Eight, w.*) * diff * diff;
        for (&costs, cost) |*row, value| row[level] = value;
    }
    return grid.nearest(code, &costs);
}

/// Sums of w * q * x and of w * q * q over the values of grid points.
pub const Sums = struct {
    qx: f32 = 0,
    q2: f32 = 0,

    pub fn add(sums: *Sums, point: u16, q: [3]f32, x: *const [8]f32, w: *const [8]f32) void {
        const levels: [8]u8 = grid.decode(grid.codes[point]);
        for (levels, x, w) |level, value, weight| {
            sums.qx += weight * q[level] * value;
            sums.q2 += weight * q[level] * q[level];
        }
    }
};
