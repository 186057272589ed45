//! What each place of a convolution's kernel sees, as rows: column k of row (x, y) is the element
//! of x under weight k. One item is one row of y's positions.

const std = @import("std");
const abi = @import("abi.zig");
const spatial = @import("../ops.zig").spatial;
const split = @import("split.zig");
const staging = @import("staging.zig");
const Params = spatial.Im2colParams;

pub const im2col: abi.Kernel = .{ .plan = plan, .run = run };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const y = task.output();
    if (!staging.isFloat(task.source(1).dtype) or !staging.isFloat(y.dtype)) return;
    split.byRow(result, y.rows(), y.ne[0] * 4);
    result.thread_scratch = staging.rowsBytes(1, y.ne[0]);
}

fn run(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const y = task.output();
    const g: Geometry = .of(task);
    const row: [*]f32 = @ptrCast(scratch);
    for (begin..end) |index| {
        const column = index % y.ne[1];
        const rest = index / y.ne[1];
        const line = if (g.two) rest % y.ne[2] else 0;
        const image = if (g.two) rest / y.ne[2] else rest;
        for (0..g.channels) |channel| for (0..g.kernel[1]) |kh| {
            const part = row + (channel * g.kernel[1] + kh) * g.kernel[0];
            g.read(part, channel, image, column, line, kh);
        };
        staging.writeRow(y, y.row(index), row);
    }
}

const Geometry = struct {
    x: *const abi.Tensor,
    two: bool,
    kernel: [2]u64,
    stride: [2]u64,
    padding: [2]u64,
    dilation: [2]u64,
    channels: u64,

    fn of(task: *const abi.Task) Geometry {
        const kernel = task.source(0);
        const p = task.as(Params);
        const two = p.two_dimensional == 1;
        return .{
            .x = task.source(1),
            .two = two,
            .kernel = .{ kernel.ne[0], if (two) kernel.ne[1] else 1 },
            .stride = .{ p.stride0, p.stride1 },
            .padding = .{ p.padding0, p.padding1 },
            .dilation = .{ p.dilation0, p.dilation1 },
            .channels = if (two) kernel.ne[2] else kernel.ne[1],
        };
    }

    /// One line of the kernel: the elements under it, 0 outside x.
    fn read(
        g: *const Geometry,
        part: [*]f32,
        channel: u64,
        image: u64,
        column: u64,
        line: u64,
        kh: u64,
    ) void {
        const n: usize = @intCast(g.kernel[0]);
        const j = if (g.two) line * g.stride[1] + kh * g.dilation[1] -% g.padding[1] else 0;
        if (g.two and j >= g.x.ne[1]) return @memset(part[0..n], 0);
        const nb = g.x.nb;
        const row = if (g.two)
            g.x.data + j * nb[1] + channel * nb[2] + image * nb[3]
        else
            g.x.data + channel * nb[1] + image * nb[2];
        for (part[0..n], 0..) |*value, kw| {
            const i = column * g.stride[0] + kw * g.dilation[0] -% g.padding[0];
            var buffer: staging.Buffer = undefined;
            value.* = if (i >= g.x.ne[0]) 0 else staging.read(g.x, row, i, 1, &buffer)[0];
        }
    }
};

const Trial = @import("trial.zig").Trial;
const Walk = @import("trial.zig").Walk;
const DType = @import("../dtype.zig").DType;

test "im2col in one and two dimensions, to f32 and f16" {
    for ([_]DType{ .f32, .f16 }) |dtype| for ([_]bool{ false, true }) |two| {
        for ([_]@import("trial.zig").Order{ .packed_rows, .gaps, .permuted }) |order| {
            var trial: Trial = .init(1);
            defer trial.deinit();
            const p: Params = .{
                .stride0 = 2,
                .stride1 = 1,
                .padding0 = 1,
                .padding1 = 2,
                .dilation0 = 1,
                .dilation1 = 2,
                .two_dimensional = @intFromBool(two),
                .dtype = @intFromEnum(dtype),
            };
            const kernel_ne: [4]u64 = if (two) .{ 3, 2, 4, 5 } else .{ 3, 4, 6, 1 };
            const kernel = trial.random(.f16, kernel_ne, .packed_rows);
            const x_ne: [4]u64 = if (two) .{ 9, 8, 4, 2 } else .{ 11, 4, 2, 1 };
            const x = trial.random(.f32, x_ne, order);
            const ow = spatial.windows(x.ne[0], 3, 2, 1, 1);
            const oh = spatial.windows(8, 2, 1, 2, 2);
            const y_ne: [4]u64 = if (two) .{ 24, ow, oh, 2 } else .{ 12, ow, 2, 1 };
            const y = trial.empty(dtype, y_ne, .packed_rows);
            try trial.run(.im2col, im2col, p, &.{ kernel, x }, &.{y});
            var walk: Walk = .{ .ne = y.ne };
            while (walk.next()) |at| {
                const kw = at[0] % 3;
                const kh = if (two) at[0] / 3 % 2 else 0;
                const channel = if (two) at[0] / 6 else at[0] / 3;
                const i = @as(i64, @intCast(at[1] * 2 + kw)) - 1;
                const j = if (two) @as(i64, @intCast(at[2] + kh * 2)) - 2 else 0;
                const outside = i < 0 or i >= x.ne[0] or j < 0 or (two and j >= 8);
                const from: [4]u64 = if (outside)
                    @splat(0)
                else if (two)
                    .{ @intCast(i), @intCast(j), channel, at[3] }
                else
                    .{ @intCast(i), channel, at[2], 0 };
                try trial.expectNear(y, at, if (outside) 0 else trial.get(x, from), 0);
            }
        }
    };
}
