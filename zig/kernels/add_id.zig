//! y[:, u, t] = x[:, u, t] + table[:, ids[u, t]]. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const map = @import("map.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const V = @import("vector.zig").V;

pub const add_id: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    if (!staging.isDirect(task.source(0)) or !staging.isDirect(task.source(1))) return;
    if (!staging.isDirect(y)) return;
    split.byRow(result, y.rows(), y.ne[0]);
}

inline fn sum(_: void, a: V, b: V) V {
    return a + b;
}

const addRows = map.loop(2, void, sum);

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const table = task.source(1);
    const ids = task.source(2);
    const y = task.output();
    for (begin..end) |row| {
        const place = ids.data + row % x.ne[1] * ids.nb[0] + row / x.ne[1] * ids.nb[1];
        const id = @as(*const i32, @ptrCast(@alignCast(place))).*;
        const to: [*]f32 = @ptrCast(@alignCast(y.row(row)));
        if (id < 0 or id >= table.ne[1]) {
            task.status.badIndex(task.op, id, table.ne[1]);
            @memset(to[0..@intCast(y.ne[0])], 0);
            continue;
        }
        const a: [*]const f32 = @ptrCast(@alignCast(x.row(row)));
        const b: [*]const f32 = @ptrCast(@alignCast(table.row(@intCast(id))));
        addRows({}, to, .{ a, b }, @intCast(y.ne[0]));
    }
}

const Trial = @import("trial.zig").Trial;

test "add_id adds the row that each id names, and a bad id is a fault" {
    for ([_]f64{ 3, 6, -1 }) |last| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 37, 2, 3, 1 }, .gaps);
        const table = trial.random(.f32, .{ 37, 6, 1, 1 }, .gaps);
        const ids = trial.of(.i32, .{ 2, 3, 1, 1 }, &.{ 5, 0, 2, 2, 1, last });
        const y = trial.empty(.f32, x.ne, .packed_rows);
        try trial.run(.add_id, add_id, .{}, &.{ x, table, ids }, &.{y});
        const bad = last != 3;
        try std.testing.expectEqual(@intFromBool(bad), trial.status.fault);
        for (0..6) |row| for (0..37) |i| {
            const at: [4]u64 = .{ i, row % 2, row / 2, 0 };
            const id: i64 = @trunc(trial.get(ids, .{ row % 2, row / 2, 0, 0 }));
            const expected = if (bad and row == 5)
                0
            else
                trial.get(x, at) + trial.get(table, .{ i, @intCast(id), 0, 0 });
            try trial.expectNear(y, at, expected, 1e-6);
        };
    }
}
