//! Reads the same place of several weight rows at once: lane i of the result belongs to row i.

const std = @import("std");
const simd = @import("../simd.zig");
const f16_format = @import("../formats/f16.zig");
const U32 = simd.U32;

/// Addresses of the rows of a tile, one per lane. Past the end of the weight the last row stands
/// again; what is computed for it is not stored.
pub const Rows = [simd.lanes][*]const u8;

/// The four dwords at `offset`.
pub inline fn load16(rows: *const Rows, offset: usize) [4]U32 {
    var m: [4]U32 = undefined;
    inline for (&m, 0..) |*v, i| v.* = quarter(rows, i, offset);
    // Each 128-bit part g holds rows 4g to 4g + 3 now and is transposed for itself.
    const a = interleaveLow(m[0], m[1]);
    const b = interleaveLow(m[2], m[3]);
    const c = interleaveHigh(m[0], m[1]);
    const d = interleaveHigh(m[2], m[3]);
    return .{ pairLow(a, b), pairHigh(a, b), pairLow(c, d), pairHigh(c, d) };
}

/// 16 bytes each of rows i, i + 4, i + 8, …
inline fn quarter(rows: *const Rows, comptime i: usize, offset: usize) U32 {
    const Part = @Vector(4, u32);
    const p0 = simd.load(Part, rows[i] + offset);
    if (simd.lanes == 4) return p0;
    const p1 = simd.load(Part, rows[i + 4] + offset);
    if (simd.lanes == 8) return simd.concat(p0, p1);
    const p2 = simd.load(Part, rows[i + 8] + offset);
    const p3 = simd.load(Part, rows[i + 12] + offset);
    return simd.concat(simd.concat(p0, p1), simd.concat(p2, p3));
}

/// The dword at `offset`.
pub inline fn load4(rows: *const Rows, offset: usize) U32 {
    var v: U32 = undefined;
    inline for (0..simd.lanes) |i| v[i] = simd.load(u32, rows[i] + offset);
    return v;
}

/// The u16 at `offset`.
pub inline fn load2(rows: *const Rows, offset: usize) @Vector(simd.lanes, u16) {
    var v: @Vector(simd.lanes, u16) = undefined;
    inline for (0..simd.lanes) |i| v[i] = simd.load(u16, rows[i] + offset);
    return v;
}

/// The f16 at `offset`.
pub inline fn loadF16(rows: *const Rows, offset: usize) simd.F32 {
    return f16_format.widen(simd.lanes, load2(rows, offset));
}

/// The byte at `offset`.
pub inline fn load1(rows: *const Rows, offset: usize) U32 {
    var v: @Vector(simd.lanes, u8) = undefined;
    inline for (0..simd.lanes) |i| v[i] = rows[i][offset];
    return v;
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
    var rows: Rows = undefined;
    for (&bytes, &rows, 0..) |*row, *address, i| {
        for (row, 0..) |*byte, j| byte.* = @intCast((i * 21 + j) % 251);
        address.* = row;
    }
    const dwords = load16(&rows, 3);
    inline for (dwords, 0..) |v, j| {
        const values: [simd.lanes]u32 = v;
        for (values, 0..) |value, i| {
            try std.testing.expectEqual(simd.load(u32, bytes[i][3 + 4 * j ..].ptr), value);
        }
    }
}
