//! Ops that bring rows, or groups of planes, to a common size.

const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

pub const GroupNormParams = extern struct { groups: u32, epsilon: f32 };
pub const SoftMaxParams = extern struct {
    scale: f32,
    /// ALiBi's largest bias; 0 takes the mask as it is.
    alibi_max: f32,
};

pub const rows = [_]ops.Row{
    .{
        .code = 21,
        .name = "layer_norm",
        .sources = &.{
            .{ .name = "x" },
            .{ .name = "weight", .optional = true },
            .{ .name = "bias", .optional = true },
        },
        .reuses = &.{0},
        .infer = layerNorm,
        .Params = ops.NormParams,
    },
    .{
        .code = 22,
        .name = "l2_norm",
        .sources = &ops.one,
        .reuses = &.{0},
        .infer = shape.like,
        .Params = ops.NormParams,
    },
    .{
        .code = 23,
        .name = "group_norm",
        .sources = &ops.one, // [width, height, channels, images]
        .infer = groupNorm,
        .Params = GroupNormParams,
    },
    .{
        .code = 24,
        .name = "soft_max",
        .sources = &.{
            .{ .name = "x" }, // [keys, rows, heads, batches]
            .{ .name = "mask", .optional = true }, // [keys, rows or more, heads', batches']
            .{ .name = "sinks", .optional = true }, // [heads]
        },
        .reuses = &.{0},
        .infer = softMax,
        .Params = SoftMaxParams,
    },
};

fn layerNorm(q: *shape.Inference) shape.Error!void {
    try shape.like(q);
    const n = q.source(0).ne[0];
    for (q.sources[1..3]) |optional| {
        const w = optional orelse continue;
        try q.expect(w.dtype == .f32, "weight and bias must be f32");
        try q.expect(w.ne[0] == n and w.rows() == 1, "weight and bias must be [row length]");
    }
}

fn groupNorm(q: *shape.Inference) shape.Error!void {
    const groups = q.as(GroupNormParams).groups;
    try q.expect(groups > 0 and groups <= q.source(0).ne[2], "one to as many groups as channels");
    try shape.like(q);
}

fn softMax(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    if (q.sources[1]) |mask| {
        try q.expect(shape.isFloat(mask.dtype), "the mask must be f32, f16 or bf16");
        try q.expect(mask.ne[0] == x.ne[0], "the mask's rows have another length");
        try q.expect(mask.ne[1] >= x.ne[1], "the mask has too few rows");
        for (mask.ne[2..4], x.ne[2..4]) |mn, xn| {
            try q.expect(mn == xn or (mn != 0 and xn % mn == 0), "the mask does not broadcast");
        }
    }
    if (q.sources[2]) |sinks| {
        try q.expect(sinks.dtype == .f32, "sinks must be f32");
        try q.expect(sinks.ne[0] == x.ne[2] and sinks.rows() == 1, "one sink per head");
    }
    try shape.like(q);
}
