//! start, start + step, start + 2 step, …: each by one multiplication. One item is some values.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const ArangeParams = @import("../ops.zig").positional.ArangeParams;

pub const arange: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    if (task.output().nb[0] != 4) return;
    split.Chunks.of(task.output()).plan(result, 1);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const p = task.as(ArangeParams);
    const row: [*]f32 = @ptrCast(@alignCast(task.output().data));
    const chunks: split.Chunks = .of(task.output());
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        for (row[@intCast(chunk.begin)..@intCast(chunk.end)], chunk.begin..) |*value, i| {
            value.* = p.start + p.step * @as(f32, @floatFromInt(i));
        }
    }
}

const Trial = @import("trial.zig").Trial;

test "arange upwards, downwards and across chunks" {
    for ([_][3]f32{ .{ 1.5, 9, 0.75 }, .{ 3, -2, -1 }, .{ 0, 10000, 1 } }) |list| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const count: u64 = @intFromFloat(@ceil((list[1] - list[0]) / list[2]));
        const y = trial.empty(.f32, .{ count, 1, 1, 1 }, .packed_rows);
        const p: ArangeParams = .{ .start = list[0], .stop = list[1], .step = list[2] };
        try trial.run(.arange, arange, p, &.{}, &.{y});
        for (0..count) |i| {
            const expected = list[0] + @as(f64, @floatFromInt(i)) * list[2];
            try trial.expectNear(y, .{ i, 0, 0, 0 }, expected, 1e-6);
        }
    }
}
