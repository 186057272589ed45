//! The formats as one instruction set's object exports them: what the runtime calls to read and
//! write rows outside a program.

const DType = @import("../../dtype.zig").DType;
const rowBytes = @import("../../dtype.zig").rowBytes;
const formats = @import("../formats.zig");

/// Rows are contiguous and n is a multiple of the dtype's block. Both return false, having done
/// nothing, when the dtype has no such function (or needs an importance matrix).
pub const Table = extern struct {
    dequantize: *const fn (
        dtype: DType,
        src: [*]const u8,
        dst: [*]f32,
        rows: usize,
        n: usize,
    ) callconv(.c) bool,
    quantize: *const fn (
        dtype: DType,
        src: [*]const f32,
        dst: [*]u8,
        rows: usize,
        n: usize,
        importance: ?[*]const f32,
    ) callconv(.c) bool,
};

pub const table: Table = .{ .dequantize = dequantize, .quantize = quantize };

fn dequantize(
    dtype: DType,
    src: [*]const u8,
    dst: [*]f32,
    rows: usize,
    n: usize,
) callconv(.c) bool {
    const bytes = rowBytes(dtype, n).?;
    for (0..rows) |row| {
        if (!formats.dequantizeRow(dtype, src + row * bytes, dst + row * n, n)) return false;
    }
    return true;
}

fn quantize(
    dtype: DType,
    src: [*]const f32,
    dst: [*]u8,
    rows: usize,
    n: usize,
    importance: ?[*]const f32,
) callconv(.c) bool {
    const bytes = rowBytes(dtype, n).?;
    for (0..rows) |row| {
        const to = dst + row * bytes;
        if (!formats.quantizeRow(dtype, src + row * n, to, n, importance)) return false;
    }
    return true;
}
