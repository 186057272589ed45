//! Ops that carry a state from token to token. Each has two outputs: what the tokens give and the
//! state after the last one. Tokens of a sequence lie behind each other.

const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

pub const GatedLinearAttnParams = extern struct { scale: f32 };

fn named(comptime names: []const [:0]const u8) [names.len]ops.Source {
    var list: [names.len]ops.Source = undefined;
    for (&list, names) |*source, name| source.* = .{ .name = name };
    return list;
}

pub const rows = [_]ops.Row{
    .{
        .code = 53,
        .name = "ssm_conv",
        .sources = &named(&.{ "x", "kernel" }), // [width - 1 + tokens, channels, sequences]
        .infer = ssmConv,
    },
    .{
        .code = 54,
        .name = "ssm_scan",
        .sources = &named(&.{ "state", "x", "dt", "a", "b", "c", "slots" }),
        .output_count = 2,
        .infer = ssmScan,
    },
    .{
        .code = 55,
        .name = "rwkv_wkv6",
        .sources = &named(&.{ "k", "v", "r", "first", "decay", "state" }),
        .output_count = 2,
        .infer = wkv6,
    },
    .{
        .code = 56,
        .name = "rwkv_wkv7",
        .sources = &named(&.{ "r", "w", "k", "v", "a", "b", "state" }),
        .output_count = 2,
        .infer = wkv7,
    },
    .{
        .code = 57,
        .name = "gated_linear_attn",
        .sources = &named(&.{ "k", "v", "q", "gate", "state" }),
        .output_count = 2,
        .infer = gatedLinearAttn,
        .Params = GatedLinearAttnParams,
    },
    .{
        .code = 58,
        .name = "gated_delta_net",
        .sources = &named(&.{ "q", "k", "v", "gate", "beta", "state" }),
        .output_count = 2,
        .infer = gatedDeltaNet,
    },
    .{
        .code = 59,
        .name = "solve_tri",
        .sources = &named(&.{ "a", "b" }), // lower triangular [n, n], [columns, n]
        .infer = solveTri,
    },
};

fn allF32(q: *shape.Inference, count: usize) shape.Error!void {
    for (q.sources[0..count]) |source| try q.expect(source.?.dtype == .f32, "sources must be f32");
}

/// x [width - 1 + tokens, channels, sequences] and kernel [width, channels] give
/// [channels, tokens, sequences].
fn ssmConv(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const kernel = q.source(1);
    try allF32(q, 2);
    try q.expect(kernel.ne[0] > 0 and x.ne[0] >= kernel.ne[0] - 1, "x is shorter than the kernel");
    try q.expect(x.ne[1] == kernel.ne[1], "channels differ");
    try q.expect(kernel.ne[2] == 1 and kernel.ne[3] == 1 and x.ne[3] == 1, "too many dimensions");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ x.ne[1], x.ne[0] + 1 - kernel.ne[0], x.ne[2], 1 } };
}

/// state [size, head_dim, heads, slots], x [head_dim, heads, tokens, sequences], dt [heads, tokens,
/// sequences], a [size or 1, heads], b and c [size, groups, tokens, sequences], slots i32
/// [sequences] give y like x and the states [size, head_dim, heads, sequences].
fn ssmScan(q: *shape.Inference) shape.Error!void {
    const state = q.source(0);
    const x = q.source(1);
    const dt = q.source(2);
    const a = q.source(3);
    const slots = q.source(6);
    try allF32(q, 6);
    try q.expect(slots.dtype == .i32, "slots must be i32");
    try q.expect(slots.ne[0] == x.ne[3] and slots.rows() == 1, "one slot per sequence");
    try q.expect(state.ne[1] == x.ne[0] and state.ne[2] == x.ne[1], "state and x differ");
    try q.expect(dt.ne[0] == x.ne[1] and dt.ne[1] == x.ne[2], "one dt per head and token");
    try q.expect(dt.ne[2] == x.ne[3] and dt.ne[3] == 1, "one dt per head and token");
    try q.expect(a.ne[0] == 1 or a.ne[0] == state.ne[0], "a is [1 or size, heads]");
    try q.expect(a.ne[1] == x.ne[1] and a.ne[2] == 1 and a.ne[3] == 1, "a is [1 or size, heads]");
    for (q.sources[4..6]) |optional| {
        const group = optional.?;
        try q.expect(group.ne[0] == state.ne[0], "b and c are [size, groups, …]");
        try q.expect(group.ne[1] != 0 and x.ne[1] % group.ne[1] == 0, "heads are no multiple");
        try q.expect(group.ne[2] == x.ne[2] and group.ne[3] == x.ne[3], "b and c differ from x");
    }
    q.outputs[0] = x;
    q.outputs[1] = .{ .dtype = .f32, .ne = .{ state.ne[0], x.ne[0], x.ne[1], x.ne[3] } };
}

/// Sources like x [size, heads, tokens] and state [size, size, heads, sequences].
fn tokenState(q: *shape.Inference, likes: []const usize, state_at: usize) shape.Error!void {
    const x = q.source(likes[0]);
    const state = q.source(state_at);
    for (likes) |index| {
        try q.expect(shape.sameDims(q.source(index), x), "sources must be [size, heads, tokens]");
    }
    const square = state.ne[0] == x.ne[0] and state.ne[1] == x.ne[0];
    try q.expect(square and state.ne[2] == x.ne[1], "state must be [size, size, heads, sequences]");
    try q.expect(x.ne[3] == 1, "sources must be [size, heads, tokens]");
    const even = state.ne[3] != 0 and x.ne[2] % state.ne[3] == 0;
    try q.expect(even, "sequences have different numbers of tokens");
    q.outputs[0] = x;
    q.outputs[1] = state;
}

fn wkv6(q: *shape.Inference) shape.Error!void {
    try allF32(q, 6);
    const first = q.source(3);
    const k = q.source(0);
    try q.expect(first.ne[0] == k.ne[0] and first.ne[1] == k.ne[1], "first is [size, heads]");
    try q.expect(first.ne[2] == 1 and first.ne[3] == 1, "first is [size, heads]");
    try tokenState(q, &.{ 0, 1, 2, 4 }, 5);
}

fn wkv7(q: *shape.Inference) shape.Error!void {
    try allF32(q, 7);
    try tokenState(q, &.{ 0, 1, 2, 3, 4, 5 }, 6);
}

fn gatedLinearAttn(q: *shape.Inference) shape.Error!void {
    try allF32(q, 5);
    try tokenState(q, &.{ 0, 1, 2, 3 }, 4);
}

/// q and k [size, heads', tokens, sequences'], v [size, heads, tokens, sequences], gate [size or 1,
/// …] and beta [1, …] like v, state [size, size, heads, sequences].
fn gatedDeltaNet(q: *shape.Inference) shape.Error!void {
    try allF32(q, 6);
    const v = q.source(2);
    const gate = q.source(3);
    const beta = q.source(4);
    const state = q.source(5);
    for (q.sources[0..2]) |optional| {
        const s = optional.?;
        try q.expect(s.ne[0] == v.ne[0] and s.ne[2] == v.ne[2], "q and k differ from v");
        try q.expect(s.ne[1] != 0 and v.ne[1] % s.ne[1] == 0, "heads are no multiple");
        try q.expect(s.ne[3] != 0 and v.ne[3] % s.ne[3] == 0, "sequences are no multiple");
    }
    for ([_]shape.Shape{ gate, beta }) |s| {
        for (s.ne[1..], v.ne[1..]) |sn, vn| try q.expect(sn == vn, "gate or beta differ from v");
    }
    try q.expect(gate.ne[0] == 1 or gate.ne[0] == v.ne[0], "gate is [size or 1, …]");
    try q.expect(beta.ne[0] == 1, "beta is [1, …]");
    const square = state.ne[0] == v.ne[0] and state.ne[1] == v.ne[0];
    try q.expect(square and state.ne[2] == v.ne[1], "state must be [size, size, heads, sequences]");
    try q.expect(state.ne[3] == v.ne[3], "one state per sequence");
    q.outputs[0] = v;
    q.outputs[1] = state;
}

fn solveTri(q: *shape.Inference) shape.Error!void {
    const a = q.source(0);
    const b = q.source(1);
    try allF32(q, 2);
    try q.expect(a.ne[0] == a.ne[1], "a must be square");
    try q.expect(b.ne[1] == a.ne[1], "a and b have different heights");
    try q.expect(b.ne[2] == a.ne[2] and b.ne[3] == a.ne[3], "a and b have different batches");
    q.outputs[0] = b;
}
