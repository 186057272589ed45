//! The recurrences of RWKV-6 (Peng et al. 2024, arXiv:2404.05892) and RWKV-7 (Peng et al. 2025,
//! arXiv:2503.14456) for one head, with a state of rows i and columns j.
//!
//! RWKV-6, rows are keys and columns values:
//!   y[j] += (state[i][j] + first[i] k[i] v[j]) r[i]
//!   state[i][j] = state[i][j] decay[i] + k[i] v[j]
//! RWKV-7, rows are values and columns keys:
//!   state[i][j] = state[i][j] w[j] + v[i] k[j] + (state[i] . a) b[j]
//!   y[i] = state[i] . r

const std = @import("std");
const abi = @import("abi.zig");
const lines = @import("lines.zig");
const simd = @import("simd.zig");
const token_state = @import("token_state.zig");
const Head = token_state.Head;

pub const rwkv_wkv6: abi.Kernel = token_state.Recurrence(5, step6).kernel;
pub const rwkv_wkv7: abi.Kernel = token_state.Recurrence(6, step7).kernel;

fn step6(h: *const Head, token: u64) void {
    const k = h.source(0, token);
    const v = h.source(1, token);
    const r = h.source(2, token);
    const first = h.source(3, 0);
    const decay = h.source(4, token);
    const y = h.output(token);
    @memset(y[0..h.size], 0);
    for (0..h.size) |i| {
        lines.each(h.size, Row6{
            .state = h.state(i),
            .v = v,
            .y = y,
            .k = k[i],
            .r = r[i],
            .first = first[i],
            .decay = decay[i],
        });
    }
}

const Row6 = struct {
    state: [*]f32,
    v: [*]const f32,
    y: [*]f32,
    k: f32,
    r: f32,
    first: f32,
    decay: f32,

    pub inline fn step(row: Row6, comptime n: usize, i: usize) void {
        const splat = lines.splat;
        const product = lines.load(n, row.v, i) * splat(n, row.k);
        const before = lines.load(n, row.state, i);
        const seen = simd.mulAdd(product, splat(n, row.first), before);
        lines.store(n, row.y, i, simd.mulAdd(seen, splat(n, row.r), lines.load(n, row.y, i)));
        lines.store(n, row.state, i, simd.mulAdd(before, splat(n, row.decay), product));
    }
};

fn step7(h: *const Head, token: u64) void {
    const r = h.source(0, token);
    const v = h.source(3, token);
    const a = h.source(4, token);
    const y = h.output(token);
    for (0..h.size) |i| {
        const state = h.state(i);
        y[i] = lines.sum(h.size, Row7{
            .state = state,
            .r = r,
            .w = h.source(1, token),
            .k = h.source(2, token),
            .b = h.source(5, token),
            .v = v[i],
            .removed = lines.dot(state, a, h.size),
        });
    }
}

const Row7 = struct {
    state: [*]f32,
    r: [*]const f32,
    w: [*]const f32,
    k: [*]const f32,
    b: [*]const f32,
    v: f32,
    removed: f32,

    pub inline fn term(row: Row7, comptime n: usize, i: usize) lines.Lane(n) {
        const kept = lines.load(n, row.state, i) * lines.load(n, row.w, i);
        const added = simd.mulAdd(lines.load(n, row.k, i), lines.splat(n, row.v), kept);
        const removed = lines.splat(n, row.removed);
        const state = simd.mulAdd(lines.load(n, row.b, i), removed, added);
        lines.store(n, row.state, i, state);
        return state * lines.load(n, row.r, i);
    }
};

test "rwkv_wkv6 follows its recurrence" {
    const Check = token_state.Check(5);
    for ([_]u64{ 1, 7, 16, 33, 64 }) |size| {
        var check: Check = .init(size);
        defer check.trial.deinit();
        // `first` is the same for all tokens.
        check.sources[3].?.ne[2] = 1;
        try check.trial.run(.rwkv_wkv6, rwkv_wkv6, .{}, &check.sources, &check.outputs);
        try check.expect(struct {
            fn token(c: *Check, h: u64, t: u64, state: *[64][64]f64, y: *[64]f64) void {
                for (0..c.size) |i| for (0..c.size) |j| {
                    const product = c.get(0, i, h, t) * c.get(1, j, h, t);
                    const seen = state[i][j] + c.get(3, i, h, 0) * product;
                    y[j] += seen * c.get(2, i, h, t);
                    state[i][j] = state[i][j] * c.get(4, i, h, t) + product;
                };
            }
        }.token);
    }
}

test "rwkv_wkv7 follows its recurrence" {
    const Check = token_state.Check(6);
    for ([_]u64{ 1, 7, 16, 33, 64 }) |size| {
        var check: Check = .init(size);
        defer check.trial.deinit();
        try check.trial.run(.rwkv_wkv7, rwkv_wkv7, .{}, &check.sources, &check.outputs);
        try check.expect(struct {
            fn token(c: *Check, h: u64, t: u64, state: *[64][64]f64, y: *[64]f64) void {
                for (0..c.size) |i| {
                    var removed: f64 = 0;
                    for (0..c.size) |j| removed += c.get(4, j, h, t) * state[i][j];
                    for (0..c.size) |j| {
                        const added = c.get(3, i, h, t) * c.get(2, j, h, t);
                        const kept = state[i][j] * c.get(1, j, h, t);
                        state[i][j] = kept + added + removed * c.get(5, j, h, t);
                        y[i] += state[i][j] * c.get(0, j, h, t);
                    }
                }
            }
        }.token);
    }
}
