//! The gated delta rule (Yang et al. 2024, arXiv:2412.06464) of one head, with rows j of values and
//! columns i of keys:
//!   state[j][i] = state[j][i] e^gate[i]
//!   d = (v[j] - state[j] . k) beta
//!   state[j][i] += d k[i]
//!   y[j] = state[j] . q / sqrt(size)
//! where the gate is one number or one per key. Query and key heads repeat as a whole: head h reads
//! head h mod their number. One item is some rows of one head of one sequence.

const std = @import("std");
const abi = @import("abi.zig");
const elementary = @import("elementary.zig");
const lines = @import("lines.zig");
const simd = @import("simd.zig");
const split = @import("split.zig");
const vector = @import("vector.zig");
const Tensor = abi.Tensor;

pub const gated_delta_net: abi.Kernel = .{ .plan = plan, .run = run };

/// Rows of a state that are computed together; they depend on each other in nothing.
const rows_together = 32;

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    for (task.sources[0..6]) |source| if (source.?.nb[0] != 4) return;
    for (task.outputs[0..2]) |output| if (output.?.nb[0] != 4) return;
    const v = task.source(2);
    const rows: u64 = @min(v.ne[0], rows_together);
    const cost = @max(1, v.ne[2]) * @max(1, rows * v.ne[0] * 4);
    split.byRow(result, parts(v) * v.ne[1] * v.ne[3], cost);
    result.thread_scratch = vector.padded(v.ne[0]) * @sizeOf(f32);
}

fn parts(v: *const Tensor) u64 {
    return std.math.divCeil(u64, v.ne[0], rows_together) catch unreachable;
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const v = task.source(2);
    for (begin..end) |index| {
        const first = index % parts(v) * rows_together;
        const part: Part = .{
            .task = task,
            .size = @intCast(v.ne[0]),
            .head = index / parts(v) % v.ne[1],
            .sequence = index / parts(v) / v.ne[1],
            .first = @intCast(first),
            .end = @intCast(@min(first + rows_together, v.ne[0])),
            .decay = @ptrCast(scratch),
        };
        part.scan();
    }
}

const Part = struct {
    task: *const abi.Task,
    size: usize,
    head: u64,
    sequence: u64,
    /// Rows [first, end) of the state.
    first: usize,
    end: usize,
    decay: [*]f32,

    fn scan(p: *const Part) void {
        const v = p.task.source(2);
        for (p.first..p.end) |row| {
            const from: [*]const f32 = p.stateRow(p.task.source(5), row);
            @memcpy(p.stateRow(p.task.outputs[1].?, row)[0..p.size], from);
        }
        for (0..v.ne[2]) |token| p.step(token);
    }

    fn stateRow(p: *const Part, state: *const Tensor, row: u64) [*]f32 {
        const offset = row * state.nb[1] + p.head * state.nb[2] + p.sequence * state.nb[3];
        return @ptrCast(@alignCast(state.data + offset));
    }

    fn line(p: *const Part, t: *const Tensor, token: u64) [*]f32 {
        const head = p.head % t.ne[1];
        const sequence = p.sequence / (p.task.source(2).ne[3] / t.ne[3]);
        const offset = head * t.nb[1] + token * t.nb[2] + sequence * t.nb[3];
        return @ptrCast(@alignCast(t.data + offset));
    }

    fn step(p: *const Part, token: u64) void {
        const scale = 1 / @sqrt(@as(f32, @floatFromInt(p.size)));
        p.fillDecay(token);
        const v = p.line(p.task.source(2), token);
        const beta = p.line(p.task.source(4), token)[0];
        const y = p.line(p.task.outputs[0].?, token);
        for (p.first..p.end) |j| {
            const row: Row = .{
                .state = p.stateRow(p.task.outputs[1].?, j),
                .decay = p.decay,
                .k = p.line(p.task.source(1), token),
                .q = p.line(p.task.source(0), token),
            };
            const known = lines.sum(p.size, Decayed{ .row = row });
            const change = (v[j] - known) * beta;
            y[j] = scale * lines.sum(p.size, Changed{ .row = row, .change = change });
        }
    }

    fn fillDecay(p: *const Part, token: u64) void {
        const gate = p.task.source(3);
        const from = p.line(gate, token);
        const decay = p.decay[0..vector.padded(p.size)];
        if (gate.ne[0] == 1) {
            return @memset(decay, elementary.exp(vector.splat(from[0]))[0]);
        }
        var i: usize = 0;
        while (i < p.size) : (i += vector.lanes) {
            const n = p.size - i;
            const whole = n >= vector.lanes;
            const v = if (whole) vector.load(from + i) else vector.loadPart(from + i, n);
            vector.store(decay.ptr + i, elementary.exp(v));
        }
    }
};

const Row = struct {
    state: [*]f32,
    decay: [*]const f32,
    k: [*]const f32,
    q: [*]const f32,
};

/// Decays the state; the terms are those of its product with k.
const Decayed = struct {
    row: Row,

    pub inline fn term(d: Decayed, comptime n: usize, i: usize) lines.Lane(n) {
        const state = lines.load(n, d.row.state, i) * lines.load(n, d.row.decay, i);
        lines.store(n, d.row.state, i, state);
        return state * lines.load(n, d.row.k, i);
    }
};

/// Changes the state along k; the terms are those of its product with q.
const Changed = struct {
    row: Row,
    change: f32,

    pub inline fn term(c: Changed, comptime n: usize, i: usize) lines.Lane(n) {
        const change = lines.splat(n, c.change);
        const before = lines.load(n, c.row.state, i);
        const state = simd.mulAdd(lines.load(n, c.row.k, i), change, before);
        lines.store(n, c.row.state, i, state);
        return state * lines.load(n, c.row.q, i);
    }
};

const Trial = @import("trial.zig").Trial;

fn check(size: u64, key_heads: u64, single_gate: bool) !void {
    var trial: Trial = .init(size);
    defer trial.deinit();
    const heads = 4;
    const tokens = 3;
    const q = trial.random(.f32, .{ size, key_heads, tokens, 1 }, .gaps);
    const k = trial.random(.f32, .{ size, key_heads, tokens, 1 }, .gaps);
    const v = trial.random(.f32, .{ size, heads, tokens, 2 }, .gaps);
    const gate = trial.random(.f32, .{ if (single_gate) 1 else size, heads, tokens, 2 }, .gaps);
    const beta = trial.random(.f32, .{ 1, heads, tokens, 2 }, .gaps);
    const state = trial.random(.f32, .{ size, size, heads, 2 }, .gaps);
    for (0..size * key_heads * tokens) |i| {
        const at: [4]u64 = .{ i % size, i / size % key_heads, i / size / key_heads, 0 };
        const length = @sqrt(@as(f64, @floatFromInt(size)));
        trial.set(k, at, trial.get(k, at) / length);
    }
    const y = trial.empty(.f32, v.ne, .gaps);
    const last = trial.empty(.f32, state.ne, .gaps);
    const sources = .{ q, k, v, gate, beta, state };
    try trial.run(.gated_delta_net, gated_delta_net, .{}, &sources, &.{ y, last });
    for (0..2) |s| for (0..heads) |h| for (0..size) |j| {
        var line: [100]f64 = undefined;
        for (0..size) |i| line[i] = trial.get(state, .{ i, j, h, s });
        for (0..tokens) |t| {
            var known: f64 = 0;
            for (0..size) |i| {
                line[i] *= @exp(trial.get(gate, .{ if (single_gate) 0 else i, h, t, s }));
                known += line[i] * trial.get(k, .{ i, h % key_heads, t, 0 });
            }
            const strength = trial.get(beta, .{ 0, h, t, s });
            const change = (trial.get(v, .{ j, h, t, s }) - known) * strength;
            var expected: f64 = 0;
            for (0..size) |i| {
                line[i] += change * trial.get(k, .{ i, h % key_heads, t, 0 });
                expected += line[i] * trial.get(q, .{ i, h % key_heads, t, 0 });
            }
            expected /= @sqrt(@as(f64, @floatFromInt(size)));
            try trial.expectNear(y, .{ j, h, t, s }, expected, 2e-4);
        }
        for (0..size) |i| try trial.expectNear(last, .{ i, j, h, s }, line[i], 2e-4);
    };
}

test "gated_delta_net of any size, with one gate and with one per key, and repeated heads" {
    for ([_]u64{ 1, 7, 16, 40, 64 }) |size| {
        try check(size, 4, true);
        try check(size, 2, false);
    }
}
