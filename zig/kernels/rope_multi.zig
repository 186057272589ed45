//! Rotary embedding by several positions at once (Wang et al. 2024, arXiv:2409.12191): each pair
//! turns with the position that its section says. Pairs lie half of the rotated part apart.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const angles = @import("angles.zig");
const rotation = @import("rotation.zig");
const fillFrequencies = @import("rope.zig").fillFrequencies;
const positional = ops.positional;
const Kind = positional.SectionKind;
const Params = positional.RopeMultiParams;

pub const rope_multi: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    rotation.plan(task, result, pairsOf(task.as(Params)));
}

fn pairsOf(p: *const Params) u32 {
    return if (p.kind == @intFromEnum(Kind.vision)) p.rotated else p.rotated / 2;
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const x = task.source(0);
    const p = task.as(Params);
    const pairs = pairsOf(p);
    const tables: rotation.Tables = .of(scratch, x.ne[0], pairs);
    fillAllFrequencies(p, rotation.factorsOf(task), tables.frequencies);
    for (begin..end) |item| {
        const positions = positionsOf(task.source(1), item % x.ne[2]);
        var i: usize = 0;
        while (i < pairs) : (i += angles.lanes) {
            var angle: [angles.lanes]f64 = undefined;
            for (&angle, 0..) |*value, lane| {
                const pair = @min(i + lane, pairs - 1);
                value.* = tables.frequencies[pair] * positions[axisOf(p, pair).position];
            }
            tables.set(rotation.halves, i, angle, p.magnitude);
        }
        rotation.turnRow(task, item, rotation.halves, pairs, tables);
    }
}

fn positionsOf(t: *const abi.Tensor, row: u64) [4]f64 {
    var list: [4]f64 = undefined;
    for (&list, 0..) |*position, i| {
        const place = t.data + row * t.nb[0] + i * t.nb[1];
        position.* = @floatFromInt(@as(*const i32, @ptrCast(@alignCast(place))).*);
    }
    return list;
}

/// Frequencies as for one position; in vision those of each section's own pairs.
fn fillAllFrequencies(p: *const Params, factors: ?[*]const f32, frequencies: [*]f64) void {
    const plain: ops.RopeParams = .{
        .style = rotation.halves,
        .rotated = p.rotated,
        .base = p.base,
        .scale = p.scale,
        .extrapolation = p.extrapolation,
        .magnitude = p.magnitude,
        .beta_fast = p.beta_fast,
        .beta_slow = p.beta_slow,
        .original_context = p.original_context,
    };
    if (p.kind != @intFromEnum(Kind.vision)) return fillFrequencies(&plain, factors, frequencies);
    var pair = pairsOf(p);
    fillFrequencies(&plain, null, frequencies);
    // From the last on, because a section's own pairs come no later.
    while (pair > 0) {
        pair -= 1;
        const own = axisOf(p, pair).own;
        const known = own < p.rotated / 2;
        frequencies[pair] = if (known) frequencies[own] else beyond(p, own);
        if (factors) |f| frequencies[pair] /= f[pair];
    }
}

/// A section longer than half of the rotated part goes on with smaller frequencies.
fn beyond(p: *const Params, pair: u32) f64 {
    const exponent = -2 * @as(f64, @floatFromInt(pair)) / @as(f64, @floatFromInt(p.rotated));
    return angles.exp(@splat(exponent * angles.ln(p.base)))[0] * p.scale;
}

/// Which position turns a pair, and the pair's place in its section.
const Axis = struct { position: usize, own: u32 };

fn axisOf(p: *const Params, pair: usize) Axis {
    const sections = p.sections();
    var sum: u32 = 0;
    for (sections) |section| sum +|= section;
    const sector: u32 = @intCast(pair % sum);
    if (p.kind == @intFromEnum(Kind.interleaved)) {
        const turn = sector % 3;
        const inside = sector < 3 *| sections[turn];
        return .{ .position = if (inside) turn else 3, .own = sector };
    }
    var first: u32 = 0;
    for (sections, 0..) |section, position| {
        if (sector - first < section) return .{ .position = position, .own = sector - first };
        first += section;
    }
    unreachable; // The sector is smaller than the sum.
}

const Trial = @import("trial.zig").Trial;

fn check(kind: Kind, sections: [4]u32, rotated: u32, head_dim: u64) !void {
    var trial: Trial = .init(rotated);
    defer trial.deinit();
    const p: Params = .{
        .kind = @intFromEnum(kind),
        .rotated = rotated,
        .base = 10000,
        .scale = 1,
        .extrapolation = 0,
        .magnitude = 1,
        .beta_fast = 32,
        .beta_slow = 1,
        .original_context = 0,
        .section0 = sections[0],
        .section1 = sections[1],
        .section2 = sections[2],
        .section3 = sections[3],
    };
    const x = trial.random(.f32, .{ head_dim, 2, 3, 1 }, .gaps);
    const positions = trial.random(.i32, .{ 3, 4, 1, 1 }, .packed_rows);
    const y = trial.empty(.f32, x.ne, .gaps);
    try trial.run(.rope_multi, rope_multi, p, &.{ x, positions, null }, &.{y});
    const pairs = if (kind == .vision) rotated else rotated / 2;
    var sum: u64 = 0;
    for (sections) |section| sum += section;
    for (0..3) |row| for (0..2) |head| for (0..pairs) |pair| {
        const sector = pair % sum;
        var axis: u64 = 3;
        var own = pair;
        if (kind == .interleaved) {
            if (sector < 3 * sections[sector % 3]) axis = sector % 3;
        } else {
            axis = 0;
            var start: u64 = 0;
            while (sector >= start + sections[axis]) : (axis += 1) start += sections[axis];
            if (kind == .vision) own = sector - start;
        }
        const exponent = -2 * @as(f64, @floatFromInt(own)) / @as(f64, @floatFromInt(rotated));
        const position = trial.get(positions, .{ row, axis, 0, 0 });
        const angle = position * std.math.pow(f64, 10000, exponent);
        const a = trial.get(x, .{ pair, head, row, 0 });
        const b = trial.get(x, .{ pair + pairs, head, row, 0 });
        const first = a * @cos(angle) - b * @sin(angle);
        try trial.expectNear(y, .{ pair, head, row, 0 }, first, 1e-6);
        const second = b * @cos(angle) + a * @sin(angle);
        try trial.expectNear(y, .{ pair + pairs, head, row, 0 }, second, 1e-6);
    };
}

test "rope_multi in blocks, interleaved and for images" {
    try check(.blocks, .{ 4, 6, 6, 0 }, 32, 32);
    try check(.blocks, .{ 4, 4, 4, 4 }, 32, 40);
    try check(.blocks, .{ 2, 1, 0, 0 }, 20, 20);
    try check(.interleaved, .{ 6, 5, 5, 0 }, 32, 32);
    try check(.interleaved, .{ 3, 1, 1, 2 }, 32, 32);
    try check(.vision, .{ 8, 8, 0, 0 }, 16, 32);
    try check(.vision, .{ 12, 4, 0, 0 }, 16, 32);
}
