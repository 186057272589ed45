//! Reads the same place of several weight rows at once: lane i of the result belongs to row i.

const std = @import("std");
const simd = @import("../simd.zig");
const f16_format = @import("../formats/f16.zig");
const U32 = simd.U32;

/// Rows at equal distances, one for each lane.
pub const Rows = struct {
    base: [*]const u8,
    stride: usize,

    pub inline fn row(rows: Rows, index: usize) [*]const u8 {
        return rows.base + index * rows.stride;
    }

    /// The same rows further on. The compiler is kept from seeing that the stride stays the same in
    /// a loop: it would hold a multiple of it for each row and run out of registers.
    pub inline fn after(rows: Rows, bytes: usize) Rows {
        var stride = rows.stride;
        asm (""
            : [stride] "+r" (stride),
        );
        return .{ .base = rows.base + bytes, .stride = stride };
    }

    /// Every fourth row from row `first` on.
    inline fn everyFourth(
        rows: Rows,
        offset: usize,
        comptime first: usize,
    ) [simd.lanes / 4][*]const u8 {
        var list: [simd.lanes / 4][*]const u8 = undefined;
        var base = rows.base + offset;
        inline for (&list) |*address| {
            address.* = base + first * rows.stride;
            base += 4 * rows.stride;
        }
        return list;
    }
};

/// The four dwords at `offset`.
pub inline fn load16(rows: Rows, offset: usize) [4]U32 {
    var m: [4]U32 = undefined;
    inline for (&m, 0..) |*v, i| v.* = quarter(rows.everyFourth(offset, i));
    // Each 128-bit part g holds rows 4g to 4g + 3 now and is transposed for itself.
    const a = interleaveLow(m[0], m[1]);
    const b = interleaveLow(m[2], m[3]);
    const c = interleaveHigh(m[0], m[1]);
    const d = interleaveHigh(m[2], m[3]);
    return .{ pairLow(a, b), pairHigh(a, b), pairLow(c, d), pairHigh(c, d) };
}

inline fn quarter(from: [simd.lanes / 4][*]const u8) U32 {
    const Part = @Vector(4, u32);
    const p0 = simd.load(Part, from[0]);
    if (simd.lanes == 4) return p0;
    const p1 = simd.load(Part, from[1]);
    if (simd.lanes == 8) return simd.concat(p0, p1);
    const p2 = simd.load(Part, from[2]);
    const p3 = simd.load(Part, from[3]);
    return simd.concat(simd.concat(p0, p1), simd.concat(p2, p3));
}

/// The value at `offset`.
pub inline fn load(comptime T: type, rows: Rows, offset: usize) @Vector(simd.lanes, T) {
    var v: @Vector(simd.lanes, T) = undefined;
    inline for (0..4) |first| inline for (rows.everyFourth(offset, first), 0..) |address, i| {
        v[4 * i + first] = simd.load(T, address);
    };
    return v;
}

/// The f16 at `offset`.
pub inline fn loadF16(rows: Rows, offset: usize) simd.F32 {
    return f16_format.widen(simd.lanes, load(u16, rows, offset));
}

inline fn interleaveLow(a: U32, b: U32) U32 {
    return within(a, b, .{ 0, ~@as(i32, 0), 1, ~@as(i32, 1) });
}

inline fn interleaveHigh(a: U32, b: U32) U32 {
    return within(a, b, .{ 2, ~@as(i32, 2), 3, ~@as(i32, 3) });
}

inline fn pairLow(a: U32, b: U32) U32 {
    return within(a, b, .{ 0, 1, ~@as(i32, 0), ~@as(i32, 1) });
}

inline fn pairHigh(a: U32, b: U32) U32 {
    return within(a, b, .{ 2, 3, ~@as(i32, 2), ~@as(i32, 3) });
}

/// Shuffles each 128-bit part by the same four indices; those of b are complemented.
inline fn within(a: U32, b: U32, comptime indices: [4]i32) U32 {
    return @shuffle(u32, a, b, repeated(indices));
}

fn repeated(comptime indices: [4]i32) [simd.lanes]i32 {
    @setEvalBranchQuota(10_000);
    var list: [simd.lanes]i32 = undefined;
    for (&list, 0..) |*index, i| {
        const part: i32 = @intCast(i / 4 * 4);
        const from = indices[i % 4];
        index.* = if (from < 0) ~(~from + part) else from + part;
    }
    return list;
}

test "linear: load16 transposes the dwords of the rows" {
    var bytes: [simd.lanes][21]u8 = undefined;
    for (&bytes, 0..) |*row, i| for (row, 0..) |*byte, j| {
        byte.* = @intCast((i * 21 + j) % 251);
    };
    const rows: Rows = .{ .base = &bytes[0], .stride = 21 };
    const dwords = load16(rows.after(1), 2);
    inline for (dwords, 0..) |v, j| {
        const values: [simd.lanes]u32 = v;
        for (values, 0..) |value, i| {
            try std.testing.expectEqual(simd.load(u32, bytes[i][3 + 4 * j ..].ptr), value);
        }
    }
    const words: [simd.lanes]u16 = load(u16, rows, 19);
    for (words, 0..) |word, i| {
        try std.testing.expectEqual(simd.load(u16, bytes[i][19..].ptr), word);
    }
}
