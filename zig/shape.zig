//! Shape inference: the one place that knows what each op makes of its operands. Making a node in
//! TypeScript calls it, and the program check calls it again.
//!
//! Dimensions are innermost first, as in GGUF (`ne`); there are always four.

const std = @import("std");
const dtypes = @import("dtype.zig");
const ops = @import("ops.zig");
const DType = dtypes.DType;

pub const Error = error{Shape};

/// The product of a shape's dimensions stays below this, so that index sums fit in i64.
pub const elements_max: u64 = 1 << 48;

pub const Shape = struct {
    dtype: DType,
    ne: [4]u64,

    pub fn elements(s: Shape) u64 {
        return s.ne[0] * s.ne[1] * s.ne[2] * s.ne[3];
    }

    pub fn rows(s: Shape) u64 {
        return s.ne[1] * s.ne[2] * s.ne[3];
    }
};

/// One question to a shape rule, and the place for its answer or complaint.
pub const Inference = struct {
    sources: [ops.sources_max]?Shape = @splat(null),
    /// `params_size` bytes of the op's own params struct, 4-byte aligned.
    params: [*]align(4) const u8,
    outputs: [ops.outputs_max]Shape = undefined,
    problem: []const u8 = "",

    pub fn source(q: *const Inference, index: usize) Shape {
        return q.sources[index].?;
    }

    pub fn as(q: *const Inference, comptime Params: type) *const Params {
        return @ptrCast(q.params);
    }

    pub fn refuse(q: *Inference, problem: []const u8) Error {
        q.problem = problem;
        return error.Shape;
    }

    pub fn expect(q: *Inference, ok: bool, problem: []const u8) Error!void {
        if (!ok) return q.refuse(problem);
    }
};

/// Runs the rule of op `code`; on failure `q.problem` says why. Optional sources may be null.
pub fn infer(code: u32, q: *Inference) Error!void {
    const row = ops.info(code) orelse return q.refuse("unknown op");
    for (row.sources, 0..) |declared, index| {
        const given = q.sources[index] orelse {
            try q.expect(declared.optional, "a source is missing");
            continue;
        };
        try q.expect(isSound(given), "a source's size overflows or cuts a block");
    }
    for (q.sources[row.sources.len..]) |extra| try q.expect(extra == null, "too many sources");
    try row.infer(q);
    for (q.outputs[0..row.output_count]) |output| {
        try q.expect(isSound(output), "the result's size overflows or cuts a block");
    }
}

/// A shape as TypeScript packs it: innermost dimension first. An absent source has dtype 65535.
pub const Packed = extern struct { dtype: u32, ne: [4]f64 align(4) };
const absent = 0xffff;

/// The same for packed shapes; gives the complaint, or null when all is well.
pub fn inferPacked(
    code: u32,
    params: []align(4) const u8,
    sources: []align(4) const Packed,
    outputs: [*]align(4) Packed,
) ?[]const u8 {
    const row = ops.info(code) orelse return "unknown op";
    if (params.len != row.params_size or sources.len > row.sources.len)
        return "wrong number of params or sources";
    var q: Inference = .{ .params = params.ptr };
    for (sources, 0..) |*source, i| {
        if (source.dtype == absent) continue;
        q.sources[i] = unpack(source) orelse return "a source's dtype or size is out of range";
    }
    infer(code, &q) catch return q.problem;
    for (q.outputs[0..row.output_count], outputs[0..row.output_count]) |from, *to| {
        to.dtype = @intFromEnum(from.dtype);
        for (from.ne, &to.ne) |n, *f| f.* = @floatFromInt(n);
    }
    return null;
}

fn unpack(from: *align(4) const Packed) ?Shape {
    if (from.dtype > absent) return null;
    var ne: [4]u64 = undefined;
    for (from.ne, &ne) |f, *n| {
        if (!(f >= 0 and f < elements_max) or f != @floor(f)) return null;
        n.* = @intFromFloat(f);
    }
    return .{ .dtype = dtypes.fromCode(@intCast(from.dtype)) orelse return null, .ne = ne };
}

fn isSound(s: Shape) bool {
    var product: u64 = 1;
    for (s.ne) |n| product = std.math.mul(u64, product, @max(n, 1)) catch return false;
    return product < elements_max and s.ne[0] % dtypes.layout(s.dtype).block_len == 0;
}

pub fn sameDims(a: Shape, b: Shape) bool {
    return std.mem.eql(u64, &a.ne, &b.ne);
}

/// Dtypes that ops compute on element by element.
pub fn isFloat(dtype: DType) bool {
    return dtype == .f32 or dtype == .f16 or dtype == .bf16;
}

/// The result is like x, which holds floats.
pub fn like(q: *Inference) Error!void {
    const x = q.source(0);
    try q.expect(isFloat(x.dtype), "x must be f32, f16 or bf16");
    q.outputs[0] = x;
}

/// b's dimensions each divide a's; the result has a's.
pub fn broadcast(q: *Inference) Error!void {
    const a = q.source(0);
    const b = q.source(1);
    for (a.ne, b.ne) |an, bn| {
        try q.expect(bn == an or (bn != 0 and an % bn == 0), "sizes do not broadcast");
    }
    q.outputs[0] = a;
}

pub fn copy(q: *Inference) Error!void {
    const code = q.as(ops.CopyParams).dtype;
    if (code > std.math.maxInt(u16)) return q.refuse("unknown dtype");
    const dtype = dtypes.fromCode(@intCast(code)) orelse return q.refuse("unknown dtype");
    q.outputs[0] = .{ .dtype = dtype, .ne = q.source(0).ne };
}

/// table [n, rows, b, c] and i32 rows [count, b, c] give f32 [n, count, b, c]; i32 stays i32.
pub fn getRows(q: *Inference) Error!void {
    const t = q.source(0);
    const rows = q.source(1);
    try q.expect(rows.dtype == .i32, "rows must be i32");
    try q.expect(rows.ne[3] == 1, "rows have at most three dimensions");
    try q.expect(t.ne[2] == rows.ne[1] and t.ne[3] == rows.ne[2], "outer sizes differ");
    const dtype: DType = if (t.dtype == .i32) .i32 else .f32;
    q.outputs[0] = .{ .dtype = dtype, .ne = .{ t.ne[0], rows.ne[0], rows.ne[1], rows.ne[2] } };
}

/// Writes values [n, count] over the rows [count] of table [n, rows]; a negative row is skipped.
pub fn setRows(q: *Inference) Error!void {
    const t = q.source(0);
    const values = q.source(1);
    const rows = q.source(2);
    try q.expect(rows.dtype == .i32 or rows.dtype == .i64, "rows must be i32 or i64");
    const expected: DType = if (t.dtype == .i32) .i32 else .f32;
    try q.expect(values.dtype == expected, "values must be f32, or i32 for an i32 table");
    try q.expect(values.ne[0] == t.ne[0], "row lengths differ");
    try q.expect(values.ne[1] == rows.ne[0], "one row number per value row is needed");
    try q.expect(values.ne[2] == t.ne[2] and values.ne[3] == t.ne[3], "outer sizes differ");
    for (rows.ne[1..3], values.ne[2..4]) |rn, vn| {
        try q.expect(rn != 0 and vn % rn == 0, "row numbers do not broadcast");
    }
    try q.expect(rows.ne[3] == 1, "rows have at most three dimensions");
    q.outputs[0] = t;
}

pub fn quantizeRow(q: *Inference) Error!void {
    const x = q.source(0);
    try q.expect(x.dtype == .f32, "x must be f32");
    q.outputs[0] = .{ .dtype = .q8_row, .ne = x.ne };
}

/// weight [k, n, b, c], x [k, m, b', c'] with b | b', c | c' give f32 [n, m, b', c'] + bias [n].
pub fn linear(q: *Inference) Error!void {
    const w = q.source(0);
    const x = q.source(1);
    try q.expect(w.ne[0] == x.ne[0], "inner sizes differ");
    for (w.ne[2..4], x.ne[2..4]) |wn, xn| {
        try q.expect(wn == xn or (wn != 0 and xn % wn == 0), "outer sizes do not broadcast");
    }
    if (q.sources[2]) |bias| {
        try q.expect(bias.dtype == .f32, "bias must be f32");
        try q.expect(bias.ne[0] == w.ne[1] and bias.rows() == 1, "bias must be [outputs]");
    }
    for (q.sources[3..7]) |adapter| {
        try q.expect(adapter == null, "adapters are not available yet");
    }
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ w.ne[1], x.ne[1], x.ne[2], x.ne[3] } };
}

pub fn norm(q: *Inference) Error!void {
    const x = q.source(0);
    try q.expect(x.dtype == .f32, "x must be f32");
    if (q.sources[1]) |w| {
        try q.expect(w.dtype == .f32, "weight must be f32");
        try q.expect(w.ne[0] == x.ne[0] and w.rows() == 1, "weight must be [row length]");
    }
    q.outputs[0] = x;
}

/// x [head_dim, heads, rows], positions i32 [rows], frequency_factors f32 [rotated / 2].
pub fn rope(q: *Inference) Error!void {
    const x = q.source(0);
    const positions = q.source(1);
    const p = q.as(ops.RopeParams);
    try q.expect(isFloat(x.dtype), "x must be f32, f16 or bf16");
    try q.expect(positions.dtype == .i32, "positions must be i32");
    try q.expect(positions.ne[0] == x.ne[2] and positions.rows() == 1, "one position per row");
    try q.expect(p.style <= 1, "unknown style");
    try q.expect(p.rotated > 0 and p.rotated % 2 == 0, "rotated must be even and positive");
    try q.expect(p.rotated <= x.ne[0], "rotated is larger than the head");
    if (q.sources[2]) |f| {
        try q.expect(f.dtype == .f32, "frequency_factors must be f32");
        try q.expect(f.ne[0] == p.rotated / 2 and f.rows() == 1, "one factor per rotated pair");
    }
    q.outputs[0] = x;
}

pub fn attention(q: *Inference) Error!void {
    const queries = q.source(0);
    const keys = q.source(1);
    const values = q.source(2);
    const p = q.as(ops.AttentionParams);
    const head_dim = queries.ne[0];
    const heads = queries.ne[1];
    const rows = queries.ne[2];
    try q.expect(queries.dtype == .f32, "queries must be f32");
    try q.expect(queries.ne[3] == 1, "queries are [head_dim, heads, rows]");
    try q.expect(head_dim > 0 and heads > 0, "queries have an empty head");
    try q.expect(keys.ne[0] > 0 and keys.ne[0] % head_dim == 0, "keys cut a head");
    const kv_heads = keys.ne[0] / head_dim;
    try q.expect(heads % kv_heads == 0, "heads must be a multiple of kv heads");
    try q.expect(values.ne[0] > 0 and values.ne[0] % kv_heads == 0, "values cut a head");
    try q.expect(keys.ne[1] == values.ne[1], "keys and values have different cells");
    try q.expect(keys.ne[2] == 1 and keys.ne[3] == 1, "keys are [head_dim * kv_heads, cells]");
    try q.expect(values.ne[2] == 1 and values.ne[3] == 1, "values are [size, cells]");
    try q.expect(p.block_size > 0, "block_size must be positive");
    try q.expect(keys.ne[1] % p.block_size == 0, "cells must be whole blocks");
    for (q.sources[3..8]) |index| {
        try q.expect(index.?.dtype == .i32, "positions, lengths and tables must be i32");
        try q.expect(index.?.ne[2] == 1 and index.?.ne[3] == 1, "tables are flat");
    }
    try q.expect(q.source(3).ne[0] == keys.ne[1] and q.source(3).ne[1] == 1, "one per cell");
    try q.expect(q.source(4).ne[0] == rows and q.source(4).ne[1] == 1, "one position per row");
    try q.expect(q.source(5).ne[0] == rows and q.source(5).ne[1] == 1, "one sequence per row");
    const sequences = q.source(7).ne[1];
    const capacity = std.math.mul(u64, q.source(7).ne[0], p.block_size) catch elements_max;
    try q.expect(capacity < elements_max, "the block table describes too many cells");
    try q.expect(q.source(6).ne[0] == sequences, "one length per sequence");
    try q.expect(q.source(6).ne[1] == 1, "lengths are flat");
    if (q.sources[8]) |sinks| {
        try q.expect(sinks.dtype == .f32, "sinks must be f32");
        try q.expect(sinks.ne[0] == heads and sinks.rows() == 1, "one sink per head");
    }
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ values.ne[0] / kv_heads, heads, rows, 1 } };
}

pub fn glu(q: *Inference) Error!void {
    const gate = q.source(0);
    const up = q.source(1);
    try q.expect(std.enums.fromInt(ops.GluKind, q.as(ops.GluParams).kind) != null, "unknown kind");
    try q.expect(isFloat(gate.dtype) and isFloat(up.dtype), "gate and up must be floats");
    try q.expect(sameDims(gate, up), "gate and up differ");
    q.outputs[0] = gate;
}

const testing = std.testing;

test "linear refuses inner sizes that differ and says so" {
    var q: Inference = .{ .params = @ptrCast(&@as(u32, 0)) };
    q.sources[0] = .{ .dtype = .f32, .ne = .{ 3, 4, 1, 1 } };
    q.sources[1] = .{ .dtype = .f32, .ne = .{ 2, 5, 1, 1 } };
    try testing.expectError(error.Shape, infer(@intFromEnum(ops.Op.linear), &q));
    try testing.expectEqualStrings("inner sizes differ", q.problem);
}

test "linear of [k, n] and [k, m] is [n, m]" {
    var q: Inference = .{ .params = @ptrCast(&@as(u32, 0)) };
    q.sources[0] = .{ .dtype = .q8_0, .ne = .{ 64, 4, 1, 1 } };
    q.sources[1] = .{ .dtype = .q8_row, .ne = .{ 64, 5, 1, 1 } };
    try infer(@intFromEnum(ops.Op.linear), &q);
    try testing.expectEqual([4]u64{ 4, 5, 1, 1 }, q.outputs[0].ne);
}

test "a size that overflows is refused before any rule sees it" {
    var q: Inference = .{ .params = @ptrCast(&@as(u32, 0)) };
    q.sources[0] = .{ .dtype = .f32, .ne = .{ 1 << 40, 1 << 40, 1, 1 } };
    q.sources[1] = q.sources[0];
    try testing.expectError(error.Shape, infer(@intFromEnum(ops.Op.add), &q));
}
