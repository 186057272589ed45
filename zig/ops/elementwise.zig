//! Ops that treat every element alike.

const std = @import("std");
const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

/// Functions of one value. `round` takes halves away from zero; `gelu` is the tanh approximation,
/// `gelu_quick` x sigmoid(1.702 x) (Hendrycks and Gimpel 2016, arXiv:1606.08415).
pub const UnaryKind = enum(u32) {
    abs = 0,
    sgn = 1,
    neg = 2,
    step = 3,
    tanh = 4,
    elu = 5,
    relu = 6,
    sigmoid = 7,
    gelu = 8,
    gelu_quick = 9,
    gelu_erf = 10,
    silu = 11,
    hardswish = 12,
    hardsigmoid = 13,
    exp = 14,
    expm1 = 15,
    softplus = 16,
    floor = 17,
    ceil = 18,
    round = 19,
    trunc = 20,
    sqr = 21,
    sqrt = 22,
    log = 23,
    sin = 24,
    cos = 25,
};
pub const UnaryParams = extern struct { kind: u32 };

/// x * factor + offset.
pub const ScaleParams = extern struct { factor: f32, offset: f32 };
pub const ClampParams = extern struct { low: f32, high: f32 };
pub const LeakyReluParams = extern struct { slope: f32 };

/// xIELU (Huang and Schlag 2024, arXiv:2411.13010) with its alphas after their softplus.
pub const XieluParams = extern struct {
    alpha_negative: f32,
    alpha_positive: f32,
    beta: f32,
    epsilon: f32,
};

/// gate sigmoid(alpha gate) (up + 1) with gate <= limit and |up| <= limit, as in gpt-oss.
pub const SwigluOaiParams = extern struct { alpha: f32, limit: f32 };
/// silu(gate) up with the same limits.
pub const SwigluClampParams = extern struct { limit: f32 };
pub const FillParams = extern struct { value: f32 };

const gated = [_]ops.Source{ .{ .name = "gate" }, .{ .name = "up" } };

pub const rows = [_]ops.Row{
    .{ .code = 11, .name = "sub", .sources = &ops.pair, .reuses = &.{0}, .infer = shape.broadcast },
    .{ .code = 12, .name = "div", .sources = &ops.pair, .reuses = &.{0}, .infer = shape.broadcast },
    .{
        .code = 13,
        .name = "scale",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = ScaleParams,
    },
    .{
        .code = 14,
        .name = "unary",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = unary,
        .Params = UnaryParams,
    },
    .{
        .code = 15,
        .name = "clamp",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = ClampParams,
    },
    .{
        .code = 16,
        .name = "leaky_relu",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = LeakyReluParams,
    },
    .{
        .code = 17,
        .name = "xielu",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = XieluParams,
    },
    .{
        .code = 18,
        .name = "swiglu_oai",
        .sources = &gated,
        .reuses = &.{ 0, 1 },
        .infer = likeBoth,
        .Params = SwigluOaiParams,
    },
    .{
        .code = 19,
        .name = "swiglu_clamp",
        .sources = &gated,
        .reuses = &.{ 0, 1 },
        .infer = likeBoth,
        .Params = SwigluClampParams,
    },
    .{
        .code = 20,
        .name = "fill",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = FillParams,
    },
};

fn unary(q: *shape.Inference) shape.Error!void {
    const kind = std.enums.fromInt(UnaryKind, q.as(UnaryParams).kind);
    try q.expect(kind != null, "unknown kind");
    try shape.like(q);
}

fn likeBoth(q: *shape.Inference) shape.Error!void {
    try q.expect(shape.sameDims(q.source(0), q.source(1)), "gate and up differ");
    try q.expect(shape.isFloat(q.source(1).dtype), "up must be f32, f16 or bf16");
    try shape.like(q);
}
