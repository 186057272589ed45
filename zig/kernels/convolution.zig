//! The engine of the convolutions: a product of weights with what each weight sees. For a piece of
//! one row of y, tiles of weights are multiplied with panels of x's elements that are gathered as
//! rows (one for each weight, along the row of y).
//!
//! A geometry says how many weights an output has and what they see:
//!   fields: weights, channels, width, height, images: of y, where `images` are whatever else
//!     needs panels of its own
//!   fill(weight, image, line, first, panel row): the elements that the weight sees
//!   read(image, channel, first weight, weights): the weights themselves
//!   rowOf(image, channel, line): the row of y

const std = @import("std");
const abi = @import("abi.zig");
const products = @import("attention/products.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const Tensor = abi.Tensor;

/// Elements of a row of y, output channels, and weights that are multiplied together.
const width_tile = 64;
const channel_tile = 64;
const weight_tile = products.rows_max;

/// Products that are worth handing out.
const products_wanted = 1 << 18;

pub fn Convolution(comptime Geometry: type) type {
    return struct {
        pub const kernel: abi.Kernel = .{ .plan = plan, .run = run };

        fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
            const y = task.output();
            for ([_]*const Tensor{ task.source(0), task.source(1) }) |t| {
                if (!staging.isFloat(t.dtype)) return;
            }
            if (!staging.isDirect(y)) return;
            const g: Geometry = .of(task);
            const tiles: Tiles = .of(g);
            result.supported = true;
            result.items = tiles.columns * tiles.channels * g.height * g.images;
            const width: u64 = @min(g.width, width_tile);
            const channels: u64 = @min(g.channels, channel_tile);
            result.grain = @max(1, products_wanted / @max(1, width * channels * g.weights));
            result.thread_scratch = @sizeOf(Numbers);
        }

        fn run(
            task: *const abi.Task,
            begin: u64,
            end: u64,
            scratch: abi.Scratch,
        ) callconv(.c) void {
            const g: Geometry = .of(task);
            const tiles: Tiles = .of(g);
            const numbers: *Numbers = @ptrCast(scratch);
            for (begin..end) |index| {
                const column = index % tiles.columns * width_tile;
                const rest = index / tiles.columns;
                const channel = rest % tiles.channels * channel_tile;
                const line = rest / tiles.channels % g.height;
                const image = rest / tiles.channels / g.height;
                computePiece(g, numbers, image, line, column, channel);
            }
        }

        fn computePiece(
            g: Geometry,
            numbers: *Numbers,
            image: u64,
            line: u64,
            column: u64,
            channel: u64,
        ) void {
            const width: usize = @intCast(@min(width_tile, g.width - column));
            const channels: usize = @intCast(@min(channel_tile, g.channels - channel));
            const size = vector.padded(width);
            @memset(numbers.sums[0 .. channels * size], 0);
            var rows: [weight_tile][*]const u8 = undefined;
            for (&rows, 0..) |*row, i| row.* = @ptrCast(&numbers.panel[i]);
            var first: u64 = 0;
            while (first < g.weights) : (first += weight_tile) {
                const count: usize = @intCast(@min(weight_tile, g.weights - first));
                for (0..count) |i| {
                    g.fill(first + i, image, line, column, numbers.panel[i][0..width]);
                    @memset(numbers.panel[i][width..size], 0);
                }
                for (0..channels) |c| {
                    g.read(image, channel + c, first, numbers.weights[c][0..count]);
                }
                const weights: products.Weights = .{
                    .first = &numbers.weights[0],
                    .step = weight_tile,
                };
                products.addWeighted(.f32, &numbers.sums, weights, channels, rows[0..count], size);
            }
            for (0..channels) |c| {
                const row: [*]f32 = @ptrCast(@alignCast(g.rowOf(image, channel + c, line)));
                @memcpy(row[@intCast(column)..][0..width], numbers.sums[c * size ..][0..width]);
            }
        }
    };
}

const Numbers = struct {
    sums: [channel_tile * width_tile]f32 align(64),
    panel: [weight_tile][width_tile]f32,
    weights: [channel_tile][weight_tile]f32,
};

const Tiles = struct {
    columns: u64,
    channels: u64,

    fn of(g: anytype) Tiles {
        return .{
            .columns = std.math.divCeil(u64, g.width, width_tile) catch unreachable,
            .channels = std.math.divCeil(u64, g.channels, channel_tile) catch unreachable,
        };
    }
};

/// Elements first, first + step, … of a row, 0 where there is none.
pub fn gather(x: *const Tensor, row: [*]const u8, first: i64, step: u64, to: []f32) void {
    const n: i64 = @intCast(x.ne[0]);
    const pace: i64 = @intCast(step);
    // Elements [begin, end) of the target exist.
    const begin: usize = @intCast(std.math.clamp(@divFloor(-first + pace - 1, pace), 0, to.len));
    const rest = @divFloor(n - first + pace - 1, pace);
    const end = @max(begin, @as(usize, @intCast(std.math.clamp(rest, 0, to.len))));
    @memset(to[0..begin], 0);
    @memset(to[end..], 0);
    if (begin == end) return;
    var strided = x.*;
    strided.nb[0] *= step;
    const offset: u64 = @intCast(first + pace * @as(i64, @intCast(begin)));
    const source = row + offset * x.nb[0];
    var i: usize = 0;
    while (begin + i < end) : (i += staging.block) {
        const count = @min(staging.block, end - begin - i);
        const target = to[begin + i ..].ptr;
        const values = staging.read(&strided, source, i, count, target);
        if (values != target) @memcpy(target[0..count], values);
    }
}

test "gather takes every step-th element and zeros around them" {
    const row = [_]f32{ 0, 1, 2, 3, 4, 5, 6 };
    const x: Tensor = .{
        .data = @ptrCast(@constCast(&row)),
        .dtype = .f32,
        .ne = .{ 7, 1, 1, 1 },
        .nb = @splat(4),
    };
    for (1..4) |step| {
        var first: i64 = -9;
        while (first < 12) : (first += 1) {
            var to: [6]f32 = @splat(9);
            gather(&x, x.data, first, step, &to);
            for (to, 0..) |value, i| {
                const source = first + @as(i64, @intCast(step * i));
                const exists = source >= 0 and source < 7;
                const expected: f32 = if (exists) @floatFromInt(source) else 0;
                try std.testing.expectEqual(expected, value);
            }
        }
    }
}
