//! One tile of a sequence's cells: found through the block table, the empty ones left out.

const std = @import("std");
const abi = @import("../abi.zig");
const ops = @import("../../ops.zig");
const tile_cells = @import("work.zig").tile_cells;
const Tensor = abi.Tensor;

/// An index tensor's value.
pub fn integer(t: *const Tensor, i: u64, j: u64) i32 {
    return @as(*const i32, @ptrCast(@alignCast(t.data + i * t.nb[0] + j * t.nb[1]))).*;
}

/// Cells of the longest sequence that the block table can describe.
pub fn capacityOf(task: *const abi.Task) u64 {
    return task.source(7).ne[0] * task.as(ops.AttentionParams).block_size;
}

/// How many cells the block table gives a sequence; a sequence or length that it does not have is
/// a fault.
pub fn lengthOf(task: *const abi.Task, sequence: i32) error{Fault}!u64 {
    const table = task.source(7);
    if (sequence < 0 or sequence >= table.ne[1]) {
        task.status.badIndex(task.op, sequence, table.ne[1]);
        return error.Fault;
    }
    const length = integer(task.source(6), @intCast(sequence), 0);
    const length_max = capacityOf(task);
    if (length < 0 or length > length_max) {
        task.status.badIndex(task.op, length, length_max + 1);
        return error.Fault;
    }
    return @intCast(length);
}

pub const Tile = struct {
    count: usize = 0,
    /// Of the cells below.
    lowest: i32 = std.math.maxInt(i32),
    highest: i32 = -1,
    cells: [tile_cells]u64 = undefined,
    positions: [tile_cells]i32 = undefined,

    /// The cells of `sequence` from `first` on that hold something. A block outside the cache is a
    /// fault.
    pub fn fill(
        tile: *Tile,
        task: *const abi.Task,
        sequence: u64,
        first: u64,
        length: u64,
    ) error{Fault}!void {
        const positions = task.source(3);
        const table = task.source(7);
        const size: u64 = task.as(ops.AttentionParams).block_size;
        const blocks = task.source(1).ne[1] / size;
        tile.* = .{};
        const end = @min(first + tile_cells, length);
        var i = first;
        while (i < end) {
            const block = integer(table, i / size, sequence);
            if (block < 0 or block >= blocks) {
                task.status.badIndex(task.op, block, blocks);
                return error.Fault;
            }
            const cell = @as(u64, @intCast(block)) * size + i % size;
            const run = @min(size - i % size, end - i);
            for (cell..cell + run) |c| tile.add(c, integer(positions, c, 0));
            i += run;
        }
    }

    fn add(tile: *Tile, cell: u64, position: i32) void {
        if (position < 0) return;
        tile.cells[tile.count] = cell;
        tile.positions[tile.count] = position;
        tile.count += 1;
        tile.lowest = @min(tile.lowest, position);
        tile.highest = @max(tile.highest, position);
    }
};

/// What a row may see, by position.
pub const View = struct {
    lowest: i64,
    highest: i64,

    pub fn of(p: *const ops.AttentionParams, position: i32) View {
        const back: i64 = if (p.window == 0) 1 << 40 else p.window;
        return .{
            .lowest = position - back + 1,
            .highest = if (p.causal == 0) std.math.maxInt(i32) else position,
        };
    }

    pub fn sees(view: View, position: i32) bool {
        return position >= view.lowest and position <= view.highest;
    }

    pub fn seesAll(view: View, tile: *const Tile) bool {
        return tile.lowest >= view.lowest and tile.highest <= view.highest;
    }

    pub fn seesNone(view: View, tile: *const Tile) bool {
        return tile.highest < view.lowest or tile.lowest > view.highest;
    }
};
