//! Rows of f32 read and written as vectors, with tails of any length.

const simd = @import("simd.zig");

pub const lanes = simd.lanes;
pub const V = simd.F32;

pub inline fn splat(value: f32) V {
    return @splat(value);
}

pub inline fn load(row: [*]const f32) V {
    return row[0..lanes].*;
}

pub inline fn store(row: [*]f32, v: V) void {
    row[0..lanes].* = v;
}

/// The first n < lanes values of `row`, then zeros.
pub fn loadPart(row: [*]const f32, n: usize) V {
    var values: [lanes]f32 = @splat(0);
    for (values[0..n], row[0..n]) |*value, x| value.* = x;
    return values;
}

/// Writes the first n < lanes values of v.
pub fn storePart(row: [*]f32, v: V, n: usize) void {
    const values: [lanes]f32 = v;
    for (row[0..n], values[0..n]) |*value, x| value.* = x;
}

/// `n` rounded up to whole vectors.
pub fn padded(n: anytype) @TypeOf(n) {
    return (n + lanes - 1) / lanes * lanes;
}
