//! What a product needs of a row of activations besides the activations: numbers per block.

const std = @import("std");
const simd = @import("../simd.zig");
const Shape = @import("tile.zig").Shape;

/// Activations of one row that are multiplied without a break.
pub const columns_max = 512;
pub const blocks_max = columns_max / 32;

pub const Side = struct {
    /// [group]: -zero * sum(a), where the products of a block's codes start.
    start: [2 * blocks_max]i32 align(64),
    /// [block]: s.
    scale: [blocks_max]f32 align(64),
    /// [group]: s * sum(a).
    sum: [2 * blocks_max]f32 align(64),

    /// Reads blocks [begin, begin + blocks) of a q8_row of n activations.
    pub inline fn prepare(
        side: *Side,
        comptime s: Shape,
        zero: i32,
        row: [*]const u8,
        n: usize,
        begin: usize,
        blocks: usize,
    ) void {
        const scales = row + n + begin * 4;
        const sums = row + n + n / 8 + begin * 4;
        const at_once = 8;
        if (blocks % at_once == 0) {
            var i: usize = 0;
            while (i < blocks) : (i += at_once) {
                side.part(s, zero, at_once, i, scales + i * 4, sums + i * 4);
            }
        } else for (0..blocks) |i| side.part(s, zero, 1, i, scales + i * 4, sums + i * 4);
    }

    inline fn part(
        side: *Side,
        comptime s: Shape,
        zero: i32,
        comptime count: u32,
        first: usize,
        scales: [*]const u8,
        sums: [*]const u8,
    ) void {
        const groups = comptime s.groups();
        const scale = simd.load(@Vector(count, f32), scales);
        side.scale[first..][0..count].* = scale;
        const I = @Vector(count * groups, i32);
        const sum: I = if (groups == 2) simd.load(@Vector(2 * count, i16), sums) else blk: {
            // Both sums of a block are in one dword.
            const both = simd.load(@Vector(count, i32), sums);
            break :blk (both >> @splat(16)) + ((both << @splat(16)) >> @splat(16));
        };
        if (s.has_zero) {
            side.start[first * groups ..][0 .. count * groups].* = sum * @as(I, @splat(-zero));
        }
        if (s.has_offset) {
            const wide = if (groups == 1) scale else doubled(count, scale);
            side.sum[first * groups ..][0 .. count * groups].* =
                @as(@Vector(count * groups, f32), @floatFromInt(sum)) * wide;
        }
    }
};

/// v0 v0 v1 v1 …
inline fn doubled(comptime n: u32, v: @Vector(n, f32)) @Vector(2 * n, f32) {
    const mask = comptime blk: {
        var list: [2 * n]i32 = undefined;
        for (&list, 0..) |*index, i| index.* = @intCast(i / 2);
        break :blk list;
    };
    return @shuffle(f32, v, undefined, mask);
}
