//! Ops that treat every element alike: y[i] = f(a[i], b[i], …), for tensors of the same sizes
//! with any strides, in f32, f16 and bf16; f works on vectors of f32.

const std = @import("std");
const abi = @import("abi.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;
const V = vector.V;
const Tensor = abi.Tensor;

/// `cost` of one value, where 1 is a copy.
pub fn plan(result: *abi.Plan, task: *const abi.Task, comptime arity: usize, cost: u64) void {
    var all = operands(task, arity);
    for (all) |t| if (!staging.isFloat(t.dtype)) return;
    split.collapse(&all);
    split.Chunks.of(&all[0]).plan(result, cost);
}

/// Computes a piece of a row: y[i] = f(context, sources[0][i], …) for i < n.
pub fn Apply(comptime arity: usize, comptime Context: type) type {
    return *const fn (Context, [*]f32, [arity][*]const f32, usize) void;
}

/// Computes items [begin, end). The function is a pointer, so that the code around it exists once
/// for all ops.
pub fn run(
    task: *const abi.Task,
    comptime arity: usize,
    context: anytype,
    apply: Apply(arity, @TypeOf(context)),
    begin: u64,
    end: u64,
) void {
    var all = operands(task, arity);
    split.collapse(&all);
    const chunks: split.Chunks = .of(&all[0]);
    const direct = for (all) |t| {
        if (!staging.isDirect(&t)) break false;
    } else true;
    const step: u64 = if (direct) split.chunk_values else staging.block;
    for (begin..end) |item| {
        const chunk = chunks.at(item);
        const row = all[0].row(chunk.row);
        var rows: [arity][*]const u8 = undefined;
        for (&rows, all[1..]) |*r, *t| r.* = t.row(chunk.row);
        var i = chunk.begin;
        while (i < chunk.end) : (i += step) {
            const n: usize = @intCast(@min(step, chunk.end - i));
            var buffers: [arity + 1]staging.Buffer = undefined;
            var sources: [arity][*]const f32 = undefined;
            for (&sources, 0..) |*s, k| {
                s.* = staging.read(&all[k + 1], rows[k], i, n, &buffers[k]);
            }
            const y = staging.target(&all[0], row, i, &buffers[arity]);
            apply(context, y, sources, n);
            staging.write(&all[0], row, i, n, y);
        }
    }
}

/// The output first, then the sources.
fn operands(task: *const abi.Task, comptime arity: usize) [arity + 1]Tensor {
    var all: [arity + 1]Tensor = undefined;
    all[0] = task.output().*;
    for (all[1..], 0..) |*t, i| t.* = task.source(i).*;
    return all;
}

/// The loop over f, which takes the context and a vector of each source.
pub fn loop(
    comptime arity: usize,
    comptime Context: type,
    comptime f: anytype,
) Apply(arity, Context) {
    return struct {
        fn apply(context: Context, y: [*]f32, sources: [arity][*]const f32, n: usize) void {
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                var x: [arity]V = undefined;
                inline for (&x, sources) |*v, source| v.* = vector.load(source + i);
                vector.store(y + i, call(context, f, x));
            }
            if (i == n) return;
            var x: [arity]V = undefined;
            inline for (&x, sources) |*v, source| v.* = vector.loadPart(source + i, n - i);
            vector.storePart(y + i, call(context, f, x), n - i);
        }
    }.apply;
}

inline fn call(context: anytype, comptime f: anytype, x: anytype) V {
    return switch (x.len) {
        1 => f(context, x[0]),
        2 => f(context, x[0], x[1]),
        else => comptime unreachable,
    };
}
