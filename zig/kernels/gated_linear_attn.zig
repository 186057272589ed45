//! Gated linear attention (Yang et al. 2023, arXiv:2312.06635) of one head, with rows i of keys
//! and columns j of values:
//!   state[i][j] = state[i][j] gate[i] + k[i] v[j]
//!   y[j] += state[i][j] q[i] scale

const std = @import("std");
const abi = @import("abi.zig");
const lines = @import("lines.zig");
const recurrent = @import("../ops.zig").recurrent;
const simd = @import("simd.zig");
const token_state = @import("token_state.zig");
const Head = token_state.Head;
const Params = recurrent.GatedLinearAttnParams;

pub const gated_linear_attn: abi.Kernel = token_state.Recurrence(4, step).kernel;

fn step(h: *const Head, token: u64) void {
    const k = h.source(0, token);
    const q = h.source(2, token);
    const gate = h.source(3, token);
    const scale = h.task.as(Params).scale;
    const y = h.output(token);
    @memset(y[0..h.size], 0);
    for (0..h.size) |i| {
        lines.each(h.size, Row{
            .state = h.state(i),
            .v = h.source(1, token),
            .y = y,
            .k = k[i],
            .q = q[i] * scale,
            .gate = gate[i],
        });
    }
}

const Row = struct {
    state: [*]f32,
    v: [*]const f32,
    y: [*]f32,
    k: f32,
    q: f32,
    gate: f32,

    pub inline fn step(row: Row, comptime n: usize, i: usize) void {
        const splat = lines.splat;
        const kept = lines.load(n, row.state, i) * splat(n, row.gate);
        const state = simd.mulAdd(lines.load(n, row.v, i), splat(n, row.k), kept);
        lines.store(n, row.state, i, state);
        lines.store(n, row.y, i, simd.mulAdd(state, splat(n, row.q), lines.load(n, row.y, i)));
    }
};

test "gated_linear_attn follows its recurrence" {
    const Check = token_state.Check(4);
    for ([_]u64{ 1, 7, 16, 33, 64 }) |size| {
        var check: Check = .init(size);
        defer check.trial.deinit();
        const p: Params = .{ .scale = 0.25 };
        const op = gated_linear_attn;
        try check.trial.run(.gated_linear_attn, op, p, &check.sources, &check.outputs);
        try check.expect(struct {
            fn token(c: *Check, h: u64, t: u64, state: *[64][64]f64, y: *[64]f64) void {
                for (0..c.size) |i| for (0..c.size) |j| {
                    const added = c.get(0, i, h, t) * c.get(1, j, h, t);
                    state[i][j] = state[i][j] * c.get(3, i, h, t) + added;
                    y[j] += state[i][j] * c.get(2, i, h, t) * 0.25;
                };
            }
        }.token);
    }
}
