//! Attention for graphs that bring a mask of their own; `attention` makes none.

const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

pub const FlashAttnParams = extern struct { scale: f32, alibi_max: f32, softcap: f32 };

pub const rows = [_]ops.Row{
    .{
        .code = 44,
        .name = "flash_attn",
        .sources = &.{
            .{ .name = "queries" }, // [head_dim, rows, heads, batches]
            .{ .name = "keys" }, // [head_dim, keys, heads', batches']
            .{ .name = "values" }, // [value_dim, keys, heads', batches']
            .{ .name = "mask", .optional = true }, // [keys, rows or more, heads'', batches'']
            .{ .name = "sinks", .optional = true }, // f32 [heads]
        },
        .infer = flashAttn,
        .Params = FlashAttnParams,
    },
};

/// The result is [value_dim, heads, rows, batches].
fn flashAttn(q: *shape.Inference) shape.Error!void {
    const queries = q.source(0);
    const keys = q.source(1);
    const values = q.source(2);
    try q.expect(queries.dtype == .f32, "queries must be f32");
    try q.expect(queries.ne[0] > 0 and values.ne[0] > 0, "heads are empty");
    try q.expect(keys.ne[0] == queries.ne[0], "queries and keys have different heads");
    for (keys.ne[1..], values.ne[1..]) |kn, vn| try q.expect(kn == vn, "keys and values differ");
    for (queries.ne[2..], keys.ne[2..]) |qn, kn| {
        try q.expect(kn != 0 and qn % kn == 0, "keys do not broadcast");
    }
    if (q.sources[3]) |mask| {
        try q.expect(shape.isFloat(mask.dtype), "the mask must be f32, f16 or bf16");
        try q.expect(mask.ne[0] == keys.ne[1], "the mask's rows have another length");
        try q.expect(mask.ne[1] >= queries.ne[1], "the mask has too few rows");
        for (mask.ne[2..], queries.ne[2..]) |mn, qn| {
            try q.expect(mn != 0 and qn % mn == 0, "the mask does not broadcast");
        }
    }
    if (q.sources[4]) |sinks| {
        try q.expect(sinks.dtype == .f32, "sinks must be f32");
        try q.expect(sinks.ne[0] == queries.ne[2] and sinks.rows() == 1, "one sink per head");
    }
    q.outputs[0] = .{
        .dtype = .f32,
        .ne = .{ values.ne[0], queries.ne[2], queries.ne[1], queries.ne[3] },
    };
}
