//! Runs one kernel in a Zig test: makes operands, plans, computes the items one by one and in
//! pieces, and watches the bytes that belong to nobody.

const std = @import("std");
const abi = @import("abi.zig");
const ops = @import("../ops.zig");
const dtypes = @import("../dtype.zig");
const DType = dtypes.DType;
const Tensor = abi.Tensor;
const formats = @import("formats.zig");
const f16_format = @import("formats/f16.zig");
const bf16_format = @import("formats/bf16.zig");
const testing = std.testing;

/// How a tensor lies in memory: rows behind each other, with bytes left out between them, or with
/// the two innermost dimensions exchanged.
pub const Order = enum { packed_rows, gaps, permuted };

/// Fills memory before a kernel runs; read as f32, f16 or bf16 it is a small odd number.
const canary = 0xa5;
const margin = 64;

var no_scratch: [64]u8 align(64) = @splat(0);

pub const Trial = struct {
    arena: std.heap.ArenaAllocator,
    prng: std.Random.DefaultPrng,
    blocks: std.ArrayList([]align(64) u8) = .empty,
    status: abi.Status = .{},
    /// Whether kernels may have shared memory and second items.
    shares: bool = false,

    pub fn init(seed: u64) Trial {
        return .{
            .arena = .init(testing.allocator),
            .prng = .init(seed),
        };
    }

    pub fn deinit(trial: *Trial) void {
        trial.arena.deinit();
    }

    /// A tensor whose memory holds canaries.
    pub fn empty(trial: *Trial, dtype: DType, ne: [4]u64, order: Order) Tensor {
        const layout = dtypes.layout(dtype);
        const gap: u64 = if (order == .gaps) 3 else 0;
        var nb: [4]u64 = undefined;
        nb[0] = layout.block_bytes;
        nb[1] = (ne[0] / layout.block_len + gap) * nb[0];
        if (order == .permuted) {
            nb[1] = layout.block_bytes;
            nb[0] = nb[1] * ne[1];
        }
        nb[2] = @max(nb[1] * ne[1], nb[0] * ne[0] / layout.block_len) + gap * layout.block_bytes;
        nb[3] = nb[2] * ne[2] + gap * layout.block_bytes;
        const size = nb[3] * ne[3];
        const arena = trial.arena.allocator();
        const whole: usize = @intCast(size + 2 * margin);
        const memory = arena.alignedAlloc(u8, .@"64", whole) catch unreachable;
        @memset(memory, canary);
        trial.blocks.append(arena, memory) catch unreachable;
        return .{ .data = memory.ptr + margin, .dtype = dtype, .ne = ne, .nb = nb };
    }

    /// Normally distributed values; integers are 0 to 99.
    pub fn random(trial: *Trial, dtype: DType, ne: [4]u64, order: Order) Tensor {
        const t = trial.empty(dtype, ne, order);
        const r = trial.prng.random();
        if (dtypes.isQuantized(dtype)) {
            const row = trial.arena.allocator().alloc(f32, @intCast(ne[0])) catch unreachable;
            for (0..t.rows()) |i| {
                for (row) |*value| value.* = r.floatNorm(f32);
                _ = formats.quantizeRow(dtype, row.ptr, t.row(i), row.len, null);
            }
            return t;
        }
        var walk: Walk = .{ .ne = ne };
        while (walk.next()) |at| {
            const integer = dtype == .i32 or dtype == .i64;
            const whole: f64 = @floatFromInt(r.uintLessThan(u32, 100));
            trial.set(t, at, if (integer) whole else r.floatNorm(f32));
        }
        return t;
    }

    /// A contiguous tensor with the given values.
    pub fn of(trial: *Trial, dtype: DType, ne: [4]u64, values: []const f64) Tensor {
        const t = trial.empty(dtype, ne, .packed_rows);
        var walk: Walk = .{ .ne = ne };
        var i: usize = 0;
        while (walk.next()) |at| : (i += 1) trial.set(t, at, values[i]);
        std.debug.assert(i == values.len);
        return t;
    }

    fn address(t: Tensor, at: [4]u64) [*]u8 {
        var offset: u64 = 0;
        for (at, t.nb) |index, stride| offset += index * stride;
        return t.data + offset;
    }

    pub fn set(_: *Trial, t: Tensor, at: [4]u64, value: f64) void {
        const p = address(t, at);
        switch (t.dtype) {
            .f32 => @as(*align(1) f32, @ptrCast(p)).* = @floatCast(value),
            .f16 => @as(*align(1) u16, @ptrCast(p)).* = f16_format.fromFloat(@floatCast(value)),
            .bf16 => @as(*align(1) u16, @ptrCast(p)).* = bf16_format.fromFloat(@floatCast(value)),
            .i32 => @as(*align(1) i32, @ptrCast(p)).* = @trunc(value),
            .i64 => @as(*align(1) i64, @ptrCast(p)).* = @trunc(value),
            else => unreachable,
        }
    }

    pub fn get(trial: *Trial, t: Tensor, at: [4]u64) f64 {
        if (dtypes.isQuantized(t.dtype)) {
            const row = trial.arena.allocator().alloc(f32, @intCast(t.ne[0])) catch unreachable;
            const start = address(t, .{ 0, at[1], at[2], at[3] });
            _ = formats.dequantizeRow(t.dtype, start, row.ptr, row.len);
            return row[@intCast(at[0])];
        }
        const p = address(t, at);
        return switch (t.dtype) {
            .f32 => @as(*align(1) f32, @ptrCast(p)).*,
            .f16 => f16_format.toFloat(@as(*align(1) u16, @ptrCast(p)).*),
            .bf16 => bf16_format.toFloat(@as(*align(1) u16, @ptrCast(p)).*),
            .i32 => @floatFromInt(@as(*align(1) i32, @ptrCast(p)).*),
            .i64 => @floatFromInt(@as(*align(1) i64, @ptrCast(p)).*),
            else => unreachable,
        };
    }

    /// Within `tolerance` of the expected value, relative above 1, plus the dtype's own rounding.
    pub fn expectNear(trial: *Trial, t: Tensor, at: [4]u64, expected: f64, tolerance: f64) !void {
        const got = trial.get(t, at);
        const rounding: f64 = switch (t.dtype) {
            .f16 => 0x1p-11,
            .bf16 => 0x1p-8,
            else => 0,
        };
        const allowed = (tolerance + rounding) * @max(1, @abs(expected));
        if (std.math.isNan(expected) and std.math.isNan(got)) return;
        if (expected == got or @abs(expected - got) <= allowed) return;
        std.debug.print("at {any}: expected {d}, got {d}\n", .{ at, expected, got });
        return error.TestExpectedEqual;
    }

    /// Plans and runs twice, item by item backwards and then in uneven pieces, and expects both to
    /// give the same bytes and to touch nothing outside the outputs.
    pub fn run(
        trial: *Trial,
        op: ops.Op,
        kernel: abi.Kernel,
        params: anytype,
        sources: []const ?Tensor,
        outputs: []const Tensor,
    ) !void {
        const arena = trial.arena.allocator();
        const words = arena.alignedAlloc(u8, .@"4", ops.params_size_max) catch unreachable;
        @memcpy(words[0..@sizeOf(@TypeOf(params))], std.mem.asBytes(&params));
        var task: abi.Task = .{
            .op = op,
            .source_count = @intCast(sources.len),
            .output_count = @intCast(outputs.len),
            .params = words.ptr,
            .sources = @splat(null),
            .outputs = @splat(null),
            .status = &trial.status,
        };
        for (sources, 0..) |*s, i| task.sources[i] = if (s.*) |*t| t else null;
        for (outputs, 0..) |*t, i| task.outputs[i] = t;
        var plan: abi.Plan = .{ .offers_shared = trial.shares };
        kernel.plan(&task, &plan);
        if (!plan.supported) return error.Unsupported;
        const all = plan.items + plan.second_items;

        const before = try trial.snapshot();
        var shared: Tensor = undefined;
        if (try trial.filled(plan.shared_scratch)) |memory| {
            shared = .{ .data = memory + 1, .dtype = .u8, .ne = undefined, .nb = undefined };
            task.shared = &shared;
        }
        var item = plan.items;
        while (item > 0) : (item -= 1) try trial.piece(kernel, &task, plan, item - 1, item);
        item = all;
        while (item > plan.items) : (item -= 1) {
            try trial.piece(kernel, &task, plan, item - 1, item);
        }
        const after = try trial.snapshot();
        for (trial.blocks.items, before) |block, old| @memcpy(block, old);
        const size = @max(1, all / 3);
        item = 0;
        while (item < all) {
            const end = if (item < plan.items) plan.items else all;
            const next = @min(item + size, end);
            try trial.piece(kernel, &task, plan, item, next);
            item = next;
        }
        for (trial.blocks.items, after) |block, other| {
            try testing.expectEqualSlices(u8, other, block);
        }
        for (trial.blocks.items, before, after) |block, old, new| {
            for (outputs) |t| restore(t, block, old);
            try testing.expectEqualSlices(u8, old, block);
            @memcpy(block, new);
        }
    }

    fn snapshot(trial: *Trial) ![][]u8 {
        const arena = trial.arena.allocator();
        const copies = try arena.alloc([]u8, trial.blocks.items.len);
        for (copies, trial.blocks.items) |*c, block| c.* = try arena.dupe(u8, block);
        return copies;
    }

    fn piece(
        trial: *Trial,
        kernel: abi.Kernel,
        task: *const abi.Task,
        plan: abi.Plan,
        begin: u64,
        end: u64,
    ) !void {
        const scratch = try trial.filled(plan.thread_scratch);
        kernel.run(task, begin, end, scratch orelse &no_scratch);
    }

    /// Memory that holds canaries; null for 0 bytes.
    fn filled(trial: *Trial, size: u64) !?[*]align(64) u8 {
        if (size == 0) return null;
        const arena = trial.arena.allocator();
        const memory = try arena.alignedAlloc(u8, .@"64", @intCast(size + margin));
        @memset(memory, canary);
        return memory.ptr;
    }
};

/// Sets the output's elements back to what they were in an older copy of the block.
fn restore(t: Tensor, block: []u8, old: []const u8) void {
    const start = @intFromPtr(block.ptr);
    const data = @intFromPtr(t.data);
    if (data < start or data >= start + block.len) return;
    const layout = dtypes.layout(t.dtype);
    var walk: Walk = .{ .ne = .{ t.ne[0] / layout.block_len, t.ne[1], t.ne[2], t.ne[3] } };
    while (walk.next()) |at| {
        const offset = @intFromPtr(Trial.address(t, at)) - start;
        @memcpy(block[offset..][0..layout.block_bytes], old[offset..][0..layout.block_bytes]);
    }
}

/// All indices of a shape, innermost first.
pub const Walk = struct {
    ne: [4]u64,
    index: u64 = 0,

    pub fn next(walk: *Walk) ?[4]u64 {
        const ne = walk.ne;
        const i = walk.index;
        if (i >= ne[0] * ne[1] * ne[2] * ne[3]) return null;
        walk.index += 1;
        const row = i / ne[0];
        return .{ i % ne[0], row % ne[1], row / ne[1] % ne[2], row / ne[1] / ne[2] };
    }
};
