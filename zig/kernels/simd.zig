//! The vectors of the instruction set that is being compiled for, and what they are made of.

const std = @import("std");
const builtin = @import("builtin");
const f16_format = @import("formats/f16.zig");
const elementary = @import("elementary.zig");

const is_x86 = builtin.cpu.arch == .x86_64;
const is_arm = builtin.cpu.arch == .aarch64;

/// Which products of bytes the processor has.
pub const has_avx512 = is_x86 and builtin.cpu.has(.x86, .avx512bw);
pub const has_avx2 = is_x86 and builtin.cpu.has(.x86, .avx2);
pub const has_ssse3 = is_x86 and builtin.cpu.has(.x86, .ssse3);
pub const has_vnni = has_avx512 and builtin.cpu.has(.x86, .avx512vnni);
pub const has_sdot = is_arm and builtin.cpu.has(.aarch64, .dotprod);
pub const has_fma = is_arm or (is_x86 and builtin.cpu.has(.x86, .fma));

/// f32 or i32 values of one register.
pub const lanes = if (has_avx512) 16 else if (has_avx2) 8 else 4;
pub const register_bytes = 4 * lanes;
/// Registers that a kernel may fill before values are spilled.
pub const register_count = if (has_avx512 or is_arm) 32 else 16;

pub const F32 = @Vector(lanes, f32);
pub const I32 = @Vector(lanes, i32);
pub const U32 = @Vector(lanes, u32);
pub const I16 = @Vector(2 * lanes, i16);
pub const U8 = @Vector(4 * lanes, u8);
pub const I8 = @Vector(4 * lanes, i8);

pub const mulAdd = elementary.mulAdd;

/// Bytes of a cache line: one prefetch fetches one.
pub const line_bytes = 64;

/// Asks for the lines of [address, address + size) ahead of their use; never faults.
pub inline fn prefetch(address: usize, comptime size_bytes: usize) void {
    const lines = (size_bytes + line_bytes - 1) / line_bytes;
    inline for (0..lines) |i| {
        const line: [*]allowzero const u8 = @ptrFromInt(address +% i * line_bytes);
        @prefetch(line, .{ .rw = .read, .locality = 2, .cache = .data });
    }
}

/// Asks for the line of an address that is read soon.
pub inline fn prefetchNear(address: usize) void {
    const line: [*]allowzero const u8 = @ptrFromInt(address);
    @prefetch(line, .{ .rw = .read, .locality = 3, .cache = .data });
}

/// A value at any address, or a vector of values without gaps.
pub inline fn load(comptime T: type, address: [*]const u8) T {
    if (@typeInfo(T) != .vector) return @bitCast(address[0..@sizeOf(T)].*);
    const v = @typeInfo(T).vector;
    return @bitCast(address[0 .. v.len * @sizeOf(v.child)].*);
}

pub inline fn loadF16(comptime n: usize, address: [*]const u8) @Vector(n, f32) {
    return f16_format.widen(n, load(@Vector(n, u16), address));
}

/// bf16 is the upper half of an f32.
pub inline fn loadBf16(comptime n: usize, address: [*]const u8) @Vector(n, f32) {
    const wide: @Vector(n, u32) = load(@Vector(n, u16), address);
    return @bitCast(wide << @splat(16));
}

/// a then b.
pub inline fn concat(a: anytype, b: @TypeOf(a)) @Vector(
    2 * @typeInfo(@TypeOf(a)).vector.len,
    @typeInfo(@TypeOf(a)).vector.child,
) {
    const v = @typeInfo(@TypeOf(a)).vector;
    return @shuffle(v.child, a, b, concatMask(v.len));
}

fn concatMask(comptime n: u32) [2 * n]i32 {
    @setEvalBranchQuota(10_000);
    var list: [2 * n]i32 = undefined;
    for (0..n) |i| {
        list[i] = @intCast(i);
        list[n + i] = ~@as(i32, @intCast(i));
    }
    return list;
}
