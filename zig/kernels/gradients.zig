//! Gradients of silu, rms_norm, soft_max and get_rows. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const elementary = @import("elementary.zig");
const lines = @import("lines.zig");
const map = @import("map.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const training = ops.training;
const vector = @import("vector.zig");
const V = vector.V;

pub const silu_back: abi.Kernel = .{ .plan = planSilu, .run = runSilu };
pub const rms_norm_back: abi.Kernel = .{ .plan = planRows, .run = runNorm };
pub const soft_max_back: abi.Kernel = .{ .plan = planRows, .run = runSoftMax };
pub const get_rows_back: abi.Kernel = .{ .plan = planGather, .run = runGather };

fn planSilu(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    map.plan(result, task, 2, 3);
}

fn runSilu(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    map.run(task, 2, {}, map.loop(2, void, siluBack), begin, end);
}

/// (x s)' = s (1 + x (1 - s)) with s = sigmoid(x).
inline fn siluBack(_: void, gradient: V, x: V) V {
    const s = elementary.sigmoid(x);
    const one = vector.splat(1);
    return gradient * s * simd.mulAdd(x, one - s, one);
}

fn planRows(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(1);
    split.byRow(result, x.rows(), x.ne[0] * 3);
    result.thread_scratch = staging.rowsBytes(3, x.ne[0]);
}

/// The gradient's and the other source's row, and where the result goes.
const Row = struct {
    gradient: [*]const f32,
    x: [*]const f32,
    to: [*]f32,
    n: usize,

    fn of(task: *const abi.Task, index: u64, scratch: abi.Scratch) Row {
        const gradient = task.source(0);
        const x = task.source(1);
        const y = task.output();
        const n = x.ne[0];
        const rooms = .{
            staging.scratchRow(scratch, 0, n),
            staging.scratchRow(scratch, 1, n),
            staging.scratchRow(scratch, 2, n),
        };
        return .{
            .gradient = staging.readRow(gradient, gradient.row(index), rooms[0]),
            .x = staging.readRow(x, x.row(index), rooms[1]),
            .to = staging.target(y, y.row(index), 0, rooms[2]),
            .n = @intCast(n),
        };
    }

    fn dot(row: Row) f64 {
        var sum: f64 = 0;
        for (row.gradient[0..row.n], row.x) |g, x| sum += @as(f64, g) * x;
        return sum;
    }
};

/// (gradient - x (x . gradient) / (x . x + n epsilon)) / sqrt(mean(x^2) + epsilon)
fn runNorm(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const y = task.output();
    const epsilon: f64 = task.as(ops.NormParams).epsilon;
    for (begin..end) |index| {
        const row: Row = .of(task, index, scratch);
        const count: f64 = @floatFromInt(row.n);
        const whole = sums.squares(row.x, row.n, 0) + count * epsilon;
        lines.each(row.n, Mixed{
            .row = row,
            .x_factor = @floatCast(-row.dot() / whole),
            .factor = @floatCast(1 / @sqrt(whole / count)),
        });
        staging.writeRow(y, y.row(index), row.to);
    }
}

const Mixed = struct {
    row: Row,
    x_factor: f32,
    factor: f32,

    pub inline fn step(m: Mixed, comptime n: usize, i: usize) void {
        const x = lines.load(n, m.row.x, i);
        const gradient = lines.load(n, m.row.gradient, i);
        const sum = simd.mulAdd(x, lines.splat(n, m.x_factor), gradient);
        lines.store(n, m.row.to, i, sum * lines.splat(n, m.factor));
    }
};

/// scale y (gradient - y . gradient)
fn runSoftMax(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const y = task.output();
    for (begin..end) |index| {
        const row: Row = .of(task, index, scratch);
        lines.each(row.n, Weighed{
            .row = row,
            .mean = @floatCast(row.dot()),
            .scale = task.as(training.SoftMaxBackParams).scale,
        });
        staging.writeRow(y, y.row(index), row.to);
    }
}

const Weighed = struct {
    row: Row,
    mean: f32,
    scale: f32,

    pub inline fn step(w: Weighed, comptime n: usize, i: usize) void {
        const distance = lines.load(n, w.row.gradient, i) - lines.splat(n, w.mean);
        const weight = lines.load(n, w.row.x, i) * lines.splat(n, w.scale);
        lines.store(n, w.row.to, i, weight * distance);
    }
};

fn planGather(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    if (!staging.isDirect(task.source(0)) or !staging.isDirect(y)) return;
    split.byRow(result, y.rows(), y.ne[0] + task.source(1).ne[0]);
}

/// Row i of the result is the sum of the gradients of all rows that were row i.
fn runGather(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const gradient = task.source(0);
    const list = task.source(1);
    const y = task.output();
    const n: usize = @intCast(y.ne[0]);
    for (begin..end) |index| {
        const to: [*]f32 = @ptrCast(@alignCast(y.row(index)));
        @memset(to[0..n], 0);
        for (0..list.ne[0]) |i| {
            const place = list.data + i * list.nb[0];
            const number = @as(*const i32, @ptrCast(@alignCast(place))).*;
            if (number < 0 or number >= y.ne[1]) {
                task.status.badIndex(task.op, number, y.ne[1]);
            } else if (number == index) {
                const from: [*]const f32 = @ptrCast(@alignCast(gradient.row(i)));
                lines.each(n, Add{ .to = to, .from = from });
            }
        }
    }
}

const Add = struct {
    to: [*]f32,
    from: [*]const f32,

    pub inline fn step(a: Add, comptime n: usize, i: usize) void {
        lines.store(n, a.to, i, lines.load(n, a.to, i) + lines.load(n, a.from, i));
    }
};

const Trial = @import("trial.zig").Trial;
const testing = std.testing;

/// The derivative of f along gradient by differences, which must be what the kernel's result says.
fn expectDerivative(
    trial: *Trial,
    x: abi.Tensor,
    gradient: abi.Tensor,
    result: abi.Tensor,
    comptime f: fn (x: []const f64, y: []f64) void,
) !void {
    const n = x.ne[0];
    const h = 1e-5;
    for (0..x.ne[1]) |row| for (0..n) |i| {
        var values: [64]f64 = undefined;
        for (0..n) |k| values[k] = trial.get(x, .{ k, row, 0, 0 });
        var high: [64]f64 = undefined;
        var low: [64]f64 = undefined;
        values[i] += h;
        f(values[0..n], high[0..n]);
        values[i] -= 2 * h;
        f(values[0..n], low[0..n]);
        var expected: f64 = 0;
        for (0..n) |k| {
            expected += trial.get(gradient, .{ k, row, 0, 0 }) * (high[k] - low[k]) / (2 * h);
        }
        try trial.expectNear(result, .{ i, row, 0, 0 }, expected, 2e-5);
    };
}

const functions = struct {
    fn silu(x: []const f64, y: []f64) void {
        for (x, y) |value, *result| result.* = value / (1 + @exp(-value));
    }
    fn norm(x: []const f64, y: []f64) void {
        var sum: f64 = 0;
        for (x) |value| sum += value * value;
        const scale = 1 / @sqrt(sum / @as(f64, @floatFromInt(x.len)) + 1e-3);
        for (x, y) |value, *result| result.* = value * scale;
    }
    fn softMax(x: []const f64, y: []f64) void {
        var sum: f64 = 0;
        for (x) |value| sum += @exp(value * 0.5);
        for (x, y) |value, *result| result.* = @exp(value * 0.5) / sum;
    }
};

test "the gradients of silu, rms_norm and soft_max are their derivatives" {
    for ([_]u64{ 1, 7, 33, 64 }) |n| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const gradient = trial.random(.f32, .{ n, 3, 1, 1 }, order);
            const x = trial.random(.f32, .{ n, 3, 1, 1 }, order);
            const result = trial.empty(.f32, x.ne, .gaps);
            try trial.run(.silu_back, silu_back, .{}, &.{ gradient, x }, &.{result});
            try expectDerivative(&trial, x, gradient, result, functions.silu);
            const norm: ops.NormParams = .{ .epsilon = 1e-3 };
            try trial.run(.rms_norm_back, rms_norm_back, norm, &.{ gradient, x }, &.{result});
            try expectDerivative(&trial, x, gradient, result, functions.norm);
            const y = trial.empty(.f32, x.ne, order);
            for (0..3) |row| {
                var values: [64]f64 = undefined;
                var soft: [64]f64 = undefined;
                for (0..n) |i| values[i] = trial.get(x, .{ i, row, 0, 0 });
                functions.softMax(values[0..n], soft[0..n]);
                for (0..n) |i| trial.set(y, .{ i, row, 0, 0 }, soft[i]);
            }
            const p: training.SoftMaxBackParams = .{ .scale = 0.5 };
            try trial.run(.soft_max_back, soft_max_back, p, &.{ gradient, y }, &.{result});
            try expectDerivative(&trial, x, gradient, result, functions.softMax);
        }
    }
}

test "get_rows_back adds the gradients of each row, and a bad row is a fault" {
    for ([_]f64{ 1, 6, -1 }) |last| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const gradient = trial.random(.f32, .{ 17, 5, 1, 1 }, .gaps);
        const list = trial.of(.i32, .{ 5, 1, 1, 1 }, &.{ 3, 0, 3, 5, last });
        const y = trial.empty(.f32, .{ 17, 6, 1, 1 }, .gaps);
        const p: training.RowCountParams = .{ .rows = 6 };
        try trial.run(.get_rows_back, get_rows_back, p, &.{ gradient, list }, &.{y});
        try testing.expectEqual(@intFromBool(last != 1), trial.status.fault);
        for (0..6) |row| for (0..17) |i| {
            var expected: f64 = 0;
            for (0..5) |k| {
                if (trial.get(list, .{ k, 0, 0, 0 }) != @as(f64, @floatFromInt(row))) continue;
                expected += trial.get(gradient, .{ i, k, 0, 0 });
            }
            try trial.expectNear(y, .{ i, row, 0, 0 }, expected, 1e-6);
        };
    }
}
