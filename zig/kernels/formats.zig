//! The storage formats: which dtypes can be read into f32 and written from it, row by row.
//!
//! Reading is bit-exact and writing byte-exact to the reference implementation (ggml), with and
//! without an importance matrix; `bun run golden quant` compares them.

const std = @import("std");
const DType = @import("../dtype.zig").DType;
const layout = @import("../dtype.zig").layout;

/// One entry for each format. Each declares `dtype`, `dequantizeRow` and `quantizeRow`;
/// `needs_importance` when it cannot be written without an importance matrix.
const formats = .{
    @import("formats/plain.zig").f32_format,
    @import("formats/plain.zig").f64_format,
    @import("formats/plain.zig").i8_format,
    @import("formats/plain.zig").i16_format,
    @import("formats/plain.zig").i32_format,
    @import("formats/plain.zig").i64_format,
    @import("formats/plain.zig").u8_format,
    @import("formats/plain.zig").u32_format,
    @import("formats/f16.zig"),
    @import("formats/bf16.zig"),
    @import("formats/q1_0.zig"),
    @import("formats/q2_0.zig"),
    @import("formats/q4_0.zig"),
    @import("formats/q4_1.zig"),
    @import("formats/q5_0.zig"),
    @import("formats/q5_1.zig"),
    @import("formats/q8_0.zig"),
    @import("formats/q8_1.zig"),
    @import("formats/q2_K.zig"),
    @import("formats/q3_K.zig"),
    @import("formats/q4_K.zig"),
    @import("formats/q5_K.zig"),
    @import("formats/q6_K.zig"),
    @import("formats/q8_K.zig"),
    @import("formats/tq1_0.zig"),
    @import("formats/tq2_0.zig"),
    @import("formats/mxfp4.zig"),
    @import("formats/nvfp4.zig"),
    @import("formats/iq4_nl.zig"),
    @import("formats/iq4_xs.zig"),
    @import("formats/iq3_xxs.zig"),
    @import("formats/iq3_s.zig"),
    @import("formats/iq2_xxs.zig"),
    @import("formats/iq2_xs.zig"),
    @import("formats/iq2_s.zig"),
    @import("formats/iq1_s.zig"),
    @import("formats/iq1_m.zig"),
};

/// Writes the `n` values of a row to `dst`; false when the dtype cannot be read. `n` is a
/// multiple of the dtype's block; `src` needs no alignment and may hold any bytes.
pub fn dequantizeRow(dtype: DType, src: [*]const u8, dst: [*]f32, n: usize) bool {
    switch (dtype) {
        inline else => |known| {
            const format = (comptime find(known)) orelse return false;
            std.debug.assert(n % layout(known).block_len == 0);
            format.dequantizeRow(src, dst, n);
            return true;
        },
    }
}

/// Stores the `n` values of a row in `dst`; false when the dtype cannot be written, or not without
/// `importance`. That holds a weight for each of the `n` columns: larger where errors cost more.
pub fn quantizeRow(
    dtype: DType,
    src: [*]const f32,
    dst: [*]u8,
    n: usize,
    importance: ?[*]const f32,
) bool {
    switch (dtype) {
        inline else => |known| {
            const format = (comptime find(known)) orelse return false;
            if (comptime needsImportance(known)) if (importance == null) return false;
            std.debug.assert(n % layout(known).block_len == 0);
            format.quantizeRow(src, dst, n, importance);
            return true;
        },
    }
}

pub fn canDequantize(dtype: DType) bool {
    return switch (dtype) {
        inline else => |known| comptime find(known) != null,
    };
}

/// Whether rows can be written, without an importance matrix if `importance` is false.
pub fn canQuantize(dtype: DType, importance: bool) bool {
    return switch (dtype) {
        inline else => |known| {
            if (comptime find(known) == null) return false;
            return importance or comptime !needsImportance(known);
        },
    };
}

fn find(comptime dtype: DType) ?type {
    @setEvalBranchQuota(10_000);
    for (formats) |format| {
        if (format.dtype == dtype) return format;
    }
    return null;
}

fn needsImportance(comptime dtype: DType) bool {
    const format = find(dtype) orelse return false;
    return @hasDecl(format, "needs_importance") and format.needs_importance;
}

test {
    inline for (formats) |format| std.testing.refAllDecls(format);
    _ = @import("formats/extreme.zig");
    _ = @import("formats/iq_signs.zig");
    _ = @import("formats/k_scales.zig");
    _ = @import("formats/lookup.zig");
    _ = @import("formats/planes.zig");
    _ = @import("formats/rounding.zig");
}
