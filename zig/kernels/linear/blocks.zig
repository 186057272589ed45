//! Types with blocks of 32 values: how a tile block is made of the same block of several rows.
//! The files of the same names in `formats` tell where the bits lie.

const DType = @import("../../dtype.zig").DType;
const simd = @import("../simd.zig");
const f16_format = @import("../formats/f16.zig");
const fp4 = @import("../formats/fp4.zig");
const iq4 = @import("../formats/iq4.zig");
const lookup = @import("../formats/lookup.zig");
const rows_file = @import("rows.zig");
const tile = @import("tile.zig");
const Rows = rows_file.Rows;
const F32 = simd.F32;
const U8 = simd.U8;
const U32 = simd.U32;

pub const q8_0 = struct {
    pub const dtype: DType = .q8_0;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const low = rows_file.load16(rows, 2);
        const high = rows_file.load16(rows, 18);
        sink.put(.{ .codes = tile.signed(low ++ high), .scale = .{rows_file.loadF16(rows, 0)} });
    }
};

pub const q8_1 = struct {
    pub const dtype: DType = .q8_1;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const low = rows_file.load16(rows, 4);
        const high = rows_file.load16(rows, 20);
        sink.put(.{ .codes = tile.signed(low ++ high), .scale = .{rows_file.loadF16(rows, 0)} });
    }
};

pub const q4_0 = struct {
    pub const dtype: DType = .q4_0;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 15 }, .zero = 8 };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const codes = nibbles(rows_file.load16(rows, 2));
        sink.put(.{ .codes = codes, .scale = .{rows_file.loadF16(rows, 0)} });
    }
};

pub const q4_1 = struct {
    pub const dtype: DType = .q4_1;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 15 }, .has_offset = true };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const codes = nibbles(rows_file.load16(rows, 4));
        const both = halves(rows_file.load(u32, rows, 0));
        sink.put(.{ .codes = codes, .scale = .{both[0]}, .offset = .{both[1]} });
    }
};

pub const q5_0 = struct {
    pub const dtype: DType = .q5_0;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 31 }, .zero = 16 };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const low = nibbles(rows_file.load16(rows, 6));
        const codes = withFifthBits(low, rows_file.load(u32, rows, 2));
        sink.put(.{ .codes = codes, .scale = .{rows_file.loadF16(rows, 0)} });
    }
};

pub const q5_1 = struct {
    pub const dtype: DType = .q5_1;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 31 }, .has_offset = true };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const low = nibbles(rows_file.load16(rows, 8));
        const codes = withFifthBits(low, rows_file.load(u32, rows, 4));
        const both = halves(rows_file.load(u32, rows, 0));
        sink.put(.{ .codes = codes, .scale = .{both[0]}, .offset = .{both[1]} });
    }
};

pub const iq4_nl = struct {
    pub const dtype: DType = .iq4_nl;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const codes = levels(iq4.levels, nibbles(rows_file.load16(rows, 2)));
        sink.put(.{ .codes = codes, .scale = .{rows_file.loadF16(rows, 0)} });
    }
};

pub const mxfp4 = struct {
    pub const dtype: DType = .mxfp4;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const codes = levels(fp4.doubled, nibbles(rows_file.load16(rows, 1)));
        // 2^(e - 128), since the levels are doubled; the two smallest are subnormal.
        const e = @as(U32, rows_file.load(u8, rows, 0));
        const normal = (e -% @as(U32, @splat(1))) << @splat(23);
        const subnormal = (e + @as(U32, @splat(1))) << @splat(21);
        const bits = @select(u32, e < @as(U32, @splat(2)), subnormal, normal);
        sink.put(.{ .codes = codes, .scale = .{@as(F32, @bitCast(bits))} });
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

/// Puts bit i of `bits` above the four bits of code i.
inline fn withFifthBits(codes: [8]U8, bits: U32) [8]U8 {
    var out: [8]U8 = undefined;
    inline for (&out, codes, 0..) |*to, code, step| {
        // Four bits come to 4 .. 7; the product puts copies of them 7 bits apart, so that each
        // byte has its own one in the place of 16.
        const at_four = if (step == 0) bits << @splat(4) else bits >> @splat(4 * step - 4);
        const four = at_four & @as(U32, @splat(0xf0));
        const spread = four *% @as(U32, @splat(0x00204081)) & @as(U32, @splat(0x10101010));
        to.* = code | @as(U8, @bitCast(spread));
    }
    return out;
}

/// The number of each index below 16, as a tile stores signed codes.
pub inline fn levels(comptime table: [16]i8, indices: [8]U8) [8]U8 {
    var codes: [8]simd.U32 = undefined;
    inline for (&codes, indices) |*code, index| {
        code.* = @bitCast(lookup.sixteen(4 * simd.lanes, table, index));
    }
    return tile.signed(codes);
}

/// The f16 in the lower and that in the upper half of each lane.
pub inline fn halves(v: U32) [2]F32 {
    const low: @Vector(simd.lanes, u16) = @truncate(v);
    const high: @Vector(simd.lanes, u16) = @truncate(v >> @splat(16));
    return .{ f16_format.widen(simd.lanes, low), f16_format.widen(simd.lanes, high) };
}
