//! The position of each row's largest value, the last one of equals. NaN is never the largest;
//! the position is 0 where there is nothing else. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;

pub const argmax: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), x.ne[0]);
    result.thread_scratch = staging.rowsBytes(1, x.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const n: usize = @intCast(x.ne[0]);
    for (begin..end) |index| {
        const row = staging.readRow(x, x.row(index), staging.scratchRow(scratch, 0, n));
        const place = y.data + index * y.nb[0];
        @as(*i32, @ptrCast(@alignCast(place))).* = @intCast(lastLargest(row[0..n]));
    }
}

fn lastLargest(row: []const f32) usize {
    var most = vector.splat(-std.math.inf(f32));
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) {
        const v = vector.load(row.ptr + i);
        most = @select(f32, v > most, v, most);
    }
    var largest = @reduce(.Max, most);
    for (row[i..]) |value| {
        if (value > largest) largest = value;
    }
    return std.mem.findScalarLast(f32, row, largest) orelse 0;
}

const Trial = @import("trial.zig").Trial;

test "argmax of any length" {
    for ([_]u64{ 1, 7, 16, 33, 1000 }) |n| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const x = trial.random(.f32, .{ n, 5, 1, 1 }, order);
            const y = trial.empty(.i32, .{ 5, 1, 1, 1 }, .packed_rows);
            try trial.run(.argmax, argmax, .{}, &.{x}, &.{y});
            for (0..5) |row| {
                var best: u64 = 0;
                for (0..n) |i| {
                    const record = trial.get(x, .{ best, row, 0, 0 });
                    if (trial.get(x, .{ i, row, 0, 0 }) >= record) best = i;
                }
                try trial.expectNear(y, .{ row, 0, 0, 0 }, @floatFromInt(best), 0);
            }
        }
    }
}

test "argmax of ties, of NaN and of -infinity alone" {
    const nan = std.math.nan(f32);
    const inf = std.math.inf(f32);
    try std.testing.expectEqual(5, lastLargest(&.{ 1, 3, 2, 1, 3, 3, 0, 2 }));
    try std.testing.expectEqual(2, lastLargest(&.{ nan, 1, 2, nan }));
    try std.testing.expectEqual(0, lastLargest(&.{ nan, nan }));
    try std.testing.expectEqual(1, lastLargest(&.{ -inf, -inf }));
    try std.testing.expectEqual(16, lastLargest(&(.{nan} ** 16 ++ .{1.0} ++ .{nan} ** 3)));
}
