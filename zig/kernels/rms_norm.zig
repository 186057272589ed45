//! Root mean square norm (Zhang and Sennrich 2019, arXiv:1910.07467):
//! y = x / sqrt(mean(x^2) + epsilon) * weight, for each row. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;

pub const rms_norm: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    if (task.sources[1]) |weight| if (!staging.isDirect(weight)) return;
    split.byRow(result, x.rows(), x.ne[0] * 2);
    result.thread_scratch = staging.rowsBytes(2, x.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    const epsilon: f64 = task.as(ops.NormParams).epsilon;
    const weight: ?[*]const f32 = if (task.sources[1]) |w| @ptrCast(@alignCast(w.data)) else null;
    for (begin..end) |index| {
        const from = staging.readRow(x, x.row(index), staging.scratchRow(scratch, 0, n));
        const to = staging.target(y, y.row(index), 0, staging.scratchRow(scratch, 1, n));
        const mean = sums.squares(from, n, 0) / @as(f64, @floatFromInt(n));
        scaleRow(to, from, weight, @floatCast(1 / @sqrt(mean + epsilon)), n);
        staging.writeRow(y, y.row(index), to);
    }
}

pub fn scaleRow(y: [*]f32, x: [*]const f32, weight: ?[*]const f32, scale: f32, n: usize) void {
    const factor = vector.splat(scale);
    var i: usize = 0;
    while (i + lanes <= n) : (i += lanes) {
        var v = vector.load(x + i) * factor;
        if (weight) |w| v *= vector.load(w + i);
        vector.store(y + i, v);
    }
    if (i == n) return;
    var v = vector.loadPart(x + i, n - i) * factor;
    if (weight) |w| v *= vector.loadPart(w + i, n - i);
    vector.storePart(y + i, v, n - i);
}

const Trial = @import("trial.zig").Trial;

fn expectRow(trial: *Trial, x: abi.Tensor, w: ?abi.Tensor, y: abi.Tensor, at: [3]u64) !void {
    var sum: f64 = 0;
    for (0..x.ne[0]) |i| {
        const value = trial.get(x, .{ i, at[0], at[1], at[2] });
        sum += value * value;
    }
    const scale = 1 / @sqrt(sum / @as(f64, @floatFromInt(x.ne[0])) + 1e-5);
    for (0..x.ne[0]) |i| {
        const here: [4]u64 = .{ i, at[0], at[1], at[2] };
        const weight = if (w) |t| trial.get(t, .{ i, 0, 0, 0 }) else 1;
        try trial.expectNear(y, here, trial.get(x, here) * scale * weight, 1e-6);
    }
}

test "rms_norm of rows of any length and order, with and without weight" {
    for ([_]u64{ 1, 7, 16, 64, 129, 1025 }) |n| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const x = trial.random(.f32, .{ n, 3, 2, 2 }, order);
            const w = trial.random(.f32, .{ n, 1, 1, 1 }, .packed_rows);
            const y = trial.empty(.f32, x.ne, order);
            const params: ops.NormParams = .{ .epsilon = 1e-5 };
            try trial.run(.rms_norm, rms_norm, params, &.{ x, w }, &.{y});
            for (0..3) |i| for (0..2) |j| try expectRow(&trial, x, w, y, .{ i, j, 1 });
            try trial.run(.rms_norm, rms_norm, params, &.{ x, null }, &.{y});
            for (0..3) |i| for (0..2) |j| try expectRow(&trial, x, null, y, .{ i, j, 0 });
        }
    }
}

test "rms_norm of huge, tiny and empty rows" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const params: ops.NormParams = .{ .epsilon = 0 };
    for ([_]f64{ 1e30, 1e-30 }) |size| {
        const x = trial.of(.f32, .{ 2, 1, 1, 1 }, &.{ size, -size });
        try trial.run(.rms_norm, rms_norm, params, &.{ x, null }, &.{x});
        try trial.expectNear(x, .{ 0, 0, 0, 0 }, 1, 1e-6);
        try trial.expectNear(x, .{ 1, 0, 0, 0 }, -1, 1e-6);
    }
    const empty = trial.empty(.f32, .{ 0, 4, 1, 1 }, .packed_rows);
    try trial.run(.rms_norm, rms_norm, params, &.{ empty, null }, &.{empty});
}
