//! linear: weight [k, n, b, c] times x [k, m, b', c'], plus bias [n], is y [n, m, b', c'].
//!
//! Weights stay as they lie in the file. With f32, f16 and bf16 weights x is f32 and sums are f32;
//! with quantized weights x is q8_row, as quantize_row makes it.

const std = @import("std");
const abi = @import("abi.zig");
const DType = @import("../dtype.zig").DType;
const layout = @import("../dtype.zig").layout;
const Product = @import("linear/product.zig").Product;
const Float = @import("linear/float.zig").Float;
const Quantized = @import("linear/quantized.zig").Quantized;
const ByRow = @import("linear/by_row.zig").ByRow;
const blocks = @import("linear/blocks.zig");
const k_blocks = @import("linear/k_blocks.zig");

pub const linear: abi.Kernel = .{ .plan = plan, .run = run };

/// The weight types, each with its way through `plan` and `run`.
const types = .{
    .{ .f32, Float(.f32) },
    .{ .f16, Float(.f16) },
    .{ .bf16, Float(.bf16) },
    .{ .q8_0, Quantized(blocks.q8_0) },
    .{ .q8_1, Quantized(blocks.q8_1) },
    .{ .q4_0, Quantized(blocks.q4_0) },
    .{ .q4_1, Quantized(blocks.q4_1) },
    .{ .q5_0, Quantized(blocks.q5_0) },
    .{ .q5_1, Quantized(blocks.q5_1) },
    .{ .iq4_nl, Quantized(blocks.iq4_nl) },
    .{ .mxfp4, Quantized(blocks.mxfp4) },
    .{ .q2_K, Quantized(k_blocks.q2_K) },
    .{ .q3_K, Quantized(k_blocks.q3_K) },
    .{ .q4_K, Quantized(k_blocks.q4_K) },
    .{ .q5_K, Quantized(k_blocks.q5_K) },
    .{ .q6_K, Quantized(k_blocks.q6_K) },
    .{ .iq4_xs, Quantized(k_blocks.iq4_xs) },
    .{ .q8_K, Quantized(ByRow(@import("formats/q8_K.zig"))) },
    .{ .nvfp4, Quantized(ByRow(@import("formats/nvfp4.zig"))) },
    .{ .q1_0, Quantized(ByRow(@import("formats/q1_0.zig"))) },
    .{ .q2_0, Quantized(ByRow(@import("formats/q2_0.zig"))) },
    .{ .tq1_0, Quantized(ByRow(@import("formats/tq1_0.zig"))) },
    .{ .tq2_0, Quantized(ByRow(@import("formats/tq2_0.zig"))) },
    .{ .iq1_s, Quantized(ByRow(@import("formats/iq1_s.zig"))) },
    .{ .iq1_m, Quantized(ByRow(@import("formats/iq1_m.zig"))) },
    .{ .iq2_xxs, Quantized(ByRow(@import("formats/iq2_xxs.zig"))) },
    .{ .iq2_xs, Quantized(ByRow(@import("formats/iq2_xs.zig"))) },
    .{ .iq2_s, Quantized(ByRow(@import("formats/iq2_s.zig"))) },
    .{ .iq3_xxs, Quantized(ByRow(@import("formats/iq3_xxs.zig"))) },
    .{ .iq3_s, Quantized(ByRow(@import("formats/iq3_s.zig"))) },
};

fn find(comptime dtype: DType) ?type {
    inline for (types) |entry| if (entry[0] == dtype) return entry[1];
    return null;
}

fn plan(task: *const abi.Task, out: *abi.Plan) callconv(.c) void {
    out.* = .{};
    const p: Product = .of(task);
    if (!isSupported(task, &p)) return;
    switch (p.weight.dtype) {
        inline else => |dtype| if (comptime find(dtype)) |Type| {
            out.supported = true;
            if (!p.isEmpty()) Type.plan(&p, out);
        },
    }
}

fn isSupported(task: *const abi.Task, p: *const Product) bool {
    for (task.sources[3..7]) |adapter| if (adapter != null) return false;
    const quantized = layout(p.weight.dtype).block_len > 1;
    if (p.x.dtype != if (quantized) DType.q8_row else DType.f32) return false;
    for ([_]?*const abi.Tensor{ p.weight, p.x, p.y, p.bias }) |operand| {
        const t = operand orelse continue;
        if (t.layout != 0) return false;
        if (t.nb[0] != layout(t.dtype).block_bytes) return false;
    }
    return true;
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: [*]align(64) u8) callconv(.c) void {
    const p: Product = .of(task);
    switch (p.weight.dtype) {
        inline else => |dtype| if (comptime find(dtype)) |Type| {
            // One function with the code of all types would take the compiler twice the time.
            @call(.never_inline, Type.run, .{ &p, begin, end, scratch });
        },
    }
}

const formats = @import("formats.zig");
const quantize_row = @import("quantize_row.zig").quantize_row;
const Trial = @import("trial.zig").Trial;
const Order = @import("trial.zig").Order;
const testing = std.testing;

/// Values of a row in f64, whatever holds them.
fn values(arena: std.mem.Allocator, t: abi.Tensor, row: u64) ![]f64 {
    const n: usize = @intCast(t.ne[0]);
    const wide = try arena.alloc(f64, n);
    const from = t.row(row);
    if (t.dtype == .q8_row) {
        const scales: [*]align(1) const f32 = @ptrCast(from + n);
        for (wide, 0..) |*value, i| value.* = @as(f64, scales[i / 32]) * @as(
            f64,
            @floatFromInt(@as(i8, @bitCast(from[i]))),
        );
        return wide;
    }
    const narrow = try arena.alloc(f32, n);
    if (!formats.dequantizeRow(t.dtype, from, narrow.ptr, n)) return error.NoFormat;
    for (wide, narrow) |*value, v| value.* = v;
    return wide;
}

/// Weights of random bytes, drawn again where a scale came out infinite or NaN.
fn randomWeights(trial: *Trial, dtype: DType, ne: [4]u64, order: Order) !abi.Tensor {
    const t = trial.empty(dtype, ne, order);
    const l = layout(dtype);
    var block_values: [256]f32 = undefined;
    for (0..t.rows()) |row| for (0..ne[0] / l.block_len) |b| {
        const block = t.row(row) + b * l.block_bytes;
        var finite = false;
        while (!finite) {
            trial.prng.random().bytes(block[0..l.block_bytes]);
            if (!formats.dequantizeRow(
                dtype,
                block,
                &block_values,
                l.block_len,
            )) return error.NoFormat;
            finite = for (block_values[0..l.block_len]) |v| {
                if (!(@abs(v) < 1e6)) break false;
            } else true;
        }
    };
    return t;
}

/// Runs a random product and compares it with f64 sums of what weights and activations stand for.
fn expectProduct(dtype: DType, w_ne: [4]u64, x_ne: [4]u64, order: Order, with_bias: bool) !void {
    var trial: Trial = .init(w_ne[0] * 31 + w_ne[1] * 7 + x_ne[1]);
    defer trial.deinit();
    const w = try randomWeights(&trial, dtype, w_ne, order);
    var x = trial.random(.f32, x_ne, order);
    if (layout(dtype).block_len > 1) {
        const q = trial.empty(.q8_row, x_ne, order);
        try trial.run(.quantize_row, quantize_row, .{}, &.{x}, &.{q});
        x = q;
    }
    const bias = if (with_bias) trial.random(.f32, .{ w_ne[1], 1, 1, 1 }, .packed_rows) else null;
    const y = trial.empty(.f32, .{ w_ne[1], x_ne[1], x_ne[2], x_ne[3] }, order);
    try trial.run(.linear, linear, .{}, &.{ w, x, bias }, &.{y});
    const arena = trial.arena.allocator();
    for (0..x.rows()) |column| {
        const b = column / x_ne[1] % x_ne[2];
        const c = column / x_ne[1] / x_ne[2];
        const a = try values(arena, x, column);
        for (0..w_ne[1]) |row| {
            const slice = b / (x_ne[2] / w_ne[2]) + c / (x_ne[3] / w_ne[3]) * w_ne[2];
            const weights = try values(arena, w, slice * w_ne[1] + row);
            var expected: f64 = if (bias) |t| trial.get(t, .{ row, 0, 0, 0 }) else 0;
            var magnitude = @abs(expected);
            for (weights, a) |wv, av| {
                expected += wv * av;
                magnitude += @abs(wv * av);
            }
            const got = trial.get(y, .{ row, column % x_ne[1], b, c });
            if (@abs(got - expected) <= 3e-6 * magnitude) continue;
            std.debug.print(
                "{t} row {d} column {d}: {d}, not {d}\n",
                .{ dtype, row, column, got, expected },
            );
            return error.TestExpectedEqual;
        }
    }
}

test "linear: each weight type, with sizes that fill no tile" {
    inline for (types) |entry| {
        const unit = @max(layout(entry[0]).block_len, 32);
        const plain = layout(entry[0]).block_len == 1;
        for ([_]u64{ 1, 2, 7, 40 }) |m| {
            try expectProduct(
                entry[0],
                .{ unit, 1, 1, 1 },
                .{ unit, m, 1, 1 },
                .packed_rows,
                false,
            );
            const k = 1024 + unit + @as(u64, if (plain) 3 else 0);
            try expectProduct(entry[0], .{ k, 71, 1, 1 }, .{ k, m, 1, 1 }, .gaps, true);
        }
        if (plain) for (1..20) |k| {
            try expectProduct(entry[0], .{ k, 5, 1, 1 }, .{ k, 3, 1, 1 }, .packed_rows, true);
        };
    }
}

test "linear: outer dimensions of x repeat those of the weight" {
    inline for (types) |entry| {
        const unit = @max(layout(entry[0]).block_len, 32);
        try expectProduct(entry[0], .{ unit, 5, 2, 1 }, .{ unit, 3, 6, 1 }, .gaps, false);
        try expectProduct(entry[0], .{ unit, 4, 1, 2 }, .{ unit, 1, 2, 4 }, .packed_rows, true);
    }
}

test "linear: a product does not depend on how many columns are computed with it" {
    inline for (types) |entry| {
        var trial: Trial = .init(5);
        defer trial.deinit();
        const k = 2 * 1024;
        const n = 19;
        const m = 9;
        const w = try randomWeights(&trial, entry[0], .{ k, n, 1, 1 }, .packed_rows);
        var x = trial.random(.f32, .{ k, m, 1, 1 }, .packed_rows);
        if (layout(entry[0]).block_len > 1) {
            const q = trial.empty(.q8_row, x.ne, .packed_rows);
            try trial.run(.quantize_row, quantize_row, .{}, &.{x}, &.{q});
            x = q;
        }
        const all = trial.empty(.f32, .{ n, m, 1, 1 }, .packed_rows);
        try trial.run(.linear, linear, .{}, &.{ w, x, null }, &.{all});
        for (0..m) |j| {
            var one = x;
            one.ne[1] = 1;
            one.data += j * x.nb[1];
            const y = trial.empty(.f32, .{ n, 1, 1, 1 }, .packed_rows);
            try trial.run(.linear, linear, .{}, &.{ w, one, null }, &.{y});
            for (0..n) |i| {
                try testing.expectEqual(
                    trial.get(all, .{ i, j, 0, 0 }),
                    trial.get(y, .{ i, 0, 0, 0 }),
                );
            }
        }
    }
}

test "linear: no columns, no rows, and an inner size of zero, which leaves the bias" {
    inline for (types) |entry| {
        const unit = @max(layout(entry[0]).block_len, 32);
        try expectProduct(entry[0], .{ unit, 3, 1, 1 }, .{ unit, 0, 1, 1 }, .packed_rows, true);
        try expectProduct(entry[0], .{ unit, 0, 1, 1 }, .{ unit, 2, 1, 1 }, .packed_rows, false);
        for ([_]u64{ 1, 2, 30 }) |m| {
            try expectProduct(entry[0], .{ 0, 5, 1, 1 }, .{ 0, m, 1, 1 }, .packed_rows, true);
        }
    }
}

test {
    _ = @import("linear/dot.zig");
    _ = @import("linear/rows.zig");
}
