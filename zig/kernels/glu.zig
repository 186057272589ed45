//! Gated linear units (Shazeer 2020, arXiv:2002.05202): y = act(gate) * up.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const elementary = @import("elementary.zig");
const map = @import("map.zig");
const V = @import("vector.zig").V;

pub const glu: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    map.plan(result, task, 2, 3);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    switch (@as(ops.GluKind, @enumFromInt(task.as(ops.GluParams).kind))) {
        .swiglu => map.run(task, 2, {}, swiglu, begin, end),
    }
}

inline fn swiglu(_: void, gate: V, up: V) V {
    return elementary.silu(gate) * up;
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "swiglu is silu(gate) * up for every float dtype and order" {
    inline for (.{ .f32, .f16, .bf16 }) |dtype| {
        inline for (.{ .packed_rows, .gaps, .permuted }) |order| {
            for ([_][4]u64{ .{ 37, 3, 2, 2 }, .{ 5001, 2, 1, 1 }, .{ 7, 0, 1, 1 } }) |ne| {
                var trial: Trial = .init(3);
                defer trial.deinit();
                const gate = trial.random(dtype, ne, order);
                const up = trial.random(dtype, ne, order);
                const y = trial.empty(dtype, ne, order);
                const params: ops.GluParams = .{ .kind = 0 };
                try trial.run(.glu, glu, params, &.{ gate, up }, &.{y});
                var walk: Walk = .{ .ne = ne };
                while (walk.next()) |at| {
                    const g = trial.get(gate, at);
                    const expected = g / (1 + @exp(-g)) * trial.get(up, at);
                    try trial.expectNear(y, at, expected, 1e-6);
                }
            }
        }
    }
}

test "swiglu may overwrite its gate" {
    var trial: Trial = .init(3);
    defer trial.deinit();
    const gate = trial.of(.f32, .{ 4, 1, 1, 1 }, &.{ 0, 1, -std.math.inf(f64), 100 });
    const up = trial.of(.f32, .{ 4, 1, 1, 1 }, &.{ 2, 2, 2, 2 });
    const params: ops.GluParams = .{ .kind = 0 };
    try trial.run(.glu, glu, params, &.{ gate, up }, &.{gate});
    try std.testing.expectEqual(0, trial.get(gate, .{ 0, 0, 0, 0 }));
    try std.testing.expectApproxEqAbs(1.4621171572600098, trial.get(gate, .{ 1, 0, 0, 0 }), 1e-6);
    try std.testing.expectEqual(0, trial.get(gate, .{ 2, 0, 0, 0 }));
    try std.testing.expectEqual(200, trial.get(gate, .{ 3, 0, 0, 0 }));
}
