//! Ops on positions: more rotations, and embeddings of times.

const std = @import("std");
const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

/// Which of a row's four positions (time, height, width, extra) turns a pair. `sections` count
/// pairs: in `blocks` each position has its section one after the other; in `interleaved` time,
/// height and width take turns as far as their sections go; in `vision` every pair of the head is
/// turned, by height and width, and frequencies start anew in each section.
pub const SectionKind = enum(u32) { blocks = 0, interleaved = 1, vision = 2 };

/// RopeParams' numbers for rotations by several positions at once (Wang et al. 2024,
/// arXiv:2409.12191).
pub const RopeMultiParams = extern struct {
    kind: u32,
    rotated: u32,
    base: f32,
    scale: f32,
    extrapolation: f32,
    magnitude: f32,
    beta_fast: f32,
    beta_slow: f32,
    original_context: u32,
    section0: u32,
    section1: u32,
    section2: u32,
    section3: u32,

    pub fn sections(p: RopeMultiParams) [4]u32 {
        return .{ p.section0, p.section1, p.section2, p.section3 };
    }
};

/// Cosines, then sines, of time * period^(-i / (dim / 2)); an odd dim ends with 0.
pub const TimestepParams = extern struct { dim: u32, period: u32 };
pub const ArangeParams = extern struct { start: f32, stop: f32, step: f32 };

const rotated = [_]ops.Source{
    .{ .name = "x" },
    .{ .name = "positions" },
    .{ .name = "frequency_factors", .optional = true },
};

pub const rows = [_]ops.Row{
    .{
        .code = 60,
        .name = "rope_back",
        .sources = &rotated,
        .reuses = &.{0},
        .infer = shape.rope,
        .Params = ops.RopeParams,
    },
    .{
        .code = 61,
        .name = "rope_multi",
        .sources = &rotated,
        .reuses = &.{0},
        .infer = ropeMulti,
        .Params = RopeMultiParams,
    },
    .{
        .code = 62,
        .name = "timestep_embedding",
        .sources = &ops.one,
        .infer = timestep,
        .Params = TimestepParams,
    },
    .{
        .code = 63,
        .name = "arange",
        .sources = &.{},
        .infer = arange,
        .Params = ArangeParams,
    },
};

/// x [head_dim, heads, rows], positions i32 [rows, 4], frequency_factors f32 [pairs].
fn ropeMulti(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const positions = q.source(1);
    const p = q.as(RopeMultiParams).*;
    const kind = std.enums.fromInt(SectionKind, p.kind) orelse return q.refuse("unknown kind");
    try shape.like(q);
    try q.expect(positions.dtype == .i32, "positions must be i32");
    try q.expect(positions.ne[0] == x.ne[2] and positions.ne[1] == 4, "positions are [rows, 4]");
    try q.expect(positions.ne[2] == 1 and positions.ne[3] == 1, "positions are [rows, 4]");
    try q.expect(p.rotated > 0 and p.rotated % 2 == 0, "rotated must be even and positive");
    const pairs: u64 = if (kind == .vision) p.rotated else p.rotated / 2;
    try q.expect(2 * pairs <= x.ne[0], "rotated is larger than the head");
    try q.expect(kind != .vision or 2 * pairs == x.ne[0], "vision turns the whole head");
    var sum: u64 = 0;
    for (p.sections()) |section| sum += section;
    try q.expect(sum > 0, "sections are empty");
    if (q.sources[2]) |f| {
        try q.expect(f.dtype == .f32, "frequency_factors must be f32");
        try q.expect(f.ne[0] == pairs and f.rows() == 1, "one factor per rotated pair");
    }
}

/// x [times] gives [dim, times].
fn timestep(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const p = q.as(TimestepParams);
    try q.expect(x.dtype == .f32, "x must be f32");
    try q.expect(x.rows() == 1, "x must have one dimension");
    try q.expect(p.dim > 1 and p.period > 0, "dim and period must be positive");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ p.dim, x.ne[0], 1, 1 } };
}

fn arange(q: *shape.Inference) shape.Error!void {
    const p = q.as(ArangeParams);
    const count = @ceil((p.stop - p.start) / p.step);
    try q.expect(count > 0 and count < 1 << 31, "start, stop and step give no sequence");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ @intFromFloat(count), 1, 1, 1 } };
}
