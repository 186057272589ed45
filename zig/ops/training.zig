//! Gradients and optimizer steps.

const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

pub const SoftMaxBackParams = extern struct { scale: f32 };
pub const RowCountParams = extern struct { rows: u32 };

const graded = [_]ops.Source{ .{ .name = "gradient" }, .{ .name = "x" } };

pub const rows = [_]ops.Row{
    .{ .code = 64, .name = "out_prod", .sources = &ops.pair, .infer = outProd },
    .{
        .code = 65,
        .name = "silu_back",
        .sources = &graded,
        .reuses = &.{ 0, 1 },
        .infer = likeX,
    },
    .{
        .code = 66,
        .name = "rms_norm_back",
        .sources = &graded,
        .reuses = &.{ 0, 1 },
        .infer = likeX,
        .Params = ops.NormParams,
    },
    .{
        .code = 67,
        .name = "soft_max_back",
        .sources = &.{ .{ .name = "gradient" }, .{ .name = "y" } },
        .reuses = &.{ 0, 1 },
        .infer = likeX,
        .Params = SoftMaxBackParams,
    },
    .{
        .code = 68,
        .name = "get_rows_back",
        .sources = &.{ .{ .name = "gradient" }, .{ .name = "rows" } },
        .infer = getRowsBack,
        .Params = RowCountParams,
    },
    .{
        .code = 69,
        .name = "cross_entropy_loss",
        .sources = &.{ .{ .name = "logits" }, .{ .name = "labels" } },
        .infer = crossEntropy,
    },
    .{
        .code = 70,
        .name = "cross_entropy_loss_back",
        .sources = &.{ .{ .name = "gradient" }, .{ .name = "logits" }, .{ .name = "labels" } },
        .infer = crossEntropyBack,
    },
    .{
        .code = 71,
        .name = "opt_step_adamw",
        .sources = &.{
            .{ .name = "weights" },
            .{ .name = "gradient" },
            .{ .name = "mean" },
            .{ .name = "variance" },
            // alpha, beta1, beta2, epsilon, weight decay, 1 / (1 - beta1^t), 1 / (1 - beta2^t)
            .{ .name = "numbers" },
        },
        .output_count = 3,
        .infer = adamw,
    },
    .{
        .code = 72,
        .name = "opt_step_sgd",
        .sources = &.{
            .{ .name = "weights" },
            .{ .name = "gradient" },
            .{ .name = "numbers" }, // alpha, weight decay
        },
        .reuses = &.{0},
        .infer = sgd,
    },
};

fn expectF32(q: *shape.Inference, count: usize) shape.Error!void {
    for (q.sources[0..count]) |source| try q.expect(source.?.dtype == .f32, "sources must be f32");
}

fn likeX(q: *shape.Inference) shape.Error!void {
    try expectF32(q, 2);
    try q.expect(shape.sameDims(q.source(0), q.source(1)), "sources differ");
    q.outputs[0] = q.source(1);
}

/// a [m, k, b, c] and b [n, k, b', c'] with b | b', c | c' give f32 [m, n, b', c'], the sum of the
/// products of their columns.
fn outProd(q: *shape.Inference) shape.Error!void {
    const a = q.source(0);
    const b = q.source(1);
    try q.expect(b.dtype == .f32, "b must be f32");
    try q.expect(a.ne[1] == b.ne[1], "inner sizes differ");
    for (a.ne[2..], b.ne[2..]) |an, bn| {
        try q.expect(an != 0 and bn % an == 0, "outer sizes do not broadcast");
    }
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ a.ne[0], b.ne[0], b.ne[2], b.ne[3] } };
}

/// gradient [n, count] and i32 rows [count] give f32 [n, rows].
fn getRowsBack(q: *shape.Inference) shape.Error!void {
    const gradient = q.source(0);
    const list = q.source(1);
    try expectF32(q, 1);
    try q.expect(list.dtype == .i32, "rows must be i32");
    try q.expect(gradient.ne[2] == 1 and gradient.ne[3] == 1, "gradient is [n, count]");
    try q.expect(list.ne[0] == gradient.ne[1] and list.rows() == 1, "one row per gradient");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ gradient.ne[0], q.as(RowCountParams).rows, 1, 1 } };
}

fn crossEntropy(q: *shape.Inference) shape.Error!void {
    try expectF32(q, 2);
    try q.expect(shape.sameDims(q.source(0), q.source(1)), "logits and labels differ");
    q.outputs[0] = .{ .dtype = .f32, .ne = @splat(1) };
}

fn crossEntropyBack(q: *shape.Inference) shape.Error!void {
    try expectF32(q, 3);
    try q.expect(q.source(0).elements() == 1, "gradient is one number");
    try q.expect(shape.sameDims(q.source(1), q.source(2)), "logits and labels differ");
    q.outputs[0] = q.source(1);
}

fn adamw(q: *shape.Inference) shape.Error!void {
    const w = q.source(0);
    try expectF32(q, 5);
    for (1..4) |i| try q.expect(shape.sameDims(q.source(i), w), "sources differ from the weights");
    try q.expect(q.source(4).ne[0] == 7 and q.source(4).rows() == 1, "there are 7 numbers");
    q.outputs[0] = w;
    q.outputs[1] = w;
    q.outputs[2] = w;
}

fn sgd(q: *shape.Inference) shape.Error!void {
    const w = q.source(0);
    try expectF32(q, 3);
    try q.expect(shape.sameDims(q.source(1), w), "gradient differs from the weights");
    try q.expect(q.source(2).ne[0] == 2 and q.source(2).rows() == 1, "there are 2 numbers");
    q.outputs[0] = w;
}
