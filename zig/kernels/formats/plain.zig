//! Numbers of one element a block. Integers are cut off towards zero and held inside their range.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;

pub const f32_format = Plain(.f32, f32);
pub const f64_format = Plain(.f64, f64);
pub const i8_format = Plain(.i8, i8);
pub const i16_format = Plain(.i16, i16);
pub const i32_format = Plain(.i32, i32);
pub const i64_format = Plain(.i64, i64);
pub const u8_format = Plain(.u8, u8);
pub const u32_format = Plain(.u32, u32);

fn Plain(comptime code: DType, comptime T: type) type {
    return struct {
        pub const dtype: DType = code;

        pub fn dequantizeRow(src: [*]const u8, dst: [*]f32, n: usize) void {
            const values: [*]align(1) const T = @ptrCast(src);
            if (T == f32) return @memcpy(dst[0..n], values[0..n]);
            for (values[0..n], dst[0..n]) |value, *out| out.* = switch (@typeInfo(T)) {
                .float => @floatCast(value),
                else => @floatFromInt(value),
            };
        }

        pub fn quantizeRow(
            src: [*]const f32,
            dst: [*]u8,
            n: usize,
            importance: ?[*]const f32,
        ) void {
            _ = importance;
            const values: [*]align(1) T = @ptrCast(dst);
            if (T == f32) return @memcpy(values[0..n], src[0..n]);
            for (src[0..n], values[0..n]) |value, *out| out.* = switch (@typeInfo(T)) {
                .float => value,
                else => saturate(value),
            };
        }

        /// NaN becomes 0.
        fn saturate(value: f32) T {
            if (value != value) return 0;
            // The upper limit may round up to a power of two that T does not hold.
            if (value >= @as(f32, @floatFromInt(std.math.maxInt(T)))) return std.math.maxInt(T);
            if (value <= @as(f32, @floatFromInt(std.math.minInt(T)))) return std.math.minInt(T);
            return @intFromFloat(value);
        }
    };
}

test "plain numbers saturate and keep what fits" {
    const inf = std.math.inf(f32);
    const source = [_]f32{ 1.9, -1.9, 300, -300, inf, -inf, std.math.nan(f32), 0 };
    var bytes: [8]u8 = undefined;
    i8_format.quantizeRow(&source, &bytes, 8, null);
    const expected = [_]i8{ 1, -1, 127, -128, 127, -128, 0, 0 };
    try std.testing.expectEqual(expected, @as([8]i8, @bitCast(bytes)));
    var back: [8]f32 = undefined;
    i8_format.dequantizeRow(&bytes, &back, 8);
    try std.testing.expectEqual([8]f32{ 1, -1, 127, -128, 127, -128, 0, 0 }, back);

    var wide: [8 * 8]u8 = undefined;
    i64_format.quantizeRow(&source, &wide, 8, null);
    i64_format.dequantizeRow(&wide, &back, 8);
    try std.testing.expectEqual(@as(f32, 0x1p63), back[4]);
    u32_format.quantizeRow(&source, &wide, 8, null);
    u32_format.dequantizeRow(&wide, &back, 8);
    try std.testing.expectEqual([8]f32{ 1, 0, 300, 0, 0x1p32, 0, 0, 0 }, back);
    f64_format.quantizeRow(&source, &wide, 6, null);
    f64_format.dequantizeRow(&wide, &back, 6);
    try std.testing.expectEqual(source[0..6].*, back[0..6].*);
}
