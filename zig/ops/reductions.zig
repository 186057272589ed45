//! Ops that make one value, or an order, of many.

const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

/// 0 ascending, 1 descending; equal values keep their order, NaN counts as the largest.
pub const ArgsortParams = extern struct { descending: u32 };
pub const TopKParams = extern struct { k: u32 };

pub const rows = [_]ops.Row{
    .{ .code = 25, .name = "sum", .sources = &ops.one, .infer = sum },
    .{ .code = 26, .name = "sum_rows", .sources = &ops.one, .infer = perRow },
    .{ .code = 27, .name = "mean", .sources = &ops.one, .infer = perRow },
    .{ .code = 28, .name = "cumsum", .sources = &ops.one, .reuses = &.{0}, .infer = shape.like },
    .{ .code = 29, .name = "argmax", .sources = &ops.one, .infer = argmax },
    .{ .code = 30, .name = "count_equal", .sources = &ops.pair, .infer = countEqual },
    .{
        .code = 31,
        .name = "argsort",
        .sources = &ops.one,
        .infer = argsort,
        .Params = ArgsortParams,
    },
    .{ .code = 32, .name = "top_k", .sources = &ops.one, .infer = topK, .Params = TopKParams },
};

fn sum(q: *shape.Inference) shape.Error!void {
    try shape.like(q);
    q.outputs[0].ne = @splat(1);
}

fn perRow(q: *shape.Inference) shape.Error!void {
    try shape.like(q);
    q.outputs[0].ne[0] = 1;
}

/// x [n, rows] gives i32 [rows].
fn argmax(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    try shape.like(q);
    try q.expect(x.ne[2] == 1 and x.ne[3] == 1, "x has more than two dimensions");
    try q.expect(x.ne[0] > 0, "rows are empty");
    try q.expect(x.ne[0] <= index_max, "rows are too long for i32");
    q.outputs[0] = .{ .dtype = .i32, .ne = .{ x.ne[1], 1, 1, 1 } };
}

/// How many elements of two i32 tensors are equal, as i64.
fn countEqual(q: *shape.Inference) shape.Error!void {
    const a = q.source(0);
    const b = q.source(1);
    try q.expect(a.dtype == .i32 and b.dtype == .i32, "a and b must be i32");
    try q.expect(shape.sameDims(a, b), "a and b differ");
    q.outputs[0] = .{ .dtype = .i64, .ne = @splat(1) };
}

const index_max = 1 << 31;

fn argsort(q: *shape.Inference) shape.Error!void {
    try q.expect(q.as(ArgsortParams).descending <= 1, "descending is 0 or 1");
    try shape.like(q);
    try q.expect(q.source(0).ne[0] <= index_max, "rows are too long for i32");
    q.outputs[0].dtype = .i32;
}

fn topK(q: *shape.Inference) shape.Error!void {
    const k = q.as(TopKParams).k;
    const n = q.source(0).ne[0];
    try shape.like(q);
    try q.expect(k > 0 and k <= n, "k is larger than a row");
    try q.expect(n <= index_max, "rows are too long for i32");
    q.outputs[0].dtype = .i32;
    q.outputs[0].ne[0] = k;
}
