//! The slopes of ALiBi (Press et al. 2021, arXiv:2108.12409).

const std = @import("std");
const angles = @import("angles.zig");

/// With n the largest power of two that is not above the number of heads, head h's slope is
/// 2^(-max (h + 1) / n), and from head n on 2^(-max (2 (h - n) + 1) / 2n). 1 where max is 0.
pub fn slope(max: f32, head: u64, heads: u64) f32 {
    if (max == 0) return 1;
    const n = std.math.floorPowerOfTwo(u64, heads);
    const steps = if (head < n) 2 * (head + 1) else 2 * (head - n) + 1;
    const unit = @as(f64, max) / @as(f64, @floatFromInt(2 * n));
    const exponent = -unit * @as(f64, @floatFromInt(steps));
    return @floatCast(angles.exp(@splat(exponent * std.math.ln2))[0]);
}

test "slopes of a power of two of heads and of others" {
    for (0..8) |h| {
        const expected = std.math.exp2(-@as(f64, @floatFromInt(h + 1)));
        try std.testing.expectApproxEqRel(expected, slope(8, h, 8), 1e-7);
    }
    try std.testing.expectApproxEqRel(std.math.exp2(-1.0), slope(8, 4, 6), 1e-7);
    try std.testing.expectApproxEqRel(std.math.exp2(-3.0), slope(8, 5, 6), 1e-7);
    try std.testing.expectEqual(1, slope(0, 3, 6));
}
