//! Tables of sixteen small numbers, looked up many at once by the processor's byte shuffle.

const std = @import("std");
const builtin = @import("builtin");

fn Bytes(comptime n: usize) type {
    return @Vector(n, i8);
}

const has_shuffle = switch (builtin.cpu.arch) {
    .x86_64 => builtin.cpu.has(.x86, .ssse3),
    .aarch64 => true,
    else => false,
};
const has_avx2 = builtin.cpu.arch == .x86_64 and builtin.cpu.has(.x86, .avx2);
const has_avx512bw = builtin.cpu.arch == .x86_64 and builtin.cpu.has(.x86, .avx512bw);
/// Bytes that one instruction looks up.
const native = if (has_avx512bw) 64 else if (has_avx2) 32 else 16;

extern fn @"llvm.x86.ssse3.pshuf.b.128"(table: Bytes(16), indices: Bytes(16)) Bytes(16);
extern fn @"llvm.x86.avx2.pshuf.b"(table: Bytes(32), indices: Bytes(32)) Bytes(32);
extern fn @"llvm.x86.avx512.pshuf.b.512"(table: Bytes(64), indices: Bytes(64)) Bytes(64);
extern fn @"llvm.aarch64.neon.tbl1.v16i8"(table: Bytes(16), indices: Bytes(16)) Bytes(16);

/// `table[index]` for each index; indices must be below 16, and n a multiple of 16.
pub fn sixteen(comptime n: usize, table: [16]i8, indices: @Vector(n, u8)) Bytes(n) {
    if (n > native) {
        const low = sixteen(n / 2, table, std.simd.extract(indices, 0, n / 2));
        const high = sixteen(n / 2, table, std.simd.extract(indices, n / 2, n / 2));
        return std.simd.join(low, high);
    }
    if (!has_shuffle) {
        var out: [n]i8 = undefined;
        for (@as([n]u8, indices), &out) |index, *value| value.* = table[index];
        return out;
    }
    const signed: Bytes(n) = @bitCast(indices);
    // The shuffles of 32 and 64 bytes look up in each sixteen of the table on their own.
    const wide = std.simd.repeat(n, @as(Bytes(16), table));
    switch (builtin.cpu.arch) {
        .x86_64 => return switch (n) {
            16 => @"llvm.x86.ssse3.pshuf.b.128"(wide, signed),
            32 => @"llvm.x86.avx2.pshuf.b"(wide, signed),
            64 => @"llvm.x86.avx512.pshuf.b.512"(wide, signed),
            else => comptime unreachable,
        },
        .aarch64 => return @"llvm.aarch64.neon.tbl1.v16i8"(wide, signed),
        else => comptime unreachable,
    }
}

test "each index finds its number at every width" {
    var table: [16]i8 = undefined;
    for (&table, 0..) |*value, i| value.* = @as(i8, @intCast(i)) * 7 - 50;
    inline for (.{ 16, 32, 64, 128 }) |n| {
        var indices: [n]u8 = undefined;
        for (&indices, 0..) |*index, i| index.* = @intCast((i * 5 + i / 16 + 3) % 16);
        const found: [n]i8 = sixteen(n, table, indices);
        for (indices, found) |index, value| try std.testing.expectEqual(table[index], value);
    }
}
