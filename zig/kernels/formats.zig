//! The storage formats: which dtypes can be read into f32 and written from it, row by row.
//!
//! Reading is bit-exact and writing byte-exact to the reference implementation (ggml), with and
//! without an importance matrix; `bun run golden quant` compares them.
//!
//! Arithmetic on vectors of integers wraps (+%): the compiler's overflow checks of vectors report
//! overflows that are none on aarch64 (Zig 0.16).

const std = @import("std");
const DType = @import("../dtype.zig").DType;
const layout = @import("../dtype.zig").layout;

/// One entry for each format. Each declares `dtype`, `dequantizeRow` and `quantizeRow`;
/// `needs_importance` when it cannot be written without an importance matrix; `storeRow` when ops
/// write it in another way.
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

/// Like `quantizeRow` without importance, the way the reference writes the results of ops (caches,
/// copies): for iq4_nl without its search, which takes ten times as long.
pub fn storeRow(dtype: DType, src: [*]const f32, dst: [*]u8, n: usize) bool {
    switch (dtype) {
        inline else => |known| {
            const format = (comptime find(known)) orelse return false;
            if (comptime !@hasDecl(format, "storeRow")) {
                return quantizeRow(dtype, src, dst, n, null);
            }
            std.debug.assert(n % layout(known).block_len == 0);
            format.storeRow(src, dst, n);
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

const testing = std.testing;
const rowBytes = @import("../dtype.zig").rowBytes;

/// Values of a row that needs every block length.
const test_len = 2048;

/// Cubes of evenly distributed numbers from -1 to 1, the same on every machine.
fn draw(seed: u32, values: []f32) void {
    var state = seed;
    for (values) |*value| {
        state = state *% 1664525 +% 1013904223;
        const centred = @as(i32, @intCast(state >> 8)) - (1 << 23);
        const u = @as(f32, @floatFromInt(centred)) * 0x1p-23;
        value.* = u * u * u;
    }
}

const Recorded = struct { DType, ?u32, u32 };

/// FNV-1a hashes of the bytes that the reference (ggml 0.25.1) makes of the row of the test
/// below, without and with an importance matrix.
const recorded = [_]Recorded{
    .{ .f16, 0x7af637a5, 0x7af637a5 },
    .{ .q4_0, 0x887d1469, 0x8c82696f },
    .{ .q4_1, 0xc52bd3a8, 0x188d2ac7 },
    .{ .q5_0, 0x1a687295, 0x251ce591 },
    .{ .q5_1, 0x627f6e59, 0xd5d3d0ff },
    .{ .q8_0, 0x7b8cf359, 0x7b8cf359 },
    .{ .q8_1, 0x2899e86b, 0x2899e86b },
    .{ .q2_K, 0x8c4439d8, 0x6c828d6b },
    .{ .q3_K, 0x663673b8, 0x1b7b31c3 },
    .{ .q4_K, 0x63091bb1, 0x13150e1f },
    .{ .q5_K, 0xdb5f9069, 0x42fcd793 },
    .{ .q6_K, 0xfbb3eeaa, 0xa4cb8b02 },
    .{ .q8_K, 0x9fefa8e4, 0x9fefa8e4 },
    .{ .iq2_xxs, null, 0xfe8c8d12 },
    .{ .iq2_xs, null, 0x2dc15503 },
    .{ .iq3_xxs, 0xfceff4eb, 0xf4c03285 },
    .{ .iq1_s, null, 0x316447d0 },
    .{ .iq4_nl, 0x1d87193f, 0xd7d8ba46 },
    .{ .iq3_s, 0xb394bf56, 0x9bb75aa9 },
    .{ .iq2_s, 0x58e3b226, 0x2827a205 },
    .{ .iq4_xs, 0x9ff3909f, 0x25a70aa6 },
    .{ .iq1_m, 0x39364d32, 0x266f2c35 },
    .{ .bf16, 0x9b5b3e45, 0x9b5b3e45 },
    .{ .tq1_0, 0xa7ca5ccb, 0xa7ca5ccb },
    .{ .tq2_0, 0xec8b409d, 0xec8b409d },
    .{ .mxfp4, 0x824499e4, 0x824499e4 },
    .{ .nvfp4, 0x2d14d510, 0x2d14d510 },
    .{ .q1_0, 0xc018299f, 0xc018299f },
    .{ .q2_0, 0xef5a0d8c, 0xef5a0d8c },
};

test "rows are written byte for byte as the reference writes them" {
    var row: [test_len]f32 = undefined;
    draw(1, &row);
    @memset(row[256..288], 0);
    @memset(row[300..332], 0.25);
    var importance: [test_len]f32 = undefined;
    draw(2, &importance);
    for (&importance) |*weight| weight.* = @abs(weight.*) + 0x1p-10;
    var bytes: [test_len * 2]u8 = undefined;
    for (recorded) |entry| {
        const dtype = entry[0];
        const size: usize = @intCast(rowBytes(dtype, test_len).?);
        const weights: [*]const f32 = &importance;
        for ([_]?u32{ entry[1], entry[2] }, [_]?[*]const f32{ null, weights }) |expected, given| {
            const done = quantizeRow(dtype, &row, &bytes, test_len, given);
            try testing.expectEqual(expected != null, done);
            if (expected == null) continue;
            const hash = std.hash.Fnv1a_32.hash(bytes[0..size]);
            errdefer std.debug.print("{t}, importance {}\n", .{ dtype, given != null });
            try testing.expectEqual(expected.?, hash);
        }
    }
}

test "ops write iq4_nl as the reference's ops do, and all else as files have it" {
    var row: [test_len]f32 = undefined;
    draw(1, &row);
    var bytes: [test_len * 8]u8 = undefined;
    var stored: [test_len * 8]u8 = undefined;
    try testing.expect(storeRow(.iq4_nl, &row, &stored, test_len));
    const size: usize = @intCast(rowBytes(.iq4_nl, test_len).?);
    try testing.expectEqual(@as(u32, 0x2af6a102), std.hash.Fnv1a_32.hash(stored[0..size]));
    for (std.enums.values(DType)) |dtype| {
        if (dtype == .iq4_nl) continue;
        const known = canQuantize(dtype, false);
        try testing.expectEqual(known, storeRow(dtype, &row, &stored, test_len));
        if (!known) continue;
        try testing.expect(quantizeRow(dtype, &row, &bytes, test_len, null));
        const all: usize = @intCast(rowBytes(dtype, test_len).?);
        try testing.expectEqualSlices(u8, bytes[0..all], stored[0..all]);
    }
}

test "any bytes can be read and any floats written, at odd addresses too" {
    var random: std.Random.DefaultPrng = .init(5);
    var bytes: [test_len * 8 + 1]u8 = undefined;
    var row: [test_len]f32 = undefined;
    var importance: [test_len]f32 = undefined;
    for (std.enums.values(DType)) |dtype| {
        if (!canDequantize(dtype)) continue;
        for (0..4) |round| {
            random.fill(&bytes);
            try testing.expect(dequantizeRow(dtype, bytes[1..], &row, test_len));
            // Bits of any float, or of mostly ordinary ones with a few that are not.
            random.fill(std.mem.asBytes(&row));
            random.fill(std.mem.asBytes(&importance));
            if (round % 2 == 1) {
                draw(@intCast(round), &importance);
                for (&row, 0..) |*value, i| {
                    if (i % 37 != 0) value.* = importance[i];
                }
            }
            _ = quantizeRow(dtype, &row, bytes[1..], test_len, &importance);
            _ = quantizeRow(dtype, &row, bytes[1..], test_len, null);
            _ = storeRow(dtype, &row, bytes[1..], test_len);
        }
    }
}

test "zeros stay zeros, and a row is the same as its blocks one by one" {
    var row: [test_len]f32 = undefined;
    var bytes: [test_len * 8]u8 = undefined;
    var block_bytes: [test_len * 8]u8 = undefined;
    for (std.enums.values(DType)) |dtype| {
        if (!canQuantize(dtype, false)) continue;
        @memset(&row, 0);
        try testing.expect(quantizeRow(dtype, &row, &bytes, test_len, null));
        draw(1, &row);
        try testing.expect(dequantizeRow(dtype, &bytes, &row, test_len));
        for (row) |value| try testing.expectEqual(@as(f32, 0), value);

        draw(3, &row);
        const l = layout(dtype);
        const n = 5 * l.block_len; // No multiple of the blocks that are searched side by side.
        try testing.expect(quantizeRow(dtype, &row, &bytes, n, null));
        for (0..5) |i| {
            const from = row[i * l.block_len ..].ptr;
            const to = block_bytes[i * l.block_bytes ..].ptr;
            try testing.expect(quantizeRow(dtype, from, to, l.block_len, null));
        }
        const size = 5 * l.block_bytes;
        try testing.expectEqualSlices(u8, block_bytes[0..size], bytes[0..size]);
    }
}
