//! Gathers rows of a table by number: y[:, i] = table[:, rows[i]], as f32 (an i32 table stays
//! i32). One item is a piece of one row of y.

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const split = @import("split.zig");
const Tensor = abi.Tensor;

pub const get_rows: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const table = task.source(0);
    const y = task.output();
    if (table.nb[0] != dtypes.layout(table.dtype).block_bytes or y.nb[0] != 4) return;
    if (table.dtype != .i32 and !formats.canDequantize(table.dtype)) return;
    split.Chunks.of(y).plan(result, 2);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const y = task.output();
    const chunks: split.Chunks = .of(y);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        const n: usize = @intCast(chunk.end - chunk.begin);
        const to = y.row(chunk.row) + chunk.begin * 4;
        if (tableRow(task, chunk.row)) |row| {
            gather(task.source(0), row, chunk.begin, to, n);
        } else {
            @memset(to[0 .. n * 4], 0);
        }
    }
}

fn gather(table: *const Tensor, row: [*]const u8, begin: u64, to: [*]u8, n: usize) void {
    const layout = dtypes.layout(table.dtype);
    const from = row + begin / layout.block_len * layout.block_bytes;
    if (table.dtype == .i32) return @memcpy(to[0 .. n * 4], from);
    const known = formats.dequantizeRow(table.dtype, from, @ptrCast(@alignCast(to)), n);
    std.debug.assert(known);
}

/// The row of the table that row `index` of y is; null after a fault.
fn tableRow(task: *const abi.Task, index: u64) ?[*]const u8 {
    const table = task.source(0);
    const rows = task.source(1);
    const y = task.output();
    const i = index % y.ne[1];
    const j = index / y.ne[1] % y.ne[2];
    const k = index / y.ne[1] / y.ne[2];
    const address = rows.data + i * rows.nb[0] + j * rows.nb[1] + k * rows.nb[2];
    const number = @as(*const i32, @ptrCast(@alignCast(address))).*;
    if (number < 0 or number >= table.ne[1]) {
        task.status.badIndex(task.op, number, table.ne[1]);
        return null;
    }
    const outer = j * table.nb[2] + k * table.nb[3];
    return table.data + outer + @as(u64, @intCast(number)) * table.nb[1];
}

const DType = dtypes.DType;
const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "get_rows reads every kind of table, also batched and with gaps" {
    for ([_]DType{ .f32, .f16, .bf16, .i32, .q8_0, .q4_0 }) |dtype| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps }) |order| {
            var trial: Trial = .init(11);
            defer trial.deinit();
            const n: u64 = if (dtypes.isQuantized(dtype)) 4160 else 4133;
            const table = trial.random(dtype, .{ n, 7, 2, 1 }, order);
            const numbers = [_]f64{ 6, 0, 3, 3, 1, 2 };
            const rows = trial.of(.i32, .{ 3, 2, 1, 1 }, &numbers);
            const y_dtype: DType = if (dtype == .i32) .i32 else .f32;
            const y = trial.empty(y_dtype, .{ n, 3, 2, 1 }, order);
            try trial.run(.get_rows, get_rows, .{}, &.{ table, rows }, &.{y});
            for (0..2) |j| for (0..3) |i| {
                const row: u64 = @trunc(numbers[j * 3 + i]);
                var k: u64 = 0;
                while (k < n) : (k += 13) {
                    const expected = trial.get(table, .{ k, row, j, 0 });
                    try trial.expectNear(y, .{ k, i, j, 0 }, expected, 0);
                }
            };
        }
    }
}

test "a row number outside the table is a fault and its row is zero" {
    for ([_]f64{ -1, 7, 1 << 30 }) |bad| {
        var trial: Trial = .init(2);
        defer trial.deinit();
        const table = trial.random(.f32, .{ 5, 7, 1, 1 }, .packed_rows);
        const rows = trial.of(.i32, .{ 2, 1, 1, 1 }, &.{ 2, bad });
        const y = trial.empty(.f32, .{ 5, 2, 1, 1 }, .gaps);
        try trial.run(.get_rows, get_rows, .{}, &.{ table, rows }, &.{y});
        try trial.expectNear(y, .{ 4, 0, 0, 0 }, trial.get(table, .{ 4, 2, 0, 0 }), 0);
        try trial.expectNear(y, .{ 4, 1, 0, 0 }, 0, 0);
        try std.testing.expectEqual(1, trial.status.fault);
        try std.testing.expectEqual(@as(i64, @trunc(bad)), trial.status.value);
        try std.testing.expectEqual(7, trial.status.limit);
    }
}
