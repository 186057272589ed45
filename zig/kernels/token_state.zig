//! What recurrent ops over [size, heads, tokens] share: one item is one head of one sequence, whose
//! state of [size, size] is copied to where the last one will be and updated there.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const Tensor = abi.Tensor;

pub const Head = struct {
    task: *const abi.Task,
    size: usize,
    head: u64,
    sequence: u64,
    /// Tokens [first, end) of all belong to the sequence.
    first: u64,
    end: u64,

    /// This head's line of a token, in any source or in the first output.
    pub fn line(h: *const Head, t: *const Tensor, token: u64) [*]f32 {
        return @ptrCast(@alignCast(t.data + h.head * t.nb[1] + token * t.nb[2]));
    }

    pub fn source(h: *const Head, index: usize, token: u64) [*]const f32 {
        return h.line(h.task.source(index), token);
    }

    pub fn output(h: *const Head, token: u64) [*]f32 {
        return h.line(h.task.outputs[0].?, token);
    }

    pub fn state(h: *const Head, row: u64) [*]f32 {
        const s = h.task.outputs[1].?;
        const offset = row * s.nb[1] + h.head * s.nb[2] + h.sequence * s.nb[3];
        return @ptrCast(@alignCast(s.data + offset));
    }
};

/// A kernel from a function that computes one token of a head; `state_at` is the state's source.
pub fn Recurrence(
    comptime state_at: usize,
    comptime step: *const fn (head: *const Head, token: u64) void,
) type {
    return struct {
        pub const kernel: abi.Kernel = .{ .plan = plan, .run = run };

        fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
            for (task.sources[0 .. state_at + 1]) |s| if (s.?.nb[0] != 4) return;
            for (task.outputs[0..2]) |output| if (output.?.nb[0] != 4) return;
            const x = task.source(0);
            const sequences = task.source(state_at).ne[3];
            const tokens = @max(1, x.ne[2] / @max(1, sequences));
            split.byRow(result, x.ne[1] * sequences, tokens * @max(1, x.ne[0] * x.ne[0] * 3));
        }

        fn run(
            task: *const abi.Task,
            begin: u64,
            end: u64,
            _: abi.Scratch,
        ) callconv(.c) void {
            const x = task.source(0);
            const state = task.source(state_at);
            const tokens = x.ne[2] / state.ne[3];
            for (begin..end) |index| {
                const sequence = index / x.ne[1];
                const head: Head = .{
                    .task = task,
                    .size = @intCast(x.ne[0]),
                    .head = index % x.ne[1],
                    .sequence = sequence,
                    .first = sequence * tokens,
                    .end = (sequence + 1) * tokens,
                };
                copyState(&head, state);
                for (head.first..head.end) |token| step(&head, token);
            }
        }
    };
}

fn copyState(head: *const Head, state: *const Tensor) void {
    for (0..head.size) |row| {
        const offset = row * state.nb[1] + head.head * state.nb[2] + head.sequence * state.nb[3];
        const from: [*]const f32 = @ptrCast(@alignCast(state.data + offset));
        @memcpy(head.state(row)[0..head.size], from);
    }
}

const Trial = @import("trial.zig").Trial;

/// Sources and outputs of one case, and an f64 copy of each head's state.
pub fn Check(comptime count: usize) type {
    return struct {
        const Self = @This();

        trial: Trial,
        size: u64,
        /// Like x, then the state.
        sources: [count + 1]?Tensor,
        outputs: [2]Tensor,

        pub const heads = 3;
        pub const tokens = 6;
        pub const sequences = 2;

        pub fn init(size: u64) Self {
            var trial: Trial = .init(size);
            var sources: [count + 1]?Tensor = undefined;
            for (sources[0..count]) |*s| {
                s.* = trial.random(.f32, .{ size, heads, tokens, 1 }, .gaps);
                shrink(&trial, s.*.?);
            }
            sources[count] = trial.random(.f32, .{ size, size, heads, sequences }, .gaps);
            const y = trial.empty(.f32, .{ size, heads, tokens, 1 }, .gaps);
            const last = trial.empty(.f32, .{ size, size, heads, sequences }, .gaps);
            return .{ .trial = trial, .size = size, .sources = sources, .outputs = .{ y, last } };
        }

        /// Keeps states from growing beyond what f32 can follow.
        fn shrink(trial: *Trial, t: Tensor) void {
            var walk: @import("trial.zig").Walk = .{ .ne = t.ne };
            while (walk.next()) |at| trial.set(t, at, trial.get(t, at) / 4);
        }

        pub fn get(c: *Self, source: usize, i: u64, head: u64, token: u64) f64 {
            return c.trial.get(c.sources[source].?, .{ i, head, token, 0 });
        }

        /// Runs `expected` (one token on a state of [size][size], giving y) for every token.
        pub fn expect(
            c: *Self,
            comptime expected: fn (*Self, u64, u64, *[64][64]f64, *[64]f64) void,
        ) !void {
            for (0..sequences) |sequence| for (0..heads) |head| {
                var state: [64][64]f64 = undefined;
                for (0..c.size) |row| for (0..c.size) |i| {
                    state[row][i] = c.trial.get(c.sources[count].?, .{ i, row, head, sequence });
                };
                const first = sequence * tokens / sequences;
                for (first..first + tokens / sequences) |token| {
                    var y: [64]f64 = @splat(0);
                    expected(c, head, token, &state, &y);
                    for (0..c.size) |i| {
                        try c.trial.expectNear(c.outputs[0], .{ i, head, token, 0 }, y[i], 2e-5);
                    }
                }
                for (0..c.size) |row| for (0..c.size) |i| {
                    const at: [4]u64 = .{ i, row, head, sequence };
                    try c.trial.expectNear(c.outputs[1], at, state[row][i], 2e-5);
                };
            };
        }
    };
}
