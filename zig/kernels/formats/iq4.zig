//! What iq4_nl and iq4_xs share: sixteen unevenly spaced levels and the search for a group's scale.

const std = @import("std");
const rounding = @import("rounding.zig");
const searching = @import("search.zig");

/// Ascending; chosen by the reference to fit bell-shaped weights.
pub const levels = [16]i8{
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
};

/// Half way between neighbours; a value there belongs to the upper one.
const borders: [15]f32 = blk: {
    var list: [15]f32 = undefined;
    for (&list, levels[0..15], levels[1..]) |*border, low, high| {
        border.* = @as(f32, @floatFromInt(@as(i32, low) + high)) / 2;
    }
    break :blk list;
};

/// The index of the nearest level for each value.
pub fn nearest(comptime n: usize, x: @Vector(n, f32)) [n]u8 {
    var index: @Vector(n, u8) = @splat(0);
    const one: @Vector(n, u8) = @splat(1);
    inline for (borders) |border| {
        const under = x < @as(@Vector(n, f32), @splat(border));
        index +%= @select(u8, under, @as(@Vector(n, u8), @splat(0)), one);
    }
    return index;
}

/// Groups searched side by side.
pub const lanes = 8;
pub const Search = searching.Search(lanes, 32);
const V = Search.V;

/// The scale of each group of 32 values; sixteen are tried.
pub fn scales(x: *const [32]V, w: *const [32]V) V {
    const zero: V = @splat(0);
    const extreme = Search.signedExtreme(x);
    const first = -extreme.value / @as(V, @splat(levels[0]));
    var sums = correlate(x, w, @as(V, @splat(1)) / first);
    var scale = @select(f32, sums.l2 > zero, sums.lx / sums.l2, zero);
    var best = scale * sums.lx;
    for (0..15) |i| {
        const numerator: f32 = @floatFromInt(@as(i32, @intCast(i)) - 7 + levels[0]);
        sums = correlate(x, w, @as(V, @splat(numerator)) / extreme.value);
        const gain = sums.lx * sums.lx > best * sums.l2;
        const better = @select(bool, sums.l2 > zero, gain, sums.l2 > zero);
        scale = @select(f32, better, sums.lx / sums.l2, scale);
        best = @select(f32, better, scale * sums.lx, best);
    }
    return @select(f32, extreme.magnitude < @as(V, @splat(searching.tiny)), zero, scale);
}

const Sums = struct { lx: V, l2: V };

fn correlate(x: *const [32]V, w: *const [32]V, inverse: V) Sums {
    var sums: Sums = .{ .lx = @splat(0), .l2 = @splat(0) };
    for (x, w) |value, weight| {
        const level = levelFloat(inverse * value);
        sums.lx += weight * level * value;
        sums.l2 += weight * level * level;
    }
    return sums;
}

/// The nearest level itself, by adding the steps below the value.
fn levelFloat(x: V) V {
    var level: V = @splat(levels[0]);
    inline for (borders, levels[0..15], levels[1..]) |border, low, high| {
        const under = x < @as(V, @splat(border));
        const step: V = @splat(@as(f32, high) - low);
        level += @select(f32, under, @as(V, @splat(0)), step);
    }
    return level;
}

test "the nearest level is the one that the distances give, the upper one on a tie" {
    var random: std.Random.DefaultPrng = .init(1);
    for (0..20_000) |i| {
        // Half of the values lie within a few units in the last place of a border.
        const border = borders[i % 15];
        var x = (random.random().float(f32) - 0.5) * 300;
        if (i % 2 == 0) {
            const bits: u32 = @bitCast(border);
            x = @bitCast(bits + random.random().uintLessThan(u32, 9) - 4);
        }
        var expected: u8 = 0;
        while (expected < 15) : (expected += 1) {
            if (x - levels[expected] < levels[expected + 1] - x) break;
        }
        try std.testing.expectEqual(expected, nearest(1, .{x})[0]);
        const level: [lanes]f32 = levelFloat(@splat(x));
        try std.testing.expectEqual(@as(f32, levels[expected]), level[0]);
    }
}
