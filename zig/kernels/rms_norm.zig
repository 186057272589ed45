//! Root mean square norm (Zhang and Sennrich 2019, arXiv:1910.07467):
//! y = x / sqrt(mean(x^2) + epsilon) * weight, for each row. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const V = vector.V;
const lanes = vector.lanes;

pub const rms_norm: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    if (task.sources[1]) |weight| if (!staging.isDirect(weight)) return;
    split.byRow(result, x.rows(), x.ne[0] * 2);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n = x.ne[0];
    const direct = staging.isDirect(x) and staging.isDirect(y);
    const step = if (direct) n else staging.block;
    const epsilon: f64 = task.as(ops.NormParams).epsilon;
    const weight: ?[*]const f32 = if (task.sources[1]) |w| @ptrCast(@alignCast(w.data)) else null;
    for (begin..end) |index| {
        const x_row = x.row(index);
        const y_row = y.row(index);
        var in: staging.Buffer = undefined;
        var out: staging.Buffer = undefined;
        var sum: f64 = 0;
        var i: u64 = 0;
        while (i < n) : (i += step) {
            const count: usize = @intCast(@min(step, n - i));
            sum += sumOfSquares(staging.read(x, x_row, i, count, &in), count);
        }
        const scale: f32 = @floatCast(1 / @sqrt(sum / @as(f64, @floatFromInt(n)) + epsilon));
        i = 0;
        while (i < n) : (i += step) {
            const count: usize = @intCast(@min(step, n - i));
            const from = staging.read(x, x_row, i, count, &in);
            const to = staging.target(y, y_row, i, &out);
            const w = if (weight) |all| all + i else null;
            scaleRow(to, from, w, scale, count);
            staging.write(y, y_row, i, count, to);
        }
    }
}

/// In f64, so that no square overflows or vanishes.
fn sumOfSquares(x: [*]const f32, n: usize) f64 {
    const Wide = @Vector(lanes, f64);
    var sums: [2]Wide = @splat(@splat(0));
    var i: usize = 0;
    while (i + 2 * lanes <= n) : (i += 2 * lanes) {
        inline for (&sums, 0..) |*sum, k| {
            const v: Wide = vector.load(x + i + k * lanes);
            sum.* = simd.mulAdd(v, v, sum.*);
        }
    }
    while (i < n) : (i += lanes) {
        const part = if (n - i < lanes) vector.loadPart(x + i, n - i) else vector.load(x + i);
        const v: Wide = part;
        sums[0] = simd.mulAdd(v, v, sums[0]);
    }
    return @reduce(.Add, sums[0] + sums[1]);
}

fn scaleRow(y: [*]f32, x: [*]const f32, weight: ?[*]const f32, scale: f32, n: usize) void {
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
