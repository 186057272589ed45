//! b behind a along one dimension. One item is a piece of a row of y; of blocks for quantized
//! dtypes.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const units = @import("units.zig");
const ConcatParams = @import("../ops.zig").arranging.ConcatParams;
const Tensor = abi.Tensor;

pub const concat: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    split.Chunks.of(&units.ofBlocks(task.output())).plan(result, 1);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const dim = task.as(ConcatParams).dim;
    const a = units.ofBlocks(task.source(0));
    const b = units.ofBlocks(task.source(1));
    const y = units.ofBlocks(task.output());
    const chunks: split.Chunks = .of(&y);
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        var at = units.outer(&y, chunk.row);
        const to = units.rowAt(&y, at);
        if (dim > 0) {
            const first = at[dim - 1] < a.ne[dim];
            if (!first) at[dim - 1] -= a.ne[dim];
            moveRange(&y, to, if (first) &a else &b, at, 0, chunk.begin, chunk.end);
        } else {
            const border = a.ne[0];
            moveRange(&y, to, &a, at, 0, chunk.begin, @min(chunk.end, border));
            moveRange(&y, to, &b, at, border, @max(chunk.begin, border), chunk.end);
        }
    }
}

/// Units [begin, end) of a row of y from the row of x that starts at unit `start` of it.
fn moveRange(
    y: *const Tensor,
    to: [*]u8,
    x: *const Tensor,
    at: [3]u64,
    start: u64,
    begin: u64,
    end: u64,
) void {
    if (begin >= end) return;
    const from = units.rowAt(x, at) + (begin - start) * x.nb[0];
    const n: usize = @intCast(end - begin);
    units.move(to + begin * y.nb[0], y.nb[0], from, x.nb[0], n, units.size(y));
}

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;

test "concat along each dimension, of elements of any size, of blocks, in any order" {
    for ([_]@import("../dtype.zig").DType{ .f32, .bf16, .i64, .q8_0 }) |dtype| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            if (dtype == .q8_0 and order == .permuted) continue;
            const unit: u64 = if (dtype == .q8_0) 32 else 1;
            for (0..4) |dim| for ([_]u64{ 0, 3, 4100 }) |more| {
                if (more > 100 and (dim != 0 or unit > 1)) continue;
                var trial: Trial = .init(4);
                defer trial.deinit();
                const a = trial.random(dtype, .{ 5 * unit, 4, 3, 2 }, order);
                var ne = a.ne;
                ne[dim] = more * if (dim == 0) unit else 1;
                const b = trial.random(dtype, ne, .packed_rows);
                ne[dim] += a.ne[dim];
                const y = trial.empty(dtype, ne, order);
                const params: ConcatParams = .{ .dim = @intCast(dim) };
                try trial.run(.concat, concat, params, &.{ a, b }, &.{y});
                var walk: Walk = .{ .ne = ne };
                while (walk.next()) |at| {
                    var from = at;
                    const first = at[dim] < a.ne[dim];
                    if (!first) from[dim] -= a.ne[dim];
                    const expected = trial.get(if (first) a else b, from);
                    try std.testing.expectEqual(expected, trial.get(y, at));
                }
            };
        }
    }
}
