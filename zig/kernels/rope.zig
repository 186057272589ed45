//! Rotary position embedding (Su et al. 2021, arXiv:2104.09864) with linear scaling, frequency
//! factors and YaRN (Peng et al. 2023, arXiv:2309.00071), and the same turned back (rope_back).
//!
//! Pair i of a head turns by the angle position * frequency[i]. One item is one row of heads; its
//! cosines and sines are computed once in f64 and used for every head.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const angles = @import("angles.zig");
const rotation = @import("rotation.zig");
const Params = ops.RopeParams;
const neighbours = rotation.neighbours;
const halves = rotation.halves;

pub const rope: abi.Kernel = .{ .plan = plan, .run = Run(1).run };
pub const rope_back: abi.Kernel = .{ .plan = plan, .run = Run(-1).run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    rotation.plan(task, result, task.as(Params).rotated / 2);
}

fn Run(comptime direction: f64) type {
    return struct {
        fn run(
            task: *const abi.Task,
            begin: u64,
            end: u64,
            scratch: abi.Scratch,
        ) callconv(.c) void {
            const x = task.source(0);
            const positions = task.source(1);
            const p = task.as(Params);
            const pairs = p.rotated / 2;
            const tables: rotation.Tables = .of(scratch, x.ne[0], pairs);
            fillFrequencies(p, rotation.factorsOf(task), tables.frequencies);
            for (begin..end) |item| {
                const row = item % x.ne[2];
                const place = positions.data + row * positions.nb[0];
                const position: f64 = @floatFromInt(@as(*const i32, @ptrCast(@alignCast(place))).*);
                const turns: angles.Wide = @splat(position * direction);
                var i: usize = 0;
                while (i < pairs) : (i += angles.lanes) {
                    const frequency: angles.Wide = tables.frequencies[i..][0..angles.lanes].*;
                    tables.set(p.style, i, frequency * turns, p.magnitude);
                }
                rotation.turnRow(task, item, p.style, pairs, tables);
            }
        }
    };
}

/// frequency[i] = base^(-2i / rotated) / factor[i], times the scale where YaRN interpolates.
pub fn fillFrequencies(p: *const Params, factors: ?[*]const f32, frequencies: [*]f64) void {
    const pairs = p.rotated / 2;
    const log_base = angles.ln(p.base);
    const step = -2 * log_base / @as(f64, @floatFromInt(p.rotated));
    const scale: f64 = p.scale;
    const ramp: Ramp = .of(p, log_base);
    const steps: angles.Wide = @splat(step);
    var counting: angles.Wide = @floatFromInt(std.simd.iota(i32, angles.lanes));
    var i: usize = 0;
    while (i < pairs) : (i += angles.lanes) {
        frequencies[i..][0..angles.lanes].* = angles.exp(counting * steps);
        counting += @splat(angles.lanes);
    }
    for (frequencies[0..pairs], 0..) |*frequency, pair| {
        const extrapolated = if (p.extrapolation == 0) 0 else ramp.at(pair) * p.extrapolation;
        frequency.* *= scale * (1 - extrapolated) + extrapolated;
        if (factors) |f| frequency.* /= f[pair];
    }
}

/// Where YaRN stops extrapolating and starts to interpolate, counted in pairs.
const Ramp = struct {
    low: f64,
    high: f64,

    fn of(p: *const Params, log_base: f64) Ramp {
        const last: f64 = @floatFromInt(p.rotated - 1);
        return .{
            .low = @max(0, @floor(pairOf(p, p.beta_fast, log_base))),
            .high = @min(last, @ceil(pairOf(p, p.beta_slow, log_base))),
        };
    }

    /// The pair that turns `rotations` times within the original context.
    fn pairOf(p: *const Params, rotations: f64, log_base: f64) f64 {
        const rotated: f64 = @floatFromInt(p.rotated);
        const context: f64 = @floatFromInt(p.original_context);
        return rotated * angles.ln(context / (rotations * 2 * std.math.pi)) / (2 * log_base);
    }

    /// 1 where pairs are extrapolated, 0 where they are interpolated.
    fn at(ramp: Ramp, pair: usize) f64 {
        const i: f64 = @floatFromInt(pair);
        const way = (i - ramp.low) / @max(0.001, ramp.high - ramp.low);
        return 1 - @min(1, @max(0, way));
    }
};

const Trial = @import("trial.zig").Trial;

/// From the definition, in f64.
fn expectRotated(
    trial: *Trial,
    p: Params,
    x: abi.Tensor,
    positions: abi.Tensor,
    factors: ?abi.Tensor,
    y: abi.Tensor,
) !void {
    const n = p.rotated;
    for (0..x.ne[2]) |row| for (0..x.ne[1]) |head| {
        for (0..n / 2) |i| {
            const exponent = -2 * @as(f64, @floatFromInt(i)) / @as(f64, @floatFromInt(n));
            var angle = std.math.pow(f64, p.base, exponent);
            angle *= trial.get(positions, .{ row, 0, 0, 0 });
            if (factors) |f| angle /= trial.get(f, .{ i, 0, 0, 0 });
            angle *= p.scale;
            const first = if (p.style == neighbours) 2 * i else i;
            const second = if (p.style == neighbours) 2 * i + 1 else i + n / 2;
            const a = trial.get(x, .{ first, head, row, 0 });
            const b = trial.get(x, .{ second, head, row, 0 });
            const c = @cos(angle) * p.magnitude;
            const s = @sin(angle) * p.magnitude;
            try trial.expectNear(y, .{ first, head, row, 0 }, a * c - b * s, 5e-7);
            try trial.expectNear(y, .{ second, head, row, 0 }, b * c + a * s, 5e-7);
        }
        for (n..x.ne[0]) |i| {
            const at: [4]u64 = .{ i, head, row, 0 };
            try trial.expectNear(y, at, trial.get(x, at), 0);
        }
    };
}

const plain: Params = .{
    .style = neighbours,
    .rotated = 0,
    .base = 10000,
    .scale = 1,
    .extrapolation = 0,
    .magnitude = 1,
    .beta_fast = 32,
    .beta_slow = 1,
    .original_context = 0,
};

test "rope turns both kinds of pairs, whole heads and parts, up to angles of a million" {
    for ([_]u32{ 2, 10, 16, 30, 64, 128 }) |rotated| for ([_]u32{ neighbours, halves }) |style| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps }) |order| {
            var trial: Trial = .init(rotated);
            defer trial.deinit();
            var p = plain;
            p.style = style;
            p.rotated = rotated;
            p.scale = 0.5;
            p.magnitude = 1.25;
            const x = trial.random(.f32, .{ rotated + 3, 3, 4, 1 }, order);
            const positions = trial.of(.i32, .{ 4, 1, 1, 1 }, &.{ 0, 7, -131072, 1_000_000 });
            const factors = trial.empty(.f32, .{ rotated / 2, 1, 1, 1 }, .packed_rows);
            for (0..rotated / 2) |i| {
                trial.set(factors, .{ i, 0, 0, 0 }, @as(f64, @floatFromInt(i + 8)) / 8);
            }
            const y = trial.empty(.f32, x.ne, order);
            try trial.run(.rope, rope, p, &.{ x, positions, null }, &.{y});
            try expectRotated(&trial, p, x, positions, null, y);
            try trial.run(.rope, rope, p, &.{ x, positions, factors }, &.{y});
            try expectRotated(&trial, p, x, positions, factors, y);
        }
    };
}

test "rope of halves and of permuted heads" {
    for ([_]@import("../dtype.zig").DType{ .f32, .f16, .bf16 }) |dtype| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .permuted }) |order| {
            var trial: Trial = .init(1);
            defer trial.deinit();
            var p = plain;
            p.rotated = 20;
            p.style = halves;
            const x = trial.random(dtype, .{ 23, 3, 4, 1 }, order);
            const positions = trial.of(.i32, .{ 4, 1, 1, 1 }, &.{ 0, 7, 131, 5 });
            const y = trial.empty(dtype, x.ne, order);
            try trial.run(.rope, rope, p, &.{ x, positions, null }, &.{y});
            try expectRotated(&trial, p, x, positions, null, y);
        }
    }
}

test "rope_back undoes rope" {
    for ([_]u32{ neighbours, halves }) |style| {
        var trial: Trial = .init(style);
        defer trial.deinit();
        var p = plain;
        p.style = style;
        p.rotated = 20;
        const x = trial.random(.f32, .{ 24, 2, 3, 1 }, .packed_rows);
        const positions = trial.of(.i32, .{ 3, 1, 1, 1 }, &.{ 1, 2, 300 });
        const y = trial.empty(.f32, x.ne, .packed_rows);
        const z = trial.empty(.f32, x.ne, .packed_rows);
        try trial.run(.rope, rope, p, &.{ x, positions, null }, &.{y});
        try trial.run(.rope_back, rope_back, p, &.{ y, positions, null }, &.{z});
        for (0..24 * 2 * 3) |i| {
            const at: [4]u64 = .{ i % 24, i / 24 % 2, i / 48, 0 };
            try trial.expectNear(z, at, trial.get(x, at), 1e-6);
        }
    }
}

test "rope in place gives what it gives elsewhere" {
    for ([_]u32{ neighbours, halves }) |style| {
        var trial: Trial = .init(style);
        defer trial.deinit();
        var p = plain;
        p.style = style;
        p.rotated = 20;
        const x = trial.random(.f32, .{ 24, 2, 3, 1 }, .packed_rows);
        const positions = trial.of(.i32, .{ 3, 1, 1, 1 }, &.{ 1, 2, 300 });
        const y = trial.empty(.f32, x.ne, .packed_rows);
        try trial.run(.rope, rope, p, &.{ x, positions, null }, &.{y});
        const task: abi.Task = .{
            .op = .rope,
            .source_count = 2,
            .output_count = 1,
            .params = @ptrCast(&p),
            .sources = .{ &x, &positions } ++ .{null} ** (ops.sources_max - 2),
            .outputs = .{&x} ++ .{null} ** (ops.outputs_max - 1),
            .status = &trial.status,
        };
        var memory: [4096]u8 align(64) = undefined;
        rope.run(&task, 0, 3, &memory);
        for (0..24 * 2 * 3) |i| {
            const at: [4]u64 = .{ i % 24, i / 24 % 2, i / 48, 0 };
            try std.testing.expectEqual(trial.get(y, at), trial.get(x, at));
        }
    }
}

test "YaRN keeps fast pairs, slows down slow ones and mixes those between" {
    var frequencies: [32 + angles.lanes]f64 = undefined;
    var p = plain;
    p.rotated = 64;
    p.scale = 0.25;
    p.extrapolation = 1;
    p.original_context = 2048;
    fillFrequencies(&p, null, &frequencies);
    // d(beta) = 64 ln(2048 / (2 pi beta)) / (2 ln 10000): 8.06 for 32 and 20.1 for 1, so the ramp
    // runs from pair 8 to pair 21.
    for (frequencies[0..32], 0..) |frequency, i| {
        const pair: f64 = @floatFromInt(i);
        const own = std.math.pow(f64, 10000, -pair / 32);
        const interpolated = std.math.clamp((pair - 8) / (21.0 - 8.0), 0, 1);
        const expected = own * (interpolated * 0.25 + 1 - interpolated);
        try std.testing.expectApproxEqRel(expected, frequency, 1e-12);
    }
}
