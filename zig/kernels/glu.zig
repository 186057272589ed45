//! Gated linear units (Shazeer 2020, arXiv:2002.05202): y = act(gate) * up.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const activations = @import("activations.zig");
const elementary = @import("elementary.zig");
const elementwise = ops.elementwise;
const map = @import("map.zig");
const vector = @import("vector.zig");
const V = vector.V;

pub const glu: abi.Kernel = .{ .plan = plan, .run = run };
pub const swiglu_oai: abi.Kernel = .{ .plan = plan, .run = runOai };
pub const swiglu_clamp: abi.Kernel = .{ .plan = plan, .run = runClamp };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    map.plan(result, task, 2, 3);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    switch (@as(ops.GluKind, @enumFromInt(task.as(ops.GluParams).kind))) {
        .swiglu => map.run(task, 2, {}, map.loop(2, void, swiglu), begin, end),
        .reglu => map.run(task, 2, {}, map.loop(2, void, reglu), begin, end),
        .geglu => map.run(task, 2, {}, map.loop(2, void, geglu), begin, end),
        .geglu_erf => map.run(task, 2, {}, map.loop(2, void, gegluErf), begin, end),
        .geglu_quick => map.run(task, 2, {}, map.loop(2, void, gegluQuick), begin, end),
    }
}

inline fn swiglu(_: void, gate: V, up: V) V {
    return elementary.silu(gate) * up;
}

inline fn reglu(_: void, gate: V, up: V) V {
    return activations.relu(gate) * up;
}

inline fn geglu(_: void, gate: V, up: V) V {
    return activations.gelu(gate) * up;
}

inline fn gegluErf(_: void, gate: V, up: V) V {
    return activations.geluErf(gate) * up;
}

inline fn gegluQuick(_: void, gate: V, up: V) V {
    return activations.geluQuick(gate) * up;
}

fn runOai(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const p = task.as(elementwise.SwigluOaiParams).*;
    const apply = comptime map.loop(2, elementwise.SwigluOaiParams, swigluOai);
    map.run(task, 2, p, apply, begin, end);
}

inline fn swigluOai(p: elementwise.SwigluOaiParams, gate: V, up: V) V {
    const g = activations.clamp(gate, -std.math.inf(f32), p.limit);
    const u = activations.clamp(up, -p.limit, p.limit);
    const one = vector.splat(1);
    return elementary.atLeast(g, -1e4) * elementary.sigmoid(g * vector.splat(p.alpha)) * (u + one);
}

fn runClamp(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    const limit = task.as(elementwise.SwigluClampParams).limit;
    map.run(task, 2, limit, map.loop(2, f32, swigluClamp), begin, end);
}

inline fn swigluClamp(limit: f32, gate: V, up: V) V {
    const g = activations.clamp(gate, -std.math.inf(f32), limit);
    return elementary.silu(g) * activations.clamp(up, -limit, limit);
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "each kind is its activation of the gate, times up" {
    const exact = @import("unary.zig").exact;
    const Kind = elementwise.UnaryKind;
    for ([_]struct { ops.GluKind, Kind }{
        .{ .reglu, .relu },
        .{ .geglu, .gelu },
        .{ .geglu_erf, .gelu_erf },
        .{ .geglu_quick, .gelu_quick },
        .{ .swiglu, .silu },
    }) |pair| {
        var trial: Trial = .init(8);
        defer trial.deinit();
        // Both halves of one row, as where one product gives gate and up.
        const whole = trial.random(.f32, .{ 66, 5, 1, 1 }, .packed_rows);
        var gate = whole;
        gate.ne[0] = 33;
        var up = gate;
        up.data += 33 * 4;
        const y = trial.empty(.f32, gate.ne, .packed_rows);
        const params: ops.GluParams = .{ .kind = @intFromEnum(pair[0]) };
        try trial.run(.glu, glu, params, &.{ gate, up }, &.{y});
        var walk: Walk = .{ .ne = gate.ne };
        while (walk.next()) |at| {
            const expected = exact(pair[1], trial.get(gate, at)) * trial.get(up, at);
            try trial.expectNear(y, at, expected, 1e-6);
        }
    }
}

test "swiglu_oai and swiglu_clamp limit gate and up" {
    var trial: Trial = .init(8);
    defer trial.deinit();
    const gate = trial.random(.f32, .{ 48, 5, 1, 1 }, .gaps);
    const up = trial.random(.f32, .{ 48, 5, 1, 1 }, .packed_rows);
    const y = trial.empty(.f32, gate.ne, .packed_rows);
    const oai: elementwise.SwigluOaiParams = .{ .alpha = 1.702, .limit = 0.75 };
    try trial.run(.swiglu_oai, swiglu_oai, oai, &.{ gate, up }, &.{y});
    var walk: Walk = .{ .ne = gate.ne };
    while (walk.next()) |at| {
        const g = @min(trial.get(gate, at), 0.75);
        const u = std.math.clamp(trial.get(up, at), -0.75, 0.75);
        try trial.expectNear(y, at, g / (1 + @exp(-g * oai.alpha)) * (u + 1), 1e-6);
    }
    const limited: elementwise.SwigluClampParams = .{ .limit = 0.75 };
    try trial.run(.swiglu_clamp, swiglu_clamp, limited, &.{ gate, up }, &.{y});
    walk = .{ .ne = gate.ne };
    while (walk.next()) |at| {
        const g = @min(trial.get(gate, at), 0.75);
        const u = std.math.clamp(trial.get(up, at), -0.75, 0.75);
        try trial.expectNear(y, at, g / (1 + @exp(-g)) * u, 1e-6);
    }
}

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
