//! Loops over contiguous lines of f32 of any length: whole vectors, then single elements, with one
//! function for both.

const std = @import("std");
const simd = @import("simd.zig");
const lanes = simd.lanes;

pub fn Lane(comptime n: usize) type {
    return @Vector(n, f32);
}

pub inline fn load(comptime n: usize, line: [*]const f32, i: usize) Lane(n) {
    return line[i..][0..n].*;
}

pub inline fn store(comptime n: usize, line: [*]f32, i: usize, v: Lane(n)) void {
    line[i..][0..n].* = v;
}

pub inline fn splat(comptime n: usize, value: f32) Lane(n) {
    return @splat(value);
}

/// Calls body.step(n, i) for every piece [i, i + n) of [0, count).
pub inline fn each(count: usize, body: anytype) void {
    var i: usize = 0;
    while (i + lanes <= count) : (i += lanes) body.step(lanes, i);
    while (i < count) : (i += 1) body.step(1, i);
}

/// The sum of body.term(n, i) over every piece [i, i + n) of [0, count).
pub inline fn sum(count: usize, body: anytype) f32 {
    var total: Lane(lanes) = @splat(0);
    var i: usize = 0;
    while (i + lanes <= count) : (i += lanes) total += body.term(lanes, i);
    var rest: f32 = 0;
    while (i < count) : (i += 1) rest += body.term(1, i)[0];
    return @reduce(.Add, total) + rest;
}

pub fn dot(a: [*]const f32, b: [*]const f32, count: usize) f32 {
    const Product = struct {
        a: [*]const f32,
        b: [*]const f32,

        pub inline fn term(p: @This(), comptime n: usize, i: usize) Lane(n) {
            return load(n, p.a, i) * load(n, p.b, i);
        }
    };
    return sum(count, Product{ .a = a, .b = b });
}

test "dot of any length" {
    var a: [50]f32 = undefined;
    for (&a, 0..) |*value, i| value.* = @floatFromInt(i);
    for (0..50) |n| {
        var expected: f32 = 0;
        for (a[0..n]) |value| expected += value * value;
        try std.testing.expectEqual(expected, dot(&a, &a, n));
    }
}
