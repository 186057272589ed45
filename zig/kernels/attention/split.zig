//! Attention of few rows over a long cache: items are pieces of the cells, of all kv heads, so
//! that memory is read in order by however many threads there are. The pieces' running softmaxes
//! meet in shared memory and are merged by second items (Dao et al. 2023, "Flash-Decoding").

const std = @import("std");
const abi = @import("../abi.zig");
const ops = @import("../../ops.zig");
const elementary = @import("../elementary.zig");
const vector = @import("../vector.zig");
const cells = @import("cells.zig");
const work = @import("work.zig");
const Part = @import("part.zig").Part;
const lanes = vector.lanes;

/// More rows than these share keys and values, or give every thread work anyway.
const rows_max = 8;
/// Cells of a piece. Part of the result's rounding, so it depends on sizes alone.
const piece_cells = 256;
/// Cells whose keys, of all heads, are read before their values: few, so that each cell's memory
/// is read from one end to the other in one go.
const near_cells = 16;
const alignment = 64;
/// Marks a piece whose cells could not be found.
const fault_total = -1;

pub fn pays(task: *const abi.Task) bool {
    return task.source(0).ne[2] <= rows_max and cells.capacityOf(task) > 2 * piece_cells;
}

/// Heads of one row are merged together by second items of this many.
const merged_heads = 8;

const Sizes = struct {
    rows: usize,
    heads: usize,
    pieces: usize,
    /// Floats of a head's running softmax: sums, padded to whole vectors, largest and total.
    state: usize,

    fn of(task: *const abi.Task, w: *const work.Work) Sizes {
        const cells_max: usize = @intCast(cells.capacityOf(task));
        return .{
            .rows = w.rows,
            .heads = w.kv_heads * w.group,
            .pieces = std.math.divCeil(usize, cells_max, piece_cells) catch unreachable,
            .state = vector.padded(w.value_dim) + lanes,
        };
    }

    fn mergers(sizes: Sizes) usize {
        return std.math.divCeil(usize, sizes.heads, merged_heads) catch unreachable;
    }

    fn states(sizes: Sizes, task: *const abi.Task, row: usize, piece: usize) [*]f32 {
        const start = std.mem.alignForward(usize, @intFromPtr(task.shared.?.data), alignment);
        const all: [*]f32 = @ptrFromInt(start);
        return all + (row * sizes.pieces + piece) * sizes.heads * sizes.state;
    }
};

pub fn plan(task: *const abi.Task, result: *abi.Plan) void {
    const w: work.Work = .whole(task);
    const sizes: Sizes = .of(task, &w);
    result.items = sizes.rows * sizes.pieces;
    result.thread_scratch = w.scratchBytes();
    result.second_items = sizes.rows * sizes.mergers();
    const floats = result.items * sizes.heads * sizes.state;
    result.shared_scratch = floats * @sizeOf(f32) + alignment;
}

pub fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) void {
    const w: work.Work = .whole(task);
    const sizes: Sizes = .of(task, &w);
    var part: Part = .of(task, &w, .of(&w, scratch));
    for (@intCast(begin)..@intCast(end)) |index| {
        if (index >= sizes.rows * sizes.pieces) {
            merge(&part, sizes, index - sizes.rows * sizes.pieces);
        } else {
            // Rows of one sequence read the same cells, so they come behind each other.
            part.row_begin = index % sizes.rows;
            runPiece(&part, sizes, index / sizes.rows);
        }
    }
}

fn runPiece(part: *Part, sizes: Sizes, piece: usize) void {
    const states = sizes.states(part.task, part.row_begin, piece);
    attendPiece(part, piece) catch {
        for (0..sizes.heads) |head| totalOf(states, sizes, head).* = fault_total;
        return;
    };
    const size = sizes.state - lanes;
    const numbers = part.numbers;
    for (0..sizes.heads) |head| {
        const state = states + head * sizes.state;
        @memcpy(state[0..size], numbers.sums[head * size ..]);
        state[size] = numbers.largest[head];
        totalOf(states, sizes, head).* = @floatCast(numbers.totals[head]);
    }
}

fn totalOf(states: [*]f32, sizes: Sizes, head: usize) *f32 {
    return &states[(head + 1) * sizes.state - lanes + 1];
}

fn attendPiece(part: *Part, piece: usize) error{Fault}!void {
    const sequence = cells.integer(part.task.source(5), part.row_begin, 0);
    const length = try cells.lengthOf(part.task, sequence);
    for (0..part.w.kv_heads) |kv_head| ofHead(part, kv_head).prepare(piece == 0);
    var first: u64 = piece * piece_cells;
    const end = @min(first + piece_cells, length);
    while (first < end) : (first += near_cells) {
        var tile: cells.Tile = undefined;
        const stop = @min(first + near_cells, end);
        try tile.fill(part.task, @intCast(sequence), first, stop);
        for (0..part.w.kv_heads) |kv_head| ofHead(part, kv_head).addTile(&tile);
    }
}

/// The queries of one kv head, with their place among the numbers of all.
fn ofHead(part: *const Part, kv_head: usize) Part {
    var one = part.*;
    const first = kv_head * part.w.group;
    one.kv_head = kv_head;
    one.head_begin = first;
    one.numbers = part.numbers.from(part.w, first);
    return one;
}

fn merge(part: *Part, sizes: Sizes, index: usize) void {
    part.row_begin = index / sizes.mergers();
    part.heads = sizes.heads;
    const first = index % sizes.mergers() * merged_heads;
    for (first..@min(first + merged_heads, sizes.heads)) |head| mergeHead(part, sizes, head);
}

fn mergeHead(part: *const Part, sizes: Sizes, head: usize) void {
    const size = sizes.state - lanes;
    const all = sizes.states(part.task, part.row_begin, 0) + head * sizes.state;
    const step = sizes.heads * sizes.state;
    var largest = -std.math.inf(f32);
    for (0..sizes.pieces) |piece| largest = @max(largest, all[piece * step + size]);
    const shift = if (largest == -std.math.inf(f32)) 0 else largest;
    const sums = part.numbers.sums[0..size];
    @memset(sums, 0);
    var total: f64 = 0;
    for (0..sizes.pieces) |piece| {
        const state = all + piece * step;
        if (state[size + 1] == fault_total) {
            @memset(sums, 0);
            total = 0;
            break;
        }
        if (state[size + 1] == 0) continue;
        const factor = elementary.exp(vector.splat(state[size] - shift));
        total += @as(f64, factor[0]) * state[size + 1];
        var i: usize = 0;
        while (i < size) : (i += lanes) {
            const sum = vector.load(sums.ptr + i) + vector.load(state + i) * factor;
            vector.store(sums.ptr + i, sum);
        }
    }
    part.writeMean(head, sums.ptr, total);
}
