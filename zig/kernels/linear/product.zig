//! The operands of one linear op, seen as products of weight rows with columns of activations.

const std = @import("std");
const abi = @import("../abi.zig");
const Tensor = abi.Tensor;

/// Weight [k, n, b, c] and x [k, m, b', c'] fall into b * c slices: those columns that share a
/// weight matrix. Neighbouring b' (and c') share one when there are more of them.
pub const Product = struct {
    weight: *const Tensor,
    x: *const Tensor,
    y: *const Tensor,
    bias: ?*const Tensor,
    k: usize,
    n: usize,
    slices: usize,
    /// Columns of one slice.
    columns: usize,

    pub fn of(task: *const abi.Task) Product {
        const w = task.source(0);
        const x = task.source(1);
        const slices = w.ne[2] * w.ne[3];
        return .{
            .weight = w,
            .x = x,
            .y = task.output(),
            .bias = task.sources[2],
            .k = w.ne[0],
            .n = w.ne[1],
            .slices = slices,
            .columns = if (slices == 0) 0 else x.rows() / slices,
        };
    }

    pub fn isEmpty(p: *const Product) bool {
        return p.n * p.columns * p.slices == 0;
    }

    /// The weight matrix of a slice.
    pub fn matrix(p: *const Product, slice: usize) [*]const u8 {
        const w = p.weight;
        return w.data + slice % w.ne[2] * w.nb[2] + slice / w.ne[2] * w.nb[3];
    }

    /// Where a column of activations and its results lie; nothing is known of their alignment.
    pub const Column = struct { x: [*]const u8, y: [*]align(1) f32 };

    pub fn column(p: *const Product, slice: usize, index: usize) Column {
        const w = p.weight;
        const x = p.x;
        const y = p.y;
        const repeats = x.ne[2] / w.ne[2];
        const j = index % x.ne[1];
        const rest = index / x.ne[1];
        const b = slice % w.ne[2] * repeats + rest % repeats;
        const c = slice / w.ne[2] * (x.ne[3] / w.ne[3]) + rest / repeats;
        return .{
            .x = x.data + j * x.nb[1] + b * x.nb[2] + c * x.nb[3],
            .y = @ptrCast(y.data + j * y.nb[1] + b * y.nb[2] + c * y.nb[3]),
        };
    }

    /// Copies `out.len` biases from `row` on; zeros where there are none.
    pub fn biases(p: *const Product, row: usize, out: []f32) void {
        @memset(out, 0);
        const bias = p.bias orelse return;
        const values: [*]align(1) const f32 = @ptrCast(bias.data);
        const count = @min(out.len, p.n - row);
        @memcpy(out[0..count], values[row..][0..count]);
    }
};

/// Work cut into items: for each slice its chunks of columns, for each chunk the row panels, so
/// that the activations of a chunk stay in cache.
pub const Items = struct {
    panel_rows: usize,
    panels: usize,
    chunk_columns: usize,
    chunks: usize,

    /// Chunks have a multiple of `multiple` columns, `chunk_max` at most, and about the same
    /// number.
    pub fn of(p: *const Product, panel_rows: usize, chunk_max: usize, multiple: usize) Items {
        const chunks = divCeil(p.columns, chunk_max / multiple * multiple);
        const even = divCeil(p.columns, chunks);
        return .{
            .panel_rows = panel_rows,
            .panels = divCeil(p.n, panel_rows),
            .chunk_columns = divCeil(even, multiple) * multiple,
            .chunks = chunks,
        };
    }

    /// Panels of `rows_max` rows, or half as many and so on down to `rows_min` while there are few
    /// items, so that all threads find work.
    pub fn fit(
        p: *const Product,
        rows_min: usize,
        rows_max: usize,
        chunk_max: usize,
        multiple: usize,
    ) Items {
        const enough = 64;
        var rows = rows_max;
        while (true) : (rows /= 2) {
            const items: Items = .of(p, rows, chunk_max, multiple);
            if (rows == rows_min or items.count(p) >= enough) return items;
        }
    }

    pub fn count(items: *const Items, p: *const Product) usize {
        return items.panels * items.chunks * p.slices;
    }

    pub const Item = struct {
        slice: usize,
        row: usize,
        rows: usize,
        column: usize,
        columns: usize,
    };

    pub fn at(items: *const Items, p: *const Product, index: usize) Item {
        const panel = index % items.panels;
        const chunk = index / items.panels % items.chunks;
        const row = panel * items.panel_rows;
        const column = @min(chunk * items.chunk_columns, p.columns);
        return .{
            .slice = index / items.chunks / items.panels,
            .row = row,
            .rows = @min(items.panel_rows, p.n - row),
            .column = column,
            .columns = @min(items.chunk_columns, p.columns - column),
        };
    }
};

fn divCeil(a: usize, b: usize) usize {
    return (a + b - 1) / b;
}
