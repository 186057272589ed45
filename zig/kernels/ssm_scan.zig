//! The selective scan of state space models (Gu and Dao 2023, arXiv:2312.00752; Dao and Gu 2024,
//! arXiv:2405.21060). For each token, with d = softplus(dt):
//!   state = state e^(d a) + d x b
//!   y = state . c
//! where each head's a is one number or one per element of the state. One item is one head of one
//! sequence.

const std = @import("std");
const abi = @import("abi.zig");
const activations = @import("activations.zig");
const elementary = @import("elementary.zig");
const lines = @import("lines.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const vector = @import("vector.zig");

pub const ssm_scan: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    for (task.sources[0..6]) |source| if (source.?.nb[0] != 4) return;
    for (task.outputs[0..2]) |output| if (output.?.nb[0] != 4) return;
    const x = task.source(1);
    const size = task.source(0).ne[0];
    const per_token = x.ne[0] * size * 3;
    split.byRow(result, x.ne[1] * x.ne[3], @max(1, x.ne[2]) * @max(1, per_token));
    result.thread_scratch = vector.padded(size) * @sizeOf(f32);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const x = task.source(1);
    for (begin..end) |index| {
        const head: Head = .{
            .task = task,
            .head = index % x.ne[1],
            .sequence = index / x.ne[1],
            .size = @intCast(task.source(0).ne[0]),
            .decay = @ptrCast(scratch),
        };
        head.scan();
    }
}

const Head = struct {
    task: *const abi.Task,
    head: u64,
    sequence: u64,
    size: usize,
    /// e^(d a) for each element of the state.
    decay: [*]f32,

    fn scan(h: *const Head) void {
        const x = h.task.source(1);
        if (!h.startState()) return h.clear();
        for (0..x.ne[2]) |token| h.step(token);
    }

    /// Copies the slot's state to where the last one will be.
    fn startState(h: *const Head) bool {
        const state = h.task.source(0);
        const slots = h.task.source(6);
        const place = slots.data + h.sequence * slots.nb[0];
        const slot = @as(*const i32, @ptrCast(@alignCast(place))).*;
        if (slot < 0 or slot >= state.ne[3]) {
            h.task.status.badIndex(h.task.op, slot, state.ne[3]);
            return false;
        }
        for (0..state.ne[1]) |i| {
            const offset = i * state.nb[1] + h.head * state.nb[2];
            const from = state.data + offset + @as(u64, @intCast(slot)) * state.nb[3];
            @memcpy(@as([*]u8, @ptrCast(h.stateRow(i)))[0 .. h.size * 4], from);
        }
        return true;
    }

    fn clear(h: *const Head) void {
        const y = h.task.outputs[0].?;
        for (0..y.ne[0]) |i| @memset(h.stateRow(i)[0..h.size], 0);
        for (0..y.ne[2]) |token| @memset(h.lineOf(y, token)[0..@intCast(y.ne[0])], 0);
    }

    fn stateRow(h: *const Head, i: u64) [*]f32 {
        const s = h.task.outputs[1].?;
        const offset = i * s.nb[1] + h.head * s.nb[2] + h.sequence * s.nb[3];
        return @ptrCast(@alignCast(s.data + offset));
    }

    /// This head's values of x or y.
    fn lineOf(h: *const Head, t: *const abi.Tensor, token: u64) [*]f32 {
        const offset = h.head * t.nb[1] + token * t.nb[2] + h.sequence * t.nb[3];
        return @ptrCast(@alignCast(t.data + offset));
    }

    /// The b or c of this head's group.
    fn groupOf(h: *const Head, t: *const abi.Tensor, token: u64) [*]const f32 {
        const group = h.head / (h.task.source(1).ne[1] / t.ne[1]);
        const offset = group * t.nb[1] + token * t.nb[2] + h.sequence * t.nb[3];
        return @ptrCast(@alignCast(t.data + offset));
    }

    fn step(h: *const Head, token: u64) void {
        const x = h.task.source(1);
        const d = h.stepSize(token);
        h.fillDecay(d);
        const from = h.lineOf(x, token);
        const to = h.lineOf(h.task.outputs[0].?, token);
        const b = h.groupOf(h.task.source(4), token);
        const c = h.groupOf(h.task.source(5), token);
        for (0..@intCast(x.ne[0])) |i| {
            to[i] = lines.sum(h.size, Update{
                .state = h.stateRow(i),
                .decay = h.decay,
                .b = b,
                .c = c,
                .input = from[i] * d,
            });
        }
    }

    fn stepSize(h: *const Head, token: u64) f32 {
        const dt = h.task.source(2);
        const place = dt.data + h.head * dt.nb[0] + token * dt.nb[1] + h.sequence * dt.nb[2];
        const value = @as(*const f32, @ptrCast(@alignCast(place))).*;
        return activations.softplus(vector.splat(value))[0];
    }

    fn fillDecay(h: *const Head, d: f32) void {
        const a = h.task.source(3);
        const row: [*]const f32 = @ptrCast(@alignCast(a.data + h.head * a.nb[1]));
        const decay = h.decay[0..vector.padded(h.size)];
        if (a.ne[0] == 1) {
            return @memset(decay, elementary.exp(vector.splat(row[0] * d))[0]);
        }
        var i: usize = 0;
        while (i < h.size) : (i += vector.lanes) {
            const n = h.size - i;
            const whole = n >= vector.lanes;
            const v = if (whole) vector.load(row + i) else vector.loadPart(row + i, n);
            vector.store(decay.ptr + i, elementary.exp(v * vector.splat(d)));
        }
    }
};

const Update = struct {
    state: [*]f32,
    decay: [*]const f32,
    b: [*]const f32,
    c: [*]const f32,
    input: f32,

    pub inline fn term(u: Update, comptime n: usize, i: usize) lines.Lane(n) {
        const kept = lines.load(n, u.state, i) * lines.load(n, u.decay, i);
        const state = simd.mulAdd(lines.load(n, u.b, i), lines.splat(n, u.input), kept);
        lines.store(n, u.state, i, state);
        return state * lines.load(n, u.c, i);
    }
};

const Trial = @import("trial.zig").Trial;

const Case = struct {
    size: u64,
    head_dim: u64,
    heads: u64,
    groups: u64,
    tokens: u64,
    /// One rate per head.
    single: bool = false,
};

fn check(case: Case) !void {
    var trial: Trial = .init(case.size);
    defer trial.deinit();
    const sequences = 2;
    const state = trial.random(.f32, .{ case.size, case.head_dim, case.heads, 3 }, .gaps);
    const x = trial.random(.f32, .{ case.head_dim, case.heads, case.tokens, sequences }, .gaps);
    const dt = trial.random(.f32, .{ case.heads, case.tokens, sequences, 1 }, .packed_rows);
    const a = trial.random(.f32, .{ if (case.single) 1 else case.size, case.heads, 1, 1 }, .gaps);
    const group_ne: [4]u64 = .{ case.size, case.groups, case.tokens, sequences };
    const b = trial.random(.f32, group_ne, .gaps);
    const c = trial.random(.f32, group_ne, .packed_rows);
    const slots = trial.of(.i32, .{ 2, 1, 1, 1 }, &.{ 2, 0 });
    const y = trial.empty(.f32, x.ne, .gaps);
    const last = trial.empty(.f32, .{ case.size, case.head_dim, case.heads, 2 }, .gaps);
    const sources = .{ state, x, dt, a, b, c, slots };
    try trial.run(.ssm_scan, ssm_scan, .{}, &sources, &.{ y, last });
    for (0..sequences) |s| for (0..case.heads) |h| for (0..case.head_dim) |i| {
        var line: [200]f64 = undefined;
        for (line[0..case.size], 0..) |*value, n| {
            value.* = trial.get(state, .{ n, i, h, if (s == 0) 2 else 0 });
        }
        const group = h / (case.heads / case.groups);
        for (0..case.tokens) |t| {
            const d = std.math.log1p(@exp(trial.get(dt, .{ h, t, s, 0 })));
            var expected: f64 = 0;
            for (line[0..case.size], 0..) |*value, n| {
                const rate = trial.get(a, .{ if (case.single) 0 else n, h, 0, 0 });
                const input = trial.get(x, .{ i, h, t, s }) * trial.get(b, .{ n, group, t, s });
                value.* = value.* * @exp(d * rate) + d * input;
                expected += value.* * trial.get(c, .{ n, group, t, s });
            }
            const size = @max(1, @abs(expected));
            try trial.expectNear(y, .{ i, h, t, s }, expected, 1e-4 * size);
        }
        for (line[0..case.size], 0..) |value, n| {
            try trial.expectNear(last, .{ n, i, h, s }, value, 1e-4);
        }
    };
}

test "ssm_scan of one rate per head and of one per element" {
    try check(.{ .size = 16, .head_dim = 1, .heads = 12, .groups = 1, .tokens = 5 });
    try check(.{ .size = 37, .head_dim = 8, .heads = 4, .groups = 2, .tokens = 3, .single = true });
    try check(.{ .size = 5, .head_dim = 3, .heads = 2, .groups = 2, .tokens = 0 });
}

test "a slot that does not exist is a fault" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const state = trial.random(.f32, .{ 4, 1, 1, 2 }, .packed_rows);
    const x = trial.random(.f32, .{ 1, 1, 1, 1 }, .packed_rows);
    const b = trial.random(.f32, .{ 4, 1, 1, 1 }, .packed_rows);
    const slots = trial.of(.i32, .{ 1, 1, 1, 1 }, &.{2});
    const y = trial.empty(.f32, x.ne, .packed_rows);
    const last = trial.empty(.f32, .{ 4, 1, 1, 1 }, .packed_rows);
    const sources = .{ state, x, x, b, b, b, slots };
    try trial.run(.ssm_scan, ssm_scan, .{}, &sources, &.{ y, last });
    try std.testing.expectEqual(1, trial.status.fault);
    try trial.expectNear(y, .{ 0, 0, 0, 0 }, 0, 0);
}
