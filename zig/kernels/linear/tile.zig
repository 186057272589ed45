//! Quantized weights in the one form that every type is brought to before it is multiplied.
//!
//! A value is scale * (code - zero) + offset. A tile block is 32 columns of `tile_rows` rows: codes
//! with four neighbouring columns of a row in one 32-bit lane, then the scales and the offsets of
//! the rows, one for each group of 16 or 32 columns. With activations a of scale s the block adds
//!     s * scale * sum((code - zero) * a) + offset * s * sum(a)
//! to a product, in this order whichever loop computes it: a product does not depend on how many
//! others are computed with it.

const std = @import("std");
const simd = @import("../simd.zig");
const dot = @import("dot.zig");
const Side = @import("side.zig").Side;
const Rows = @import("rows.zig").Rows;
const F32 = simd.F32;
const I32 = simd.I32;
const U8 = simd.U8;

/// Columns of a block.
pub const block_len = 32;
const steps = block_len / 4;

/// What a weight type's codes mean.
pub const Format = struct {
    codes: dot.Codes,
    zero: u8 = 0,
    /// Columns that share a scale.
    group: u32 = block_len,
    has_offset: bool = false,

    /// The zero of codes as they are stored.
    pub fn storedZero(comptime f: Format) i32 {
        return if (f.codes == .signed and dot.flips_signed) 128 else f.zero;
    }

    pub fn shape(comptime f: Format) Shape {
        return .{
            .codes = f.codes.widest(),
            .has_zero = f.storedZero() != 0,
            .group = f.group,
            .has_offset = f.has_offset,
        };
    }
};

/// What of a format the loops depend on; many formats have the same.
pub const Shape = struct {
    codes: dot.Codes,
    has_zero: bool,
    group: u32,
    has_offset: bool,

    pub fn groups(comptime s: Shape) u32 {
        return block_len / s.group;
    }
};

/// One block of a few rows in registers.
pub fn Block(comptime s: Shape) type {
    return struct {
        /// [step]: columns 4 * step to 4 * step + 3.
        codes: [steps]U8,
        scale: [s.groups()]F32,
        offset: if (s.has_offset) [s.groups()]F32 else void = if (s.has_offset) undefined else {},
    };
}

/// Signed codes as they are stored.
pub inline fn signed(dwords: [steps]simd.U32) [steps]U8 {
    var codes: [steps]U8 = undefined;
    inline for (dwords, &codes) |v, *code| {
        code.* = @bitCast(if (dot.flips_signed) v ^ @as(simd.U32, @splat(0x80808080)) else v);
    }
    return codes;
}

/// Registers of rows that one product kernel covers, and its columns: as many sums as fit.
pub const row_vectors = 2;
pub const tile_rows = row_vectors * simd.lanes;
pub const columns_max = if (simd.register_count == 32) 6 else 4;

/// Where a block's parts lie in a tile, in bytes.
fn Layout(comptime s: Shape) type {
    return struct {
        const vector = 4 * simd.lanes;
        const codes = 0;
        const scales = codes + steps * row_vectors * vector;
        const offsets = scales + s.groups() * row_vectors * vector;
        const size = offsets + if (s.has_offset) s.groups() * row_vectors * vector else 0;
    };
}

pub fn blockBytes(comptime s: Shape) usize {
    return Layout(s).size;
}

/// Stores unpacked blocks as one half of the rows of a tile.
pub fn Store(comptime s: Shape) type {
    return struct {
        tile: [*]align(simd.register_bytes) u8,

        const Self = @This();

        pub fn init(tile: [*]align(simd.register_bytes) u8, row_vector: usize) Self {
            return .{ .tile = @alignCast(tile + row_vector * Layout(s).vector) };
        }

        pub inline fn put(store: *Self, block: Block(s)) void {
            const L = Layout(s);
            inline for (block.codes, 0..) |codes, step| {
                const at = L.codes + step * row_vectors * L.vector;
                store.tile[at..][0..L.vector].* = @bitCast(codes);
            }
            inline for (0..comptime s.groups()) |g| {
                const at = g * row_vectors * L.vector;
                store.tile[L.scales + at ..][0..L.vector].* = @bitCast(block.scale[g]);
                if (s.has_offset) {
                    store.tile[L.offsets + at ..][0..L.vector].* = @bitCast(block.offset[g]);
                }
            }
            store.tile = @alignCast(store.tile + L.size);
        }
    };
}

/// Multiplies unpacked blocks with one row of activations at once: for a single row of them.
pub fn Multiply(comptime s: Shape) type {
    return struct {
        x: [*]const u8,
        side: *const Side,
        index: usize = 0,
        total: F32,

        const Self = @This();
        const Sum = dot.Sum(s.codes, s.group / 8);

        pub inline fn put(self: *Self, block: Block(s)) void {
            inline for (0..comptime s.groups()) |g| {
                const start = startOf(s, self.side, self.index, g);
                // Two sums, so that one does not wait for the other.
                const half = s.group / 8;
                var even = Sum.begin(start);
                var odd = Sum.begin(@splat(0));
                inline for (0..half) |i| {
                    const step = g * s.group / 4 + i;
                    even.add(i, block.codes[step], broadcast4(self.x + step * 4));
                    odd.add(i, block.codes[step + half], broadcast4(self.x + (step + half) * 4));
                }
                const sum = even.finish(start) +% odd.finish(@splat(0));
                const offset = if (s.has_offset) block.offset[g] else {};
                self.total = accumulate(s, self.total, sum, block.scale[g], offset, self.side, self.index, g);
            }
            self.x += block_len;
            self.index += 1;
        }
    };
}

inline fn broadcast4(x: [*]const u8) U8 {
    return @bitCast(@as(simd.U32, @splat(simd.load(u32, x))));
}

inline fn startOf(comptime s: Shape, side: *const Side, block: usize, comptime g: usize) I32 {
    if (!s.has_zero) return @splat(0);
    return @splat(side.start[block * s.groups() + g]);
}

inline fn accumulate(
    comptime s: Shape,
    total: F32,
    sum: I32,
    scale: F32,
    offset: if (s.has_offset) F32 else void,
    side: *const Side,
    block: usize,
    comptime g: usize,
) F32 {
    const both = scale * @as(F32, @splat(side.scale[block]));
    const product = simd.mulAdd(@as(F32, @floatFromInt(sum)), both, total);
    if (!s.has_offset) return product;
    return simd.mulAdd(offset, @as(F32, @splat(side.sum[block * s.groups() + g])), product);
}

/// Adds the products of `blocks` tile blocks with `columns` rows of activations to y.
/// x[c] points at the first activation, y[c] at `tile_rows` results.
pub fn multiply(
    comptime s: Shape,
    comptime columns: u32,
    tile: [*]align(simd.register_bytes) const u8,
    blocks: usize,
    x: *const [columns][*]const u8,
    sides: *const [columns]Side,
    y: *const [columns][*]align(1) f32,
) void {
    const L = Layout(s);
    const Sum = dot.Sum(s.codes, s.group / 4);
    var totals: [columns][row_vectors]F32 = undefined;
    inline for (0..columns) |c| inline for (0..row_vectors) |r| {
        totals[c][r] = y[c][r * simd.lanes ..][0..simd.lanes].*;
    };
    for (0..blocks) |b| {
        const t = tile + b * L.size;
        inline for (0..comptime s.groups()) |g| {
            var sums: [columns][row_vectors]Sum = undefined;
            inline for (0..columns) |c| inline for (0..row_vectors) |r| {
                sums[c][r] = .begin(startOf(s, &sides[c], b, g));
            };
            inline for (0..comptime s.group / 4) |i| {
                const step = g * s.group / 4 + i;
                var w: [row_vectors]U8 = undefined;
                inline for (&w, 0..) |*v, r| {
                    v.* = t[L.codes + (step * row_vectors + r) * L.vector ..][0..L.vector].*;
                }
                inline for (0..columns) |c| {
                    const a = broadcast4(x[c] + b * block_len + step * 4);
                    inline for (0..row_vectors) |r| sums[c][r].add(i, w[r], a);
                }
            }
            inline for (0..row_vectors) |r| {
                const at = (g * row_vectors + r) * L.vector;
                const scale: F32 = @bitCast(t[L.scales + at ..][0..L.vector].*);
                const offset = if (s.has_offset)
                    @as(F32, @bitCast(t[L.offsets + at ..][0..L.vector].*))
                else {};
                inline for (0..columns) |c| {
                    const sum = sums[c][r].finish(startOf(s, &sides[c], b, g));
                    totals[c][r] = accumulate(s, totals[c][r], sum, scale, offset, &sides[c], b, g);
                }
            }
        }
    }
    inline for (0..columns) |c| inline for (0..row_vectors) |r| {
        y[c][r * simd.lanes ..][0..simd.lanes].* = totals[c][r];
    };
}
