//! y = softmax(scale * x + slope * mask) of each row; with ALiBi the slope depends on the head,
//! else it is 1. A sink joins its head's denominator. A row that is masked throughout gives zeros.
//! One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const alibi = @import("alibi.zig");
const norms = @import("../ops.zig").norms;
const elementary = @import("elementary.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;
const Params = norms.SoftMaxParams;
const Tensor = abi.Tensor;

pub const soft_max: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), x.ne[0] * 4);
    result.thread_scratch = staging.rowsBytes(2, vector.padded(x.ne[0]));
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    const p = task.as(Params);
    const scores = staging.scratchRow(scratch, 0, vector.padded(n));
    const other = staging.scratchRow(scratch, 1, vector.padded(n));
    for (begin..end) |index| {
        const head = index / x.ne[1] % x.ne[2];
        const from = staging.readRow(x, x.row(index), scores);
        for (scores[0..n], from) |*score, value| score.* = value * p.scale;
        if (task.sources[1]) |mask| {
            const row = staging.readRow(mask, maskRow(mask, x, index), other);
            addMask(scores, row, alibi.slope(p.alibi_max, head, x.ne[2]), n);
        }
        @memset(scores[n..vector.padded(n)], -std.math.inf(f32));
        normalize(scores, n, sinkOf(task, head));
        staging.writeRow(y, y.row(index), scores);
    }
}

/// The mask's row that meets row `index` of x.
fn maskRow(mask: *const Tensor, x: *const Tensor, index: u64) [*]const u8 {
    const i = index % x.ne[1];
    const j = index / x.ne[1] % x.ne[2];
    const k = index / x.ne[1] / x.ne[2];
    return mask.data + i * mask.nb[1] + j % mask.ne[2] * mask.nb[2] + k % mask.ne[3] * mask.nb[3];
}

fn sinkOf(task: *const abi.Task, head: u64) f32 {
    const sinks = task.sources[2] orelse return -std.math.inf(f32);
    return @as(*const f32, @ptrCast(@alignCast(sinks.data + head * sinks.nb[0]))).*;
}

fn addMask(scores: [*]f32, mask: [*]const f32, slope: f32, n: usize) void {
    var i: usize = 0;
    while (i + lanes <= n) : (i += lanes) {
        const bias = vector.load(mask + i);
        const sum = simd.mulAdd(bias, vector.splat(slope), vector.load(scores + i));
        vector.store(scores + i, sum);
    }
    for (scores[i..n], mask[i..n]) |*score, bias| score.* += bias * slope;
}

/// Values summed as f32 before they join the f64 sum.
const run_length = 4096;

/// The scores, padded to whole vectors with -infinity, become their softmax.
fn normalize(scores: [*]f32, n: usize, sink: f32) void {
    const end = vector.padded(n);
    const low = -std.math.inf(f32);
    var most = vector.splat(sink);
    var i: usize = 0;
    while (i < end) : (i += lanes) {
        const v = vector.load(scores + i);
        most = @select(f32, v > most, v, most);
    }
    const largest = @reduce(.Max, most);
    const shift = if (largest == low) 0 else largest;
    var total: f64 = elementary.exp(vector.splat(sink - shift))[0];
    i = 0;
    while (i < end) {
        const stop = @min(i + run_length, end);
        var sum = vector.splat(0);
        while (i < stop) : (i += lanes) {
            const weight = elementary.exp(vector.load(scores + i) - vector.splat(shift));
            vector.store(scores + i, weight);
            sum += weight;
        }
        total += @reduce(.Add, sum);
    }
    const factor = vector.splat(if (total == 0) 0 else @floatCast(1 / total));
    i = 0;
    while (i < end) : (i += lanes) vector.store(scores + i, vector.load(scores + i) * factor);
}

const Trial = @import("trial.zig").Trial;
const DType = @import("../dtype.zig").DType;

const Case = struct {
    ne: [4]u64,
    mask: ?[4]u64 = null,
    mask_dtype: DType = .f32,
    sinks: bool = false,
    p: Params = .{ .scale = 1, .alibi_max = 0 },
};

fn check(case: Case) !void {
    var trial: Trial = .init(case.ne[0]);
    defer trial.deinit();
    const x = trial.random(.f32, case.ne, .gaps);
    const y = trial.empty(.f32, case.ne, .packed_rows);
    const mask = if (case.mask) |ne| trial.random(case.mask_dtype, ne, .packed_rows) else null;
    if (mask) |m| {
        for (0..m.ne[0] / 3) |i| trial.set(m, .{ 3 * i, 0, 0, 0 }, -std.math.inf(f64));
    }
    const sinks = trial.random(.f32, .{ case.ne[2], 1, 1, 1 }, .packed_rows);
    const sources = .{ x, mask, if (case.sinks) sinks else null };
    try trial.run(.soft_max, soft_max, case.p, &sources, &.{y});
    for (0..x.rows()) |r| {
        const at: [3]u64 = .{ r % x.ne[1], r / x.ne[1] % x.ne[2], r / x.ne[1] / x.ne[2] };
        const scores = try trial.arena.allocator().alloc(f64, case.ne[0]);
        const sink = if (case.sinks) trial.get(sinks, .{ at[1], 0, 0, 0 }) else -1e9;
        var total: f64 = @exp(sink);
        for (scores, 0..) |*score, i| {
            score.* = trial.get(x, .{ i, at[0], at[1], at[2] }) * case.p.scale;
            if (mask) |m| {
                const bias = trial.get(m, .{ i, at[0], at[1] % m.ne[2], at[2] % m.ne[3] });
                score.* += bias * alibi.slope(case.p.alibi_max, at[1], case.ne[2]);
            }
            total += @exp(score.*);
        }
        for (scores, 0..) |score, i| {
            const expected = @exp(score) / total;
            try trial.expectNear(y, .{ i, at[0], at[1], at[2] }, expected, 1e-6);
        }
    }
}

test "soft_max of any length, with masks that broadcast, slopes and sinks" {
    for ([_]u64{ 1, 15, 16, 37, 1023, 5000 }) |n| try check(.{ .ne = .{ n, 3, 2, 1 } });
    try check(.{ .ne = .{ 12, 8, 4, 2 }, .mask = .{ 12, 8, 1, 1 }, .mask_dtype = .f16 });
    try check(.{ .ne = .{ 33, 5, 4, 6 }, .mask = .{ 33, 9, 2, 3 }, .sinks = true });
    const p: Params = .{ .scale = 0.125, .alibi_max = 8 };
    try check(.{ .ne = .{ 33, 5, 6, 1 }, .mask = .{ 33, 5, 1, 1 }, .p = p, .sinks = true });
}

test "soft_max of huge, fully masked and NaN rows" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const low = -std.math.inf(f64);
    const values = [_]f64{ 1e30, 1e30, -1e30, low, low, low, 1, std.math.nan(f64), 2 };
    const x = trial.of(.f32, .{ 3, 3, 1, 1 }, &values);
    const params: Params = .{ .scale = 1, .alibi_max = 0 };
    try trial.run(.soft_max, soft_max, params, &.{ x, null, null }, &.{x});
    for ([_]f64{ 0.5, 0.5, 0, 0, 0, 0 }, 0..) |expected, i| {
        try std.testing.expectEqual(expected, trial.get(x, .{ i % 3, i / 3, 0, 0 }));
    }
    for (0..3) |i| try std.testing.expect(std.math.isNan(trial.get(x, .{ i, 2, 0, 0 })));
}
