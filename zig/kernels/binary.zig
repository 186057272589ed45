//! y = f(a, b) element by element, where b is repeated along each dimension to a's size.
//! f32, f16 and bf16 in any mixture and with any strides; computed in f32.

const std = @import("std");
const abi = @import("abi.zig");
const map = @import("map.zig");
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const V = vector.V;
const Tensor = abi.Tensor;

pub const add: abi.Kernel = Binary(sum).kernel;
pub const sub: abi.Kernel = Binary(difference).kernel;
pub const mul: abi.Kernel = Binary(product).kernel;
pub const div: abi.Kernel = Binary(quotient).kernel;

inline fn sum(_: void, a: V, b: V) V {
    return a + b;
}

inline fn difference(_: void, a: V, b: V) V {
    return a - b;
}

inline fn product(_: void, a: V, b: V) V {
    return a * b;
}

inline fn quotient(_: void, a: V, b: V) V {
    return a / b;
}

fn Binary(comptime f: anytype) type {
    return struct {
        const kernel: abi.Kernel = .{ .plan = plan, .run = run };
        const ofPairs = map.loop(2, void, f);
        const ofScalar = map.loop(1, f32, withScalar);

        fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
            if (sameSizes(task)) return map.run(task, 2, {}, ofPairs, begin, end);
            for (begin..end) |item| runChunk(task, item);
        }

        fn runChunk(task: *const abi.Task, item: u64) void {
            const a = task.source(0);
            const b = task.source(1);
            const y = task.output();
            const chunk = split.Chunks.of(y).at(item);
            const a_row = a.row(chunk.row);
            const b_row = repeatedRow(b, y, chunk.row);
            const y_row = y.row(chunk.row);
            var i = chunk.begin;
            while (i < chunk.end) {
                const from = i % b.ne[0];
                const period = if (b.ne[0] == 1) staging.block else b.ne[0] - from;
                const n: usize = @intCast(@min(staging.block, period, chunk.end - i));
                var buffers: [3]staging.Buffer = undefined;
                const a_values = staging.read(a, a_row, i, n, &buffers[0]);
                const y_values = staging.target(y, y_row, i, &buffers[2]);
                if (b.ne[0] == 1) {
                    const value = staging.read(b, b_row, 0, 1, &buffers[1])[0];
                    ofScalar(value, y_values, .{a_values}, n);
                } else {
                    const b_values = staging.read(b, b_row, from, n, &buffers[1]);
                    ofPairs({}, y_values, .{ a_values, b_values }, n);
                }
                staging.write(y, y_row, i, n, y_values);
                i += n;
            }
        }

        inline fn withScalar(value: f32, a: V) V {
            return f({}, a, vector.splat(value));
        }
    };
}

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    if (sameSizes(task)) return map.plan(result, task, 2, 1);
    const y = task.output();
    for ([_]*const Tensor{ y, task.source(0), task.source(1) }) |t| {
        if (!staging.isFloat(t.dtype)) return;
    }
    split.Chunks.of(y).plan(result, 1);
}

fn sameSizes(task: *const abi.Task) bool {
    return std.mem.eql(u64, &task.source(0).ne, &task.source(1).ne);
}

/// The row of b that meets row `index` of y.
fn repeatedRow(b: *const Tensor, y: *const Tensor, index: u64) [*]const u8 {
    const i = index % y.ne[1];
    const j = index / y.ne[1] % y.ne[2];
    const k = index / y.ne[1] / y.ne[2];
    return b.data + i % b.ne[1] * b.nb[1] + j % b.ne[2] * b.nb[2] + k % b.ne[3] * b.nb[3];
}

const Op = @import("../ops.zig").Op;
const Trial = @import("trial.zig").Trial;

fn check(comptime op: Op, a_ne: [4]u64, b_ne: [4]u64, options: anytype) !void {
    var trial: Trial = .init(7);
    defer trial.deinit();
    const a = trial.random(options.a, a_ne, options.order);
    const b = trial.random(options.b, b_ne, options.order);
    const y = trial.empty(options.a, a_ne, options.order);
    try trial.run(op, kernelOf(op), .{}, &.{ a, b }, &.{y});
    for (0..y.rows()) |r| {
        for (0..y.ne[0]) |i| {
            const at: [4]u64 = .{ i, r % y.ne[1], r / y.ne[1] % y.ne[2], r / y.ne[1] / y.ne[2] };
            const left = trial.get(a, at);
            var at_b = at;
            for (&at_b, b_ne) |*index, n| index.* %= n;
            const right = trial.get(b, at_b);
            const expected = switch (op) {
                .add => left + right,
                .sub => left - right,
                .mul => left * right,
                .div => left / right,
                else => comptime unreachable,
            };
            try trial.expectNear(y, at, expected, 1e-6);
        }
    }
}

fn kernelOf(comptime op: Op) abi.Kernel {
    return @field(@This(), @tagName(op));
}

test "add, sub, mul and div repeat b along any dimension" {
    const options = .{ .a = .f32, .b = .f32, .order = .packed_rows };
    inline for (.{ .add, .sub, .mul, .div }) |op| {
        try check(op, .{ 33, 4, 3, 2 }, .{ 33, 4, 3, 2 }, options);
        try check(op, .{ 33, 4, 3, 2 }, .{ 33, 1, 3, 1 }, options);
        try check(op, .{ 33, 4, 3, 2 }, .{ 11, 2, 1, 2 }, options);
        try check(op, .{ 33, 4, 3, 2 }, .{ 1, 4, 1, 1 }, options);
        try check(op, .{ 5000, 2, 1, 1 }, .{ 1, 1, 1, 1 }, options);
        try check(op, .{ 9001, 2, 1, 1 }, .{ 9001, 1, 1, 1 }, options);
        try check(op, .{ 0, 2, 1, 1 }, .{ 1, 1, 1, 1 }, options);
    }
}

test "add takes halves, gaps and permuted dimensions" {
    inline for (.{ .packed_rows, .gaps, .permuted }) |order| {
        inline for (.{ .{ .f16, .f32 }, .{ .f16, .f16 }, .{ .bf16, .f32 }, .{ .f32, .bf16 } }) |t| {
            const options = .{ .a = t[0], .b = t[1], .order = order };
            try check(.add, .{ 37, 3, 2, 5 }, .{ 37, 3, 2, 5 }, options);
            try check(.add, .{ 1037, 3, 2, 1 }, .{ 1037, 1, 2, 1 }, options);
        }
    }
}
