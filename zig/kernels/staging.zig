//! Lets kernels compute on contiguous f32 whatever the tensor holds: rows that are f32 already are
//! used in place, others pass through a small buffer.

const std = @import("std");
const abi = @import("abi.zig");
const DType = @import("../dtype.zig").DType;
const f16_format = @import("formats/f16.zig");
const bf16_format = @import("formats/bf16.zig");
const Tensor = abi.Tensor;

/// Values that pass through a buffer at once.
pub const block = 512;
pub const Buffer = [block]f32;

/// Whether this file can read and write the dtype.
pub fn isFloat(dtype: DType) bool {
    return dtype == .f32 or dtype == .f16 or dtype == .bf16;
}

/// Whether rows are contiguous f32 and need no buffer.
pub fn isDirect(t: *const Tensor) bool {
    return t.dtype == .f32 and t.nb[0] == @sizeOf(f32);
}

/// Values [begin, begin + n) of a row as contiguous f32; n <= block unless the tensor is direct.
pub fn read(t: *const Tensor, row: [*]const u8, begin: u64, n: usize, buffer: *Buffer) [*]const f32 {
    const source = row + begin * t.nb[0];
    if (isDirect(t)) return @ptrCast(@alignCast(source));
    switch (t.dtype) {
        .f32 => for (buffer[0..n], 0..) |*value, i| {
            value.* = at(f32, source, i * t.nb[0]).*;
        },
        .f16 => if (t.nb[0] == 2) f16_format.dequantizeRow(source, buffer, n) else {
            for (buffer[0..n], 0..) |*value, i| {
                value.* = f16_format.toFloat(at(u16, source, i * t.nb[0]).*);
            }
        },
        .bf16 => if (t.nb[0] == 2) bf16_format.dequantizeRow(source, buffer, n) else {
            for (buffer[0..n], 0..) |*value, i| {
                value.* = bf16_format.toFloat(at(u16, source, i * t.nb[0]).*);
            }
        },
        else => unreachable, // The plan refused it.
    }
    return buffer;
}

/// Where to put values [begin, …) of a row before `write`: the row itself if it is direct.
pub fn target(t: *const Tensor, row: [*]u8, begin: u64, buffer: *Buffer) [*]f32 {
    return if (isDirect(t)) @ptrCast(@alignCast(row + begin * 4)) else buffer;
}

/// Stores what was put at `target`.
pub fn write(t: *const Tensor, row: [*]u8, begin: u64, n: usize, buffer: *const Buffer) void {
    if (isDirect(t)) return;
    const destination = row + begin * t.nb[0];
    switch (t.dtype) {
        .f32 => for (buffer[0..n], 0..) |value, i| {
            at(f32, destination, i * t.nb[0]).* = value;
        },
        .f16 => if (t.nb[0] == 2) f16_format.quantizeRow(buffer, destination, n, null) else {
            for (buffer[0..n], 0..) |value, i| {
                at(u16, destination, i * t.nb[0]).* = f16_format.fromFloat(value);
            }
        },
        .bf16 => if (t.nb[0] == 2) bf16_format.quantizeRow(buffer, destination, n, null) else {
            for (buffer[0..n], 0..) |value, i| {
                at(u16, destination, i * t.nb[0]).* = bf16_format.fromFloat(value);
            }
        },
        else => unreachable, // The plan refused it.
    }
}

fn At(T: type, Bytes: type) type {
    return if (@typeInfo(Bytes).pointer.is_const) *align(1) const T else *align(1) T;
}

inline fn at(T: type, bytes: anytype, offset: u64) At(T, @TypeOf(bytes)) {
    return @ptrCast(bytes + offset);
}
