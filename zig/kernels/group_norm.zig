//! Group norm (Wu and He 2018, arXiv:1803.08494): channels in groups of equal size, the last of
//! which may be smaller; y = (x - mean) / sqrt(variance + epsilon) over each group of planes.
//! One item is one group of one image.

const std = @import("std");
const abi = @import("abi.zig");
const norms = @import("../ops.zig").norms;
const simd = @import("simd.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const sums = @import("sums.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;
const Params = norms.GroupNormParams;

pub const group_norm: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    const groups: u64 = task.as(Params).groups;
    split.byRow(result, groups * x.ne[3], x.ne[0] * x.ne[1] * channelsOf(task) * 3);
    result.thread_scratch = staging.rowsBytes(2, x.ne[0]);
}

fn channelsOf(task: *const abi.Task) u64 {
    return std.math.divCeil(u64, task.source(0).ne[2], task.as(Params).groups) catch unreachable;
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const x = task.source(0);
    const groups: u64 = task.as(Params).groups;
    for (begin..end) |index| {
        // Rounding the size up may leave the last groups without channels.
        const first = @min(index % groups * channelsOf(task), x.ne[2]);
        const group: Group = .{
            .task = task,
            .scratch = scratch,
            .image = index / groups,
            .first = first,
            .end = @min(first + channelsOf(task), x.ne[2]),
        };
        group.normalize();
    }
}

const Group = struct {
    task: *const abi.Task,
    scratch: [*]align(64) u8,
    image: u64,
    /// Channels [first, end).
    first: u64,
    end: u64,

    fn normalize(g: Group) void {
        const x = g.task.source(0);
        const n: usize = @intCast(x.ne[0]);
        const count: f64 = @floatFromInt(x.ne[0] * x.ne[1] * (g.end - g.first));
        var sum: f64 = 0;
        for (g.firstRow()..g.endRow()) |row| sum += sums.plain(g.read(row), n);
        const mean = sum / count;
        sum = 0;
        for (g.firstRow()..g.endRow()) |row| sum += sums.squares(g.read(row), n, mean);
        const scale = 1 / @sqrt(sum / count + g.task.as(Params).epsilon);
        for (g.firstRow()..g.endRow()) |row| g.write(row, @floatCast(mean), @floatCast(scale));
    }

    fn firstRow(g: Group) u64 {
        const x = g.task.source(0);
        return (g.image * x.ne[2] + g.first) * x.ne[1];
    }

    fn endRow(g: Group) u64 {
        const x = g.task.source(0);
        return (g.image * x.ne[2] + g.end) * x.ne[1];
    }

    fn read(g: Group, row: u64) [*]const f32 {
        const x = g.task.source(0);
        return staging.readRow(x, x.row(row), staging.scratchRow(g.scratch, 0, x.ne[0]));
    }

    fn write(g: Group, row: u64, mean: f32, scale: f32) void {
        const y = g.task.output();
        const n: usize = @intCast(y.ne[0]);
        const from = g.read(row);
        const to = staging.target(y, y.row(row), 0, staging.scratchRow(g.scratch, 1, n));
        var i: usize = 0;
        while (i < n) : (i += lanes) {
            const count = n - i;
            const whole = count >= lanes;
            const v = if (whole) vector.load(from + i) else vector.loadPart(from + i, count);
            const result = (v - vector.splat(mean)) * vector.splat(scale);
            if (whole) {
                vector.store(to + i, result);
            } else {
                vector.storePart(to + i, result, count);
            }
        }
        staging.writeRow(y, y.row(row), to);
    }
};

const Trial = @import("trial.zig").Trial;
const Order = @import("trial.zig").Order;

fn check(groups: u32, ne: [4]u64, order: Order) !void {
    var trial: Trial = .init(groups);
    defer trial.deinit();
    const x = trial.random(.f32, ne, order);
    const y = trial.empty(.f32, ne, .packed_rows);
    const params: Params = .{ .groups = groups, .epsilon = 1e-5 };
    try trial.run(.group_norm, group_norm, params, &.{x}, &.{y});
    const size = (ne[2] + groups - 1) / groups;
    for (0..ne[3]) |image| for (0..groups) |group| {
        const first = @min(group * size, ne[2]);
        const end = @min(first + size, ne[2]);
        const plane = ne[0] * ne[1];
        var mean: f64 = 0;
        var square: f64 = 0;
        for (first * plane..end * plane) |i| {
            const value = trial.get(x, .{ i % ne[0], i / ne[0] % ne[1], i / plane, image });
            mean += value;
            square += value * value;
        }
        const count: f64 = @floatFromInt((end - first) * plane);
        mean /= count;
        const scale = 1 / @sqrt(square / count - mean * mean + 1e-5);
        for (first * plane..end * plane) |i| {
            const at: [4]u64 = .{ i % ne[0], i / ne[0] % ne[1], i / plane, image };
            try trial.expectNear(y, at, (trial.get(x, at) - mean) * scale, 3e-6);
        }
    };
}

test "group_norm with equal groups, a smaller last group and more groups than needed" {
    for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        try check(4, .{ 7, 5, 8, 2 }, order);
        try check(3, .{ 20, 4, 8, 1 }, order);
        try check(4, .{ 17, 2, 5, 3 }, order); // Groups of two channels: the fourth has none.
        try check(1, .{ 3, 3, 3, 1 }, order);
    }
}
