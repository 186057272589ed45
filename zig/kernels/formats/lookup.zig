//! Tables of sixteen small numbers, looked up sixteen at once by the processor's byte shuffle.

const std = @import("std");
const builtin = @import("builtin");

const V = @Vector(16, i8);

extern fn @"llvm.x86.ssse3.pshuf.b.128"(table: V, indices: V) V;
extern fn @"llvm.aarch64.neon.tbl1.v16i8"(table: V, indices: V) V;

/// `table[index]` for each index; indices must be below 16.
pub fn sixteen(table: [16]i8, indices: @Vector(16, u8)) V {
    const signed: V = @bitCast(indices);
    switch (builtin.cpu.arch) {
        .x86_64 => if (builtin.cpu.has(.x86, .ssse3))
            return @"llvm.x86.ssse3.pshuf.b.128"(table, signed),
        .aarch64 => return @"llvm.aarch64.neon.tbl1.v16i8"(table, signed),
        else => {},
    }
    var out: [16]i8 = undefined;
    for (@as([16]u8, indices), &out) |index, *value| value.* = table[index];
    return out;
}

test "each index finds its number" {
    var table: [16]i8 = undefined;
    for (&table, 0..) |*value, i| value.* = @as(i8, @intCast(i)) * 7 - 50;
    var indices: [16]u8 = undefined;
    for (&indices, 0..) |*index, i| index.* = @intCast((i * 5 + 3) % 16);
    const found: [16]i8 = sixteen(table, indices);
    for (indices, found) |index, value| try std.testing.expectEqual(table[index], value);
}
