//! The largest or the average element under a window that moves over rows (pool_1d) or planes
//! (pool_2d). One item is one row of y.

const std = @import("std");
const abi = @import("abi.zig");
const spatial = @import("../ops.zig").spatial;
const split = @import("split.zig");
const staging = @import("staging.zig");
const Kind = spatial.PoolKind;
const Tensor = abi.Tensor;

pub const pool_1d: abi.Kernel = .{ .plan = plan1d, .run = run1d };
pub const pool_2d: abi.Kernel = .{ .plan = plan2d, .run = run2d };

fn plan1d(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    plan(task, result, task.as(spatial.Pool1dParams).kernel);
}

fn plan2d(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const p = task.as(spatial.Pool2dParams);
    plan(task, result, @as(u64, p.kernel0) * p.kernel1);
}

fn plan(task: *const abi.Task, result: *abi.Plan, window: u64) void {
    const x = task.source(0);
    const y = task.output();
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, y.rows(), y.ne[0] * window * 4);
    result.thread_scratch = staging.rowsBytes(1, x.ne[0]) + staging.rowsBytes(1, y.ne[0]);
}

fn run1d(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const p = task.as(spatial.Pool1dParams);
    const x = task.source(0);
    const y = task.output();
    const kind: Kind = @enumFromInt(p.kind);
    const row = rowOf(task, scratch);
    for (begin..end) |index| {
        const from = staging.readRow(x, x.row(index), @ptrCast(scratch));
        for (row, 0..) |*value, i| {
            const w: Window = .of(i, p.kernel, p.stride, p.padding, x.ne[0]);
            value.* = start(kind);
            for (from[w.first..w.end]) |element| value.* = join(kind, value.*, element);
            const count: f32 = @floatFromInt(w.end - w.first);
            if (kind == .average and w.end > w.first) value.* /= count;
        }
        staging.writeRow(y, y.row(index), row.ptr);
    }
}

fn run2d(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const p = task.as(spatial.Pool2dParams);
    const x = task.source(0);
    const y = task.output();
    const kind: Kind = @enumFromInt(p.kind);
    const row = rowOf(task, scratch);
    const area: f32 = @floatFromInt(@as(u64, p.kernel0) * p.kernel1);
    for (begin..end) |index| {
        const plane = index / y.ne[1] * x.ne[1];
        const lines: Window = .of(index % y.ne[1], p.kernel1, p.stride1, p.padding1, x.ne[1]);
        @memset(row, start(kind));
        for (lines.first..lines.end) |line| {
            const from = staging.readRow(x, x.row(plane + line), @ptrCast(scratch));
            for (row, 0..) |*value, i| {
                const w: Window = .of(i, p.kernel0, p.stride0, p.padding0, x.ne[0]);
                for (from[w.first..w.end]) |element| value.* = join(kind, value.*, element);
            }
        }
        if (kind == .average) for (row) |*value| {
            value.* /= area;
        };
        staging.writeRow(y, y.row(index), row.ptr);
    }
}

/// A row of y as f32, behind a row of x.
fn rowOf(task: *const abi.Task, scratch: abi.Scratch) []f32 {
    const after = scratch + staging.rowsBytes(1, task.source(0).ne[0]);
    return @as([*]f32, @ptrCast(@alignCast(after)))[0..@intCast(task.output().ne[0])];
}

/// The elements that exist under a window.
const Window = struct {
    first: usize,
    end: usize,

    fn of(index: u64, kernel: u64, stride: u64, padding: u64, n: u64) Window {
        const first = @max(index * stride, padding) - padding;
        const end = @min(@max(index * stride + kernel, padding) - padding, n);
        return .{ .first = @intCast(@min(first, end)), .end = @intCast(end) };
    }
};

/// A window with no element at all gives this, as the reference does.
fn start(kind: Kind) f32 {
    return if (kind == .max) -std.math.floatMax(f32) else 0;
}

inline fn join(kind: Kind, sum: f32, element: f32) f32 {
    return switch (kind) {
        .max => if (element > sum or element != element) element else sum,
        .average => sum + element,
    };
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const Order = @import("trial.zig").Order;

test "pool_1d with any window, stride and padding" {
    for (std.enums.values(Kind)) |kind| for ([_][3]u32{
        .{ 2, 2, 0 }, .{ 3, 1, 1 }, .{ 1, 3, 0 }, .{ 2, 1, 2 }, .{ 3, 2, 3 },
    }) |w| for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(2);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 11, 3, 2, 1 }, order);
        const count = spatial.windows(11, w[0], w[1], w[2], 1);
        const y = trial.empty(.f32, .{ count, 3, 2, 1 }, .packed_rows);
        const params: spatial.Pool1dParams = .{
            .kind = @intFromEnum(kind),
            .kernel = w[0],
            .stride = w[1],
            .padding = w[2],
        };
        try trial.run(.pool_1d, pool_1d, params, &.{x}, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            var expected: f64 = if (kind == .max) -std.math.floatMax(f32) else 0;
            var elements: f64 = 0;
            for (0..w[0]) |k| {
                const i = @as(i64, @intCast(at[0] * w[1] + k)) - w[2];
                if (i < 0 or i >= 11) continue;
                const value = trial.get(x, .{ @intCast(i), at[1], at[2], 0 });
                expected = if (kind == .max) @max(expected, value) else expected + value;
                elements += 1;
            }
            if (kind == .average and elements > 0) expected /= elements;
            try trial.expectNear(y, at, expected, 1e-6);
        }
    };
}

test "pool_2d with any window, stride and padding" {
    for (std.enums.values(Kind)) |kind| for ([_][6]u32{
        .{ 3, 2, 2, 1, 1, 0 }, .{ 1, 1, 1, 1, 0, 0 }, .{ 3, 3, 2, 2, 1, 1 },
    }) |w| {
        var trial: Trial = .init(2);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 9, 8, 3, 2 }, .gaps);
        const y = trial.empty(.f32, .{
            spatial.windows(9, w[0], w[2], w[4], 1), spatial.windows(8, w[1], w[3], w[5], 1), 3, 2,
        }, .packed_rows);
        const params: spatial.Pool2dParams = .{
            .kind = @intFromEnum(kind),
            .kernel0 = w[0],
            .kernel1 = w[1],
            .stride0 = w[2],
            .stride1 = w[3],
            .padding0 = w[4],
            .padding1 = w[5],
        };
        try trial.run(.pool_2d, pool_2d, params, &.{x}, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            var expected: f64 = if (kind == .max) -std.math.floatMax(f32) else 0;
            for (0..w[0] * w[1]) |k| {
                const i = @as(i64, @intCast(at[0] * w[2] + k % w[0])) - w[4];
                const j = @as(i64, @intCast(at[1] * w[3] + k / w[0])) - w[5];
                if (i < 0 or i >= 9 or j < 0 or j >= 8) continue;
                const value = trial.get(x, .{ @intCast(i), @intCast(j), at[2], at[3] });
                expected = if (kind == .max) @max(expected, value) else expected + value;
            }
            if (kind == .average) expected /= @floatFromInt(w[0] * w[1]);
            try trial.expectNear(y, at, expected, 1e-6);
        }
    };
}
