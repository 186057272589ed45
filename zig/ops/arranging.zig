//! Ops that put elements elsewhere, repeat them or leave some out.

const std = @import("std");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

/// Sizes of the result.
pub const SizesParams = extern struct {
    n0: u32,
    n1: u32,
    n2: u32,
    n3: u32,

    pub fn ne(p: SizesParams) [4]u64 {
        return .{ p.n0, p.n1, p.n2, p.n3 };
    }
};
pub const ConcatParams = extern struct { dim: u32 };

/// What stands in the padding: zeros, the other end of the dimension, or its mirror image without
/// the edge (which is for the first dimension alone).
pub const PadKind = enum(u32) { zeros = 0, circular = 1, reflect = 2 };
pub const PadParams = extern struct {
    before0: u32,
    after0: u32,
    before1: u32,
    after1: u32,
    before2: u32,
    after2: u32,
    before3: u32,
    after3: u32,
    kind: u32,

    pub fn before(p: PadParams) [4]u32 {
        return .{ p.before0, p.before1, p.before2, p.before3 };
    }

    pub fn after(p: PadParams) [4]u32 {
        return .{ p.after0, p.after1, p.after2, p.after3 };
    }
};

/// Elements move by so many places, and those that leave come back at the other end.
pub const RollParams = extern struct { shift0: i32, shift1: i32, shift2: i32, shift3: i32 };

/// Which part of each matrix is kept; the rest is 0.
pub const TriKind = enum(u32) { upper_diag = 0, upper = 1, lower_diag = 2, lower = 3 };
pub const TriParams = extern struct { kind: u32 };

/// Elements of row i from past + i + 1 on become the value.
pub const DiagMaskParams = extern struct { past: u32, value: f32 };

/// Where b lies in a contiguous a, in bytes.
pub const PlaceParams = extern struct { nb1: u32, nb2: u32, nb3: u32, offset: u32 };

pub const rows = [_]ops.Row{
    .{ .code = 33, .name = "repeat", .sources = &ops.one, .infer = repeat, .Params = SizesParams },
    .{
        .code = 34,
        .name = "repeat_back",
        .sources = &ops.one,
        .infer = repeatBack,
        .Params = SizesParams,
    },
    .{
        .code = 35,
        .name = "concat",
        .sources = &ops.pair,
        .infer = concat,
        .Params = ConcatParams,
    },
    .{ .code = 36, .name = "pad", .sources = &ops.one, .infer = pad, .Params = PadParams },
    .{ .code = 37, .name = "roll", .sources = &ops.one, .infer = roll, .Params = RollParams },
    .{ .code = 38, .name = "tri", .sources = &ops.one, .infer = tri, .Params = TriParams },
    .{ .code = 39, .name = "diag", .sources = &ops.one, .infer = diag },
    .{
        .code = 40,
        .name = "diag_mask",
        .sources = &ops.one,
        .infer = diagMask,
        .Params = DiagMaskParams,
    },
    .{ .code = 41, .name = "set", .sources = &ops.pair, .infer = place, .Params = PlaceParams },
    .{ .code = 42, .name = "acc", .sources = &ops.pair, .infer = acc, .Params = PlaceParams },
    .{
        .code = 43,
        .name = "add_id",
        .sources = &.{
            .{ .name = "x" }, // [n, used, tokens]
            .{ .name = "table" }, // [n, experts]
            .{ .name = "ids" }, // i32 [used, tokens]
        },
        .reuses = &.{0},
        .infer = addId,
    },
};

/// Rows of blocks can be moved but not cut.
fn isPlain(s: shape.Shape) bool {
    return !dtypes.isQuantized(s.dtype);
}

fn repeat(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const ne = q.as(SizesParams).ne();
    try q.expect(isPlain(x), "x has blocks");
    for (ne, x.ne) |n, xn| {
        try q.expect(n == xn or (xn != 0 and n % xn == 0), "sizes are no multiples");
    }
    q.outputs[0] = .{ .dtype = x.dtype, .ne = ne };
}

fn repeatBack(q: *shape.Inference) shape.Error!void {
    const ne = q.as(SizesParams).ne();
    try shape.like(q);
    for (q.source(0).ne, ne) |n, yn| {
        try q.expect(n == yn or (yn != 0 and n % yn == 0), "sizes are no multiples");
    }
    q.outputs[0].ne = ne;
}

fn concat(q: *shape.Inference) shape.Error!void {
    const a = q.source(0);
    const b = q.source(1);
    const dim = q.as(ConcatParams).dim;
    try q.expect(dim < 4, "there are four dimensions");
    try q.expect(a.dtype == b.dtype, "dtypes differ");
    for (a.ne, b.ne, 0..) |an, bn, d| try q.expect(d == dim or an == bn, "sizes differ");
    q.outputs[0] = a;
    q.outputs[0].ne[dim] += b.ne[dim];
}

fn pad(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const p = q.as(PadParams).*;
    const kind = std.enums.fromInt(PadKind, p.kind) orelse return q.refuse("unknown kind");
    try q.expect(isPlain(x), "x has blocks");
    q.outputs[0] = x;
    for (&q.outputs[0].ne, p.before(), p.after(), 0..) |*n, before, after, d| {
        const most = @max(before, after);
        switch (kind) {
            .zeros => {},
            .circular => try q.expect(most <= n.*, "the padding is larger than the dimension"),
            .reflect => {
                try q.expect(most == 0 or d == 0, "only the first dimension reflects");
                try q.expect(most == 0 or most < n.*, "the mirror image is too small");
            },
        }
        n.* += @as(u64, before) + after;
    }
}

fn roll(q: *shape.Inference) shape.Error!void {
    try q.expect(isPlain(q.source(0)), "x has blocks");
    q.outputs[0] = q.source(0);
}

fn tri(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    try q.expect(std.enums.fromInt(TriKind, q.as(TriParams).kind) != null, "unknown kind");
    try q.expect(isPlain(x), "x has blocks");
    try q.expect(x.ne[0] == x.ne[1], "matrices must be square");
    q.outputs[0] = x;
}

/// x [n, 1, b, c] gives [n, n, b, c].
fn diag(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    try q.expect(isPlain(x), "x has blocks");
    try q.expect(x.ne[1] == 1, "x must be [n, 1]");
    q.outputs[0] = x;
    q.outputs[0].ne[1] = x.ne[0];
}

fn diagMask(q: *shape.Inference) shape.Error!void {
    try q.expect(q.source(0).dtype == .f32, "x must be f32");
    q.outputs[0] = q.source(0);
}

fn place(q: *shape.Inference) shape.Error!void {
    const a = q.source(0);
    const b = q.source(1);
    const p = q.as(PlaceParams);
    const size = dtypes.layout(a.dtype).block_bytes;
    try q.expect(isPlain(a), "a has blocks");
    try q.expect(a.dtype == b.dtype, "dtypes differ");
    try q.expect(p.offset % size == 0, "the offset cuts an element");
    var end: u64 = p.offset + size;
    for (b.ne, [_]u64{ size, p.nb1, p.nb2, p.nb3 }) |n, stride| {
        try q.expect(stride % size == 0, "a stride cuts an element");
        if (n == 0) end = 0;
        const reach = std.math.mul(u64, @max(n, 1) - 1, stride) catch return q.refuse("too large");
        end = std.math.add(u64, end, reach) catch return q.refuse("too large");
    }
    const empty = b.elements() == 0;
    try q.expect(empty or end <= a.elements() * size, "b reaches beyond a");
    q.outputs[0] = a;
}

fn acc(q: *shape.Inference) shape.Error!void {
    try q.expect(q.source(0).dtype == .f32, "a must be f32");
    try place(q);
}

fn addId(q: *shape.Inference) shape.Error!void {
    const x = q.source(0);
    const table = q.source(1);
    const ids = q.source(2);
    try q.expect(table.dtype == .f32 and x.dtype == .f32, "x and table must be f32");
    try q.expect(ids.dtype == .i32, "ids must be i32");
    try q.expect(x.ne[0] == table.ne[0], "row lengths differ");
    try q.expect(table.ne[2] == 1 and table.ne[3] == 1, "the table has two dimensions");
    try q.expect(ids.ne[0] == x.ne[1] and ids.ne[1] == x.ne[2], "one id per row is needed");
    try q.expect(ids.ne[2] == 1 and ids.ne[3] == 1 and x.ne[3] == 1, "ids are [used, tokens]");
    q.outputs[0] = x;
}
