//! Grids of lattice points: a small number stands for four or eight values.
//!
//! A point is coded by its coordinates, two or three bits each, the first lowest; `values` says
//! what they stand for. Writers need the way back: the index of a code, and for codes that are
//! not on the grid the points around them.

const std = @import("std");
const lookup = @import("lookup.zig");
const codes_iq1 = @import("grids_iq1.zig");
const codes_iq2 = @import("grids_iq2.zig");
const codes_iq3 = @import("grids_iq3.zig");

pub const iq1 = Grid(8, 3, &codes_iq1.codes, &.{ -1, 0, 1 });
pub const iq2_xxs = Grid(8, 2, &codes_iq2.xxs, &.{ 8, 25, 43 });
pub const iq2_xs = Grid(8, 2, &codes_iq2.xs, &.{ 8, 25, 43 });
pub const iq2_s = Grid(8, 1, &codes_iq2.s, &.{ 8, 25, 43 });
pub const iq3_xxs = Grid(4, 2, &codes_iq3.xxs, &.{ 4, 12, 20, 28, 36, 44, 52, 62 });
pub const iq3_s = Grid(4, 3, &codes_iq3.s, &.{ 1, 3, 5, 7, 9, 11, 13, 15 });

/// `ascending` codes of `dimensions` coordinates; coordinate c stands for `meanings[c]`. A point's
/// neighbours are those at its `shell_count` smallest distances.
fn Grid(
    comptime dimensions: usize,
    comptime shell_count: usize,
    comptime ascending: []const u16,
    comptime meanings: []const i8,
) type {
    return struct {
        pub const dims = dimensions;
        pub const codes = ascending[0..ascending.len];
        pub const levels = meanings.len;
        pub const shells = shell_count;
        const bits = if (dims == 8) 2 else 3;
        const coordinate_mask = (1 << bits) - 1;

        /// The values of a point.
        pub fn values(index: u16) [dims]i8 {
            return @bitCast(packed_values[index]);
        }

        const Packed = std.meta.Int(.unsigned, 8 * dims);

        /// The values of each point in the bytes of one number, the first lowest.
        const packed_values: [codes.len]Packed = blk: {
            const All = @Vector(codes.len, Packed);
            const all: All = @as(@Vector(codes.len, u16), codes.*);
            var sum: All = @splat(0);
            for (0..dims) |i| {
                const coordinates = all >> @splat(bits * i) & @as(All, @splat(coordinate_mask));
                for (meanings, 0..) |meaning, level| {
                    const byte: Packed = @as(u8, @bitCast(meaning));
                    const shifted: All = @splat(byte << 8 * i);
                    const here = coordinates == @as(All, @splat(level));
                    sum |= @select(Packed, here, shifted, @as(All, @splat(0)));
                }
            }
            break :blk sum;
        };

        pub fn encode(coordinates: @Vector(dims, u8)) u16 {
            const wide: @Vector(dims, u16) = coordinates;
            return @reduce(.Or, wide << shifts);
        }

        pub fn decode(code: u16) @Vector(dims, u8) {
            const all: @Vector(dims, u16) = @splat(code);
            return @truncate(all >> shifts & @as(@Vector(dims, u16), @splat(coordinate_mask)));
        }

        const shifts: @Vector(dims, u4) = blk: {
            var list: [dims]u4 = undefined;
            for (&list, 0..) |*shift, i| shift.* = bits * i;
            break :blk list;
        };

        /// The index of a code, or null when it is not on the grid.
        pub fn find(code: u16) ?u16 {
            const word = members[code / 64];
            const bit: u6 = @truncate(code);
            if (word >> bit & 1 == 0) return null;
            const lower = word & ((@as(u64, 1) << bit) - 1);
            return ranks[code / 64] + @popCount(lower);
        }

        /// A bit for each code, set for those on the grid.
        const members: [1024]u64 = blk: {
            @setEvalBranchQuota(4 * codes.len);
            var words: [1024]u64 = @splat(0);
            for (codes) |code| words[code / 64] |= 1 << (code % 64);
            break :blk words;
        };

        /// How many codes lie in the words before.
        const ranks: [1024]u16 = blk: {
            @setEvalBranchQuota(4096);
            var counts: [1024]u16 = undefined;
            var count: u16 = 0;
            for (members, &counts) |word, *before| {
                before.* = count;
                count += @popCount(word);
            }
            break :blk counts;
        };

        /// What each coordinate of a point costs at each level.
        pub const Costs = [dims][levels]f32;

        /// The neighbour of `code` with the least sum of costs, taken coordinate by coordinate; of
        /// equal ones the nearer, then the lower index.
        pub noinline fn nearest(code: u16, costs: *const Costs) u16 {
            var distances: [codes.len]u8 = undefined;
            var shell: u8 = measure(code, &distances);
            var best_cost = std.math.floatMax(f32);
            var best: ?u16 = null;
            for (0..shell_count) |_| {
                var next: u8 = 255;
                var start: u16 = 0;
                while (start < codes.len) : (start += chunk) {
                    const here: Chunk = distances[start..][0..chunk].*;
                    const limit: Chunk = @splat(shell);
                    const further = @select(u8, here > limit, here, @as(Chunk, @splat(255)));
                    next = @min(next, @reduce(.Min, further));
                    var found: Mask = @bitCast(here == limit);
                    while (found != 0) : (found &= found - 1) {
                        const index = start + @ctz(found);
                        const cost = costOf(codes[index], costs);
                        if (cost < best_cost) {
                            best_cost = cost;
                            best = index;
                        }
                        // Costs that are no numbers leave the first neighbour.
                        if (best == null) best = index;
                    }
                }
                shell = next;
            }
            return best.?;
        }

        fn costOf(code: u16, costs: *const Costs) f32 {
            var sum: f32 = 0;
            inline for (0..dims) |i| sum += costs[i][code >> (bits * i) & coordinate_mask];
            return sum;
        }

        /// Points measured at once.
        const chunk = 64;
        const Chunk = @Vector(chunk, u8);
        const Mask = std.meta.Int(.unsigned, chunk);

        /// Fills in the squared distance of each point in coordinates; returns the least.
        fn measure(code: u16, distances: *[codes.len]u8) u8 {
            var least: Chunk = @splat(255);
            var start: usize = 0;
            while (start < codes.len) : (start += chunk) {
                var sum: Chunk = @splat(0);
                inline for (parts, 0..) |part, i| {
                    const table = part_distances[code >> (part_bits * i) & part_mask];
                    const indices: Chunk = part[start..][0..chunk].*;
                    sum +%= @bitCast(lookup.sixteen(chunk, table, indices));
                }
                distances[start..][0..chunk].* = sum;
                least = @min(least, sum);
            }
            return @reduce(.Min, least);
        }

        /// Codes are cut in four parts of one or two coordinates, so that a part indexes a table of
        /// sixteen distances.
        const part_bits = bits * (dims / 4);
        const part_mask = (1 << part_bits) - 1;

        const parts: [4][codes.len]u8 = blk: {
            const All = @Vector(codes.len, u16);
            var out: [4][codes.len]u8 = undefined;
            for (&out, 0..) |*part, i| {
                const shifted = @as(All, codes.*) >> @splat(part_bits * i);
                const masked = shifted & @as(All, @splat(part_mask));
                part.* = @as(@Vector(codes.len, u8), @intCast(masked));
            }
            break :blk out;
        };

        /// Squared distances between any two parts.
        const part_distances: [16][16]i8 = blk: {
            @setEvalBranchQuota(10_000);
            var out: [16][16]i8 = undefined;
            for (&out, 0..) |*row, a| {
                for (row, 0..) |*distance, b| {
                    distance.* = 0;
                    for (0..dims / 4) |i| {
                        const shift = bits * i;
                        const first: i8 = a >> shift & coordinate_mask;
                        const second: i8 = b >> shift & coordinate_mask;
                        distance.* += (first - second) * (first - second);
                    }
                }
            }
            break :blk out;
        };
    };
}

test "codes on the grid are found, and nearest takes only the shells around a code" {
    inline for (.{ iq1, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s }) |grid| {
        for (grid.codes, 0..) |code, i| {
            try std.testing.expectEqual(@as(?u16, @intCast(i)), grid.find(code));
            try std.testing.expectEqual(code, grid.encode(grid.decode(code)));
        }
        var costs: grid.Costs = undefined;
        var random: std.Random.DefaultPrng = .init(3);
        for (0..200) |_| {
            var coordinates: [grid.dims]u8 = undefined;
            for (&coordinates) |*c| c.* = random.random().uintLessThan(u8, grid.levels);
            for (&costs) |*row| for (row) |*cost| {
                cost.* = random.random().float(f32);
            };
            const code = grid.encode(coordinates);
            try std.testing.expectEqual(bySorting(grid, code, &costs), grid.nearest(code, &costs));
        }
    }
}

/// `nearest` from its definition.
fn bySorting(comptime grid: type, code: u16, costs: *const grid.Costs) u16 {
    const from: [grid.dims]u8 = grid.decode(code);
    var best: u16 = 0;
    var best_cost = std.math.floatMax(f32);
    var seen_shells: usize = 0;
    for (0..255) |distance| {
        var any = false;
        for (grid.codes, 0..) |other, index| {
            const to: [grid.dims]u8 = grid.decode(other);
            var squares: usize = 0;
            for (from, to) |a, b| squares += (@max(a, b) - @min(a, b)) * (@max(a, b) - @min(a, b));
            if (squares != distance) continue;
            any = true;
            var cost: f32 = 0;
            for (to, costs) |level, row| cost += row[level];
            if (cost < best_cost) {
                best_cost = cost;
                best = @intCast(index);
            }
        }
        if (any) seen_shells += 1;
        if (seen_shells == grid.shells) break;
    }
    return best;
}
