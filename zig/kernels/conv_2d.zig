//! Convolution of planes: y[x, y, o] = sum over i, kw, kh of kernel[kw, kh, i, o] times the element
//! of x under it (conv_2d), or with a kernel for each channel alone (conv_2d_dw).

const std = @import("std");
const abi = @import("abi.zig");
const spatial = @import("../ops.zig").spatial;
const convolution = @import("convolution.zig");
const staging = @import("staging.zig");
const Tensor = abi.Tensor;
const Params = spatial.WindowParams;

pub const conv_2d: abi.Kernel = convolution.Convolution(Dense).kernel;
pub const conv_2d_dw: abi.Kernel = convolution.Convolution(Depthwise).kernel;

const Dense = struct {
    window: Window,
    weights: u64,
    channels: u64,
    width: u64,
    height: u64,
    images: u64,

    pub fn of(task: *const abi.Task) Dense {
        const y = task.output();
        const w: Window = .of(task);
        return .{
            .window = w,
            .weights = w.kernel.ne[0] * w.kernel.ne[1] * w.kernel.ne[2],
            .channels = y.ne[2],
            .width = y.ne[0],
            .height = y.ne[1],
            .images = y.ne[3],
        };
    }

    pub fn fill(g: Dense, weight: u64, image: u64, line: u64, first: u64, to: []f32) void {
        const area = g.window.kernel.ne[0] * g.window.kernel.ne[1];
        g.window.fill(weight % area, weight / area, image, line, first, to);
    }

    pub fn read(g: Dense, _: u64, channel: u64, first: u64, to: []f32) void {
        g.window.readKernel(channel, first, to);
    }

    pub fn rowOf(g: Dense, image: u64, channel: u64, line: u64) [*]u8 {
        const y = g.window.y;
        return y.data + line * y.nb[1] + channel * y.nb[2] + image * y.nb[3];
    }
};

/// Each channel of each image is an image of one channel.
const Depthwise = struct {
    window: Window,
    weights: u64,
    channels: u64 = 1,
    width: u64,
    height: u64,
    images: u64,

    pub fn of(task: *const abi.Task) Depthwise {
        const y = task.output();
        const w: Window = .of(task);
        return .{
            .window = w,
            .weights = w.kernel.ne[0] * w.kernel.ne[1],
            .width = y.ne[0],
            .height = y.ne[1],
            .images = y.ne[2] * y.ne[3],
        };
    }

    pub fn fill(g: Depthwise, weight: u64, image: u64, line: u64, first: u64, to: []f32) void {
        const channels = g.window.y.ne[2];
        g.window.fill(weight, image % channels, image / channels, line, first, to);
    }

    pub fn read(g: Depthwise, image: u64, _: u64, first: u64, to: []f32) void {
        g.window.readKernel(image % g.window.y.ne[2], first, to);
    }

    pub fn rowOf(g: Depthwise, image: u64, _: u64, line: u64) [*]u8 {
        const y = g.window.y;
        const channel = image % y.ne[2];
        return y.data + line * y.nb[1] + channel * y.nb[2] + image / y.ne[2] * y.nb[3];
    }
};

const Window = struct {
    kernel: *const Tensor,
    x: *const Tensor,
    y: *const Tensor,
    p: *const Params,

    fn of(task: *const abi.Task) Window {
        return .{
            .kernel = task.source(0),
            .x = task.source(1),
            .y = task.output(),
            .p = task.as(Params),
        };
    }

    /// What the kernel's element number `place` sees of a channel along a line of y.
    fn fill(
        w: Window,
        place: u64,
        channel: u64,
        image: u64,
        line: u64,
        first: u64,
        to: []f32,
    ) void {
        const kw = place % w.kernel.ne[0];
        const kh = place / w.kernel.ne[0];
        const j = line * w.p.stride1 + kh * w.p.dilation1 -% w.p.padding1;
        if (j >= w.x.ne[1]) return @memset(to, 0);
        const row = w.x.data + j * w.x.nb[1] + channel * w.x.nb[2] + image * w.x.nb[3];
        const start: i64 = @intCast(first * w.p.stride0 + kw * w.p.dilation0);
        convolution.gather(w.x, row, start - w.p.padding0, w.p.stride0, to);
    }

    /// Weights of an output channel from number `first` on, in the kernel's own order.
    fn readKernel(w: Window, channel: u64, first: u64, to: []f32) void {
        const k = w.kernel;
        const start = k.data + channel * k.nb[3];
        var flat = k.*;
        const joined = k.nb[1] == k.nb[0] * k.ne[0] and k.nb[2] == k.nb[1] * k.ne[1];
        if (joined) {
            const values = staging.read(&flat, start, first, to.len, to.ptr);
            if (values != to.ptr) @memcpy(to, values);
            return;
        }
        for (to, first..) |*value, weight| {
            const kw = weight % k.ne[0];
            const kh = weight / k.ne[0] % k.ne[1];
            const channel_in = weight / k.ne[0] / k.ne[1];
            const row = start + kh * k.nb[1] + channel_in * k.nb[2];
            value.* = staging.read(&flat, row, kw, 1, value[0..1])[0];
        }
    }
};

const DType = @import("../dtype.zig").DType;
const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const Order = @import("trial.zig").Order;

const Case = struct {
    kernel: [4]u64,
    x: [4]u64,
    p: Params,
    dtype: DType = .f32,
    order: Order = .packed_rows,
    depthwise: bool = false,
};

fn check(case: Case) !void {
    var trial: Trial = .init(case.x[0]);
    defer trial.deinit();
    const p = case.p;
    const kernel = trial.random(case.dtype, case.kernel, case.order);
    const x = trial.random(.f32, case.x, case.order);
    const y = trial.empty(.f32, .{
        spatial.windows(case.x[0], case.kernel[0], p.stride0, p.padding0, p.dilation0),
        spatial.windows(case.x[1], case.kernel[1], p.stride1, p.padding1, p.dilation1),
        case.kernel[3],
        case.x[3],
    }, .gaps);
    if (case.depthwise) {
        try trial.run(.conv_2d_dw, conv_2d_dw, p, &.{ kernel, x }, &.{y});
    } else {
        try trial.run(.conv_2d, conv_2d, p, &.{ kernel, x }, &.{y});
    }
    var walk: Walk = .{ .ne = y.ne };
    while (walk.next()) |at| {
        var expected: f64 = 0;
        var size: f64 = 0;
        var weights: Walk = .{ .ne = .{ case.kernel[0], case.kernel[1], case.kernel[2], 1 } };
        while (weights.next()) |k| {
            const i = @as(i64, @intCast(at[0] * p.stride0 + k[0] * p.dilation0)) - p.padding0;
            const j = @as(i64, @intCast(at[1] * p.stride1 + k[1] * p.dilation1)) - p.padding1;
            if (i < 0 or i >= case.x[0] or j < 0 or j >= case.x[1]) continue;
            const channel = if (case.depthwise) at[2] else k[2];
            const weight = trial.get(kernel, .{ k[0], k[1], k[2], at[2] });
            const value = trial.get(x, .{ @intCast(i), @intCast(j), channel, at[3] });
            expected += weight * value;
            size += @abs(weight * value);
        }
        try trial.expectNear(y, at, expected, 4e-7 * @max(1, size));
    }
}

const plain: Params = .{
    .stride0 = 1,
    .stride1 = 1,
    .padding0 = 1,
    .padding1 = 1,
    .dilation0 = 1,
    .dilation1 = 1,
};
const uneven: Params = .{
    .stride0 = 3,
    .stride1 = 2,
    .padding0 = 2,
    .padding1 = 0,
    .dilation0 = 2,
    .dilation1 = 3,
};

test "conv_2d of any window, dtype and order" {
    for ([_]Order{ .packed_rows, .gaps, .permuted }) |order| for ([_]DType{ .f32, .f16 }) |dtype| {
        const one: Case = .{ .kernel = .{ 3, 3, 2, 4 }, .x = .{ 9, 8, 2, 2 }, .p = plain };
        var case = one;
        case.order = order;
        case.dtype = dtype;
        try check(case);
        case.p = uneven;
        case.x = .{ 70, 20, 2, 1 };
        try check(case);
    };
    try check(.{ .kernel = .{ 3, 3, 30, 70 }, .x = .{ 66, 3, 30, 1 }, .p = plain });
    try check(.{ .kernel = .{ 1, 1, 1, 1 }, .x = .{ 1, 1, 1, 2 }, .p = plain });
}

test "conv_2d_dw keeps channels apart" {
    for ([_]Order{ .packed_rows, .permuted }) |order| for ([_]Params{ plain, uneven }) |p| {
        try check(.{
            .kernel = .{ 3, 3, 1, 9 },
            .x = .{ 17, 34, 9, 2 },
            .p = p,
            .order = order,
            .depthwise = true,
            .dtype = if (order == .permuted) .f16 else .f32,
        });
    };
}
