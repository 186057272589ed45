//! Lets kernels compute on contiguous f32 whatever the tensor holds: rows that are f32 already are
//! used in place, others pass through a small buffer.

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const DType = dtypes.DType;
const Tensor = abi.Tensor;

/// Values that pass through a buffer at once: whole blocks of every format.
pub const block = 512;
pub const Buffer = [block]f32;

/// Whether elementwise ops compute on the dtype.
pub fn isFloat(dtype: DType) bool {
    return dtype == .f32 or dtype == .f16 or dtype == .bf16;
}

/// Whether rows are contiguous f32 and need no buffer.
pub fn isDirect(t: *const Tensor) bool {
    return t.dtype == .f32 and t.nb[0] == @sizeOf(f32);
}

/// Values [begin, begin + n) of a row as contiguous f32; n <= block unless the tensor is direct.
/// `begin` and n are whole blocks of the format, which can be dequantized.
pub fn read(t: *const Tensor, row: [*]const u8, begin: u64, n: usize, buffer: [*]f32) [*]const f32 {
    const source = row + begin / dtypes.layout(t.dtype).block_len * t.nb[0];
    if (isDirect(t)) return @ptrCast(@alignCast(source));
    var storage: Packed = undefined;
    const bytes = if (isPacked(t)) source else gather(t, source, n, &storage);
    const known = formats.dequantizeRow(t.dtype, bytes, buffer, n);
    std.debug.assert(known);
    return buffer;
}

/// Where to put values [begin, …) of a row before `write`: the row itself if it is direct.
pub fn target(t: *const Tensor, row: [*]u8, begin: u64, buffer: [*]f32) [*]f32 {
    return if (isDirect(t)) @ptrCast(@alignCast(row + begin * @sizeOf(f32))) else buffer;
}

/// Stores n values, which may lie at `target` already, in a format that can be quantized.
pub fn write(t: *const Tensor, row: [*]u8, begin: u64, n: usize, values: [*]const f32) void {
    const destination = row + begin / dtypes.layout(t.dtype).block_len * t.nb[0];
    if (isDirect(t)) {
        const to: [*]f32 = @ptrCast(@alignCast(destination));
        if (to != values) @memcpy(to[0..n], values);
        return;
    }
    var storage: Packed = undefined;
    const bytes = if (isPacked(t)) destination else &storage;
    const known = formats.quantizeRow(t.dtype, values, bytes, n, null);
    std.debug.assert(known);
    if (!isPacked(t)) scatter(t, destination, n, &storage);
}

/// A whole row as contiguous f32: in place, or in `buffer`, which has room for it.
pub fn readRow(t: *const Tensor, row: [*]const u8, buffer: [*]f32) [*]const f32 {
    if (isDirect(t)) return @ptrCast(@alignCast(row));
    var i: u64 = 0;
    while (i < t.ne[0]) : (i += block) {
        const n: usize = @intCast(@min(block, t.ne[0] - i));
        _ = read(t, row, i, n, buffer + i);
    }
    return buffer;
}

/// Stores a whole row, which may lie at its target already.
pub fn writeRow(t: *const Tensor, row: [*]u8, values: [*]const f32) void {
    const step = if (isDirect(t)) @max(1, t.ne[0]) else block;
    var i: u64 = 0;
    while (i < t.ne[0]) : (i += step) {
        write(t, row, i, @intCast(@min(step, t.ne[0] - i)), values + i);
    }
}

/// Bytes of f32 rows of this length.
pub fn rowsBytes(count: u64, n: u64) u64 {
    return count * std.mem.alignForward(u64, n * @sizeOf(f32), 64);
}

/// Row `index` of the scratch that rowsBytes counts.
pub fn scratchRow(scratch: [*]align(64) u8, index: u64, n: u64) [*]f32 {
    return @ptrCast(@alignCast(scratch + rowsBytes(index, n)));
}

/// The bytes of `block` values; no format needs more than f64 does.
const Packed = [block * @sizeOf(f64)]u8;

fn isPacked(t: *const Tensor) bool {
    return t.nb[0] == dtypes.layout(t.dtype).block_bytes;
}

fn gather(t: *const Tensor, source: [*]const u8, n: usize, storage: *Packed) [*]const u8 {
    switch (dtypes.layout(t.dtype).block_bytes) {
        inline 1, 2, 4, 8 => |size| for (0..n) |i| {
            storage[i * size ..][0..size].* = (source + i * t.nb[0])[0..size].*;
        },
        else => |size| for (0..n / dtypes.layout(t.dtype).block_len) |i| {
            @memcpy(storage[i * size ..][0..size], source + i * t.nb[0]);
        },
    }
    return storage;
}

fn scatter(t: *const Tensor, destination: [*]u8, n: usize, storage: *const Packed) void {
    switch (dtypes.layout(t.dtype).block_bytes) {
        inline 1, 2, 4, 8 => |size| for (0..n) |i| {
            (destination + i * t.nb[0])[0..size].* = storage[i * size ..][0..size].*;
        },
        else => |size| for (0..n / dtypes.layout(t.dtype).block_len) |i| {
            @memcpy(destination + i * t.nb[0], storage[i * size ..][0..size]);
        },
    }
}
