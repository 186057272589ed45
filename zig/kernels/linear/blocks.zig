//! Types with blocks of 32 values: how a tile block is made of the rows' blocks.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const simd = @import("../simd.zig");
const rows_file = @import("rows.zig");
const tile = @import("tile.zig");
const dot = @import("dot.zig");
const Rows = rows_file.Rows;
const U8 = simd.U8;
const U32 = simd.U32;

/// value = d * q; d f16, 32 x i8.
pub const q8_0 = struct {
    pub const dtype: DType = .q8_0;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: *const Rows, at: usize, sink: anytype) void {
        const a = rows_file.load16(rows, at + 2);
        const b = rows_file.load16(rows, at + 18);
        sink.put(.{ .codes = signed(a ++ b), .scale = .{rows_file.loadF16(rows, at)} });
    }
};

/// value = d * (q - 8); d f16, 16 x u8, byte i holds values i (low half) and i + 16.
pub const q4_0 = struct {
    pub const dtype: DType = .q4_0;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 15 }, .zero = 8 };

    pub inline fn unpack(rows: *const Rows, at: usize, sink: anytype) void {
        const codes = nibbles(rows_file.load16(rows, at + 2));
        sink.put(.{ .codes = codes, .scale = .{rows_file.loadF16(rows, at)} });
    }
};

/// The low halves of all bytes, then the high ones.
pub inline fn nibbles(bytes: [4]U32) [8]U8 {
    const mask: U32 = @splat(0x0f0f0f0f);
    var codes: [8]U8 = undefined;
    inline for (bytes, 0..) |v, i| {
        codes[i] = @bitCast(v & mask);
        codes[4 + i] = @bitCast((v >> @splat(4)) & mask);
    }
    return codes;
}

/// Signed codes as a tile stores them.
pub inline fn signed(dwords: [8]U32) [8]U8 {
    var codes: [8]U8 = undefined;
    inline for (dwords, &codes) |v, *code| {
        code.* = @bitCast(if (dot.flips_signed) v ^ @as(U32, @splat(0x80808080)) else v);
    }
    return codes;
}
