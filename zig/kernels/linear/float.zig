//! Products with f32, f16 and bf16 weights and f32 activations, in f32.
//!
//! Lane l of a sum takes columns l, l + lanes, …; after every `stretch` columns the lanes are added
//! and the sum goes to the result. Both loops below do this in the same order, so that a product
//! does not depend on how many others are computed with it.

const std = @import("std");
const abi = @import("../abi.zig");
const DType = @import("../../dtype.zig").DType;
const layout = @import("../../dtype.zig").layout;
const simd = @import("../simd.zig");
const product = @import("product.zig");
const Items = product.Items;
const Product = product.Product;
const F32 = simd.F32;
const lanes = simd.lanes;

/// Columns between two additions of the lanes.
const stretch = 512;

/// Rows and columns of sums that fit in registers, beside a register for each row or column and
/// one more.
const tile_rows = 4;
const tile_columns = if (simd.register_count == 32) 6 else if (simd.has_fma) 3 else 2;

/// Rows whose weights are packed together at most, and columns that use them.
const panel_rows_max = 128;
const panel_rows_min = 32;
const chunk_max = 264;
/// Bytes of weights that are worth a hand-out to a thread.
const grain_bytes = 64 * 1024;

const Scratch = struct {
    /// [tile][vector of columns][row of the tile][lane]
    weights: [panel_rows_max * stretch]f32 align(64),
    /// [vector of columns][row of activations][lane]
    x: [tile_columns * stretch]f32 align(64),
    columns: [chunk_max]Product.Column,
};

pub fn Float(comptime dtype: DType) type {
    return struct {
        const value_bytes = layout(dtype).block_bytes;

        pub fn plan(p: *const Product, out: *abi.Plan) void {
            const items = itemsOf(p);
            out.items = items.count(p);
            out.thread_scratch = @sizeOf(Scratch);
            const item_bytes = items.panel_rows * p.k * value_bytes * items.chunk_columns;
            out.grain = @max(1, grain_bytes / @max(1, item_bytes));
        }

        fn isDirect(p: *const Product) bool {
            return p.columns <= tile_columns;
        }

        fn itemsOf(p: *const Product) Items {
            if (isDirect(p)) return .of(p, tile_rows, tile_columns, tile_columns);
            return .fit(p, panel_rows_min, panel_rows_max, chunk_max, tile_columns);
        }

        pub fn run(p: *const Product, begin: u64, end: u64, memory: [*]align(64) u8) void {
            const scratch: *Scratch = @ptrCast(memory);
            const items = itemsOf(p);
            for (begin..end) |index| {
                const item = items.at(p, index);
                if (!isDirect(p)) panel(p, item, scratch) else switch (item.columns) {
                    inline 1...tile_columns => |c| direct(c, p, item),
                    else => unreachable,
                }
            }
        }

        /// `tile_rows` rows from the first of `rows_left` on; the last one stands again past the
        /// end.
        fn rowsAt(p: *const Product, slice: usize, row: usize) [tile_rows][*]const u8 {
            const matrix = p.matrix(slice);
            var rows: [tile_rows][*]const u8 = undefined;
            for (&rows, 0..) |*address, i| {
                address.* = matrix + @min(row + i, p.n - 1) * p.weight.nb[1];
            }
            return rows;
        }

        /// `tile_rows` rows with a few columns, straight from the weights.
        fn direct(comptime columns: u32, p: *const Product, item: Items.Item) void {
            const rows = rowsAt(p, item.slice, item.row);
            var to: [columns]Product.Column = undefined;
            for (&to, 0..) |*column, c| column.* = p.column(item.slice, c);
            var totals: [columns]@Vector(tile_rows, f32) = @splat(@splat(0));
            const next = @intFromPtr(rows[0]) +% tile_rows * p.weight.nb[1];
            var begin: usize = 0;
            while (begin < p.k) : (begin += stretch) {
                const count = @min(stretch, p.k - begin);
                var sums: [columns][tile_rows]F32 = @splat(@splat(@splat(0)));
                for (0..count / lanes) |v| {
                    const at = begin + v * lanes;
                    simd.prefetch(
                        next +% at * tile_rows * value_bytes,
                        tile_rows * lanes * value_bytes,
                    );
                    var x: [columns]F32 = undefined;
                    inline for (&x, to) |*value, column| {
                        value.* = simd.load(F32, column.x + at * 4);
                    }
                    inline for (rows, 0..) |row, r| {
                        const w = load(row + at * value_bytes);
                        inline for (x, 0..) |value, c| {
                            sums[c][r] = simd.mulAdd(w, value, sums[c][r]);
                        }
                    }
                }
                const rest = count % lanes;
                if (rest > 0) {
                    const at = begin + count - rest;
                    inline for (rows, 0..) |row, r| {
                        const w = loadPart(row + at * value_bytes, rest);
                        inline for (to, 0..) |column, c| {
                            sums[c][r] = simd.mulAdd(
                                w,
                                partOf(column.x + at * 4, rest),
                                sums[c][r],
                            );
                        }
                    }
                }
                inline for (&totals, sums) |*total, s| total.* += addLanes(s);
            }
            var bias: [tile_rows]f32 = undefined;
            p.biases(item.row, &bias);
            inline for (totals, to) |total, column| {
                const result: [tile_rows]f32 = total + @as(@Vector(tile_rows, f32), bias);
                @memcpy(column.y[item.row..][0..item.rows], result[0..item.rows]);
            }
        }

        fn panel(p: *const Product, item: Items.Item, scratch: *Scratch) void {
            const columns = scratch.columns[0..item.columns];
            for (columns, item.column..) |*column, i| {
                column.* = p.column(item.slice, i);
                column.y += item.row;
                if (p.k == 0) @memset(column.y[0..item.rows], 0);
            }
            var begin: usize = 0;
            while (begin < p.k) : (begin += stretch) {
                const count = @min(stretch, p.k - begin);
                packWeights(p, item, begin, count, scratch);
                var i: usize = 0;
                while (i < columns.len) : (i += tile_columns) {
                    const rest = columns[i..];
                    switch (@min(tile_columns, rest.len)) {
                        inline 1...tile_columns => |c| {
                            const next = rest[c..@min(2 * tile_columns, rest.len)];
                            group(c, rest[0..c], next, item.rows, begin, count, scratch);
                        },
                        else => unreachable,
                    }
                }
            }
            if (p.bias == null) return;
            var bias: [panel_rows_max]f32 = undefined;
            p.biases(item.row, &bias);
            for (columns) |column| {
                for (column.y[0..item.rows], bias[0..item.rows]) |*y, b| y.* += b;
            }
        }

        fn packWeights(
            p: *const Product,
            item: Items.Item,
            begin: usize,
            count: usize,
            scratch: *Scratch,
        ) void {
            const vectors = (count + lanes - 1) / lanes;
            var row: usize = 0;
            while (row < item.rows) : (row += tile_rows) {
                const tile = scratch.weights[row * vectors * lanes ..];
                for (rowsAt(p, item.slice, item.row + row), 0..) |address, r| {
                    const from = address + begin * value_bytes;
                    const next = @intFromPtr(from) +% tile_rows * p.weight.nb[1];
                    for (0..count / lanes) |v| {
                        simd.prefetch(next +% v * lanes * value_bytes, lanes * value_bytes);
                        const place = tile[(v * tile_rows + r) * lanes ..];
                        place[0..lanes].* = load(from + v * lanes * value_bytes);
                    }
                    const rest = count % lanes;
                    if (rest > 0) {
                        const v = vectors - 1;
                        tile[(v * tile_rows + r) * lanes ..][0..lanes].* = loadPart(
                            from + v * lanes * value_bytes,
                            rest,
                        );
                    }
                }
            }
        }

        inline fn load(address: [*]const u8) F32 {
            return switch (dtype) {
                .f32 => simd.load(F32, address),
                .f16 => simd.loadF16(lanes, address),
                .bf16 => simd.loadBf16(lanes, address),
                else => comptime unreachable,
            };
        }

        /// The first `count` values, then zeros.
        fn loadPart(address: [*]const u8, count: usize) F32 {
            var bytes: [lanes * value_bytes]u8 = @splat(0);
            @memcpy(bytes[0 .. count * value_bytes], address[0 .. count * value_bytes]);
            return load(&bytes);
        }
    };
}

const partOf = Float(.f32).loadPart;

/// Adds what `count` columns of the weights, which are packed, give to a group of columns, and
/// fetches the next group's activations meanwhile.
fn group(
    comptime columns: u32,
    to: *const [columns]Product.Column,
    next: []const Product.Column,
    rows: usize,
    begin: usize,
    count: usize,
    scratch: *Scratch,
) void {
    const vectors = (count + lanes - 1) / lanes;
    packActivations(columns, to, begin, count, &scratch.x);
    var row: usize = 0;
    while (row < rows) : (row += tile_rows) {
        const weights = scratch.weights[row * vectors * lanes ..].ptr;
        const totals = multiplyTile(columns, weights, &scratch.x, vectors);
        for (next) |column| {
            var line = row / tile_rows * simd.line_bytes;
            const step = (rows + tile_rows - 1) / tile_rows * simd.line_bytes;
            while (line < count * 4) : (line += step) {
                simd.prefetch(@intFromPtr(column.x) + begin * 4 + line, simd.line_bytes);
            }
        }
        inline for (totals, to) |total, column| {
            addTo(column.y[row..@min(rows, row + tile_rows)], total, begin == 0);
        }
    }
}

/// Adds to results, or stores the first ones.
inline fn addTo(y: []align(1) f32, total: @Vector(tile_rows, f32), fresh: bool) void {
    if (y.len == tile_rows) {
        const old: [tile_rows]f32 = if (fresh) @splat(0) else y[0..tile_rows].*;
        y[0..tile_rows].* = @as(@Vector(tile_rows, f32), old) + total;
    } else {
        const list: [tile_rows]f32 = total;
        for (y, list[0..y.len]) |*value, t| value.* = if (fresh) t else value.* + t;
    }
}

fn packActivations(
    comptime columns: u32,
    rows: *const [columns]Product.Column,
    begin: usize,
    count: usize,
    to: []f32,
) void {
    inline for (rows, 0..) |row, c| {
        const from = row.x + begin * 4;
        for (0..count / lanes) |v| {
            to[(v * columns + c) * lanes ..][0..lanes].* = simd.load(F32, from + v * lanes * 4);
        }
        const rest = count % lanes;
        if (rest > 0) {
            const v = count / lanes;
            to[(v * columns + c) * lanes ..][0..lanes].* = partOf(from + v * lanes * 4, rest);
        }
    }
}

fn multiplyTile(
    comptime columns: u32,
    weights: [*]const f32,
    activations: [*]const f32,
    vectors: usize,
) [columns]@Vector(tile_rows, f32) {
    var sums: [columns][tile_rows]F32 = @splat(@splat(@splat(0)));
    for (0..vectors) |v| {
        const w = weights[v * tile_rows * lanes ..];
        const x = activations[v * columns * lanes ..];
        // The side with fewer vectors stays in registers, the other passes through one.
        if (columns < tile_rows) {
            var fixed: [columns]F32 = undefined;
            inline for (&fixed, 0..) |*value, c| value.* = x[c * lanes ..][0..lanes].*;
            inline for (0..tile_rows) |r| {
                const passing: F32 = w[r * lanes ..][0..lanes].*;
                inline for (fixed, &sums) |value, *sum| {
                    sum[r] = simd.mulAdd(passing, value, sum[r]);
                }
            }
        } else {
            var fixed: [tile_rows]F32 = undefined;
            inline for (&fixed, 0..) |*value, r| value.* = w[r * lanes ..][0..lanes].*;
            inline for (&sums, 0..) |*sum, c| {
                const passing: F32 = x[c * lanes ..][0..lanes].*;
                inline for (fixed, sum) |value, *one| one.* = simd.mulAdd(value, passing, one.*);
            }
        }
    }
    var totals: [columns]@Vector(tile_rows, f32) = undefined;
    inline for (&totals, sums) |*total, s| total.* = addLanes(s);
    return totals;
}

/// The sums of the lanes of four vectors: halves are added until four lanes are left.
inline fn addLanes(v: [tile_rows]F32) @Vector(tile_rows, f32) {
    var parts: [tile_rows]@Vector(4, f32) = undefined;
    inline for (&parts, v) |*part, whole| part.* = addHalves(whole);
    const i = [_]i32{ 0, 1, 2, 3 };
    const a = pick(
        parts[0],
        parts[1],
        .{ 0, 1, ~i[0], ~i[1] },
    ) + pick(parts[0], parts[1], .{ 2, 3, ~i[2], ~i[3] });
    const b = pick(
        parts[2],
        parts[3],
        .{ 0, 1, ~i[0], ~i[1] },
    ) + pick(parts[2], parts[3], .{ 2, 3, ~i[2], ~i[3] });
    return pick(a, b, .{ 0, 2, ~i[0], ~i[2] }) + pick(a, b, .{ 1, 3, ~i[1], ~i[3] });
}

inline fn pick(a: @Vector(4, f32), b: @Vector(4, f32), comptime mask: [4]i32) @Vector(4, f32) {
    return @shuffle(f32, a, b, mask);
}

fn addHalves(v: anytype) @Vector(4, f32) {
    const n = @typeInfo(@TypeOf(v)).vector.len;
    if (n == 4) return v;
    const low = std.simd.extract(v, 0, n / 2);
    const high = std.simd.extract(v, n / 2, n / 2);
    return addHalves(low + high);
}
