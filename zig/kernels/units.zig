//! Elements, or blocks, moved as bytes.

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const Tensor = abi.Tensor;

/// A tensor whose elements are the blocks of t.
pub fn ofBlocks(t: *const Tensor) Tensor {
    var units = t.*;
    units.ne[0] /= dtypes.layout(t.dtype).block_len;
    return units;
}

pub fn size(t: *const Tensor) u32 {
    return dtypes.layout(t.dtype).block_bytes;
}

/// Moves n units of `bytes` bytes; a step of 0 repeats the first.
pub fn move(
    to: [*]u8,
    to_step: u64,
    from: [*]const u8,
    from_step: u64,
    n: usize,
    bytes: u32,
) void {
    if (to_step == bytes and from_step == bytes) return @memcpy(to[0 .. n * bytes], from);
    switch (bytes) {
        inline 1, 2, 4, 8 => |known| for (0..n) |i| {
            (to + i * to_step)[0..known].* = (from + i * from_step)[0..known].*;
        },
        else => for (0..n) |i| @memcpy((to + i * to_step)[0..bytes], from + i * from_step),
    }
}

/// Zeros n units.
pub fn clear(to: [*]u8, step: u64, n: usize, bytes: u32) void {
    if (step == bytes) return @memset(to[0 .. n * bytes], 0);
    for (0..n) |i| @memset((to + i * step)[0..bytes], 0);
}

/// Indices of a row in the three outer dimensions.
pub fn outer(t: *const Tensor, row: u64) [3]u64 {
    return .{ row % t.ne[1], row / t.ne[1] % t.ne[2], row / t.ne[1] / t.ne[2] };
}

/// Address of the row with these indices.
pub fn rowAt(t: *const Tensor, at: [3]u64) [*]u8 {
    return t.data + at[0] * t.nb[1] + at[1] * t.nb[2] + at[2] * t.nb[3];
}
