//! Sinusoidal embeddings of times (Vaswani et al. 2017, arXiv:1706.03762): cosines, then sines, of
//! time * period^(-i / half), with half = dim / 2. One item is one time.

const std = @import("std");
const abi = @import("abi.zig");
const angles = @import("angles.zig");
const positional = @import("../ops.zig").positional;
const split = @import("split.zig");
const Params = positional.TimestepParams;

pub const timestep_embedding: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    if (task.output().nb[0] != 4) return;
    split.byRow(result, task.output().ne[1], task.as(Params).dim * @as(u64, 16));
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const p = task.as(Params);
    const half = p.dim / 2;
    const step = -angles.ln(@floatFromInt(p.period)) / @as(f64, @floatFromInt(half));
    for (begin..end) |index| {
        const place = x.data + index * x.nb[0];
        const time: f64 = @as(*const f32, @ptrCast(@alignCast(place))).*;
        const row: [*]f32 = @ptrCast(@alignCast(task.output().row(index)));
        if (p.dim % 2 == 1) row[p.dim - 1] = 0;
        var i: usize = 0;
        while (i < half) : (i += angles.lanes) {
            const first: angles.Wide = @splat(@floatFromInt(i));
            const counting: angles.Wide = @floatFromInt(std.simd.iota(i32, angles.lanes));
            const exponent = (first + counting) * @as(angles.Wide, @splat(step));
            const both = angles.sinCos(angles.exp(exponent) * @as(angles.Wide, @splat(time)));
            const cosines: [angles.lanes]f64 = both.cos;
            const sines: [angles.lanes]f64 = both.sin;
            const n = @min(angles.lanes, half - i);
            for (row[i..][0..n], cosines[0..n]) |*value, cosine| value.* = @floatCast(cosine);
            for (row[half + i ..][0..n], sines[0..n]) |*value, sine| value.* = @floatCast(sine);
        }
    }
}

const Trial = @import("trial.zig").Trial;

test "timestep_embedding of even and odd sizes" {
    for ([_]u32{ 2, 3, 32, 33, 320 }) |dim| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.of(.f32, .{ 3, 1, 1, 1 }, &.{ 0, 12.5, 999 });
        const y = trial.empty(.f32, .{ dim, 3, 1, 1 }, .gaps);
        const p: Params = .{ .dim = dim, .period = 10000 };
        try trial.run(.timestep_embedding, timestep_embedding, p, &.{x}, &.{y});
        const half = dim / 2;
        for (0..3) |t| for (0..half) |i| {
            const exponent = -@as(f64, @floatFromInt(i)) / @as(f64, @floatFromInt(half));
            const time = trial.get(x, .{ t, 0, 0, 0 });
            const angle = time * std.math.pow(f64, 10000, exponent);
            try trial.expectNear(y, .{ i, t, 0, 0 }, @cos(angle), 1e-6);
            try trial.expectNear(y, .{ half + i, t, 0, 0 }, @sin(angle), 1e-6);
        };
        if (dim % 2 == 1) try trial.expectNear(y, .{ dim - 1, 2, 0, 0 }, 0, 0);
    }
}
