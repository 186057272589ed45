//! Dot products of bytes: each 32-bit lane multiplies four weight codes with four activations.
//!
//! Activations are signed and at most 127 in magnitude. No sum here can overflow or saturate.

const std = @import("std");
const simd = @import("../simd.zig");
const I32 = simd.I32;
const I16 = simd.I16;
const U8 = simd.U8;
const I8 = simd.I8;

/// The range of codes: 0 to `max`, or all of i8.
pub const Codes = union(enum) {
    unsigned: u8,
    signed,

    /// The widest range that is multiplied in the same way.
    pub fn widest(comptime codes: Codes) Codes {
        if (direct) return .{ .unsigned = 255 };
        return switch (codes) {
            .unsigned => |max| for ([_]u8{ 15, 31, 63 }) |limit| {
                if (max <= limit) break .{ .unsigned = limit };
            } else unreachable,
            .signed => .signed,
        };
    }
};

/// Whether one instruction makes the sums, so that no range needs care.
const direct = simd.has_vnni or simd.has_sdot;

/// Whether signed codes are stored with 128 added: VNNI multiplies unsigned with signed bytes.
pub const flips_signed = simd.has_vnni;

/// Whether codes are split into magnitude and sign, because maddubs takes one operand unsigned.
pub fn splitsSigns(comptime codes: Codes) bool {
    return simd.has_ssse3 and !direct and codes == .signed;
}

/// Codes ready to be multiplied, possibly with many activations.
pub fn Weights(comptime codes: Codes) type {
    return if (splitsSigns(codes)) struct {
        /// At most 128, which is right as an unsigned byte.
        magnitude: U8,
        /// All bits set where the code is negative.
        sign: U8,
    } else U8;
}

pub inline fn weights(comptime codes: Codes, w: U8) Weights(codes) {
    if (!comptime splitsSigns(codes)) return w;
    const signed_w: I8 = @bitCast(w);
    return .{ .magnitude = @abs(signed_w), .sign = @bitCast(signed_w >> @splat(7)) };
}

/// -a is the complement of a, plus 1: with split signs `Sum.add` leaves the 1 out. This is what
/// is missing after a group of steps: the sum of the negative codes' magnitudes.
pub inline fn missing(comptime codes: Codes, group: []const U8) I32 {
    if (!comptime splitsSigns(codes)) comptime unreachable;
    var sum: I16 = @splat(0);
    for (group) |codes_of_step| {
        const w = weights(codes, codes_of_step);
        sum +%= maddubs(w.magnitude & w.sign, @splat(1));
    }
    return widen(sum);
}

/// A sum in the making over groups of `steps` products of four.
pub fn Sum(comptime codes: Codes, comptime steps: u32) type {
    return if (direct) struct {
        total: I32,

        const Self = @This();

        pub inline fn begin(start: I32) Self {
            return .{ .total = start };
        }

        pub inline fn add(sum: *Self, comptime step: u32, w: U8, a: U8) void {
            _ = step;
            sum.total = if (simd.has_vnni) dpbusd(sum.total, w, a) else sdot(sum.total, w, a);
        }

        pub const addWhole = add;

        pub inline fn finish(sum: Self, start: I32) I32 {
            _ = start;
            return sum.total;
        }
    } else struct {
        /// Sums of 16 bits hold this many products of two before they must be widened.
        const depth = switch (codes) {
            .unsigned => |max| @min(steps, std.math.maxInt(i16) / (2 * 127 * @as(u32, max))),
            // 2 * 127 * 128 = 32512; where the signs are split at least -2 * 128 * 128
            .signed => 1,
        };

        total: I32,
        narrow: I16,

        const Self = @This();

        pub inline fn begin(_: I32) Self {
            return .{ .total = @splat(0), .narrow = @splat(0) };
        }

        /// Without what is `missing` where signs are split.
        pub inline fn add(sum: *Self, comptime step: u32, w: Weights(codes), a: U8) void {
            if (!comptime splitsSigns(codes)) return sum.addPairs(step, pairs(w, a));
            sum.addPairs(step, maddubs(w.magnitude, a ^ w.sign));
        }

        /// With nothing missing.
        pub inline fn addWhole(sum: *Self, comptime step: u32, w: Weights(codes), a: U8) void {
            if (!comptime splitsSigns(codes)) return sum.addPairs(step, pairs(w, a));
            sum.addPairs(step, maddubs(w.magnitude, (a ^ w.sign) -% w.sign));
        }

        inline fn addPairs(sum: *Self, comptime step: u32, products: I16) void {
            sum.narrow = if (step % depth == 0) products else pinned(sum.narrow +% products);
            if ((step + 1) % depth != 0 and step + 1 != steps) return;
            const wide = widen(sum.narrow);
            sum.total = if (step < depth) wide else pinned(sum.total +% wide);
        }

        pub inline fn finish(sum: Self, start: I32) I32 {
            return sum.total +% start;
        }
    };
}

/// Keeps the compiler from adding in another order: it would then compute one sum after the other
/// and run out of registers for the weights.
inline fn pinned(sums: anytype) @TypeOf(sums) {
    var v = sums;
    asm (""
        : [v] "+x" (v),
    );
    return v;
}

/// Products of neighbouring bytes, added in pairs.
inline fn pairs(w: U8, a: U8) I16 {
    if (simd.has_ssse3) return maddubs(w, a);
    const products = @as(@Vector(4 * simd.lanes, i16), @as(I8, @bitCast(w))) *%
        @as(@Vector(4 * simd.lanes, i16), @as(I8, @bitCast(a)));
    return everySecond(products, 0) +% everySecond(products, 1);
}

inline fn widen(sums: I16) I32 {
    if (!simd.has_ssse3) {
        const wide: @Vector(2 * simd.lanes, i32) = sums;
        return everySecond(wide, 0) +% everySecond(wide, 1);
    }
    const ones: I16 = @splat(1);
    return switch (simd.lanes) {
        16 => @"llvm.x86.avx512.pmaddw.d.512"(sums, ones),
        8 => @"llvm.x86.avx2.pmadd.wd"(sums, ones),
        else => @"llvm.x86.sse2.pmadd.wd"(sums, ones),
    };
}

inline fn maddubs(w: U8, a: U8) I16 {
    const signed_a: I8 = @bitCast(a);
    return switch (simd.lanes) {
        16 => @"llvm.x86.avx512.pmaddubs.w.512"(w, signed_a),
        8 => @"llvm.x86.avx2.pmadd.ub.sw"(w, signed_a),
        else => @"llvm.x86.ssse3.pmadd.ub.sw.128"(w, signed_a),
    };
}

inline fn dpbusd(total: I32, w: U8, a: U8) I32 {
    return @"llvm.x86.avx512.vpdpbusd.512"(total, @bitCast(w), @bitCast(a));
}

inline fn sdot(total: I32, w: U8, a: U8) I32 {
    return @"llvm.aarch64.neon.sdot.v4i32.v16i8"(total, @bitCast(w), @bitCast(a));
}

/// Values 0, 2, 4, … or 1, 3, 5, …
inline fn everySecond(v: anytype, comptime first: u32) @Vector(
    @typeInfo(@TypeOf(v)).vector.len / 2,
    @typeInfo(@TypeOf(v)).vector.child,
) {
    const info = @typeInfo(@TypeOf(v)).vector;
    return @shuffle(info.child, v, undefined, secondMask(info.len / 2, first));
}

fn secondMask(comptime n: u32, comptime first: u32) [n]i32 {
    @setEvalBranchQuota(10_000);
    var list: [n]i32 = undefined;
    for (&list, 0..) |*index, i| index.* = @intCast(2 * i + first);
    return list;
}

const S = @Vector(16, i8);
const D = @Vector(32, i8);
const Q = @Vector(64, i8);
extern fn @"llvm.x86.avx512.vpdpbusd.512"(
    @Vector(16, i32),
    @Vector(16, i32),
    @Vector(16, i32),
) @Vector(16, i32);
extern fn @"llvm.x86.avx512.pmaddubs.w.512"(@Vector(64, u8), Q) @Vector(32, i16);
extern fn @"llvm.x86.avx512.pmaddw.d.512"(@Vector(32, i16), @Vector(32, i16)) @Vector(16, i32);
extern fn @"llvm.x86.avx2.pmadd.ub.sw"(@Vector(32, u8), D) @Vector(16, i16);
extern fn @"llvm.x86.avx2.pmadd.wd"(@Vector(16, i16), @Vector(16, i16)) @Vector(8, i32);
extern fn @"llvm.x86.ssse3.pmadd.ub.sw.128"(@Vector(16, u8), S) @Vector(8, i16);
extern fn @"llvm.x86.sse2.pmadd.wd"(@Vector(8, i16), @Vector(8, i16)) @Vector(4, i32);
extern fn @"llvm.aarch64.neon.sdot.v4i32.v16i8"(@Vector(4, i32), S, S) @Vector(4, i32);

/// Sum over one group in plain arithmetic, for the test.
fn expected(w: []const i32, a: []const i8, lane: usize) i32 {
    var sum: i32 = 0;
    for (0..w.len / (4 * simd.lanes)) |step| {
        for (0..4) |i| {
            const at = step * 4 * simd.lanes + lane * 4 + i;
            sum += w[at] * a[step * 4 + i];
        }
    }
    return sum;
}

fn check(comptime codes: Codes, comptime steps: u32, random: std.Random, extreme: bool) !void {
    const n = steps * 4 * simd.lanes;
    var w: [n]i32 = undefined;
    var stored: [n]u8 = undefined;
    var a: [steps * 4]i8 = undefined;
    for (&a) |*v| {
        const end: i8 = if (random.boolean()) 127 else -127;
        v.* = if (extreme) end else random.intRangeAtMost(i8, -127, 127);
    }
    for (&w, &stored) |*value, *byte| switch (codes) {
        .unsigned => |max| {
            byte.* = if (extreme) max else random.uintAtMost(u8, max);
            value.* = byte.*;
        },
        .signed => {
            const v: i8 = if (extreme) -128 else random.int(i8);
            const bits: u8 = @bitCast(v);
            byte.* = if (flips_signed) bits ^ 0x80 else bits;
            value.* = if (flips_signed) byte.* else v;
        },
    };
    const start: I32 = @splat(-1000);
    var sum = Sum(codes, steps).begin(start);
    var whole = sum;
    var group: [steps]U8 = undefined;
    inline for (&group, 0..) |*step_codes, step| {
        step_codes.* = stored[step * 4 * simd.lanes ..][0 .. 4 * simd.lanes].*;
        const a_bits: u32 = @bitCast(a[step * 4 ..][0..4].*);
        const broadcast: U8 = @bitCast(@as(simd.U32, @splat(a_bits)));
        sum.add(step, weights(codes, step_codes.*), broadcast);
        whole.addWhole(step, weights(codes, step_codes.*), broadcast);
    }
    var total = sum.finish(start);
    if (comptime splitsSigns(codes)) total += missing(codes, &group);
    for (0..simd.lanes) |lane| {
        const sum_of_lane = expected(&w, &a, lane) - 1000;
        try std.testing.expectEqual(sum_of_lane, @as([simd.lanes]i32, total)[lane]);
        const total_whole: [simd.lanes]i32 = whole.finish(start);
        try std.testing.expectEqual(sum_of_lane, total_whole[lane]);
    }
}

test "linear: byte dot products are exact, at the ends of their ranges too" {
    var generator: std.Random.DefaultPrng = .init(1);
    inline for (.{ 3, 7, 15, 31, 63 }) |max| inline for (.{ 4, 8 }) |steps| {
        for (0..20) |i| try check(.{ .unsigned = max }, steps, generator.random(), i % 2 == 0);
    };
    inline for (.{ 4, 8 }) |steps| {
        for (0..20) |i| try check(.signed, steps, generator.random(), i % 2 == 0);
    }
}
