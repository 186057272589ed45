//! Many columns of activations times a panel of rows whose weights stand in tiles. Types with tiles
//! of the same shape share this code.

const std = @import("std");
const side_file = @import("side.zig");
const simd = @import("../simd.zig");
const tile = @import("tile.zig");
const product = @import("product.zig");
const Item = product.Items.Item;
const Product = product.Product;
const Side = side_file.Side;

/// Rows of a panel, in tiles of `tile.tile_rows`.
pub const tiles = 2;
pub const rows = tiles * tile.tile_rows;
/// Columns that an item has at most: unpacking is paid once for them.
pub const chunk_max = 264;

/// The part of a product's inner dimension that tiles hold at a time, in blocks.
pub const Stretch = struct {
    begin: usize,
    count: usize,

    pub fn at(p: *const Product, begin: usize, count_max: usize) Stretch {
        return .{
            .begin = begin,
            .count = @min(count_max, p.k / tile.block_len - begin),
        };
    }
};

pub fn Panel(comptime shape: tile.Shape) type {
    return struct {
        const Self = @This();

        tiles: [tiles][side_file.blocks_max * tile.blockBytes(shape)]u8 align(64),
        /// A stretch of as many rows as there are lanes; no type has more than 16 bits a value.
        edge: [simd.lanes * side_file.columns_max * 2]u8 align(64),
        columns: [chunk_max]Product.Column,
        bias: [rows]f32,

        pub fn begin(panel: *Self, p: *const Product, item: Item) void {
            for (panel.columns[0..item.columns], item.column..) |*column, i| {
                column.* = p.column(item.slice, i);
                column.y += item.row;
            }
            p.biases(item.row, &panel.bias);
            if (p.k == 0) for (panel.columns[0..item.columns]) |column| @memset(
                column.y[0..item.rows],
                0,
            );
        }

        /// Adds what the stretch in the tiles gives to the results.
        pub fn multiply(
            panel: *Self,
            p: *const Product,
            item: Item,
            stretch: Stretch,
            zero: i32,
        ) void {
            const columns = panel.columns[0..item.columns];
            const at_once = comptime shape.columns();
            var i: usize = 0;
            while (i < columns.len) : (i += at_once) {
                switch (@min(at_once, columns.len - i)) {
                    inline 1...at_once => |c| {
                        prefetch(columns[@min(i + c, columns.len)..], p.k, stretch);
                        panel.group(c, columns[i..][0..c], p.k, item.rows, stretch, zero);
                    },
                    else => unreachable,
                }
            }
        }

        /// Fetches what the next group of columns reads.
        fn prefetch(next: []const Product.Column, k: usize, stretch: Stretch) void {
            for (next[0..@min(shape.columns(), next.len)]) |column| {
                const x = @intFromPtr(column.x);
                for (0..stretch.count / 2) |i| {
                    simd.prefetchNear(x + (stretch.begin + 2 * i) * tile.block_len);
                }
                simd.prefetchNear(x + k + stretch.begin * 4);
                simd.prefetchNear(x + k + k / 8 + stretch.begin * 4);
            }
        }

        fn group(
            panel: *Self,
            comptime c: u32,
            columns: *const [c]Product.Column,
            k: usize,
            row_count: usize,
            stretch: Stretch,
            zero: i32,
        ) void {
            var sides: [c]Side = undefined;
            var x: [c][*]const u8 = undefined;
            for (&sides, &x, columns) |*side, *from, column| {
                side.prepare(shape, zero, column.x, k, stretch.begin, stretch.count);
                from.* = column.x + stretch.begin * tile.block_len;
            }
            const fresh = stretch.begin == 0;
            for (&panel.tiles, 0..) |*weights, t| {
                const first = t * tile.tile_rows;
                if (first >= row_count) return;
                const count = @min(tile.tile_rows, row_count - first);
                var y: [c][*]align(1) f32 = undefined;
                for (&y, columns) |*to, column| to.* = column.y + first;
                if (count == tile.tile_rows) {
                    tile.multiply(shape, c, weights, stretch.count, &x, &sides, &y, fresh);
                    continue;
                }
                // The last tile has rows that do not exist: their results stay here.
                var padded: [c][tile.tile_rows]f32 = undefined;
                var to: [c][*]align(1) f32 = undefined;
                for (&padded, &to, y) |*whole, *address, from| {
                    @memcpy(whole[0..count], from[0..count]);
                    @memset(whole[count..], 0);
                    address.* = whole;
                }
                tile.multiply(shape, c, weights, stretch.count, &x, &sides, &to, fresh);
                for (&padded, y) |*whole, back| @memcpy(back[0..count], whole[0..count]);
            }
        }

        pub fn finish(panel: *Self, p: *const Product, item: Item) void {
            if (p.bias == null) return;
            for (panel.columns[0..item.columns]) |column| {
                for (column.y[0..item.rows], panel.bias[0..item.rows]) |*y, bias| y.* += bias;
            }
        }
    };
}
