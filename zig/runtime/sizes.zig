//! Sizes and offsets come from JavaScript as doubles: nothing but a whole number is taken for one.

const std = @import("std");

/// The number, or null when it is negative, broken, above 2^53, infinite or NaN.
pub fn of(value: f64) ?u64 {
    if (!(value >= 0 and value <= 1 << 53) or value != @floor(value)) return null;
    return @intFromFloat(value);
}

test "what is no whole number is no size" {
    try std.testing.expectEqual(@as(?u64, 0), of(0));
    try std.testing.expectEqual(@as(?u64, 1 << 53), of(1 << 53));
    const inf = std.math.inf(f64);
    for ([_]f64{ -1, 0.5, 1e300, inf, -inf, std.math.nan(f64) }) |bad| {
        try std.testing.expectEqual(null, of(bad));
    }
}
