//! The dtypes, defined once. TypeScript, CUDA and Metal read the generated copies.
//!
//! A dtype that a GGUF file can hold has GGUF's own type number as its code, so that a file needs
//! no translation (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Codes from 64 on
//! are leaven's own and never stand in a file.

const std = @import("std");
const assert = std.debug.assert;

/// Values are part of the C ABI: append only, never renumber.
pub const DType = enum(u16) {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q8_1 = 9,
    q2_K = 10,
    q3_K = 11,
    q4_K = 12,
    q5_K = 13,
    q6_K = 14,
    q8_K = 15,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    i8 = 24,
    i16 = 25,
    i32 = 26,
    i64 = 27,
    f64 = 28,
    iq1_m = 29,
    bf16 = 30,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
    u8 = 64,
    u32 = 65,
    /// Activations on their way into a product with quantized weights. A row of n values is
    /// three runs: n x i8, then n/32 x f32 scales, then n/16 x i16 sums of 16 neighbouring i8.
    q8_row = 66,
};

/// Quantized dtypes store `block_len` values in `block_bytes` bytes; plain dtypes have one.
pub const Layout = struct { block_len: u32, block_bytes: u32 };

pub fn layout(dtype: DType) Layout {
    return switch (dtype) {
        .i8, .u8 => .{ .block_len = 1, .block_bytes = 1 },
        .f16, .bf16, .i16 => .{ .block_len = 1, .block_bytes = 2 },
        .f32, .i32, .u32 => .{ .block_len = 1, .block_bytes = 4 },
        .f64, .i64 => .{ .block_len = 1, .block_bytes = 8 },
        .q4_0 => .{ .block_len = 32, .block_bytes = 18 },
        .q4_1 => .{ .block_len = 32, .block_bytes = 20 },
        .q5_0 => .{ .block_len = 32, .block_bytes = 22 },
        .q5_1 => .{ .block_len = 32, .block_bytes = 24 },
        .q8_0 => .{ .block_len = 32, .block_bytes = 34 },
        .q8_1 => .{ .block_len = 32, .block_bytes = 36 },
        .q2_K => .{ .block_len = 256, .block_bytes = 84 },
        .q3_K => .{ .block_len = 256, .block_bytes = 110 },
        .q4_K => .{ .block_len = 256, .block_bytes = 144 },
        .q5_K => .{ .block_len = 256, .block_bytes = 176 },
        .q6_K => .{ .block_len = 256, .block_bytes = 210 },
        .q8_K => .{ .block_len = 256, .block_bytes = 292 },
        .iq1_s => .{ .block_len = 256, .block_bytes = 50 },
        .iq1_m => .{ .block_len = 256, .block_bytes = 56 },
        .iq2_xxs => .{ .block_len = 256, .block_bytes = 66 },
        .iq2_xs => .{ .block_len = 256, .block_bytes = 74 },
        .iq2_s => .{ .block_len = 256, .block_bytes = 82 },
        .iq3_xxs => .{ .block_len = 256, .block_bytes = 98 },
        .iq3_s => .{ .block_len = 256, .block_bytes = 110 },
        .iq4_nl => .{ .block_len = 32, .block_bytes = 18 },
        .iq4_xs => .{ .block_len = 256, .block_bytes = 136 },
        .tq1_0 => .{ .block_len = 256, .block_bytes = 54 },
        .tq2_0 => .{ .block_len = 256, .block_bytes = 66 },
        .mxfp4 => .{ .block_len = 32, .block_bytes = 17 },
        .nvfp4 => .{ .block_len = 64, .block_bytes = 36 },
        .q1_0 => .{ .block_len = 128, .block_bytes = 18 },
        .q2_0 => .{ .block_len = 64, .block_bytes = 18 },
        .q8_row => .{ .block_len = 32, .block_bytes = 40 },
    };
}

/// Bytes of one contiguous row of `len` values, or null when `len` is no multiple of the block
/// or the size overflows.
pub fn rowBytes(dtype: DType, len: u64) ?u64 {
    const l = layout(dtype);
    if (len % l.block_len != 0) return null;
    return std.math.mul(u64, len / l.block_len, l.block_bytes) catch null;
}

/// True for dtypes whose values lie in blocks with a shared scale.
pub fn isQuantized(dtype: DType) bool {
    return layout(dtype).block_len > 1;
}

pub fn fromCode(code: u16) ?DType {
    return std.enums.fromInt(DType, code);
}

comptime {
    for (std.enums.values(DType)) |dtype| {
        assert(layout(dtype).block_len > 0);
        assert(layout(dtype).block_bytes > 0);
    }
}

test "a row that is no multiple of the block has no size" {
    try std.testing.expectEqual(@as(?u64, null), rowBytes(.q8_0, 31));
    try std.testing.expectEqual(@as(?u64, 68), rowBytes(.q8_0, 64));
    try std.testing.expectEqual(@as(?u64, null), rowBytes(.f64, std.math.maxInt(u64)));
}
