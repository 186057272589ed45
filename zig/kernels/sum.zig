//! The sum of all elements (sum), of each row (sum_rows), and the mean of each row (mean).

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const Tensor = abi.Tensor;

pub const sum: abi.Kernel = .{ .plan = planWhole, .run = runWhole };
pub const sum_rows: abi.Kernel = .{ .plan = planRows, .run = runRows };
pub const mean: abi.Kernel = .{ .plan = planRows, .run = runMean };

/// One item: its order of summation is the order of the rows.
fn planWhole(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    result.supported = true;
    result.items = 1;
    result.thread_scratch = staging.rowsBytes(1, x.ne[0]);
}

fn runWhole(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    if (begin == end) return;
    const x = task.source(0);
    var total: f64 = 0;
    for (0..x.rows()) |row| total += rowSum(x, row, scratch);
    set(task.output(), 0, total);
}

fn planRows(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), @max(x.ne[0], 1));
    result.thread_scratch = staging.rowsBytes(1, x.ne[0]);
}

fn runRows(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    for (begin..end) |row| set(task.output(), row, rowSum(task.source(0), row, scratch));
}

fn runMean(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const n: f64 = @floatFromInt(x.ne[0]);
    for (begin..end) |row| set(task.output(), row, rowSum(x, row, scratch) / n);
}

fn rowSum(x: *const Tensor, row: u64, scratch: abi.Scratch) f64 {
    const n: usize = @intCast(x.ne[0]);
    return sums.plain(staging.readRow(x, x.row(row), staging.scratchRow(scratch, 0, n)), n);
}

fn set(y: *const Tensor, row: u64, value: f64) void {
    const values = [1]f32{@floatCast(value)};
    staging.write(y, y.row(row), 0, 1, &values);
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "sums and means of rows and of everything, in any order" {
    for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
        for ([_]u64{ 1, 33, 1000 }) |n| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const x = trial.random(.f32, .{ n, 4, 2, 3 }, order);
            const y = trial.empty(.f32, .{ 1, 4, 2, 3 }, .packed_rows);
            const z = trial.empty(.f32, .{ 1, 4, 2, 3 }, .gaps);
            const all = trial.empty(.f32, .{ 1, 1, 1, 1 }, .packed_rows);
            try trial.run(.sum_rows, sum_rows, .{}, &.{x}, &.{y});
            try trial.run(.mean, mean, .{}, &.{x}, &.{z});
            try trial.run(.sum, sum, .{}, &.{x}, &.{all});
            var total: f64 = 0;
            var walk: Walk = .{ .ne = y.ne };
            while (walk.next()) |at| {
                var expected: f64 = 0;
                for (0..n) |i| expected += trial.get(x, .{ i, at[1], at[2], at[3] });
                try trial.expectNear(y, at, expected, 1e-6);
                try trial.expectNear(z, at, expected / @as(f64, @floatFromInt(n)), 1e-6);
                total += expected;
            }
            try trial.expectNear(all, .{ 0, 0, 0, 0 }, total, 1e-6);
        }
    }
}

test "the sum of nothing is 0" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.empty(.f32, .{ 0, 2, 1, 1 }, .packed_rows);
    const y = trial.empty(.f32, .{ 1, 2, 1, 1 }, .packed_rows);
    try trial.run(.sum_rows, sum_rows, .{}, &.{x}, &.{y});
    try trial.expectNear(y, .{ 0, 1, 0, 0 }, 0, 0);
    const all = trial.empty(.f32, .{ 1, 1, 1, 1 }, .packed_rows);
    try trial.run(.sum, sum, .{}, &.{x}, &.{all});
    try trial.expectNear(all, .{ 0, 0, 0, 0 }, 0, 0);
}
