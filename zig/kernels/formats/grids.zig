//! Grids of lattice points: a small number stands for four or eight values.

const std = @import("std");
const codes_iq1 = @import("grids_iq1.zig");
const codes_iq2 = @import("grids_iq2.zig");
const codes_iq3 = @import("grids_iq3.zig");

pub const iq1 = Grid(8, 2, &codes_iq1.codes, &.{ -1, 0, 1 });
pub const iq2_xxs = Grid(8, 2, &codes_iq2.xxs, &.{ 8, 25, 43 });
pub const iq2_xs = Grid(8, 2, &codes_iq2.xs, &.{ 8, 25, 43 });
pub const iq2_s = Grid(8, 2, &codes_iq2.s, &.{ 8, 25, 43 });
pub const iq3_xxs = Grid(4, 3, &codes_iq3.xxs, &.{ 4, 12, 20, 28, 36, 44, 52, 62 });
pub const iq3_s = Grid(4, 3, &codes_iq3.s, &.{ 1, 3, 5, 7, 9, 11, 13, 15 });

/// `codes` hold `dims` coordinates of `bits` bits; coordinate c stands for `levels[c]`.
fn Grid(
    comptime dims: usize,
    comptime bits: usize,
    comptime codes: []const u16,
    comptime levels: []const i8,
) type {
    return struct {
        pub const values: [codes.len][dims]i8 = blk: {
            @setEvalBranchQuota(20 * codes.len * dims);
            var table: [codes.len][dims]i8 = undefined;
            for (codes, &table) |code, *point| {
                for (point, 0..) |*value, i| {
                    value.* = levels[code >> (bits * i) & ((1 << bits) - 1)];
                }
            }
            break :blk table;
        };
    };
}
