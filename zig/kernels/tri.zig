//! Parts of matrices: a triangle and zeros (tri), a diagonal from a row (diag), and everything
//! above a diagonal replaced by a value (diag_mask). One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const arranging = @import("../ops.zig").arranging;
const split = @import("split.zig");
const units = @import("units.zig");
const Tensor = abi.Tensor;
const Kind = arranging.TriKind;

pub const tri: abi.Kernel = .{ .plan = plan, .run = runTri };
pub const diag: abi.Kernel = .{ .plan = plan, .run = runDiag };
pub const diag_mask: abi.Kernel = .{ .plan = plan, .run = runMask };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    split.byRow(result, y.rows(), y.ne[0]);
}

fn runTri(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const y = task.output();
    const kind: Kind = @enumFromInt(task.as(arranging.TriParams).kind);
    for (begin..end) |row| {
        const i = row % y.ne[1];
        // The kept part is [first, last).
        const first, const last = switch (kind) {
            .upper_diag => .{ i, y.ne[0] },
            .upper => .{ i + 1, y.ne[0] },
            .lower_diag => .{ 0, i + 1 },
            .lower => .{ 0, i },
        };
        clear(y, row, 0, first);
        move(y, task.source(0), row, first, last);
        clear(y, row, last, y.ne[0]);
    }
}

fn runDiag(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    for (begin..end) |row| {
        const at = units.outer(y, row);
        clear(y, row, 0, y.ne[0]);
        const from = x.data + at[0] * x.nb[0] + at[1] * x.nb[2] + at[2] * x.nb[3];
        units.move(y.row(row) + at[0] * y.nb[0], y.nb[0], from, x.nb[0], 1, units.size(y));
    }
}

fn runMask(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const y = task.output();
    const p = task.as(arranging.DiagMaskParams);
    for (begin..end) |row| {
        const last = @min(y.ne[0], row % y.ne[1] + p.past + 1);
        move(y, task.source(0), row, 0, last);
        const to = y.row(row) + last * y.nb[0];
        units.move(to, y.nb[0], std.mem.asBytes(&p.value), 0, @intCast(y.ne[0] - last), 4);
    }
}

fn clear(y: *const Tensor, row: u64, begin: u64, end: u64) void {
    const n: usize = @intCast(end - begin);
    units.clear(y.row(row) + begin * y.nb[0], y.nb[0], n, units.size(y));
}

fn move(y: *const Tensor, x: *const Tensor, row: u64, begin: u64, end: u64) void {
    if (begin >= end) return;
    const to = y.row(row) + begin * y.nb[0];
    const from = x.row(row) + begin * x.nb[0];
    units.move(to, y.nb[0], from, x.nb[0], @intCast(end - begin), units.size(y));
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const Order = @import("trial.zig").Order;

test "tri keeps each of the four triangles" {
    for (std.enums.values(Kind)) |kind| for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 7, 7, 2, 2 }, order);
        const y = trial.empty(.f32, x.ne, .gaps);
        const params: arranging.TriParams = .{ .kind = @intFromEnum(kind) };
        try trial.run(.tri, tri, params, &.{x}, &.{y});
        var walk: Walk = .{ .ne = x.ne };
        while (walk.next()) |at| {
            const kept = switch (kind) {
                .upper_diag => at[0] >= at[1],
                .upper => at[0] > at[1],
                .lower_diag => at[0] <= at[1],
                .lower => at[0] < at[1],
            };
            try std.testing.expectEqual(if (kept) trial.get(x, at) else 0, trial.get(y, at));
        }
    };
}

test "diag puts a row on the diagonal" {
    for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.random(.f16, .{ 5, 1, 2, 3 }, order);
        const y = trial.empty(.f16, .{ 5, 5, 2, 3 }, order);
        try trial.run(.diag, diag, .{}, &.{x}, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            const value = trial.get(x, .{ at[0], 0, at[2], at[3] });
            const expected = if (at[0] == at[1]) value else 0;
            try std.testing.expectEqual(expected, trial.get(y, at));
        }
    }
}

test "diag_mask replaces what comes after each row's own place" {
    for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 9, 6, 2, 1 }, order);
        const y = trial.empty(.f32, x.ne, .packed_rows);
        const params: arranging.DiagMaskParams = .{ .past = 5, .value = -std.math.inf(f32) };
        try trial.run(.diag_mask, diag_mask, params, &.{x}, &.{y});
        var walk: Walk = .{ .ne = y.ne };
        while (walk.next()) |at| {
            const expected = if (at[0] > at[1] + 5) params.value else trial.get(x, at);
            try std.testing.expectEqual(expected, trial.get(y, at));
        }
    }
}
