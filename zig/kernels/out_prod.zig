//! y[i, j] = sum over k of a[i, k] b[j, k]: products of columns, with a repeated over b's batches.
//! Computed as a convolution whose weights are b's and whose rows are a's.

const std = @import("std");
const abi = @import("abi.zig");
const convolution = @import("convolution.zig");
const staging = @import("staging.zig");
const Tensor = abi.Tensor;

pub const out_prod: abi.Kernel = convolution.Convolution(Geometry).kernel;

const Geometry = struct {
    a: *const Tensor,
    b: *const Tensor,
    y: *const Tensor,
    weights: u64,
    channels: u64,
    width: u64,
    height: u64 = 1,
    images: u64,

    pub fn of(task: *const abi.Task) Geometry {
        const y = task.output();
        return .{
            .a = task.source(0),
            .b = task.source(1),
            .y = y,
            .weights = task.source(0).ne[1],
            .channels = y.ne[1],
            .width = y.ne[0],
            .images = y.ne[2] * y.ne[3],
        };
    }

    pub fn fill(g: Geometry, weight: u64, image: u64, _: u64, first: u64, to: []f32) void {
        const a = g.a;
        const j = image % g.y.ne[2] / (g.y.ne[2] / a.ne[2]);
        const k = image / g.y.ne[2] / (g.y.ne[3] / a.ne[3]);
        const row = a.data + weight * a.nb[1] + j * a.nb[2] + k * a.nb[3];
        const values = staging.read(a, row, first, to.len, to.ptr);
        if (values != to.ptr) @memcpy(to, values);
    }

    pub fn read(g: Geometry, image: u64, channel: u64, first: u64, to: []f32) void {
        const b = g.b;
        const outer = image % g.y.ne[2] * b.nb[2] + image / g.y.ne[2] * b.nb[3];
        const column = b.data + channel * b.nb[0] + outer;
        for (to, first..) |*value, k| {
            value.* = @as(*const f32, @ptrCast(@alignCast(column + k * b.nb[1]))).*;
        }
    }

    pub fn rowOf(g: Geometry, image: u64, channel: u64, _: u64) [*]u8 {
        const y = g.y;
        const outer = image % y.ne[2] * y.nb[2] + image / y.ne[2] * y.nb[3];
        return y.data + channel * y.nb[1] + outer;
    }
};

const Trial = @import("trial.zig").Trial;

test "out_prod of any sizes, broadcast and order" {
    for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
        for ([_][3]u64{ .{ 7, 6, 5 }, .{ 70, 3, 65 }, .{ 256, 1, 1 } }) |sizes| {
            var trial: Trial = .init(sizes[0]);
            defer trial.deinit();
            const a = trial.random(.f32, .{ sizes[0], sizes[2], 2, 1 }, order);
            const b = trial.random(.f32, .{ sizes[1], sizes[2], 4, 3 }, order);
            const y = trial.empty(.f32, .{ sizes[0], sizes[1], 4, 3 }, .gaps);
            try trial.run(.out_prod, out_prod, .{}, &.{ a, b }, &.{y});
            for (0..12) |batch| for (0..sizes[0]) |i| for (0..sizes[1]) |j| {
                var expected: f64 = 0;
                for (0..sizes[2]) |k| {
                    const left = trial.get(a, .{ i, k, batch % 4 / 2, 0 });
                    expected += left * trial.get(b, .{ j, k, batch % 4, batch / 4 });
                }
                try trial.expectNear(y, .{ i, j, batch % 4, batch / 4 }, expected, 1e-5);
            };
        }
    }
}
