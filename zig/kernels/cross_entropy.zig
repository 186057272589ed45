//! The mean over rows of -sum labels log softmax(logits), and its gradient
//! (softmax(logits) - labels) gradient / rows.

const std = @import("std");
const abi = @import("abi.zig");
const elementary = @import("elementary.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;

pub const cross_entropy_loss: abi.Kernel = .{ .plan = plan, .run = run };
pub const cross_entropy_loss_back: abi.Kernel = .{ .plan = planBack, .run = runBack };

/// One item, so that rows are summed in order.
fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    result.supported = true;
    result.items = 1;
    result.thread_scratch = staging.rowsBytes(2, vector.padded(task.source(0).ne[0]));
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    if (begin == end) return;
    const logits = task.source(0);
    const labels = task.source(1);
    const n: usize = @intCast(logits.ne[0]);
    const size = vector.padded(n);
    var loss: f64 = 0;
    const row_count = if (n == 0) 0 else logits.rows();
    for (0..row_count) |index| {
        const first = staging.scratchRow(scratch, 0, size);
        const row = staging.readRow(logits, logits.row(index), first);
        const room = staging.scratchRow(scratch, 1, size);
        const truth = staging.readRow(labels, labels.row(index), room);
        const largest = std.mem.max(f32, row[0..n]);
        var total: f64 = 0;
        var i: usize = 0;
        while (i < n) : (i += lanes) {
            const weights: [lanes]f32 = weightsOf(row, i, n, largest);
            for (weights[0..@min(lanes, n - i)]) |weight| total += weight;
        }
        const log_total = @as(f64, elementary.log(vector.splat(@floatCast(total)))[0]);
        for (row[0..n], truth) |value, label| {
            if (label != 0) loss -= @as(f64, label) * (@as(f64, value) - largest - log_total);
        }
    }
    const count: f64 = @floatFromInt(@max(1, row_count));
    const values = [1]f32{@floatCast(loss / count)};
    staging.write(task.output(), task.output().data, 0, 1, &values);
}

/// e^(value - largest) of a vector, 0 behind the row's end.
inline fn weightsOf(row: [*]const f32, i: usize, n: usize, largest: f32) vector.V {
    const whole = n - i >= lanes;
    const v = if (whole) vector.load(row + i) else vector.loadPart(row + i, n - i);
    return elementary.exp(v - vector.splat(largest));
}

fn planBack(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const logits = task.source(1);
    split.byRow(result, logits.rows(), logits.ne[0] * 4);
    result.thread_scratch = staging.rowsBytes(3, vector.padded(logits.ne[0]));
}

fn runBack(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const logits = task.source(1);
    const labels = task.source(2);
    const y = task.output();
    const n: usize = @intCast(logits.ne[0]);
    const size = vector.padded(n);
    const gradient = @as(*const f32, @ptrCast(@alignCast(task.source(0).data))).*;
    const factor = gradient / @as(f32, @floatFromInt(logits.rows()));
    const weights = staging.scratchRow(scratch, 2, size);
    for (begin..end) |index| {
        const first = staging.scratchRow(scratch, 0, size);
        const row = staging.readRow(logits, logits.row(index), first);
        const room = staging.scratchRow(scratch, 1, size);
        const truth = staging.readRow(labels, labels.row(index), room);
        const largest = std.mem.max(f32, row[0..n]);
        var i: usize = 0;
        while (i < n) : (i += lanes) vector.store(weights + i, weightsOf(row, i, n, largest));
        var total: f64 = 0;
        for (weights[0..n]) |weight| total += weight;
        const inverse: f32 = @floatCast(1 / total);
        for (weights[0..n], truth) |*weight, label| {
            weight.* = (weight.* * inverse - label) * factor;
        }
        staging.writeRow(y, y.row(index), weights);
    }
}

const Trial = @import("trial.zig").Trial;

test "cross_entropy_loss and its gradient follow their definitions" {
    for ([_]u64{ 1, 10, 33, 1000 }) |n| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const logits = trial.random(.f32, .{ n, 4, 1, 1 }, order);
            const labels = trial.random(.f32, .{ n, 4, 1, 1 }, order);
            const gradient = trial.of(.f32, .{ 1, 1, 1, 1 }, &.{0.75});
            const loss = trial.empty(.f32, .{ 1, 1, 1, 1 }, .packed_rows);
            const back = trial.empty(.f32, logits.ne, .gaps);
            const kernel = cross_entropy_loss;
            try trial.run(.cross_entropy_loss, kernel, .{}, &.{ logits, labels }, &.{loss});
            const sources = .{ gradient, logits, labels };
            const kernel_back = cross_entropy_loss_back;
            try trial.run(.cross_entropy_loss_back, kernel_back, .{}, &sources, &.{back});
            var expected: f64 = 0;
            for (0..4) |row| {
                var total: f64 = 0;
                for (0..n) |i| total += @exp(trial.get(logits, .{ i, row, 0, 0 }));
                for (0..n) |i| {
                    const at: [4]u64 = .{ i, row, 0, 0 };
                    const value = trial.get(logits, at);
                    const label = trial.get(labels, at);
                    expected -= label * (value - @log(total)) / 4;
                    const slope = (@exp(value) / total - label) * 0.75 / 4;
                    try trial.expectNear(back, at, slope, 1e-6);
                }
            }
            try trial.expectNear(loss, .{ 0, 0, 0, 0 }, expected, 1e-5);
        }
    }
}
