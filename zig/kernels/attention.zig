//! Attention of rows of queries over the cells of their sequences in a paged cache (Kwon et al.
//! 2023, arXiv:2309.06180), in tiles with a running softmax (Dao et al. 2022, arXiv:2205.14135).
//!
//! One item is a tile of rows and of query heads that share a kv head, so that each key and value
//! is read once for all of them. Rows of one sequence behind each other are computed together.
//! Few rows over a long cache are cut along the cells instead (attention/split.zig).

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const ops = @import("../ops.zig");
const cells = @import("attention/cells.zig");
const split = @import("attention/split.zig");
const work = @import("attention/work.zig");
const Part = @import("attention/part.zig").Part;
const Tensor = abi.Tensor;

pub const attention: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const w: work.Work = .of(task);
    if (task.source(0).nb[0] != 4 or task.output().nb[0] != 4) return;
    if (!isReadable(task.source(1), w.head_dim)) return;
    if (!isReadable(task.source(2), w.value_dim)) return;
    result.supported = true;
    if (result.offers_shared and split.pays(task)) return split.plan(task, result);
    result.items = w.items();
    result.thread_scratch = w.scratchBytes();
    result.grain = grainOf(task, &w);
}

/// Whether a head's part of a row is whole blocks of a known format.
fn isReadable(t: *const Tensor, dim: usize) bool {
    const layout = dtypes.layout(t.dtype);
    return t.nb[0] == layout.block_bytes and dim % layout.block_len == 0 and
        formats.canDequantize(t.dtype);
}

/// Products that are worth handing out: some microseconds.
const products_wanted = 1 << 18;

/// Half of the longest sequence is taken as the usual one.
fn grainOf(task: *const abi.Task, w: *const work.Work) u64 {
    const per_cell: u64 = w.queriesMax() * (w.head_dim + w.value_dim);
    return @max(1, products_wanted / @max(1, per_cell *| (cells.capacityOf(task) / 2)));
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    if (task.shared != null and split.pays(task)) return split.run(task, begin, end, scratch);
    const w: work.Work = .of(task);
    const sequences = task.source(5);
    var part: Part = .of(task, &w, .of(&w, scratch));
    for (@intCast(begin)..@intCast(end)) |index| {
        const item = w.at(index);
        part.kv_head = item.kv_head;
        part.head_begin = item.head_begin;
        part.heads = item.heads();
        var row = item.row_begin;
        while (row < item.row_end) {
            const sequence = cells.integer(sequences, row, 0);
            part.row_begin = row;
            while (row < item.row_end and cells.integer(sequences, row, 0) == sequence) row += 1;
            part.rows = row - part.row_begin;
            part.attend(sequence) catch part.writeZeros();
        }
    }
}

const DType = dtypes.DType;
const Trial = @import("trial.zig").Trial;

/// A cache with three sequences in shuffled blocks, and rows that ask for them.
const Case = struct {
    head_dim: u64 = 64,
    value_dim: u64 = 64,
    heads: u64 = 4,
    kv_heads: u64 = 2,
    rows: u64 = 5,
    keys: DType = .f32,
    values: DType = .f32,
    sinks: bool = false,
    shares: bool = false,
    tolerance: f64 = 2e-5,
    p: ops.AttentionParams = .{
        .scale = 0.125,
        .block_size = 32,
        .causal = 1,
        .window = 0,
        .softcap = 0,
        .alibi_max = 0,
    },
};

const blocks_per_sequence = 5;

/// Cells of each sequence: none, most of the blocks and a part of the second block.
fn lengthsOf(case: Case) [3]f64 {
    const size: f64 = @floatFromInt(case.p.block_size);
    return .{ 0, 5 * size - 10, size + 5 };
}

const Setup = struct {
    trial: Trial,
    sources: [9]?Tensor,
    y: Tensor,

    fn init(case: Case) Setup {
        var trial: Trial = .init(case.head_dim * 100 + case.rows);
        trial.shares = case.shares;
        const r = trial.prng.random();
        const size = case.p.block_size;
        const block_count = 3 * blocks_per_sequence + 2;
        const count = block_count * size;
        const queries = trial.random(.f32, .{ case.head_dim, case.heads, case.rows, 1 }, .gaps);
        const key_ne: [4]u64 = .{ case.head_dim * case.kv_heads, count, 1, 1 };
        const value_ne: [4]u64 = .{ case.value_dim * case.kv_heads, count, 1, 1 };
        const keys = trial.random(case.keys, key_ne, .packed_rows);
        const values = trial.random(case.values, value_ne, .gaps);
        const positions = trial.empty(.i32, .{ count, 1, 1, 1 }, .packed_rows);
        for (0..count) |i| trial.set(positions, .{ i, 0, 0, 0 }, -1);
        const table = trial.empty(.i32, .{ blocks_per_sequence, 3, 1, 1 }, .packed_rows);
        var order: [block_count]f64 = undefined;
        for (&order, 0..) |*block, i| block.* = @floatFromInt(i);
        r.shuffle(f64, &order);
        for (0..3) |sequence| {
            for (0..blocks_per_sequence) |i| {
                trial.set(table, .{ i, sequence, 0, 0 }, order[sequence * blocks_per_sequence + i]);
            }
            for (0..@trunc(lengthsOf(case)[sequence])) |i| {
                // Every eleventh cell is empty, as after a part of the sequence was removed.
                if (i % 11 == 3) continue;
                const block = order[sequence * blocks_per_sequence + i / size];
                const cell: u64 = @as(u64, @trunc(block)) * size + i % size;
                trial.set(positions, .{ cell, 0, 0, 0 }, @floatFromInt(i));
            }
        }
        spoilEmptyCells(&trial, keys, positions);
        spoilEmptyCells(&trial, values, positions);
        const rows: [4]u64 = .{ case.rows, 1, 1, 1 };
        const row_positions = trial.empty(.i32, rows, .packed_rows);
        const row_sequences = trial.empty(.i32, rows, .packed_rows);
        const span = 5 * case.p.block_size - 10;
        for (0..case.rows) |i| {
            const sequence: f64 = if (i % 7 == 5) 0 else if (i % 5 == 4) 2 else 1;
            trial.set(row_sequences, .{ i, 0, 0, 0 }, sequence);
            trial.set(row_positions, .{ i, 0, 0, 0 }, @floatFromInt(i * 29 % span));
        }
        const sequence_lengths = trial.of(.i32, .{ 3, 1, 1, 1 }, &lengthsOf(case));
        const sinks = trial.random(.f32, .{ case.heads, 1, 1, 1 }, .packed_rows);
        const y = trial.empty(.f32, .{ case.value_dim, case.heads, case.rows, 1 }, .gaps);
        return .{ .trial = trial, .y = y, .sources = .{
            queries,
            keys,
            values,
            positions,
            row_positions,
            row_sequences,
            sequence_lengths,
            table,
            if (case.sinks) sinks else null,
        } };
    }

    /// What nobody may look at is NaN.
    fn spoilEmptyCells(trial: *Trial, t: Tensor, positions: Tensor) void {
        for (0..t.ne[1]) |cell| {
            if (trial.get(positions, .{ cell, 0, 0, 0 }) >= 0) continue;
            const size = t.ne[0] / dtypes.layout(t.dtype).block_len * t.nb[0];
            @memset(t.row(cell)[0..@intCast(size)], 0xff);
        }
    }

    fn at(setup: *Setup, source: usize, i: u64, j: u64) f64 {
        return setup.trial.get(setup.sources[source].?, .{ i, j, 0, 0 });
    }
};

/// One head of one row, from the definition, in f64.
fn expectHead(setup: *Setup, case: Case, row: u64, head: u64) !void {
    const trial = &setup.trial;
    const kv_head = head / (case.heads / case.kv_heads);
    const position = setup.at(4, row, 0);
    const sequence: u64 = @trunc(setup.at(5, row, 0));
    var sums: [256]f64 = @splat(0);
    var total: f64 = if (case.sinks) @exp(setup.at(8, head, 0)) else 0;
    for (0..@trunc(lengthsOf(case)[sequence])) |i| {
        const block: u64 = @trunc(setup.at(7, i / case.p.block_size, sequence));
        const cell = block * case.p.block_size + i % case.p.block_size;
        const at = setup.at(3, cell, 0);
        if (at < 0 or (case.p.causal == 1 and at > position)) continue;
        if (case.p.window > 0 and position - at >= @as(f64, @floatFromInt(case.p.window))) continue;
        var score: f64 = 0;
        for (0..case.head_dim) |d| {
            const q = trial.get(setup.sources[0].?, .{ d, head, row, 0 });
            score += q * setup.at(1, kv_head * case.head_dim + d, cell);
        }
        score *= case.p.scale;
        if (case.p.softcap != 0) score = case.p.softcap * std.math.tanh(score / case.p.softcap);
        if (case.p.alibi_max != 0) score -= slopeOf(case, head) * @abs(position - at);
        total += @exp(score);
        for (sums[0..case.value_dim], 0..) |*sum, d| {
            sum.* += @exp(score) * setup.at(2, kv_head * case.value_dim + d, cell);
        }
    }
    for (sums[0..case.value_dim], 0..) |sum, d| {
        const expected = if (total == 0) 0 else sum / total;
        try trial.expectNear(setup.y, .{ d, head, row, 0 }, expected, case.tolerance);
    }
}

fn slopeOf(case: Case, head: u64) f64 {
    const h: f64 = @floatFromInt(head);
    const max: f64 = case.p.alibi_max;
    return switch (case.heads) {
        4 => std.math.exp2(-max * (h + 1) / 4),
        6 => std.math.exp2(if (head < 4) -max * (h + 1) / 4 else -max / 2 * (2 * h - 7) / 4),
        else => unreachable,
    };
}

fn check(case: Case) !void {
    var setup: Setup = .init(case);
    defer setup.trial.deinit();
    try setup.trial.run(.attention, attention, case.p, &setup.sources, &.{setup.y});
    try std.testing.expectEqual(0, setup.trial.status.fault);
    for (0..case.rows) |row| for (0..case.heads) |head| try expectHead(&setup, case, row, head);
}

test "attention of any head sizes, groups and numbers of rows" {
    try check(.{});
    try check(.{ .head_dim = 24, .value_dim = 40, .rows = 1 });
    try check(.{ .head_dim = 7, .value_dim = 3, .heads = 6, .kv_heads = 2 });
    try check(.{ .head_dim = 80, .value_dim = 64, .heads = 8, .kv_heads = 1, .rows = 70 });
    try check(.{ .heads = 4, .kv_heads = 4, .rows = 33 });
    try check(.{ .heads = 20, .kv_heads = 1, .rows = 1 });
    try check(.{ .rows = 0 });
}

test "few rows over a long cache are cut along the cells where memory is shared" {
    // 5 blocks of 110 cells are 550, three pieces.
    var case: Case = .{ .shares = true };
    case.p.block_size = 110;
    try check(case);
    try check(.{ .shares = true, .rows = 9, .p = case.p });
    try check(.{ .shares = true, .heads = 20, .kv_heads = 1, .rows = 1, .p = case.p });
    case.p.alibi_max = 8;
    case.p.window = 300;
    case.sinks = true;
    case.keys = .f16;
    case.values = .q8_0;
    try check(case);
    case.p.causal = 0;
    try check(.{ .shares = true, .head_dim = 24, .value_dim = 7, .p = case.p });
}

test "attention with every way to hide and to weigh cells" {
    var case: Case = .{ .rows = 40 };
    case.p.causal = 0;
    try check(case);
    case.p.window = 20;
    try check(case);
    case.p.causal = 1;
    try check(case);
    case.p.window = 1;
    try check(case);
    case = .{ .rows = 9, .sinks = true };
    case.p.softcap = 2;
    try check(case);
    case.p.alibi_max = 8;
    try check(case);
    case = .{ .rows = 9, .heads = 6 };
    case.p.alibi_max = 8;
    case.p.block_size = 30;
    try check(case);
}

test "attention reads every format of cache" {
    for ([_]DType{ .f16, .bf16, .q8_0, .q4_0 }) |dtype| {
        for ([_]u64{ 1, 30 }) |rows| {
            try check(.{ .keys = dtype, .values = dtype, .rows = rows });
            try check(.{ .keys = dtype, .values = .f32, .rows = rows });
        }
    }
    try check(.{ .keys = .f16, .values = .bf16, .head_dim = 20, .value_dim = 12 });
}

test "a row whose sequence, length or block does not exist is a fault and zero" {
    const Bad = struct { source: usize, index: u64, value: f64, limit: i64 };
    for ([_]Bad{
        .{ .source = 5, .index = 2, .value = 3, .limit = 3 },
        .{ .source = 5, .index = 2, .value = -1, .limit = 3 },
        .{ .source = 6, .index = 1, .value = 551, .limit = 0 },
        .{ .source = 6, .index = 1, .value = -5, .limit = 0 },
        .{ .source = 7, .index = 6, .value = 17, .limit = 17 },
        .{ .source = 7, .index = 6, .value = -1, .limit = 17 },
    }) |bad| for ([_]bool{ false, true }) |shares| {
        var case: Case = .{ .shares = shares };
        if (shares) case.p.block_size = 110;
        var setup: Setup = .init(case);
        defer setup.trial.deinit();
        const t = setup.sources[bad.source].?;
        setup.trial.set(t, .{ bad.index % t.ne[0], bad.index / t.ne[0], 0, 0 }, bad.value);
        try setup.trial.run(.attention, attention, case.p, &setup.sources, &.{setup.y});
        try std.testing.expectEqual(1, setup.trial.status.fault);
        try std.testing.expectEqual(@as(i64, @trunc(bad.value)), setup.trial.status.value);
        const length_limit: i64 = 5 * case.p.block_size + 1;
        const limit = if (bad.source == 6) length_limit else bad.limit;
        try std.testing.expectEqual(limit, setup.trial.status.limit);
        for (0..case.heads) |head| {
            try setup.trial.expectNear(setup.y, .{ 5, head, 2, 0 }, 0, 0);
            try expectHead(&setup, case, 4, head); // Of another sequence.
        }
    };
}

test "NaN and infinite scores stay with the row that sees them" {
    const case: Case = .{ .rows = 2 };
    var setup: Setup = .init(case);
    defer setup.trial.deinit();
    const block = setup.at(7, 0, 1);
    const cell: u64 = @as(u64, @trunc(block)) * 32 + 20;
    setup.trial.set(setup.sources[1].?, .{ 0, cell, 0, 0 }, std.math.nan(f64));
    setup.trial.set(setup.sources[2].?, .{ 0, cell, 0, 0 }, std.math.inf(f64));
    setup.trial.set(setup.sources[4].?, .{ 0, 0, 0, 0 }, 19);
    setup.trial.set(setup.sources[4].?, .{ 1, 0, 0, 0 }, 20);
    try setup.trial.run(.attention, attention, case.p, &setup.sources, &.{setup.y});
    try expectHead(&setup, case, 0, 0);
    try std.testing.expect(std.math.isNan(setup.trial.get(setup.y, .{ 1, 0, 1, 0 })));
    try expectHead(&setup, case, 1, 2);
}
