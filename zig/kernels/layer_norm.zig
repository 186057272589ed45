//! Layer norm (Ba et al. 2016, arXiv:1607.06450): y = (x - mean) / sqrt(variance + epsilon) *
//! weight + bias, for each row. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const vector = @import("vector.zig");
const V = vector.V;
const lanes = vector.lanes;

pub const layer_norm: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    for (task.sources[1..3]) |w| if (w != null and !staging.isDirect(w.?)) return;
    split.byRow(result, x.rows(), x.ne[0] * 3);
    result.thread_scratch = staging.rowsBytes(2, x.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    const count: f64 = @floatFromInt(n);
    for (begin..end) |index| {
        const from = staging.readRow(x, x.row(index), staging.scratchRow(scratch, 0, n));
        const to = staging.target(y, y.row(index), 0, staging.scratchRow(scratch, 1, n));
        const mean = sums.plain(from, n) / count;
        const variance = sums.squares(from, n, mean) / count;
        const scale = 1 / @sqrt(variance + task.as(ops.NormParams).epsilon);
        const row: Row = .{
            .mean = vector.splat(@floatCast(mean)),
            .scale = vector.splat(@floatCast(scale)),
            .weight = if (task.sources[1]) |w| @ptrCast(@alignCast(w.data)) else null,
            .bias = if (task.sources[2]) |b| @ptrCast(@alignCast(b.data)) else null,
        };
        row.apply(to, from, n);
        staging.writeRow(y, y.row(index), to);
    }
}

const Row = struct {
    mean: V,
    scale: V,
    weight: ?[*]const f32,
    bias: ?[*]const f32,

    fn apply(row: Row, y: [*]f32, x: [*]const f32, n: usize) void {
        var i: usize = 0;
        while (i + lanes <= n) : (i += lanes) {
            const weight = if (row.weight) |w| vector.load(w + i) else vector.splat(1);
            const bias = if (row.bias) |b| vector.load(b + i) else vector.splat(0);
            vector.store(y + i, row.of(vector.load(x + i), weight, bias));
        }
        if (i == n) return;
        const weight = if (row.weight) |w| vector.loadPart(w + i, n - i) else vector.splat(1);
        const bias = if (row.bias) |b| vector.loadPart(b + i, n - i) else vector.splat(0);
        vector.storePart(y + i, row.of(vector.loadPart(x + i, n - i), weight, bias), n - i);
    }

    inline fn of(row: Row, x: V, weight: V, bias: V) V {
        return simd.mulAdd((x - row.mean) * row.scale, weight, bias);
    }
};

const Trial = @import("trial.zig").Trial;
const Order = @import("trial.zig").Order;

fn check(n: u64, order: Order, with: [2]bool, dtype: @import("../dtype.zig").DType) !void {
    var trial: Trial = .init(n);
    defer trial.deinit();
    const x = trial.random(dtype, .{ n, 3, 2, 1 }, order);
    const w = trial.random(.f32, .{ n, 1, 1, 1 }, .packed_rows);
    const b = trial.random(.f32, .{ n, 1, 1, 1 }, .packed_rows);
    const y = trial.empty(dtype, x.ne, order);
    const params: ops.NormParams = .{ .epsilon = 1e-3 };
    const sources = .{ x, if (with[0]) w else null, if (with[1]) b else null };
    try trial.run(.layer_norm, layer_norm, params, &sources, &.{y});
    const count: f64 = @floatFromInt(n);
    for (0..6) |r| {
        var mean: f64 = 0;
        for (0..n) |i| mean += trial.get(x, .{ i, r % 3, r / 3, 0 }) / count;
        var variance: f64 = 0;
        for (0..n) |i| {
            const distance = trial.get(x, .{ i, r % 3, r / 3, 0 }) - mean;
            variance += distance * distance / count;
        }
        for (0..n) |i| {
            const at: [4]u64 = .{ i, r % 3, r / 3, 0 };
            var expected = (trial.get(x, at) - mean) / @sqrt(variance + 1e-3);
            if (with[0]) expected *= trial.get(w, .{ i, 0, 0, 0 });
            if (with[1]) expected += trial.get(b, .{ i, 0, 0, 0 });
            try trial.expectNear(y, at, expected, 2e-6);
        }
    }
}

test "layer_norm of rows of any length and order, with and without weight and bias" {
    for ([_]u64{ 1, 7, 16, 64, 129, 1025 }) |n| {
        try check(n, .packed_rows, .{ true, true }, .f32);
        try check(n, .gaps, .{ true, false }, .f32);
        try check(n, .permuted, .{ false, true }, .f32);
        try check(n, .packed_rows, .{ false, false }, .f16);
    }
}
