//! Ops on planes: pooling, resizing and convolution. Sizes read [width, height, channels, images].

const std = @import("std");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const shape = @import("../shape.zig");

pub const PoolKind = enum(u32) { max = 0, average = 1 };

/// The average of pool_1d is over the elements that exist; that of pool_2d over the whole window,
/// padding included.
pub const Pool1dParams = extern struct { kind: u32, kernel: u32, stride: u32, padding: u32 };
pub const Pool2dParams = extern struct {
    kind: u32,
    kernel0: u32,
    kernel1: u32,
    stride0: u32,
    stride1: u32,
    padding0: u32,
    padding1: u32,
};

pub const UpscaleKind = enum(u32) { nearest = 0, bilinear = 1, bicubic = 2 };
pub const UpscaleParams = extern struct {
    n0: u32,
    n1: u32,
    n2: u32,
    n3: u32,
    kind: u32,
    /// The centres of the corners stay where they are, instead of the edges.
    align_corners: u32,
    /// Bilinear weights reach over as many elements as become one.
    antialias: u32,
};

pub const WindowParams = extern struct {
    stride0: u32,
    stride1: u32,
    padding0: u32,
    padding1: u32,
    dilation0: u32,
    dilation1: u32,
};
pub const Im2colParams = extern struct {
    stride0: u32,
    stride1: u32,
    padding0: u32,
    padding1: u32,
    dilation0: u32,
    dilation1: u32,
    two_dimensional: u32,
    dtype: u32,
};
pub const StrideParams = extern struct { stride: u32 };

const filtered = [_]ops.Source{ .{ .name = "kernel" }, .{ .name = "x" } };

pub const rows = [_]ops.Row{
    .{
        .code = 45,
        .name = "pool_1d",
        .sources = &ops.one,
        .infer = pool1d,
        .Params = Pool1dParams,
    },
    .{
        .code = 46,
        .name = "pool_2d",
        .sources = &ops.one,
        .infer = pool2d,
        .Params = Pool2dParams,
    },
    .{
        .code = 47,
        .name = "upscale",
        .sources = &ops.one,
        .infer = upscale,
        .Params = UpscaleParams,
    },
    .{
        .code = 48,
        .name = "im2col",
        .sources = &filtered,
        .infer = im2col,
        .Params = Im2colParams,
    },
    .{
        .code = 49,
        .name = "conv_2d",
        .sources = &filtered,
        .infer = conv2d,
        .Params = WindowParams,
    },
    .{
        .code = 50,
        .name = "conv_2d_dw",
        .sources = &filtered,
        .infer = conv2dDw,
        .Params = WindowParams,
    },
    .{
        .code = 51,
        .name = "conv_transpose_1d",
        .sources = &filtered,
        .infer = convTranspose1d,
        .Params = StrideParams,
    },
    .{
        .code = 52,
        .name = "conv_transpose_2d",
        .sources = &filtered,
        .infer = convTranspose2d,
        .Params = StrideParams,
    },
};

/// How often a window of `kernel` elements, `dilation` apart, fits; 0 where it does not.
pub fn windows(n: u64, kernel: u64, stride: u64, padding: u64, dilation: u64) u64 {
    const reach = dilation * (kernel -| 1) + 1;
    const whole = n + 2 * padding;
    return if (kernel == 0 or whole < reach) 0 else (whole - reach) / stride + 1;
}

const window_max = 1 << 20;

/// Keeps sums of such numbers far from overflow.
fn expectWindow(q: *shape.Inference, list: []const u32, positive: usize) shape.Error!void {
    for (list, 0..) |value, i| {
        try q.expect(value <= window_max, "a window is too large");
        try q.expect(value > 0 or i >= positive, "kernel, stride and dilation must be positive");
    }
}

fn pool1d(q: *shape.Inference) shape.Error!void {
    const p = q.as(Pool1dParams);
    try q.expect(std.enums.fromInt(PoolKind, p.kind) != null, "unknown kind");
    try expectWindow(q, &.{ p.kernel, p.stride, p.padding }, 2);
    try shape.like(q);
    q.outputs[0].ne[0] = windows(q.source(0).ne[0], p.kernel, p.stride, p.padding, 1);
}

fn pool2d(q: *shape.Inference) shape.Error!void {
    const p = q.as(Pool2dParams);
    const list = [_]u32{
        p.kernel0, p.kernel1, p.stride0, p.stride1, p.padding0, p.padding1,
    };
    try q.expect(std.enums.fromInt(PoolKind, p.kind) != null, "unknown kind");
    try expectWindow(q, &list, 4);
    try shape.like(q);
    q.outputs[0].ne[0] = windows(q.source(0).ne[0], p.kernel0, p.stride0, p.padding0, 1);
    q.outputs[0].ne[1] = windows(q.source(0).ne[1], p.kernel1, p.stride1, p.padding1, 1);
}

fn upscale(q: *shape.Inference) shape.Error!void {
    const p = q.as(UpscaleParams);
    const kind = std.enums.fromInt(UpscaleKind, p.kind) orelse return q.refuse("unknown kind");
    try q.expect(p.align_corners <= 1 and p.antialias <= 1, "flags are 0 or 1");
    try q.expect(p.antialias == 0 or kind == .bilinear, "only bilinear has antialias");
    try q.expect(p.antialias == 0 or p.align_corners == 0, "antialias has no align_corners");
    try q.expect(kind != .nearest or p.align_corners == 0, "nearest has no align_corners");
    try shape.like(q);
    q.outputs[0].ne = .{ p.n0, p.n1, p.n2, p.n3 };
    const planes = kind == .nearest or
        (p.n2 == q.source(0).ne[2] and p.n3 == q.source(0).ne[3]);
    try q.expect(planes, "only nearest resizes channels and images");
    const empty = q.source(0).elements() == 0;
    try q.expect(!empty or q.outputs[0].elements() == 0, "nothing cannot be resized");
}

fn expectFilter(q: *shape.Inference, w: WindowParams) shape.Error!void {
    const list = [_]u32{
        w.stride0, w.stride1, w.dilation0, w.dilation1, w.padding0, w.padding1,
    };
    try expectWindow(q, &list, 4);
    try q.expect(shape.isFloat(q.source(0).dtype), "kernel must be f32, f16 or bf16");
    try q.expect(shape.isFloat(q.source(1).dtype), "x must be f32, f16 or bf16");
    for (q.source(0).ne[0..2]) |n| try q.expect(n <= window_max, "a window is too large");
}

/// kernel [kw, kh, channels, …] and x [w, h, channels, images] give [channels * kh * kw, ow, oh,
/// images]; in one dimension kernel [kw, channels, …] and x [w, channels, images] give
/// [channels * kw, ow, images].
fn im2col(q: *shape.Inference) shape.Error!void {
    const kernel = q.source(0);
    const x = q.source(1);
    const p = q.as(Im2colParams);
    const two = p.two_dimensional == 1;
    try q.expect(p.two_dimensional <= 1, "two_dimensional is 0 or 1");
    const w: WindowParams = .{
        .stride0 = p.stride0,
        .stride1 = if (two) p.stride1 else 1,
        .padding0 = p.padding0,
        .padding1 = if (two) p.padding1 else 0,
        .dilation0 = p.dilation0,
        .dilation1 = if (two) p.dilation1 else 1,
    };
    try expectFilter(q, w);
    try q.expect(p.dtype <= std.math.maxInt(u16), "unknown dtype");
    const dtype = dtypes.fromCode(@intCast(p.dtype)) orelse return q.refuse("unknown dtype");
    try q.expect(shape.isFloat(dtype), "the result must be f32, f16 or bf16");
    const channels: usize = if (two) 2 else 1;
    try q.expect(kernel.ne[channels] == x.ne[channels], "channels differ");
    const ow = windows(x.ne[0], kernel.ne[0], w.stride0, w.padding0, w.dilation0);
    const oh = windows(x.ne[1], kernel.ne[1], w.stride1, w.padding1, w.dilation1);
    q.outputs[0] = .{ .dtype = dtype, .ne = if (two)
        .{ kernel.ne[0] * kernel.ne[1] * kernel.ne[2], ow, oh, x.ne[3] }
    else
        .{ kernel.ne[0] * kernel.ne[1], ow, x.ne[2], 1 } };
    try q.expect(two or x.ne[3] == 1, "x has too many dimensions");
}

/// kernel [kw, kh, in, out] and x [w, h, in, images] give f32 [ow, oh, out, images].
fn conv2d(q: *shape.Inference) shape.Error!void {
    const kernel = q.source(0);
    const x = q.source(1);
    const w = q.as(WindowParams).*;
    try expectFilter(q, w);
    try q.expect(kernel.ne[2] == x.ne[2], "channels differ");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{
        windows(x.ne[0], kernel.ne[0], w.stride0, w.padding0, w.dilation0),
        windows(x.ne[1], kernel.ne[1], w.stride1, w.padding1, w.dilation1),
        kernel.ne[3],
        x.ne[3],
    } };
}

/// kernel [kw, kh, 1, channels] and x [w, h, channels, images].
fn conv2dDw(q: *shape.Inference) shape.Error!void {
    const kernel = q.source(0);
    const x = q.source(1);
    const w = q.as(WindowParams).*;
    try expectFilter(q, w);
    try q.expect(kernel.ne[2] == 1 and kernel.ne[3] == x.ne[2], "channels differ");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{
        windows(x.ne[0], kernel.ne[0], w.stride0, w.padding0, w.dilation0),
        windows(x.ne[1], kernel.ne[1], w.stride1, w.padding1, w.dilation1),
        x.ne[2],
        x.ne[3],
    } };
}

/// kernel [kw, out, in] and x [w, in] give f32 [(w - 1) * stride + kw, out].
fn convTranspose1d(q: *shape.Inference) shape.Error!void {
    const kernel = q.source(0);
    const x = q.source(1);
    try expectTransposed(q);
    try q.expect(kernel.ne[3] == 1 and x.ne[2] == 1 and x.ne[3] == 1, "x must be [w, in]");
    try q.expect(kernel.ne[2] == x.ne[1], "channels differ");
    const width = spread(x.ne[0], kernel.ne[0], q.as(StrideParams).stride);
    q.outputs[0] = .{ .dtype = .f32, .ne = .{ width, kernel.ne[1], 1, 1 } };
}

/// kernel [kw, kh, out, in] and x [w, h, in, images] give f32 [(w - 1) * stride + kw, …].
fn convTranspose2d(q: *shape.Inference) shape.Error!void {
    const kernel = q.source(0);
    const x = q.source(1);
    const stride = q.as(StrideParams).stride;
    try expectTransposed(q);
    try q.expect(kernel.ne[3] == x.ne[2], "channels differ");
    q.outputs[0] = .{ .dtype = .f32, .ne = .{
        spread(x.ne[0], kernel.ne[0], stride),
        spread(x.ne[1], kernel.ne[1], stride),
        kernel.ne[2],
        x.ne[3],
    } };
}

fn expectTransposed(q: *shape.Inference) shape.Error!void {
    const stride = q.as(StrideParams).stride;
    try expectFilter(q, .{
        .stride0 = stride,
        .stride1 = stride,
        .padding0 = 0,
        .padding1 = 0,
        .dilation0 = 1,
        .dilation1 = 1,
    });
}

fn spread(n: u64, kernel: u64, stride: u64) u64 {
    return if (n == 0 or kernel == 0) 0 else (n - 1) * stride + kernel;
}
