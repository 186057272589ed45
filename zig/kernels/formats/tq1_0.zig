//! tq1_0: 256 values out of -1, 0, 1, five to a byte; value = d * (t - 1).
//! A byte is the fraction of 256 whose first five ternary digits are t, so that multiplying it
//! by 3 moves the next digit above the byte.

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const tq2_0 = @import("tq2_0.zig");

pub const dtype: DType = .tq1_0;
pub const len = 256;
pub const group = 256;
pub const has_mins = false;

pub const Block = extern struct {
    /// 32 bytes with five planes of 32 digits, then 16 bytes with five planes of 16.
    q: [48]u8,
    /// Four planes of four digits.
    rest: [4]u8,
    d: u16 align(1),
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    digits(32, 5, block.q[0..32], out.q[0..160]);
    digits(16, 5, block.q[32..48], out.q[160..240]);
    digits(4, 4, &block.rest, out.q[240..256]);
    out.scales = .{half.toFloat(block.d)};
}

fn digits(
    comptime bytes: usize,
    comptime count: usize,
    src: *const [bytes]u8,
    dst: *[bytes * count]i8,
) void {
    const Wide = @Vector(bytes, u16);
    var rest: @Vector(bytes, u8) = src.*;
    inline for (0..count) |i| {
        const tripled = @as(Wide, rest) *% @as(Wide, @splat(3));
        const digit: @Vector(bytes, i8) = @intCast(tripled >> @splat(8));
        dst[i * bytes ..][0..bytes].* = digit -% @as(@Vector(bytes, i8), @splat(1));
        rest = @truncate(tripled);
    }
}

pub fn quantizeRow(src: [*]const f32, dst: [*]u8, n: usize, importance: ?[*]const f32) void {
    _ = importance;
    const out: [*]Block = @ptrCast(dst);
    for (out[0 .. n / len], 0..) |*block, i| {
        var trits: [len]u8 = undefined;
        block.d = half.fromFloat(tq2_0.ternary(src[i * len ..][0..len], &trits));
        join(32, 5, trits[0..160], block.q[0..32]);
        join(16, 5, trits[160..240], block.q[32..48]);
        join(4, 4, trits[240..256], &block.rest);
    }
}

/// The inverse of `digits`: rounded up, so that cutting off gives the digits back.
fn join(
    comptime bytes: usize,
    comptime count: usize,
    src: *const [bytes * count]u8,
    dst: *[bytes]u8,
) void {
    const Wide = @Vector(bytes, u16);
    var sum: @Vector(bytes, u8) = @splat(0);
    inline for (0..5) |i| {
        sum *%= @splat(3);
        if (i < count) sum +%= src[i * bytes ..][0..bytes].*;
    }
    const scaled = @as(Wide, sum) *% @as(Wide, @splat(256)) +% @as(Wide, @splat(242));
    dst.* = @as(@Vector(bytes, u8), @truncate(scaled / @as(Wide, @splat(243))));
}
