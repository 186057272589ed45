//! How many elements of two i32 tensors are equal. One item.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const simd = @import("simd.zig");
const lanes = simd.lanes;

pub const count_equal: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(_: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    result.supported = true;
    result.items = 1;
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    if (begin == end) return;
    var both = [_]abi.Tensor{ task.source(0).*, task.source(1).* };
    split.collapse(&both);
    var count: i64 = 0;
    for (0..both[0].rows()) |row| count += countRow(&both, row);
    @as(*i64, @ptrCast(@alignCast(task.output().data))).* = count;
}

fn countRow(both: *const [2]abi.Tensor, row: u64) i64 {
    const a = both[0].row(row);
    const b = both[1].row(row);
    const n: usize = @intCast(both[0].ne[0]);
    var count: i64 = 0;
    var i: usize = 0;
    if (both[0].nb[0] == 4 and both[1].nb[0] == 4) {
        while (i + lanes <= n) : (i += lanes) {
            const equal = simd.load(simd.I32, a + 4 * i) == simd.load(simd.I32, b + 4 * i);
            count += std.simd.countTrues(equal);
        }
    }
    while (i < n) : (i += 1) {
        const left = simd.load(i32, a + i * both[0].nb[0]);
        const right = simd.load(i32, b + i * both[1].nb[0]);
        count += @intFromBool(left == right);
    }
    return count;
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "count_equal of any order" {
    for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(3);
        defer trial.deinit();
        const a = trial.random(.i32, .{ 133, 4, 2, 3 }, order);
        const b = trial.random(.i32, a.ne, .packed_rows);
        var walk: Walk = .{ .ne = a.ne };
        var expected: f64 = 0;
        while (walk.next()) |at| {
            if (walk.index % 3 == 0) trial.set(b, at, trial.get(a, at));
            if (trial.get(a, at) == trial.get(b, at)) expected += 1;
        }
        const y = trial.empty(.i64, .{ 1, 1, 1, 1 }, .packed_rows);
        try trial.run(.count_equal, count_equal, .{}, &.{ a, b }, &.{y});
        try trial.expectNear(y, .{ 0, 0, 0, 0 }, expected, 0);
    }
}
