//! Sums over rows of f32, in f64, so that no square overflows or vanishes and long rows lose
//! nothing.

const std = @import("std");
const simd = @import("simd.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;
const Wide = @Vector(lanes, f64);

/// The sum of the first n values.
pub fn plain(x: [*]const f32, n: usize) f64 {
    return total(x, n, 0, identity);
}

/// The sum of (x - center)^2.
pub fn squares(x: [*]const f32, n: usize, center: f64) f64 {
    return total(x, n, center, square);
}

inline fn identity(v: Wide, _: f64, sum: Wide) Wide {
    return sum + v;
}

inline fn square(v: Wide, center: f64, sum: Wide) Wide {
    const distance = v - @as(Wide, @splat(center));
    return simd.mulAdd(distance, distance, sum);
}

inline fn total(x: [*]const f32, n: usize, center: f64, comptime add: anytype) f64 {
    // Two sums, so that additions do not wait for each other.
    var sums: [2]Wide = @splat(@splat(0));
    var i: usize = 0;
    while (i + 2 * lanes <= n) : (i += 2 * lanes) {
        inline for (&sums, 0..) |*sum, k| {
            sum.* = add(vector.load(x + i + k * lanes), center, sum.*);
        }
    }
    if (i + lanes <= n) {
        sums[0] = add(vector.load(x + i), center, sums[0]);
        i += lanes;
    }
    var result = @reduce(.Add, sums[0] + sums[1]);
    for (x[i..n]) |value| {
        const one: [lanes]f64 = add(@as(Wide, @splat(value)), center, @splat(0));
        result += one[0];
    }
    return result;
}

test "sums of rows of any length" {
    var x: [100]f32 = undefined;
    for (&x, 0..) |*value, i| value.* = @floatFromInt(i);
    for (0..100) |n| {
        const count: f64 = @floatFromInt(n);
        try std.testing.expectEqual(count * (count - 1) / 2, plain(&x, n));
        var expected: f64 = 0;
        for (x[0..n]) |value| expected += (value - 3.5) * (value - 3.5);
        try std.testing.expectEqual(expected, squares(&x, n, 3.5));
    }
}
