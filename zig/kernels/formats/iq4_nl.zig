//! iq4_nl: 32 values out of sixteen unevenly spaced ones; value = d * levels[q].

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const extreme = @import("extreme.zig");
const half = @import("f16.zig");
const iq4 = @import("iq4.zig");
const lookup = @import("lookup.zig");
const planes = @import("planes.zig");
const searching = @import("search.zig");

pub const dtype: DType = .iq4_nl;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Byte j holds value j in its lower and value j + 16 in its upper half.
    q: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    planes.unpack(4, 16, &block.q, &numbers);
    out.q = lookup.sixteen(len, iq4.levels, numbers);
    out.scales = .{half.toFloat(block.d)};
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    const out: [*]Block = @ptrCast(dst);
    var first: usize = 0;
    while (first < n / len) : (first += iq4.lanes) {
        const count: usize = @min(iq4.lanes, n / len - first);
        const x = iq4.Search.turn(src + first * len, count);
        var w: [len]V = undefined;
        for (x, &w) |value, *weight| weight.* = value * value;
        if (importance) |all| {
            const factors = iq4.Search.turn(all + first * len, count);
            const sigma2 = iq4.Search.sum(&w) * @as(V, @splat(2.0 / 32.0));
            for (&w, factors) |*weight, factor| weight.* = factor * @sqrt(sigma2 + weight.*);
        }
        const scales: [iq4.lanes]f32 = iq4.scales(&x, &w);
        for (out[first..][0..count], scales[0..count], 0..) |*block, scale, i| {
            const values: @Vector(len, f32) = src[(first + i) * len ..][0..len].*;
            const inverse = if (scale != 0) 1 / scale else 0;
            block.d = half.fromFloat(scale);
            const numbers = iq4.nearest(len, values * @as(@Vector(len, f32), @splat(inverse)));
            planes.pack(4, 16, &numbers, &block.q);
        }
    }
}

/// Without the search, as caches are written: the extreme value decides the numbers, and the scale
/// is then fitted to them.
pub fn storeRow(src: [*]const f32, dst: [*]u8, n: usize) void {
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        const x: Row = src[i * len ..][0..len].*;
        const largest = extreme.signed(len, x);
        if (@abs(largest) < searching.tiny) {
            block.* = .{ .d = 0, .q = @splat(0) };
            continue;
        }
        const inverse = 1 / (largest / iq4.levels[0]);
        const numbers = iq4.nearest(len, x * @as(Row, @splat(inverse)));
        const level: Row = @floatFromInt(lookup.sixteen(len, iq4.levels, numbers));
        const lx: [len]f32 = x * x * level * x;
        const l2: [len]f32 = x * x * level * level;
        var lx_sum: f32 = 0;
        var l2_sum: f32 = 0;
        for (lx, l2) |a, b| {
            lx_sum += a;
            l2_sum += b;
        }
        block.d = half.fromFloat(if (l2_sum > 0) lx_sum / l2_sum else 0);
        planes.pack(4, 16, &numbers, &block.q);
    }
}

const Row = @Vector(len, f32);
const V = iq4.Search.V;
