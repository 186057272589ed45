//! a with b put (set) or added (acc) where params say, as if a were contiguous. One item: elements
//! of b may meet in one of a's.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const units = @import("units.zig");
const PlaceParams = @import("../ops.zig").arranging.PlaceParams;
const Tensor = abi.Tensor;

pub const set: abi.Kernel = .{ .plan = plan, .run = runSet };
pub const acc: abi.Kernel = .{ .plan = plan, .run = runAcc };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    const size = units.size(y);
    const strides = [_]u64{ size, size * y.ne[0], size * y.ne[0] * y.ne[1] };
    for (y.nb[0..3], strides, y.ne[0..3]) |nb, stride, n| if (nb != stride and n > 1) return;
    if (y.ne[3] > 1 and y.nb[3] != strides[2] * y.ne[2]) return;
    result.supported = true;
    result.items = if (y.ne[0] * y.rows() == 0) 0 else 1;
}

fn runSet(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    if (begin == end) return;
    copyWhole(task);
    const b = task.source(1);
    const size = units.size(b);
    for (0..b.rows()) |row| {
        units.move(placeOf(task, row), size, b.row(row), b.nb[0], @intCast(b.ne[0]), size);
    }
}

fn runAcc(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    if (begin == end) return;
    copyWhole(task);
    const b = task.source(1);
    for (0..b.rows()) |row| {
        const to: [*]align(1) f32 = @ptrCast(placeOf(task, row));
        const from = b.row(row);
        for (to[0..@intCast(b.ne[0])], 0..) |*value, i| {
            value.* += @as(*align(1) const f32, @ptrCast(from + i * b.nb[0])).*;
        }
    }
}

fn copyWhole(task: *const abi.Task) void {
    var both = [_]Tensor{ task.output().*, task.source(0).* };
    if (both[0].data == both[1].data) return;
    split.collapse(&both);
    const size = units.size(&both[0]);
    const n: usize = @intCast(both[0].ne[0]);
    for (0..both[0].rows()) |row| {
        units.move(both[0].row(row), both[0].nb[0], both[1].row(row), both[1].nb[0], n, size);
    }
}

fn placeOf(task: *const abi.Task, row: u64) [*]u8 {
    const p = task.as(PlaceParams);
    const at = units.outer(task.source(1), row);
    return task.output().data + p.offset + at[0] * p.nb1 + at[1] * p.nb2 + at[2] * p.nb3;
}

const Trial = @import("trial.zig").Trial;

test "set and acc change a part of a tensor and keep the rest" {
    const op_list = .{ .set, .acc };
    inline for (op_list) |op| for ([_]@import("trial.zig").Order{ .packed_rows, .gaps }) |order| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const a = trial.random(.f32, .{ 16, 5, 2, 1 }, order);
        const b = trial.random(.f32, .{ 8, 3, 2, 1 }, order);
        const y = trial.empty(.f32, a.ne, .packed_rows);
        const params: PlaceParams = .{ .nb1 = 64, .nb2 = 320, .nb3 = 640, .offset = 80 };
        const kernel = if (op == .set) set else acc;
        try trial.run(op, kernel, params, &.{ a, b }, &.{y});
        for (0..160) |index| {
            const at: [4]u64 = .{ index % 16, index / 16 % 5, index / 80, 0 };
            const inside = at[0] >= 4 and at[0] < 12 and at[1] >= 1 and at[1] < 4;
            var expected = trial.get(a, at);
            if (inside) {
                const change = trial.get(b, .{ at[0] - 4, at[1] - 1, at[2], 0 });
                expected = if (op == .set) change else expected + change;
            }
            try trial.expectNear(y, at, expected, 1e-6);
        }
    };
}
