//! Planes in other sizes: the nearest element, bilinear or bicubic interpolation (Keys 1981, with
//! a = -0.75). One item is one row of y.

const std = @import("std");
const abi = @import("abi.zig");
const spatial = @import("../ops.zig").spatial;
const split = @import("split.zig");
const staging = @import("staging.zig");
const units = @import("units.zig");
const Kind = spatial.UpscaleKind;
const Params = spatial.UpscaleParams;
const Tensor = abi.Tensor;

pub const upscale: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    if (!staging.isDirect(task.source(0)) and task.source(0).dtype != .f32) return;
    if (!staging.isDirect(y)) return;
    const cost: u64 = switch (@as(Kind, @enumFromInt(task.as(Params).kind))) {
        .nearest => 2,
        .bilinear => 16,
        .bicubic => 64,
    };
    split.byRow(result, y.rows(), y.ne[0] * cost);
}

fn run(task: *const abi.Task, begin: u64, end: u64, _: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const y = task.output();
    const p = task.as(Params);
    const kind: Kind = @enumFromInt(p.kind);
    for (begin..end) |index| {
        var at = units.outer(y, index);
        const row: [*]f32 = @ptrCast(@alignCast(units.rowAt(y, at)));
        const line = at[0];
        for (at[1..], y.ne[2..], x.ne[2..]) |*i, yn, xn| i.* = nearest(i.*, yn, xn);
        const plane: Plane = .{ .x = x, .data = units.rowAt(x, .{ 0, at[1], at[2] }) };
        for (row[0..@intCast(y.ne[0])], 0..) |*value, i| value.* = switch (kind) {
            .nearest => plane.get(nearest(i, y.ne[0], x.ne[0]), nearest(line, y.ne[1], x.ne[1])),
            .bilinear => if (p.antialias == 1)
                smooth(plane, axis(p, y, x, 0, i), axis(p, y, x, 1, line))
            else
                bilinear(plane, axis(p, y, x, 0, i), axis(p, y, x, 1, line)),
            .bicubic => bicubic(plane, axis(p, y, x, 0, i), axis(p, y, x, 1, line)),
        };
    }
}

/// Sizes are exact in f32, so the quotient falls where the reference's does.
fn nearest(index: u64, to: u64, from: u64) u64 {
    const scale = @as(f32, @floatFromInt(to)) / @as(f32, @floatFromInt(from));
    const source: u64 = @intFromFloat(@as(f32, @floatFromInt(index)) / scale);
    return @min(source, from - 1);
}

/// Where an element of y lies on one axis of x.
const Axis = struct {
    /// Distance from the centre of x's first element.
    place: f32,
    n: u64,
    /// Elements of y for one of x.
    scale: f32,
    offset: f32,
};

fn axis(p: *const Params, y: *const Tensor, x: *const Tensor, dim: usize, index: u64) Axis {
    const to: f32 = @floatFromInt(y.ne[dim]);
    const from: f32 = @floatFromInt(x.ne[dim]);
    const corners = p.align_corners == 1;
    const spread = corners and y.ne[dim] > 1 and x.ne[dim] > 1;
    const scale = if (spread) (to - 1) / (from - 1) else to / from;
    const offset: f32 = if (corners) 0 else 0.5;
    const place = (@as(f32, @floatFromInt(index)) + offset) / scale - offset;
    return .{ .place = place, .n = x.ne[dim], .scale = scale, .offset = offset };
}

const Plane = struct {
    x: *const Tensor,
    data: [*]const u8,

    fn get(plane: Plane, i: u64, j: u64) f32 {
        const address = plane.data + i * plane.x.nb[0] + j * plane.x.nb[1];
        return @as(*const f32, @ptrCast(@alignCast(address))).*;
    }

    /// Beyond the edge the edge is repeated.
    fn clamped(plane: Plane, i: i64, j: i64) f32 {
        return plane.get(inside(i, plane.x.ne[0]), inside(j, plane.x.ne[1]));
    }
};

fn inside(i: i64, n: u64) u64 {
    return @intCast(std.math.clamp(i, 0, @as(i64, @intCast(n)) - 1));
}

fn bilinear(plane: Plane, a: Axis, b: Axis) f32 {
    const i: i64 = @intFromFloat(@floor(a.place));
    const j: i64 = @intFromFloat(@floor(b.place));
    const dx = std.math.clamp(a.place - @as(f32, @floatFromInt(inside(i, a.n))), 0, 1);
    const dy = std.math.clamp(b.place - @as(f32, @floatFromInt(inside(j, b.n))), 0, 1);
    const low = plane.clamped(i, j) * (1 - dx) + plane.clamped(i + 1, j) * dx;
    const high = plane.clamped(i, j + 1) * (1 - dx) + plane.clamped(i + 1, j + 1) * dx;
    return low * (1 - dy) + high * dy;
}

/// Bilinear with triangles that are wider where y is smaller.
fn smooth(plane: Plane, a: Axis, b: Axis) f32 {
    var sum: f32 = 0;
    var total: f32 = 0;
    const columns: Triangle = .of(a);
    const lines: Triangle = .of(b);
    for (lines.first..lines.end) |j| for (columns.first..columns.end) |i| {
        const weight = columns.weight(i) * lines.weight(j);
        if (weight <= 0) continue;
        sum += plane.get(i, j) * weight;
        total += weight;
    };
    return if (total == 0) 0 else sum / total;
}

const Triangle = struct {
    centre: f32,
    inverse: f32,
    offset: f32,
    first: u64,
    end: u64,

    fn of(a: Axis) Triangle {
        const support = @max(1, 1 / a.scale);
        const centre = a.place + a.offset;
        const first: i64 = @intFromFloat(centre - support + a.offset);
        const end: i64 = @intFromFloat(centre + support + a.offset);
        return .{
            .centre = centre,
            .inverse = 1 / support,
            .offset = a.offset,
            .first = @intCast(@max(first, 0)),
            .end = @intCast(@max(@min(end, @as(i64, @intCast(a.n))), 0)),
        };
    }

    fn weight(t: Triangle, i: u64) f32 {
        const distance = (@as(f32, @floatFromInt(i)) - t.centre + t.offset) * t.inverse;
        return @max(1 - @abs(distance), 0);
    }
};

fn bicubic(plane: Plane, a: Axis, b: Axis) f32 {
    const x = @floor(a.place);
    const y = @floor(b.place);
    const columns = cubic(a.place - x);
    const lines = cubic(b.place - y);
    var sum: f32 = 0;
    for (lines, 0..) |line, j| {
        var row: f32 = 0;
        for (columns, 0..) |column, i| {
            const from = @as(i64, @intFromFloat(x)) + @as(i64, @intCast(i)) - 1;
            const over = @as(i64, @intFromFloat(y)) + @as(i64, @intCast(j)) - 1;
            row += plane.clamped(from, over) * column;
        }
        sum += row * line;
    }
    return sum;
}

/// Weights of the four elements around a place that is d behind the second.
fn cubic(d: f32) [4]f32 {
    return .{ outerWeight(d + 1), innerWeight(d), innerWeight(1 - d), outerWeight(2 - d) };
}

const a_keys = -0.75;

fn innerWeight(x: f32) f32 {
    return ((a_keys + 2) * x - (a_keys + 3)) * x * x + 1;
}

fn outerWeight(x: f32) f32 {
    return ((a_keys * x - 5 * a_keys) * x + 8 * a_keys) * x - 4 * a_keys;
}

const Trial = @import("trial.zig").Trial;
const Order = @import("trial.zig").Order;

fn paramsOf(ne: [4]u64, kind: Kind) Params {
    return .{
        .n0 = @intCast(ne[0]),
        .n1 = @intCast(ne[1]),
        .n2 = @intCast(ne[2]),
        .n3 = @intCast(ne[3]),
        .kind = @intFromEnum(kind),
        .align_corners = 0,
        .antialias = 0,
    };
}

test "nearest repeats elements by whole factors, in every dimension" {
    for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| {
        var trial: Trial = .init(1);
        defer trial.deinit();
        const x = trial.random(.f32, .{ 5, 4, 2, 3 }, order);
        const y = trial.empty(.f32, .{ 10, 12, 4, 3 }, .packed_rows);
        try trial.run(.upscale, upscale, paramsOf(y.ne, .nearest), &.{x}, &.{y});
        for (0..10 * 12) |r| for (0..12) |p| {
            const at: [4]u64 = .{ r % 10, r / 10, p % 4, p / 4 };
            const from: [4]u64 = .{ at[0] / 2, at[1] / 3, at[2] / 2, at[3] };
            try trial.expectNear(y, at, trial.get(x, from), 0);
        };
    }
}

/// How much an element at this distance counts (Keys 1981).
fn weightOf(kind: Kind, distance: f64) f64 {
    const t = @abs(distance);
    if (kind == .bilinear) return @max(0, 1 - t);
    if (t < 1) return (1.25 * t - 2.25) * t * t + 1;
    return if (t < 2) ((-0.75 * t + 3.75) * t - 6) * t + 3 else 0;
}

fn checkSmooth(kind: Kind, corners: u32, size: [2]u64) !void {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.random(.f32, .{ 6, 5, 2, 1 }, .gaps);
    const y = trial.empty(.f32, .{ size[0], size[1], 2, 1 }, .packed_rows);
    var params = paramsOf(y.ne, kind);
    params.align_corners = corners;
    try trial.run(.upscale, upscale, params, &.{x}, &.{y});
    for (0..size[0] * size[1] * 2) |index| {
        const at: [4]u64 = .{
            index % size[0], index / size[0] % size[1], index / size[0] / size[1], 0,
        };
        const u = placeOf(at[0], size[0], 6, corners);
        const v = placeOf(at[1], size[1], 5, corners);
        var expected: f64 = 0;
        // Elements beyond the edges are the edge's.
        for (0..12) |i| for (0..12) |j| {
            const column = @as(f64, @floatFromInt(i)) - 3;
            const line = @as(f64, @floatFromInt(j)) - 3;
            const from: [4]u64 = .{
                @trunc(std.math.clamp(column, 0, 5)), @trunc(std.math.clamp(line, 0, 4)), at[2], 0,
            };
            const weight = weightOf(kind, column - u) * weightOf(kind, line - v);
            expected += weight * trial.get(x, from);
        };
        try trial.expectNear(y, at, expected, 2e-6);
    }
}

test "bilinear and bicubic weigh elements by distance, larger and smaller" {
    for ([_]Kind{ .bilinear, .bicubic }) |kind| for ([_]u32{ 0, 1 }) |corners| {
        try checkSmooth(kind, corners, .{ 13, 11 });
        try checkSmooth(kind, corners, .{ 4, 3 });
        try checkSmooth(kind, corners, .{ 6, 5 });
    };
}

fn placeOf(index: u64, to: u64, from: u64, corners: u32) f64 {
    const i: f64 = @floatFromInt(index);
    const t: f64 = @floatFromInt(to);
    const f: f64 = @floatFromInt(from);
    return if (corners == 1) i * (f - 1) / (t - 1) else (i + 0.5) * f / t - 0.5;
}

test "antialias averages what becomes one element" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const x = trial.of(.f32, .{ 4, 1, 1, 1 }, &.{ 0, 8, 0, 8 });
    const y = trial.empty(.f32, .{ 2, 1, 1, 1 }, .packed_rows);
    var params = paramsOf(y.ne, .bilinear);
    params.antialias = 1;
    try trial.run(.upscale, upscale, params, &.{x}, &.{y});
    // The triangle around 1 of half-width 2 has weights 3, 3, 1 for the first three elements.
    try trial.expectNear(y, .{ 0, 0, 0, 0 }, 24.0 / 7.0, 1e-6);
    try trial.expectNear(y, .{ 1, 0, 0, 0 }, 32.0 / 7.0, 1e-6);
}
