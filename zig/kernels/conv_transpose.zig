//! Transposed convolution: each element of x adds a kernel's worth to y, `stride` apart. Computed
//! from y's side: each weight sees every stride-th element of a row, with zeros between them.

const std = @import("std");
const abi = @import("abi.zig");
const spatial = @import("../ops.zig").spatial;
const convolution = @import("convolution.zig");
const staging = @import("staging.zig");
const Tensor = abi.Tensor;
const Params = spatial.StrideParams;

pub const conv_transpose_1d: abi.Kernel = convolution.Convolution(Geometry(1)).kernel;
pub const conv_transpose_2d: abi.Kernel = convolution.Convolution(Geometry(2)).kernel;

/// Dimensions of kernel, x and y in terms of [width, height, …]; one dimension has no height.
fn Geometry(comptime dimensions: usize) type {
    return struct {
        const Self = @This();
        const high = dimensions == 2;

        kernel: *const Tensor, // [kw, (kh,) out, in]
        x: *const Tensor, // [w, (h,) in, images]
        y: *const Tensor, // [ow, (oh,) out, images]
        stride: u64,
        weights: u64,
        channels: u64,
        width: u64,
        height: u64,
        images: u64,

        pub fn of(task: *const abi.Task) Self {
            const kernel = task.source(0);
            const y = task.output();
            const kernel_height = if (high) kernel.ne[1] else 1;
            return .{
                .kernel = kernel,
                .x = task.source(1),
                .y = y,
                .stride = task.as(Params).stride,
                .weights = kernel.ne[0] * kernel_height * kernel.ne[dimensions + 1],
                .channels = y.ne[dimensions],
                .width = y.ne[0],
                .height = if (high) y.ne[1] else 1,
                .images = y.ne[3],
            };
        }

        const Place = struct { kw: u64, kh: u64, channel: u64 };

        fn placeOf(g: Self, weight: u64) Place {
            const line = weight / g.kernel.ne[0];
            const kernel_height = if (high) g.kernel.ne[1] else 1;
            return .{
                .kw = weight % g.kernel.ne[0],
                .kh = line % kernel_height,
                .channel = line / kernel_height,
            };
        }

        pub fn fill(g: Self, weight: u64, image: u64, line: u64, first: u64, to: []f32) void {
            const place = g.placeOf(weight);
            @memset(to, 0);
            if (line < place.kh or (line - place.kh) % g.stride != 0) return;
            const j = (line - place.kh) / g.stride;
            if (high and j >= g.x.ne[1]) return;
            const nb = g.x.nb;
            const plane = g.x.data + place.channel * nb[dimensions] + image * nb[3];
            const row = if (high) plane + j * nb[1] else plane;
            // The first element of y from `first` on that an element of x reaches.
            const distance = @as(i64, @intCast(place.kw)) - @as(i64, @intCast(first));
            var i: u64 = @intCast(@mod(distance, @as(i64, @intCast(g.stride))));
            while (i < to.len) : (i += g.stride) {
                if (first + i < place.kw) continue;
                const source = (first + i - place.kw) / g.stride;
                if (source >= g.x.ne[0]) break;
                to[@intCast(i)] = staging.read(g.x, row, source, 1, to[@intCast(i)..].ptr)[0];
            }
        }

        pub fn read(g: Self, _: u64, channel: u64, first: u64, to: []f32) void {
            const nb = g.kernel.nb;
            for (to, first..) |*value, weight| {
                const place = g.placeOf(weight);
                const plane = g.kernel.data + channel * nb[dimensions] +
                    place.channel * nb[dimensions + 1];
                const row = if (high) plane + place.kh * nb[1] else plane;
                value.* = staging.read(g.kernel, row, place.kw, 1, value[0..1])[0];
            }
        }

        pub fn rowOf(g: Self, image: u64, channel: u64, line: u64) [*]u8 {
            const nb = g.y.nb;
            const plane = g.y.data + channel * nb[dimensions] + image * nb[3];
            return if (high) plane + line * nb[1] else plane;
        }
    };
}

const DType = @import("../dtype.zig").DType;
const Trial = @import("trial.zig").Trial;

test "conv_transpose_2d adds each element's kernel" {
    for ([_]DType{ .f32, .f16 }) |dtype| for ([_]u32{ 1, 2, 3 }) |stride| {
        for ([_][4]u64{ .{ 2, 2, 3, 4 }, .{ 3, 1, 2, 5 } }) |kernel_ne| {
            var trial: Trial = .init(stride);
            defer trial.deinit();
            const kernel = trial.random(dtype, kernel_ne, .gaps);
            const x = trial.random(.f32, .{ 30, 4, kernel_ne[3], 2 }, .gaps);
            const y = trial.empty(.f32, .{
                29 * stride + kernel_ne[0], 3 * stride + kernel_ne[1], kernel_ne[2], 2,
            }, .packed_rows);
            const expected = trial.empty(.f32, y.ne, .packed_rows);
            @memset(expected.data[0 .. expected.nb[3] * 2], 0);
            for (0..30 * 4) |i| for (0..kernel_ne[3] * 2) |plane| {
                const channel = plane % kernel_ne[3];
                const image = plane / kernel_ne[3];
                const value = trial.get(x, .{ i % 30, i / 30, channel, image });
                for (0..kernel_ne[0] * kernel_ne[1] * kernel_ne[2]) |k| {
                    const kw = k % kernel_ne[0];
                    const kh = k / kernel_ne[0] % kernel_ne[1];
                    const out = k / kernel_ne[0] / kernel_ne[1];
                    const at: [4]u64 = .{ i % 30 * stride + kw, i / 30 * stride + kh, out, image };
                    const weight = trial.get(kernel, .{ kw, kh, out, channel });
                    trial.set(expected, at, trial.get(expected, at) + value * weight);
                }
            };
            const p: Params = .{ .stride = stride };
            try trial.run(.conv_transpose_2d, conv_transpose_2d, p, &.{ kernel, x }, &.{y});
            for (0..y.ne[0] * y.ne[1]) |i| for (0..y.ne[2] * 2) |plane| {
                const at: [4]u64 = .{
                    i % y.ne[0], i / y.ne[0], plane % y.ne[2], plane / y.ne[2],
                };
                try trial.expectNear(y, at, trial.get(expected, at), 1e-5);
            };
        }
    };
}

test "conv_transpose_1d adds each element's kernel" {
    for ([_]u32{ 1, 2, 3 }) |stride| for ([_]u64{ 1, 3, 70 }) |width| {
        var trial: Trial = .init(stride);
        defer trial.deinit();
        const kernel = trial.random(.f32, .{ width, 4, 5, 1 }, .gaps);
        const x = trial.random(.f32, .{ 7, 5, 1, 1 }, .gaps);
        const y = trial.empty(.f32, .{ 6 * stride + width, 4, 1, 1 }, .packed_rows);
        const p: Params = .{ .stride = stride };
        try trial.run(.conv_transpose_1d, conv_transpose_1d, p, &.{ kernel, x }, &.{y});
        for (0..y.ne[0]) |i| for (0..4) |out| {
            var expected: f64 = 0;
            for (0..7) |source| {
                if (i < source * stride or i - source * stride >= width) continue;
                for (0..5) |channel| {
                    const weight = trial.get(kernel, .{ i - source * stride, out, channel, 0 });
                    expected += weight * trial.get(x, .{ source, channel, 0, 0 });
                }
            }
            try trial.expectNear(y, .{ i, out, 0, 0 }, expected, 1e-5);
        };
    };
}
