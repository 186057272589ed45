//! Products with quantized weights. A single column is multiplied while the weights are unpacked in
//! registers; for more of them a panel of rows is unpacked into tiles that stay in cache.

const std = @import("std");
const abi = @import("../abi.zig");
const layout = @import("../../dtype.zig").layout;
const simd = @import("../simd.zig");
const side_file = @import("side.zig");
const tile = @import("tile.zig");
const product = @import("product.zig");
const panel_file = @import("panel.zig");
const Items = product.Items;
const Product = product.Product;
const Stretch = panel_file.Stretch;
const Rows = @import("rows.zig").Rows;

/// Bytes of weights that are worth a hand-out to a thread.
const grain_bytes = 64 * 1024;

/// Rows up to this size are fetched two tiles ahead of their use, larger ones a single tile ahead.
/// `zig build bench-kernels` chose.
const near_bytes = 64 * 1024;

/// With few columns weights arrive as fast as they are used: short stretches keep fetching and
/// multiplying close together. In blocks; a multiple of what any type's block makes.
const few_columns = 16;
const short_stretch = 8;

/// The kernel of a type that declares its `dtype`, its tiles' `format`, and
/// `unpack(rows, at, sink)`, which puts the tile blocks of the rows' blocks at byte `at` into the
/// sink, first column first.
pub fn Quantized(comptime Type: type) type {
    const format: tile.Format = Type.format;
    const shape = format.shape();
    const block = layout(Type.dtype);
    const parts = block.block_len / tile.block_len;
    const Panel = panel_file.Panel(shape);

    return struct {
        comptime {
            std.debug.assert(side_file.blocks_max % parts == 0);
            std.debug.assert(short_stretch % parts == 0);
        }

        pub fn plan(p: *const Product, out: *abi.Plan) void {
            const items = itemsOf(p);
            out.items = items.count(p);
            out.thread_scratch = @sizeOf(Panel);
            const row_bytes = p.k / block.block_len * block.block_bytes;
            const item_bytes = items.panel_rows * row_bytes * items.chunk_columns;
            out.grain = @max(1, grain_bytes / @max(1, item_bytes));
        }

        fn isDirect(p: *const Product) bool {
            return Type.in_registers and p.columns == 1;
        }

        fn itemsOf(p: *const Product) Items {
            if (isDirect(p)) return .of(p, simd.lanes, 1, 1);
            return .fit(p, tile.tile_rows, panel_file.rows, panel_file.chunk_max, shape.columns());
        }

        pub fn run(p: *const Product, first: u64, end: u64, memory: [*]align(64) u8) void {
            const panel: *Panel = @ptrCast(memory);
            const items = itemsOf(p);
            for (first..end) |index| {
                const item = items.at(p, index);
                if (Type.in_registers) {
                    if (p.columns == 1) {
                        @call(.never_inline, column, .{ p, item, panel });
                        continue;
                    }
                }
                panel.begin(p, item);
                var begin: usize = 0;
                const step: usize =
                    if (p.columns <= few_columns) short_stretch else side_file.blocks_max;
                while (begin < p.k / tile.block_len) : (begin += step) {
                    const stretch: Stretch = .at(p, begin, step);
                    @call(.never_inline, unpack, .{ p, item, stretch, panel });
                    panel.multiply(p, item, stretch, format.storedZero());
                }
                panel.finish(p, item);
            }
        }

        /// A stretch of `simd.lanes` rows. Rows past the end of the weight are zeros in memory of
        /// ours.
        fn rowsAt(
            p: *const Product,
            slice: usize,
            row: usize,
            stretch: Stretch,
            panel: *Panel,
        ) Rows {
            const stride = p.weight.nb[1];
            const base = p.matrix(slice) + row * stride + stretch.begin / parts * block.block_bytes;
            if (row + simd.lanes <= p.n) return .{ .base = base, .stride = stride };
            const size = stretch.count / parts * block.block_bytes;
            @memset(&panel.edge, 0);
            for (0..p.n - row) |i| @memcpy(panel.edge[i * size ..][0..size], base + i * stride);
            return .{ .base = &panel.edge, .stride = size };
        }

        fn unpack(p: *const Product, item: Items.Item, stretch: Stretch, panel: *Panel) void {
            var row: usize = 0;
            while (row < item.rows) : (row += simd.lanes) {
                const rows = rowsAt(p, item.slice, item.row + row, stretch, panel);
                const tile_index = row / tile.tile_rows;
                const vector = row % tile.tile_rows / simd.lanes;
                var store: tile.Store(shape) = .init(&panel.tiles[tile_index], vector);
                unpackBlocks(p, rows, stretch, &store);
            }
        }

        /// The tile blocks of a stretch of `simd.lanes` rows.
        inline fn unpackBlocks(
            p: *const Product,
            rows: Rows,
            stretch: Stretch,
            sink: anytype,
        ) void {
            const skipped = stretch.begin / parts * (simd.lanes - 1) * block.block_bytes;
            const distance = simd.lanes * p.weight.nb[1];
            var ahead: Ahead(@TypeOf(sink)) = .{
                .sink = sink,
                .next = @intFromPtr(rows.base) +% skipped +%
                    if (distance <= near_bytes) 2 * distance else distance,
            };
            for (0..stretch.count / parts) |b| {
                Type.unpack(rows.after(b * block.block_bytes), &ahead);
            }
        }

        /// Passes tile blocks on and with each fetches a share of the next rows' bytes.
        fn Ahead(comptime Sink: type) type {
            return struct {
                sink: Sink,
                next: usize,

                pub inline fn put(ahead: *@This(), values: tile.Block(shape)) void {
                    const bytes = simd.lanes * block.block_bytes / parts;
                    simd.prefetch(ahead.next, bytes);
                    ahead.next +%= bytes;
                    ahead.sink.put(values);
                }
            };
        }

        /// One column, `simd.lanes` rows.
        fn column(p: *const Product, item: Items.Item, panel: *Panel) void {
            const to = p.column(item.slice, 0);
            var side: side_file.Side = undefined;
            var total: simd.F32 = @splat(0);
            var begin: usize = 0;
            while (begin < p.k / tile.block_len) : (begin += side_file.blocks_max) {
                const stretch: Stretch = .at(p, begin, side_file.blocks_max);
                const rows = rowsAt(p, item.slice, item.row, stretch, panel);
                side.prepare(shape, format.storedZero(), to.x, p.k, begin, stretch.count);
                const x = to.x + begin * tile.block_len;
                var sink: tile.Multiply(shape) = .{ .x = x, .side = &side, .total = total };
                unpackBlocks(p, rows, stretch, &sink);
                total = sink.total;
            }
            var bias: [simd.lanes]f32 = undefined;
            p.biases(item.row, &bias);
            const result: [simd.lanes]f32 = total + @as(simd.F32, bias);
            @memcpy(to.y[item.row..][0..item.rows], result[0..item.rows]);
        }
    };
}
