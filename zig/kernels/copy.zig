//! Copies a tensor into another of the same sizes with any strides, also between dtypes: through
//! f32, or byte by byte where they are the same.

const std = @import("std");
const abi = @import("abi.zig");
const dtypes = @import("../dtype.zig");
const formats = @import("formats.zig");
const ops = @import("../ops.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const units = @import("units.zig");
const DType = dtypes.DType;
const Tensor = abi.Tensor;

pub const copy: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    if (x.dtype == y.dtype) {
        const pair = unitPair(task);
        return split.Chunks.of(&pair[0]).plan(result, 1);
    }
    if (!formats.canDequantize(x.dtype) or !formats.canQuantize(y.dtype, false)) return;
    if (!survivesF32(x.dtype) and !staging.isFloat(y.dtype)) return;
    const cost: u64 = if (dtypes.isQuantized(y.dtype)) 16 else 2;
    split.Chunks.of(y).plan(result, cost);
}

/// Whether every value of the dtype is an f32, so that integers do not lose digits on their way.
fn survivesF32(dtype: DType) bool {
    return switch (dtype) {
        .i32, .u32, .i64 => false,
        else => true,
    };
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
    if (task.source(0).dtype == task.output().dtype) {
        const pair = unitPair(task);
        for (begin..end) |item| moveChunk(&pair[0], &pair[1], item);
        return;
    }
    for (begin..end) |item| convertChunk(task.output(), task.source(0), item);
}

/// Output and source with a block as the element.
fn unitPair(task: *const abi.Task) [2]Tensor {
    var pair = [_]Tensor{ units.ofBlocks(task.output()), units.ofBlocks(task.source(0)) };
    split.collapse(&pair);
    return pair;
}

fn moveChunk(y: *const Tensor, x: *const Tensor, item: u64) void {
    const chunk = split.Chunks.of(y).at(item);
    const to = y.row(chunk.row) + chunk.begin * y.nb[0];
    const from = x.row(chunk.row) + chunk.begin * x.nb[0];
    const n: usize = @intCast(chunk.end - chunk.begin);
    units.move(to, y.nb[0], from, x.nb[0], n, units.size(y));
}

fn convertChunk(y: *const Tensor, x: *const Tensor, item: u64) void {
    const chunk = split.Chunks.of(y).at(item);
    const from = x.row(chunk.row);
    const to = y.row(chunk.row);
    var i = chunk.begin;
    while (i < chunk.end) : (i += staging.block) {
        const n: usize = @intCast(@min(staging.block, chunk.end - i));
        var buffer: staging.Buffer = undefined;
        const values = staging.read(x, from, i, n, staging.target(y, to, i, &buffer));
        staging.write(y, to, i, n, values);
    }
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const Order = @import("trial.zig").Order;

fn check(from: DType, to: DType, ne: [4]u64, x_order: Order, y_order: Order, tolerance: f64) !void {
    var trial: Trial = .init(5);
    defer trial.deinit();
    const x = trial.random(from, ne, x_order);
    const y = trial.empty(to, ne, y_order);
    const params: ops.CopyParams = .{ .dtype = @intFromEnum(to) };
    try trial.run(.copy, copy, params, &.{x}, &.{y});
    var walk: Walk = .{ .ne = ne };
    while (walk.next()) |at| {
        const value = trial.get(x, at);
        const whole = to == .i32 or to == .i64;
        try trial.expectNear(y, at, if (whole) @trunc(value) else value, tolerance);
    }
}

test "copies between plain dtypes keep values up to rounding, in any order" {
    const dtype_list = [_]DType{ .f32, .f16, .bf16, .i32 };
    for (dtype_list) |from| for (dtype_list) |to| {
        for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
            try check(from, to, .{ 37, 3, 2, 2 }, order, .packed_rows, 0);
            try check(from, to, .{ 5, 1100, 1, 1 }, .permuted, order, 0);
        }
    };
    try check(.f32, .f32, .{ 9001, 2, 1, 1 }, .packed_rows, .gaps, 0);
    try check(.f32, .f16, .{ 0, 2, 1, 1 }, .packed_rows, .gaps, 0);
    try check(.i64, .i64, .{ 3, 2, 2, 1 }, .permuted, .gaps, 0);
}

test "copies into and out of blocks, and of blocks as they are" {
    for ([_]DType{ .q8_0, .q4_0 }) |dtype| {
        const step: f64 = if (dtype == .q8_0) 0.02 else 0.5;
        try check(dtype, .f32, .{ 96, 3, 2, 1 }, .packed_rows, .gaps, 0);
        try check(dtype, .f16, .{ 1088, 3, 1, 1 }, .gaps, .packed_rows, 0);
        try check(.f32, dtype, .{ 96, 3, 2, 1 }, .permuted, .packed_rows, step);
        try check(dtype, dtype, .{ 96, 3, 2, 1 }, .gaps, .packed_rows, 0);
        try check(.q8_0, .q4_0, .{ 96, 3, 2, 1 }, .gaps, .packed_rows, 0.5);
    }
}

test "integers that f32 cannot hold are refused unless the dtype stays" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.random(.i64, .{ 4, 1, 1, 1 }, .packed_rows);
    const y = trial.empty(.i32, x.ne, .packed_rows);
    const params: ops.CopyParams = .{ .dtype = @intFromEnum(DType.i32) };
    const result = trial.run(.copy, copy, params, &.{x}, &.{y});
    try std.testing.expectError(error.Unsupported, result);
}
