//! Types with blocks of 256 values and small scales inside: how eight tile blocks are made of the
//! same block of several rows. The files of the same names in `formats` tell where the bits lie.

const DType = @import("../../dtype.zig").DType;
const simd = @import("../simd.zig");
const iq4 = @import("../formats/iq4.zig");
const rows_file = @import("rows.zig");
const blocks = @import("blocks.zig");
const tile = @import("tile.zig");
const Rows = rows_file.Rows;
const F32 = simd.F32;
const U8 = simd.U8;
const U32 = simd.U32;

pub const q4_K = struct {
    pub const dtype: DType = .q4_K;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 15 }, .has_offset = true };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const header: Header = .init(rows);
        for (0..2) |half| inline for (0..2) |pair| {
            const bytes = load32(rows, 16 + half * 64 + pair * 32);
            sink.put(header.block(format, half, 2 * pair, masked(bytes, 0, 0x0f0f0f0f)));
            sink.put(header.block(format, half, 2 * pair + 1, masked(bytes, 4, 0x0f0f0f0f)));
        };
    }
};

pub const q5_K = struct {
    pub const dtype: DType = .q5_K;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 31 }, .has_offset = true };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const header: Header = .init(rows);
        var high = load32(rows, 16);
        for (0..2) |half| inline for (0..2) |pair| {
            const bytes = load32(rows, 48 + half * 64 + pair * 32);
            var low_codes = masked(bytes, 0, 0x0f0f0f0f);
            var high_codes = masked(bytes, 4, 0x0f0f0f0f);
            inline for (&low_codes, &high_codes, &high) |*low_code, *high_code, *bits| {
                const fifth: U32 = @splat(0x10101010);
                low_code.* |= @bitCast((bits.* << @splat(4)) & fifth);
                high_code.* |= @bitCast((bits.* << @splat(3)) & fifth);
                bits.* >>= @splat(2);
            }
            sink.put(header.block(format, half, 2 * pair, low_codes));
            sink.put(header.block(format, half, 2 * pair + 1, high_codes));
        };
    }
};

/// d, dmin and the 6-bit scales and mins of q4_K and q5_K, four to a dword.
const Header = struct {
    d: F32,
    dmin: F32,
    scales: [2]U32,
    mins: [2]U32,

    inline fn init(rows: Rows) Header {
        const h = rows_file.load16(rows, 0);
        const both = blocks.halves(h[0]);
        const six: U32 = @splat(0x3f3f3f3f);
        const four: U32 = @splat(0x0f0f0f0f);
        const two: U32 = @splat(0x30303030);
        return .{
            .d = both[0],
            .dmin = both[1],
            .scales = .{ h[1] & six, (h[3] & four) | ((h[1] >> @splat(2)) & two) },
            .mins = .{ h[2] & six, ((h[3] >> @splat(4)) & four) | ((h[2] >> @splat(2)) & two) },
        };
    }

    inline fn block(
        h: *const Header,
        comptime format: tile.Format,
        half: usize,
        comptime index: u32,
        codes: [8]U8,
    ) tile.Block(format.shape()) {
        return .{
            .codes = codes,
            .scale = .{h.d * byteOf(h.scales[half], index)},
            .offset = .{-h.dmin * byteOf(h.mins[half], index)},
        };
    }
};

pub const q6_K = struct {
    pub const dtype: DType = .q6_K;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 63 }, .zero = 32, .group = 16 };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const scales = rows_file.load16(rows, 192);
        const d = rows_file.loadF16(rows, 208);
        for (0..2) |half| {
            const high = load32(rows, 128 + half * 32);
            inline for (0..4) |quarter| {
                const bytes = load32(rows, half * 64 + quarter % 2 * 32);
                var codes = masked(bytes, if (quarter < 2) 0 else 4, 0x0f0f0f0f);
                inline for (&codes, high) |*code, bits| {
                    const at_four = switch (quarter) {
                        0 => bits << @splat(4),
                        1 => bits << @splat(2),
                        2 => bits,
                        else => bits >> @splat(2),
                    };
                    code.* |= @bitCast(at_four & @as(U32, @splat(0x30303030)));
                }
                const four = if (quarter < 2) scales[2 * half] else scales[2 * half + 1];
                sink.put(.{ .codes = codes, .scale = .{
                    d * signedByteOf(four, quarter % 2 * 2),
                    d * signedByteOf(four, quarter % 2 * 2 + 1),
                } });
            }
        }
    }
};

pub const q2_K = struct {
    pub const dtype: DType = .q2_K;
    pub const in_registers = true;
    pub const format: tile.Format = .{
        .codes = .{ .unsigned = 3 },
        .group = 16,
        .has_offset = true,
    };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const scales = rows_file.load16(rows, 0);
        const both = blocks.halves(rows_file.load(u32, rows, 80));
        const low: U32 = @splat(0x0f0f0f0f);
        for (0..2) |half| {
            const bytes = load32(rows, 16 + half * 32);
            inline for (0..4) |quarter| {
                const four = if (quarter < 2) scales[2 * half] else scales[2 * half + 1];
                const first = quarter % 2 * 2;
                const mins = (four >> @splat(4)) & low;
                sink.put(.{
                    .codes = masked(bytes, 2 * quarter, 0x03030303),
                    .scale = .{
                        both[0] * byteOf(four & low, first),
                        both[0] * byteOf(four & low, first + 1),
                    },
                    .offset = .{
                        -both[1] * byteOf(mins, first),
                        -both[1] * byteOf(mins, first + 1),
                    },
                });
            }
        }
    }
};

pub const q3_K = struct {
    pub const dtype: DType = .q3_K;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .{ .unsigned = 7 }, .zero = 4, .group = 16 };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        var third = load32(rows, 0);
        // Two bytes that are known already, twelve of scales and d.
        const tail = rows_file.load16(rows, 94);
        const d = blocks.halves(tail[3])[1];
        const scales = sixBitScales(tail);
        for (0..2) |half| {
            const bytes = load32(rows, 32 + half * 32);
            inline for (0..4) |quarter| {
                var codes = masked(bytes, 2 * quarter, 0x03030303);
                inline for (&codes, &third) |*code, *bits| {
                    code.* |= @bitCast((bits.* << @splat(2)) & @as(U32, @splat(0x04040404)));
                    bits.* >>= @splat(1);
                }
                const four = if (quarter < 2) scales[2 * half] else scales[2 * half + 1];
                const bias: F32 = @splat(32);
                sink.put(.{ .codes = codes, .scale = .{
                    d * (byteOf(four, quarter % 2 * 2) - bias),
                    d * (byteOf(four, quarter % 2 * 2 + 1) - bias),
                } });
            }
        }
    }

    inline fn sixBitScales(tail: [4]U32) [4]U32 {
        const four: U32 = @splat(0x0f0f0f0f);
        const two: U32 = @splat(0x30303030);
        const a = (tail[0] >> @splat(16)) | (tail[1] << @splat(16));
        const b = (tail[1] >> @splat(16)) | (tail[2] << @splat(16));
        const c = (tail[2] >> @splat(16)) | (tail[3] << @splat(16));
        return .{
            (a & four) | ((c << @splat(4)) & two),
            (b & four) | ((c << @splat(2)) & two),
            ((a >> @splat(4)) & four) | (c & two),
            ((b >> @splat(4)) & four) | ((c >> @splat(2)) & two),
        };
    }
};

pub const iq4_xs = struct {
    pub const dtype: DType = .iq4_xs;
    pub const in_registers = true;
    pub const format: tile.Format = .{ .codes = .signed };

    pub inline fn unpack(rows: Rows, sink: anytype) void {
        const head = rows_file.load(u32, rows, 0);
        const d = blocks.halves(head)[0];
        var high = head >> @splat(16);
        var low = rows_file.load(u32, rows, 4);
        for (0..8) |i| {
            const indices = blocks.nibbles(rows_file.load16(rows, 8 + i * 16));
            const top = (high << @splat(4)) & @as(U32, @splat(0x30));
            const scale = (low & @as(U32, @splat(15))) | top;
            const signed = @as(simd.I32, @bitCast(scale)) - @as(simd.I32, @splat(32));
            sink.put(.{
                .codes = blocks.levels(iq4.levels, indices),
                .scale = .{d * @as(F32, @floatFromInt(signed))},
            });
            low >>= @splat(4);
            high >>= @splat(2);
        }
    }
};

inline fn load32(rows: Rows, at: usize) [8]U32 {
    return rows_file.load16(rows, at) ++ rows_file.load16(rows, at + 16);
}

inline fn masked(bytes: [8]U32, comptime shift: u5, comptime mask: u32) [8]U8 {
    var codes: [8]U8 = undefined;
    inline for (&codes, bytes) |*code, v| {
        const moved = if (shift == 0) v else v >> @splat(shift);
        code.* = @bitCast(moved & @as(U32, @splat(mask)));
    }
    return codes;
}

inline fn byteOf(v: U32, comptime index: u5) F32 {
    const byte = (v >> @splat(8 * index)) & @as(U32, @splat(255));
    return @floatFromInt(@as(simd.I32, @bitCast(byte)));
}

inline fn signedByteOf(v: U32, comptime index: u5) F32 {
    const at_top: simd.I32 = @bitCast(v << @splat(24 - 8 * index));
    return @floatFromInt(at_top >> @splat(24));
}
