//! Quantized weights in the one form that every type is brought to before it is multiplied.
//!
//! A value is scale * (code - zero) + offset. A tile block is 32 columns of `tile_rows` rows: codes
//! with four neighbouring columns of a row in one 32-bit lane, then the scales and the offsets of
//! the rows, one for each group of 16 or 32 columns. With activations a of scale s a block adds
//!     s * sum over groups(scale * sum((code - zero) * a)) + sum over groups(offset * s * sum(a))
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

    /// Columns that a product kernel covers: as many as there are registers for. `zig build
    /// bench-kernels` chose.
    pub fn columns(comptime s: Shape) u32 {
        if (simd.register_count < 32) return if (s.codes == .signed) 4 else 3;
        return if (s.group == block_len) columns_max else 4;
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

/// Registers of rows that one product kernel covers.
pub const row_vectors = 2;
pub const tile_rows = row_vectors * simd.lanes;
/// Columns that any kernel covers at most.
pub const columns_max = 6;

/// Where a block's parts lie in a tile, in bytes.
fn Layout(comptime s: Shape) type {
    return struct {
        const vector = 4 * simd.lanes;
        const codes = 0;
        const scales = codes + steps * row_vectors * vector;
        const offsets = scales + s.groups() * row_vectors * vector;
        const missing = offsets + if (s.has_offset) s.groups() * row_vectors * vector else 0;
        const magnitudes = s.groups() * row_vectors * vector;
        const size = missing + if (dot.splitsSigns(s.codes)) magnitudes else 0;
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

        /// Register `row_vector` of the tile's rows.
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
                if (comptime dot.splitsSigns(s.codes)) {
                    const group = block.codes[g * s.group / 4 ..][0 .. s.group / 4];
                    store.tile[L.missing + at ..][0..L.vector].* = @bitCast(
                        dot.missing(s.codes, group),
                    );
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
            var product: F32 = undefined;
            inline for (0..comptime s.groups()) |g| {
                const start = startOf(s, self.side, self.index, g);
                // Two sums, so that one does not wait for the other.
                const half = s.group / 8;
                var even = Sum.begin(start);
                var odd = Sum.begin(@splat(0));
                inline for (0..half) |i| {
                    const step = g * s.group / 4 + i;
                    const w = dot.weights(s.codes, block.codes[step]);
                    even.addWhole(i, w, broadcast4(self.x + step * 4));
                    const other = dot.weights(s.codes, block.codes[step + half]);
                    odd.addWhole(i, other, broadcast4(self.x + (step + half) * 4));
                }
                const sum = even.finish(start) +% odd.finish(@splat(0));
                product = scaled(g, product, sum, block.scale[g]);
            }
            self.total = simd.mulAdd(product, splat(self.side.scale[self.index]), self.total);
            if (s.has_offset) inline for (block.offset, 0..) |offset, g| {
                const sum = self.side.sum[self.index * s.groups() + g];
                self.total = simd.mulAdd(offset, splat(sum), self.total);
            };
            self.x += block_len;
            self.index += 1;
        }
    };
}

inline fn splat(value: f32) F32 {
    return @splat(value);
}

/// Adds a group's part to the product of a block.
inline fn scaled(comptime g: usize, product: F32, sum: I32, scale: F32) F32 {
    const value: F32 = @floatFromInt(sum);
    return if (g == 0) value * scale else simd.mulAdd(value, scale, product);
}

inline fn broadcast4(x: [*]const u8) U8 {
    return @bitCast(@as(simd.U32, @splat(simd.load(u32, x))));
}

inline fn startOf(comptime s: Shape, side: *const Side, block: usize, comptime g: usize) I32 {
    if (!s.has_zero) return @splat(0);
    return @splat(side.start[block * s.groups() + g]);
}

/// Multiplies `blocks` tile blocks with `columns` rows of activations. x[c] points at the first
/// activation; y[c] at `tile_rows` results, to which the products are added unless they are
/// `fresh`.
pub fn multiply(
    comptime s: Shape,
    comptime columns: u32,
    tile: [*]align(simd.register_bytes) const u8,
    blocks: usize,
    x: *const [columns][*]const u8,
    sides: *const [columns]Side,
    y: *const [columns][*]align(1) f32,
    fresh: bool,
) void {
    @setEvalBranchQuota(10_000);
    const L = Layout(s);
    var totals: [columns][row_vectors]F32 = undefined;
    inline for (&totals, y) |*total, from| inline for (total, 0..) |*vector, r| {
        vector.* = if (fresh) @splat(0) else from[r * simd.lanes ..][0..simd.lanes].*;
    };
    for (0..blocks) |b| {
        const t: [*]align(simd.register_bytes) const u8 = @alignCast(tile + b * L.size);
        var products: [columns][row_vectors]F32 = undefined;
        inline for (0..comptime s.groups()) |g| {
            const sums = groupSums(s, columns, g, t, b, x, sides);
            inline for (0..row_vectors) |r| {
                const scale = vectorAt(t, L.scales, g * row_vectors + r);
                inline for (&products, sums) |*product, sum| {
                    product[r] = scaled(g, product[r], sum[r], scale);
                }
            }
        }
        inline for (&totals, products, sides) |*total, product, *side| {
            inline for (total, product) |*vector, p| {
                vector.* = simd.mulAdd(p, splat(side.scale[b]), vector.*);
            }
        }
        if (s.has_offset) inline for (0..comptime s.groups()) |g| inline for (0..row_vectors) |r| {
            const offset = vectorAt(t, L.offsets, g * row_vectors + r);
            inline for (&totals, sides) |*total, *side| {
                total[r] = simd.mulAdd(offset, splat(side.sum[b * s.groups() + g]), total[r]);
            }
        };
    }
    inline for (totals, y) |total, to| inline for (total, 0..) |vector, r| {
        to[r * simd.lanes ..][0..simd.lanes].* = vector;
    };
}

inline fn vectorAt(
    t: [*]align(simd.register_bytes) const u8,
    comptime at: usize,
    comptime index: usize,
) F32 {
    return @bitCast(t[at + index * simd.register_bytes ..][0..simd.register_bytes].*);
}

/// Sums of code times activation over one group of block b, which stands at t.
inline fn groupSums(
    comptime s: Shape,
    comptime columns: u32,
    comptime g: usize,
    t: [*]align(simd.register_bytes) const u8,
    b: usize,
    x: *const [columns][*]const u8,
    sides: *const [columns]Side,
) [columns][row_vectors]I32 {
    var sums: [columns][row_vectors]dot.Sum(s.codes, s.group / 4) = undefined;
    inline for (&sums, sides) |*sum, *side| inline for (sum) |*vector| {
        vector.* = .begin(startOf(s, side, b, g));
    };
    inline for (0..comptime s.group / 4) |i| {
        const step = g * s.group / 4 + i;
        var w: [row_vectors]dot.Weights(s.codes) = undefined;
        inline for (&w, 0..) |*codes, r| {
            codes.* = dot.weights(s.codes, @bitCast(vectorAt(t, 0, step * row_vectors + r)));
        }
        inline for (&sums, x) |*sum, activations| {
            const a = broadcast4(activations + b * block_len + step * 4);
            inline for (sum, w) |*vector, codes| vector.add(i, codes, a);
        }
    }
    var finished: [columns][row_vectors]I32 = undefined;
    inline for (&finished, sums, sides) |*to, sum, *side| {
        inline for (to, sum, 0..) |*vector, from, r| {
            const start = if (comptime dot.splitsSigns(s.codes))
                @as(I32, @bitCast(vectorAt(t, Layout(s).missing, g * row_vectors + r)))
            else
                startOf(s, side, b, g);
            vector.* = from.finish(start);
        }
    }
    return finished;
}
