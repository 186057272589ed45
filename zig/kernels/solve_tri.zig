//! Solves a x = b for a lower triangular a, by forward substitution. One item is some columns of
//! one matrix.

const std = @import("std");
const abi = @import("abi.zig");
const lines = @import("lines.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const Tensor = abi.Tensor;

pub const solve_tri: abi.Kernel = .{ .plan = plan, .run = run };

const columns_together = 64;

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const b = task.source(1);
    if (b.nb[0] != 4 or task.output().nb[0] != 4) return;
    const columns: u64 = @min(b.ne[0], columns_together);
    split.byRow(result, pieces(b) * b.ne[2] * b.ne[3], b.ne[1] * b.ne[1] * columns);
}

fn pieces(b: *const Tensor) u64 {
    return std.math.divCeil(u64, b.ne[0], columns_together) catch unreachable;
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const a = task.source(0);
    const b = task.source(1);
    const x = task.output();
    for (begin..end) |index| {
        const first = index % pieces(b) * columns_together;
        const j = index / pieces(b) % b.ne[2];
        const k = index / pieces(b) / b.ne[2];
        const n: usize = @intCast(@min(columns_together, b.ne[0] - first));
        const a_plane = a.data + j * a.nb[2] + k * a.nb[3];
        const b_plane = b.data + j * b.nb[2] + k * b.nb[3] + first * 4;
        const x_plane = x.data + j * x.nb[2] + k * x.nb[3] + first * 4;
        for (0..@intCast(b.ne[1])) |row| {
            const from: [*]const f32 = @ptrCast(@alignCast(b_plane + row * b.nb[1]));
            const to: [*]f32 = @ptrCast(@alignCast(x_plane + row * x.nb[1]));
            var sums: [columns_together]f32 = undefined;
            @memcpy(sums[0..n], from);
            for (0..row) |earlier| {
                lines.each(n, Subtract{
                    .sums = &sums,
                    .x = @ptrCast(@alignCast(x_plane + earlier * x.nb[1])),
                    .factor = -element(a, a_plane, earlier, row),
                });
            }
            const diagonal = element(a, a_plane, row, row);
            for (to[0..n], sums[0..n]) |*value, sum| value.* = sum / diagonal;
        }
    }
}

fn element(a: *const Tensor, plane: [*]const u8, i: u64, row: u64) f32 {
    return @as(*const f32, @ptrCast(@alignCast(plane + i * a.nb[0] + row * a.nb[1]))).*;
}

const Subtract = struct {
    sums: [*]f32,
    x: [*]const f32,
    factor: f32,

    pub inline fn step(s: Subtract, comptime n: usize, i: usize) void {
        const factor = lines.splat(n, s.factor);
        const sum = simd.mulAdd(lines.load(n, s.x, i), factor, lines.load(n, s.sums, i));
        lines.store(n, s.sums, i, sum);
    }
};

const Trial = @import("trial.zig").Trial;

test "solve_tri: a x is b again, whatever stands above the diagonal" {
    for ([_]u64{ 1, 6, 30 }) |n| for ([_]u64{ 1, 5, 100 }) |columns| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
            var trial: Trial = .init(n);
            defer trial.deinit();
            const a = trial.random(.f32, .{ n, n, 2, 3 }, order);
            for (0..n) |i| for (0..6) |batch| {
                trial.set(a, .{ i, i, batch % 2, batch / 2 }, 6 + @as(f64, @floatFromInt(i)));
                const above: [4]u64 = .{ n - 1, 0, batch % 2, batch / 2 };
                if (n > 1) trial.set(a, above, std.math.nan(f64));
            };
            const b = trial.random(.f32, .{ columns, n, 2, 3 }, .gaps);
            const x = trial.empty(.f32, b.ne, .gaps);
            try trial.run(.solve_tri, solve_tri, .{}, &.{ a, b }, &.{x});
            for (0..6) |batch| for (0..n) |row| for (0..columns) |c| {
                var sum: f64 = 0;
                for (0..row + 1) |i| {
                    const weight = trial.get(a, .{ i, row, batch % 2, batch / 2 });
                    sum += weight * trial.get(x, .{ c, i, batch % 2, batch / 2 });
                }
                const expected = trial.get(b, .{ c, row, batch % 2, batch / 2 });
                try std.testing.expectApproxEqAbs(expected, sum, 1e-5);
            };
        }
    };
}
