//! Attention of the rows of one sequence and the query heads of one kv head, tile by tile.

const std = @import("std");
const abi = @import("../abi.zig");
const alibi = @import("../alibi.zig");
const dtypes = @import("../../dtype.zig");
const formats = @import("../formats.zig");
const ops = @import("../../ops.zig");
const vector = @import("../vector.zig");
const cells = @import("cells.zig");
const products = @import("products.zig");
const softmax = @import("softmax.zig");
const work = @import("work.zig");
const Tensor = abi.Tensor;
const Tile = cells.Tile;
const View = cells.View;
const integer = cells.integer;
const tile_cells = work.tile_cells;

/// Query q is head q % heads of row q / heads.
pub const Part = struct {
    task: *const abi.Task,
    p: *const ops.AttentionParams,
    w: *const work.Work,
    numbers: work.Numbers,
    kv_head: usize,
    head_begin: usize,
    heads: usize,
    row_begin: usize,
    rows: usize,

    pub fn of(task: *const abi.Task, w: *const work.Work, numbers: work.Numbers) Part {
        return .{
            .task = task,
            .p = task.as(ops.AttentionParams),
            .w = w,
            .numbers = numbers,
            .kv_head = 0,
            .head_begin = 0,
            .heads = w.group,
            .row_begin = 0,
            .rows = 1,
        };
    }

    /// All cells of the sequence.
    pub fn attend(part: *const Part, sequence: i32) error{Fault}!void {
        const length = try cells.lengthOf(part.task, sequence);
        part.prepare(true);
        var first: u64 = 0;
        while (first < length) : (first += tile_cells) {
            var tile: Tile = undefined;
            try tile.fill(part.task, @intCast(sequence), first, length);
            part.addTile(&tile);
        }
        for (0..part.rows * part.heads) |q| part.write(q);
    }

    fn positionOf(part: *const Part, row: usize) i32 {
        return integer(part.task.source(4), part.row_begin + row, 0);
    }

    /// Queries times the scale, empty sums, and the sink as if it were a score with no value.
    pub fn prepare(part: *const Part, with_sinks: bool) void {
        const source = part.task.source(0);
        const size = vector.padded(part.w.head_dim);
        const sums_size = vector.padded(part.w.value_dim);
        for (0..part.rows * part.heads) |q| {
            const head = part.head_begin + q % part.heads;
            const row = part.row_begin + q / part.heads;
            const bytes = source.data + head * source.nb[1] + row * source.nb[2];
            const from: [*]const f32 = @ptrCast(@alignCast(bytes));
            const to = part.numbers.queries[q * size ..][0..size];
            for (to[0..part.w.head_dim], from) |*value, x| value.* = x * part.p.scale;
            @memset(to[part.w.head_dim..], 0);
            @memset(part.numbers.sums[q * sums_size ..][0..sums_size], 0);
            const sink = if (with_sinks) part.sinkOf(head) else -std.math.inf(f32);
            part.numbers.largest[q] = sink;
            part.numbers.totals[q] = if (sink == -std.math.inf(f32)) 0 else 1;
        }
        if (part.p.alibi_max != 0) part.fillSlopes();
    }

    fn sinkOf(part: *const Part, head: usize) f32 {
        const sinks = part.task.sources[8] orelse return -std.math.inf(f32);
        return @as(*const f32, @ptrCast(@alignCast(sinks.data + head * sinks.nb[0]))).*;
    }

    fn fillSlopes(part: *const Part) void {
        const heads = part.task.source(0).ne[1];
        for (part.numbers.slopes[0..part.heads], part.head_begin..) |*slope, head| {
            slope.* = alibi.slope(part.p.alibi_max, head, heads);
        }
    }

    fn anyoneSees(part: *const Part, tile: *const Tile) bool {
        for (0..part.rows) |row| {
            if (!View.of(part.p, part.positionOf(row)).seesNone(tile)) return true;
        }
        return false;
    }

    fn everyoneSeesAll(part: *const Part, tile: *const Tile) bool {
        for (0..part.rows) |row| {
            if (!View.of(part.p, part.positionOf(row)).seesAll(tile)) return false;
        }
        return true;
    }

    pub fn addTile(part: *const Part, tile: *const Tile) void {
        if (tile.count == 0 or !part.anyoneSees(tile)) return;
        const n = tile.count;
        const queries = part.rows * part.heads;
        const numbers = part.numbers;
        const keys = part.rowsOf(part.task.source(1), part.w.key_element, numbers.keys, tile);
        const key_size = vector.padded(part.w.head_dim);
        const key_element = part.w.key_element orelse .f32;
        products.score(key_element, numbers.scores, numbers.queries, queries, &keys, n, key_size);
        if (part.p.softcap != 0) {
            for (0..queries) |q| softmax.limit(part.scoresOf(q), n, part.p.softcap);
        }
        const values = part.rowsOf(part.task.source(2), part.w.value_element, numbers.values, tile);
        if (part.everyoneSeesAll(tile)) {
            for (0..queries) |q| part.weigh(q, tile.positions[0..n]);
            part.addValues(0, queries, &values, n);
        } else {
            for (0..part.rows) |row| part.addVisible(row, tile, &values);
        }
    }

    /// One row that may not see the whole tile: what it does not see is taken out, so that it has
    /// no influence even if it is NaN.
    fn addVisible(
        part: *const Part,
        row: usize,
        tile: *const Tile,
        values: *const products.Rows,
    ) void {
        const view: View = .of(part.p, part.positionOf(row));
        var positions: [tile_cells]i32 = undefined;
        var visible: products.Rows = undefined;
        var from: [tile_cells]u8 = undefined;
        var n: usize = 0;
        for (tile.positions[0..tile.count], values[0..tile.count], 0..) |position, value, j| {
            if (!view.sees(position)) continue;
            positions[n] = position;
            visible[n] = value;
            from[n] = @intCast(j);
            n += 1;
        }
        if (n == 0) return;
        const first = row * part.heads;
        for (first..first + part.heads) |q| {
            const scores = part.scoresOf(q);
            for (from[0..n], 0..) |j, i| scores[i] = scores[j];
            part.weigh(q, positions[0..n]);
        }
        part.addValues(first, part.heads, &visible, n);
    }

    /// Scores of query q become weights.
    fn weigh(part: *const Part, q: usize, positions: []const i32) void {
        const scores = part.scoresOf(q);
        if (part.p.alibi_max != 0) {
            const slope = part.numbers.slopes[q % part.heads];
            const own: i64 = part.positionOf(q / part.heads);
            for (scores[0..positions.len], positions) |*score, position| {
                score.* -= slope * @as(f32, @floatFromInt(@abs(own - position)));
            }
        }
        const size = vector.padded(part.w.value_dim);
        const state: softmax.State = .{
            .largest = &part.numbers.largest[q],
            .total = &part.numbers.totals[q],
            .sums = part.numbers.sums[q * size ..][0..size],
        };
        softmax.advance(state, scores, positions.len);
    }

    fn scoresOf(part: *const Part, q: usize) [*]f32 {
        return part.numbers.scores + q * tile_cells;
    }

    fn addValues(
        part: *const Part,
        q: usize,
        count: usize,
        rows: *const products.Rows,
        n: usize,
    ) void {
        const size = vector.padded(part.w.value_dim);
        const sums = part.numbers.sums + q * size;
        const element = part.w.value_element orelse .f32;
        const weights: products.Weights = .{ .first = part.scoresOf(q) };
        products.addWeighted(element, sums, weights, count, rows[0..n], size);
    }

    /// Where this kv head's keys or values of the tile's cells lie: in the cache, or as f32 in
    /// `staged`.
    fn rowsOf(
        part: *const Part,
        t: *const Tensor,
        element: ?products.Element,
        staged: [*]f32,
        tile: *const Tile,
    ) products.Rows {
        const layout = dtypes.layout(t.dtype);
        const dim: usize = @intCast(t.ne[0] / part.w.kv_heads);
        const size = vector.padded(dim);
        const offset = part.kv_head * dim / layout.block_len * layout.block_bytes;
        var rows: products.Rows = undefined;
        for (tile.cells[0..tile.count], rows[0..tile.count], 0..) |cell, *row, j| {
            row.* = t.data + cell * t.nb[1] + offset;
            if (element != null) continue;
            const values = staged[j * size ..][0..size];
            const known = formats.dequantizeRow(t.dtype, row.*, values.ptr, dim);
            std.debug.assert(known);
            @memset(values[dim..], 0);
            row.* = @ptrCast(values);
        }
        @memset(rows[tile.count..], rows[tile.count - 1]);
        return rows;
    }

    fn write(part: *const Part, q: usize) void {
        const size = vector.padded(part.w.value_dim);
        part.writeMean(q, part.numbers.sums + q * size, part.numbers.totals[q]);
    }

    pub fn writeMean(part: *const Part, q: usize, sums: [*]const f32, total: f64) void {
        const factor: f32 = if (total == 0) 0 else @floatCast(1 / total);
        for (part.outputOf(q), sums) |*value, sum| value.* = sum * factor;
    }

    fn outputOf(part: *const Part, q: usize) []f32 {
        const y = part.task.output();
        const head = part.head_begin + q % part.heads;
        const row = part.row_begin + q / part.heads;
        const bytes = y.data + head * y.nb[1] + row * y.nb[2];
        return @as([*]f32, @ptrCast(@alignCast(bytes)))[0..part.w.value_dim];
    }

    pub fn writeZeros(part: *const Part) void {
        for (0..part.rows * part.heads) |q| @memset(part.outputOf(q), 0);
    }
};
