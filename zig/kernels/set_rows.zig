//! Writes rows over rows of a table: table[:, rows[i]] = values[:, i], in the table's dtype. A
//! negative number skips its row. Numbers must differ from each other where they are not negative,
//! or the row that is written last is left to chance. One item is a piece of one row of values.

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const Tensor = abi.Tensor;

pub const set_rows: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const table = task.output();
    const values = task.source(1);
    if (table.dtype == .i32) {
        if (values.nb[0] != 4 or table.nb[0] != 4) return;
    } else {
        if (!staging.isFloat(values.dtype) or !formats.canQuantize(table.dtype, false)) return;
    }
    const cost: u64 = if (dtypes.isQuantized(table.dtype)) 16 else 2;
    split.Chunks.of(values).plan(result, cost);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const table = task.output();
    const values = task.source(1);
    const chunks: split.Chunks = .of(values);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        const to = tableRow(task, chunk.row) orelse continue;
        const from = values.row(chunk.row);
        if (table.dtype == .i32) {
            @memcpy(to[chunk.begin * 4 .. chunk.end * 4], from + chunk.begin * 4);
        } else {
            writeChunk(table, to, values, from, chunk);
        }
    }
}

fn writeChunk(
    table: *const Tensor,
    to: [*]u8,
    values: *const Tensor,
    from: [*]const u8,
    chunk: split.Chunk,
) void {
    var i = chunk.begin;
    while (i < chunk.end) : (i += staging.block) {
        const n: usize = @intCast(@min(staging.block, chunk.end - i));
        var buffer: staging.Buffer = undefined;
        staging.write(table, to, i, n, staging.read(values, from, i, n, &buffer));
    }
}

/// The row of the table that row `index` of the values is for; null when there is none.
fn tableRow(task: *const abi.Task, index: u64) ?[*]u8 {
    const table = task.output();
    const values = task.source(1);
    const rows = task.source(2);
    const i = index % values.ne[1];
    const j = index / values.ne[1] % values.ne[2];
    const k = index / values.ne[1] / values.ne[2];
    const address = rows.data + i * rows.nb[0] + j % rows.ne[1] * rows.nb[1] +
        k % rows.ne[2] * rows.nb[2];
    const number: i64 = switch (rows.dtype) {
        .i32 => @as(*const i32, @ptrCast(@alignCast(address))).*,
        .i64 => @as(*const i64, @ptrCast(@alignCast(address))).*,
        else => unreachable, // The shape rule refuses it.
    };
    if (number < 0) return null;
    if (number >= table.ne[1]) {
        task.status.badIndex(task.op, number, table.ne[1]);
        return null;
    }
    const outer = j * table.nb[2] + k * table.nb[3];
    return table.data + outer + @as(u64, @intCast(number)) * table.nb[1];
}

const DType = dtypes.DType;
const Trial = @import("trial.zig").Trial;

fn check(dtype: DType, rows_dtype: DType, order: @import("trial.zig").Order) !void {
    var trial: Trial = .init(13);
    defer trial.deinit();
    const n: u64 = if (dtypes.isQuantized(dtype)) 4160 else 4133;
    const table = trial.random(dtype, .{ n, 7, 2, 1 }, order);
    const numbers = [_]f64{ 6, -1, 3, 0, 5, -7 };
    const rows = trial.of(rows_dtype, .{ 3, 2, 1, 1 }, &numbers);
    const v_dtype: DType = if (dtype == .i32) .i32 else .f32;
    const values = trial.random(v_dtype, .{ n, 3, 2, 1 }, order);
    var k: u64 = 0;
    var before: std.ArrayList(f64) = .empty;
    defer before.deinit(std.testing.allocator);
    while (k < n) : (k += 97) {
        for (0..14) |i| {
            const value = trial.get(table, .{ k, i % 7, i / 7, 0 });
            try before.append(std.testing.allocator, value);
        }
    }
    try trial.run(.set_rows, set_rows, .{}, &.{ table, values, rows }, &.{table});
    const step: f64 = switch (dtype) {
        .q8_0 => 0.02,
        .q4_0 => 0.5,
        else => 0,
    };
    k = 0;
    var next: usize = 0;
    while (k < n) : (k += 97) for (0..14) |i| {
        const source = std.mem.findScalar(f64, numbers[i / 7 * 3 ..][0..3], @floatFromInt(i % 7));
        const kept = before.items[next];
        const expected = if (source) |s| trial.get(values, .{ k, s, i / 7, 0 }) else kept;
        const tolerance = if (source == null) 0 else step;
        next += 1;
        try trial.expectNear(table, .{ k, i % 7, i / 7, 0 }, expected, tolerance);
    };
    try std.testing.expectEqual(0, trial.status.fault);
}

test "set_rows writes every kind of table and leaves the other rows as they were" {
    for ([_]DType{ .f32, .f16, .bf16, .i32, .q8_0, .q4_0 }) |dtype| {
        try check(dtype, .i32, .packed_rows);
        try check(dtype, .i64, .gaps);
    }
    try check(.f16, .i64, .permuted);
}

test "one list of row numbers serves all batches" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const table = trial.random(.f32, .{ 5, 4, 3, 1 }, .packed_rows);
    const values = trial.random(.f32, .{ 5, 2, 3, 1 }, .packed_rows);
    const rows = trial.of(.i64, .{ 2, 1, 1, 1 }, &.{ 3, 1 });
    try trial.run(.set_rows, set_rows, .{}, &.{ table, values, rows }, &.{table});
    for (0..3) |j| for (0..5) |i| {
        try trial.expectNear(table, .{ i, 3, j, 0 }, trial.get(values, .{ i, 0, j, 0 }), 0);
        try trial.expectNear(table, .{ i, 1, j, 0 }, trial.get(values, .{ i, 1, j, 0 }), 0);
    };
}

test "a row number beyond the table is a fault and writes nothing" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const table = trial.empty(.f32, .{ 5, 4, 1, 1 }, .packed_rows);
    const values = trial.random(.f32, .{ 5, 1, 1, 1 }, .packed_rows);
    const rows = trial.of(.i64, .{ 1, 1, 1, 1 }, &.{1e15});
    const before = trial.get(table, .{ 4, 3, 0, 0 });
    try trial.run(.set_rows, set_rows, .{}, &.{ table, values, rows }, &.{table});
    for (0..4) |i| try trial.expectNear(table, .{ 4, i, 0, 0 }, before, 0);
    try std.testing.expectEqual(1, trial.status.fault);
    try std.testing.expectEqual(1_000_000_000_000_000, trial.status.value);
    try std.testing.expectEqual(4, trial.status.limit);
}
