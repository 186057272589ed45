//! Products with quantized weights. A single column is multiplied while the weights are unpacked in
//! registers; for more of them a panel of rows is unpacked into tiles that stay in cache.

const std = @import("std");
const abi = @import("../abi.zig");
const layout = @import("../../dtype.zig").layout;
const simd = @import("../simd.zig");
const side_file = @import("side.zig");
const tile = @import("tile.zig");
const product = @import("product.zig");
const Items = product.Items;
const Product = product.Product;
const Rows = @import("rows.zig").Rows;
const Side = side_file.Side;

/// Rows of a panel, in tiles of `tile.tile_rows`.
const panel_tiles = 2;
const panel_rows = panel_tiles * tile.tile_rows;
/// Columns that an item computes at most: unpacking is paid once for them.
const chunk_max = 240;
/// Bytes of weights that are worth a hand-out to a thread.
const grain_bytes = 64 * 1024;

pub fn Quantized(comptime Type: type) type {
    const format: tile.Format = Type.format;
    const block = layout(Type.dtype);
    const sub_blocks = block.block_len / tile.block_len;

    return struct {
        comptime {
            std.debug.assert(side_file.columns_max % block.block_len == 0);
        }

        const tile_bytes = side_file.blocks_max * tile.blockBytes(format);

        const Scratch = struct {
            tiles: [panel_tiles][tile_bytes]u8 align(64),
            x: [chunk_max][*]const u8,
            y: [chunk_max][*]align(1) f32,
        };

        pub fn plan(p: *const Product, out: *abi.Plan) void {
            const items = itemsOf(p);
            out.items = items.count(p);
            out.thread_scratch = @sizeOf(Scratch);
            const row_bytes = p.k / block.block_len * block.block_bytes;
            const item_bytes = items.panel_rows * row_bytes * items.chunk_columns;
            out.grain = @max(1, grain_bytes / @max(1, item_bytes));
        }

        fn itemsOf(p: *const Product) Items {
            if (p.columns == 1) return .of(p, simd.lanes, 1, 1);
            return .of(p, panel_rows, chunk_max, tile.columns_max);
        }

        pub fn run(p: *const Product, begin: u64, end: u64, memory: [*]align(64) u8) void {
            const scratch: *Scratch = @ptrCast(memory);
            const items = itemsOf(p);
            for (begin..end) |index| {
                const item = items.at(p, index);
                if (p.columns == 1) column(p, item) else panel(p, item, scratch);
            }
        }

        fn rowsAt(p: *const Product, slice: usize, row: usize) Rows {
            const matrix = p.matrix(slice);
            var rows: Rows = undefined;
            for (&rows, 0..) |*address, i| {
                address.* = matrix + @min(row + i, p.n - 1) * p.weight.nb[1];
            }
            return rows;
        }

        /// One column, `simd.lanes` rows.
        fn column(p: *const Product, item: Items.Item) void {
            const rows = rowsAt(p, item.slice, item.row);
            const to = p.column(item.slice, 0);
            var side: Side = undefined;
            var total: simd.F32 = @splat(0);
            const next = @intFromPtr(rows[0]) +% simd.lanes * p.weight.nb[1];
            var begin: usize = 0;
            while (begin < p.k) : (begin += side_file.columns_max) {
                const blocks = @min(side_file.columns_max, p.k - begin) / tile.block_len;
                side.prepare(format, to.x, p.k, begin / tile.block_len, blocks);
                var sink: tile.Multiply(format) = .{ .x = to.x + begin, .side = &side, .total = total };
                const first = begin / block.block_len;
                for (first..first + blocks / sub_blocks) |b| {
                    simd.prefetch(next +% b * simd.lanes * block.block_bytes, simd.lanes * block.block_bytes);
                    Type.unpack(&rows, b * block.block_bytes, &sink);
                }
                total = sink.total;
            }
            var bias: [simd.lanes]f32 = undefined;
            p.biases(item.row, &bias);
            const result: [simd.lanes]f32 = total + @as(simd.F32, bias);
            @memcpy(to.y[item.row..][0..item.rows], result[0..item.rows]);
        }

        fn panel(p: *const Product, item: Items.Item, scratch: *Scratch) void {
            for (0..item.columns) |i| {
                const to = p.column(item.slice, item.column + i);
                scratch.x[i] = to.x;
                scratch.y[i] = to.y + item.row;
            }
            var bias: [panel_rows]f32 = undefined;
            p.biases(item.row, &bias);
            if (p.k == 0) {
                for (scratch.y[0..item.columns]) |y| @memcpy(y[0..item.rows], bias[0..item.rows]);
            }
            var begin: usize = 0;
            while (begin < p.k) : (begin += side_file.columns_max) {
                const blocks = @min(side_file.columns_max, p.k - begin) / tile.block_len;
                unpack(p, item, begin, blocks, scratch);
                const ends: Ends = .{ .first = begin == 0, .last = begin + blocks * tile.block_len == p.k };
                var i: usize = 0;
                while (i < item.columns) : (i += tile.columns_max) {
                    switch (@min(tile.columns_max, item.columns - i)) {
                        inline 1...tile.columns_max => |c| group(c, p, item, i, begin, blocks, ends, &bias, scratch),
                        else => unreachable,
                    }
                }
            }
        }

        const Ends = struct { first: bool, last: bool };

        fn unpack(p: *const Product, item: Items.Item, begin: usize, blocks: usize, scratch: *Scratch) void {
            const first = begin / block.block_len;
            for (0..panel_tiles) |t| for (0..tile.row_vectors) |v| {
                const offset = t * tile.tile_rows + v * simd.lanes;
                if (offset >= item.rows) return;
                const rows = rowsAt(p, item.slice, item.row + offset);
                var store: tile.Store(format) = .init(&scratch.tiles[t], v);
                const next = @intFromPtr(rows[0]) +% simd.lanes * p.weight.nb[1];
                for (first..first + blocks / sub_blocks) |b| {
                    if (false) simd.prefetch(next +% b * simd.lanes * block.block_bytes, simd.lanes * block.block_bytes);
                    Type.unpack(&rows, b * block.block_bytes, &store);
                }
            };
        }

        /// Columns [i, i + c) of an item.
        fn group(
            comptime c: u32,
            p: *const Product,
            item: Items.Item,
            i: usize,
            begin: usize,
            blocks: usize,
            ends: Ends,
            bias: *const [panel_rows]f32,
            scratch: *Scratch,
        ) void {
            var sides: [c]Side = undefined;
            var x: [c][*]const u8 = undefined;
            for (&sides, &x, scratch.x[i..][0..c]) |*side, *from, row| {
                side.prepare(format, row, p.k, begin / tile.block_len, blocks);
                from.* = row + begin;
            }
            var edge: [c][tile.tile_rows]f32 align(64) = undefined;
            for (0..panel_tiles) |t| {
                const offset = t * tile.tile_rows;
                if (offset >= item.rows) return;
                const count = @min(tile.tile_rows, item.rows - offset);
                var y: [c][*]align(1) f32 = undefined;
                for (&y, 0..) |*to, j| {
                    const out = scratch.y[i + j] + offset;
                    to.* = if (count == tile.tile_rows) out else &edge[j];
                    if (ends.first) {
                        to.*[0..tile.tile_rows].* = @splat(0);
                    } else if (count < tile.tile_rows) @memcpy(edge[j][0..count], out[0..count]);
                }
                tile.multiply(format, c, &scratch.tiles[t], blocks, &x, &sides, &y);
                for (&y, 0..) |from, j| {
                    const out = scratch.y[i + j] + offset;
                    if (ends.last) for (0..count) |r| {
                        from[r] += bias[offset + r];
                    };
                    if (count < tile.tile_rows) @memcpy(out[0..count], edge[j][0..count]);
                }
            }
        }
    };
}
