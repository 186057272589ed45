//! The CPU device: plans each record with the kernel of the chosen instruction set, groups
//! records without hazards into phases, and runs them on the pool.

const std = @import("std");
const abi = @import("../kernels/abi.zig");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const image = @import("../runtime/image.zig");
const memory = @import("../runtime/memory.zig");
const problems = @import("../runtime/problem.zig");
const vtable = @import("../runtime/vtable.zig");
const isa = @import("isa.zig");
const pools = @import("pool.zig");

var pool: pools.Pool = .{};
var context: u8 = 0;

pub const device: vtable.Device = .{
    .size = @sizeOf(vtable.Device),
    .version = vtable.version,
    .context = &context,
    .info = info,
    .profile = profile,
    .prepare = prepare,
    .update = update,
    .submit = submit,
    .wait = wait,
    .free = free,
};

fn info(_: *anyopaque, out: *vtable.DeviceInfo) callconv(.c) void {
    const Capability = vtable.Capability;
    out.* = .{
        .type = .cpu,
        .capabilities = Capability.host_buffer | Capability.map | Capability.fences,
        .memory_total = @floatFromInt(memory.total()),
        .memory_free = @floatFromInt(memory.available()),
    };
    write(&out.name, "cpu", .{});
    write(&out.description, "{d} processors", .{pools.processors()});
    write(&out.features, "{s}", .{isa.names[isa.current()]});
}

fn write(field: []u8, comptime fmt: []const u8, args: anytype) void {
    var writer: std.Io.Writer = .fixed(field[0 .. field.len - 1]);
    writer.print(fmt, args) catch {};
}

fn profile(
    _: *anyopaque,
    nodes: [*]const vtable.Node,
    count: u32,
    out: [*]vtable.Profile,
) callconv(.c) void {
    for (nodes[0..count], out[0..count]) |*node, *answer| {
        const plan = planOf(isa.kernels(), &node.task, true);
        answer.* = .{
            .supported = @intFromBool(plan.supported),
            .scratch_bytes = plan.shared_scratch,
        };
    }
}

fn planOf(kernels: *const isa.KernelTable, task: *const abi.Task, offers_shared: bool) abi.Plan {
    var plan: abi.Plan = .{ .offers_shared = offers_shared };
    kernels[@intFromEnum(task.op)].plan(task, &plan);
    return plan;
}

/// Records of a phase: looking for hazards takes the square of it.
const phase_nodes_max = 256;
const items_max = pools.chunks_max / (2 * phase_nodes_max);

const Prepared = struct {
    nodes: []const vtable.Node,
    kernels: *const isa.KernelTable,
    thread_max: u32,
    /// Room for two of each per record.
    steps: []pools.Step,
    phases: []pools.Phase,
    phase_count: usize,
    /// Steps of second items that wait for the current phase.
    seconds: []pools.Step,
};

fn prepare(
    _: *anyopaque,
    nodes: [*]const vtable.Node,
    count: u32,
    thread_max: u32,
    out: *?*anyopaque,
    problem: *problems.Problem,
) callconv(.c) void {
    const p = create(nodes[0..count], thread_max) catch {
        problem.* = .init(.out_of_memory, "no memory to prepare {d} records", .{count});
        return;
    };
    update(&context, p, problem);
    if (problem.status == .ok) out.* = p else free(&context, p);
}

fn create(nodes: []const vtable.Node, thread_max: u32) error{OutOfMemory}!*Prepared {
    const p = try memory.gpa.create(Prepared);
    errdefer memory.gpa.destroy(p);
    const steps = try memory.gpa.alloc(pools.Step, 2 * nodes.len);
    errdefer memory.gpa.free(steps);
    const phases = try memory.gpa.alloc(pools.Phase, 2 * nodes.len);
    errdefer memory.gpa.free(phases);
    const seconds = try memory.gpa.alloc(pools.Step, nodes.len);
    p.* = .{
        .nodes = nodes,
        .kernels = isa.kernels(),
        .thread_max = if (thread_max == 0) pools.processors() else thread_max,
        .steps = steps,
        .phases = phases,
        .phase_count = 0,
        .seconds = seconds,
    };
    return p;
}

/// Plans every record anew and cuts them into phases.
fn update(_: *anyopaque, prepared: *anyopaque, problem: *problems.Problem) callconv(.c) void {
    const p: *Prepared = @ptrCast(@alignCast(prepared));
    var scratch: u64 = 0;
    var node_first: usize = 0;
    var phases: Phases = .{ .p = p };
    p.phase_count = 0;
    for (p.nodes, 0..) |*node, index| {
        const shared = sharedBytes(&node.task);
        const plan = planOf(p.kernels, &node.task, shared > 0);
        if (!plan.supported or plan.shared_scratch > shared) {
            problem.* = unsupported(&node.task);
            return;
        }
        scratch = @max(scratch, plan.thread_scratch);
        const full = index - node_first == phase_nodes_max;
        if (full or meetsHazard(p.nodes[node_first..index], node)) {
            phases.end();
            node_first = index;
        }
        if (plan.items > items_max or plan.second_items > items_max) {
            problem.* = .init(.unsupported, "{t}: too much work", .{node.task.op});
            return;
        }
        phases.add(&node.task, &plan);
    }
    phases.end();
    const thread_count = @min(p.thread_max, pools.thread_limit);
    pool.reserve(thread_count, scratch) catch {
        problem.* = .outOfMemory(scratch *| thread_count);
    };
}

fn sharedBytes(task: *const abi.Task) u64 {
    const t = task.shared orelse return 0;
    return if (t.dtype == .u8 and t.nb[0] == 1) t.ne[0] else 0;
}

/// Collects records that may run at the same time; their second items are a phase of their own.
const Phases = struct {
    p: *Prepared,
    first: usize = 0,
    count: usize = 0,
    second_count: usize = 0,

    fn add(phases: *Phases, task: *const abi.Task, plan: *const abi.Plan) void {
        const kernel = phases.p.kernels[@intFromEnum(task.op)];
        const grain = @max(plan.grain, 1);
        phases.append(.{
            .kernel = kernel,
            .task = task,
            .items = plan.items,
            .grain = grain,
            .chunk_first = undefined,
            .chunk_count = std.math.divCeil(u64, plan.items, grain) catch unreachable,
        });
        if (plan.second_items == 0) return;
        phases.p.seconds[phases.second_count] = .{
            .kernel = kernel,
            .task = task,
            .item_first = plan.items,
            .items = plan.second_items,
            .grain = 1,
            .chunk_first = undefined,
            .chunk_count = plan.second_items,
        };
        phases.second_count += 1;
    }

    fn append(phases: *Phases, step: pools.Step) void {
        if (step.items == 0) return;
        const steps = phases.p.steps[phases.first..];
        steps[phases.count] = step;
        steps[phases.count].chunk_first = phases.chunkCount();
        phases.count += 1;
    }

    fn chunkCount(phases: *const Phases) u64 {
        if (phases.count == 0) return 0;
        const last = &phases.p.steps[phases.first + phases.count - 1];
        return last.chunk_first + last.chunk_count;
    }

    fn end(phases: *Phases) void {
        phases.endOne();
        for (phases.p.seconds[0..phases.second_count]) |step| phases.append(step);
        phases.second_count = 0;
        phases.endOne();
    }

    fn endOne(phases: *Phases) void {
        if (phases.count == 0) return;
        const p = phases.p;
        p.phases[p.phase_count] = .{
            .steps = p.steps[phases.first..][0..phases.count],
            .chunk_count = phases.chunkCount(),
        };
        p.phase_count += 1;
        phases.first += phases.count;
        phases.count = 0;
    }
};

fn meetsHazard(earlier: []const vtable.Node, node: *const vtable.Node) bool {
    for (earlier) |*other| {
        for (other.ranges[0..other.range_count]) |a| {
            for (node.ranges[0..node.range_count]) |b| {
                if (a.slot != b.slot or (a.write == 0 and b.write == 0)) continue;
                if (a.begin < b.end and b.begin < a.end) return true;
            }
        }
    }
    return false;
}

fn unsupported(task: *const abi.Task) problems.Problem {
    var names: [ops.sources_max][]const u8 = undefined;
    var count: usize = 0;
    for (task.sources[0..task.source_count]) |source| {
        names[count] = if (source) |s| @tagName(s.dtype) else "none";
        count += 1;
    }
    var text: [160]u8 = undefined;
    var writer: std.Io.Writer = .fixed(&text);
    for (names[0..count]) |name| writer.print(" {s}", .{name}) catch break;
    return .init(.unsupported, "{s}: not on the CPU for{s} with these strides", .{
        @tagName(task.op), writer.buffered(),
    });
}

fn submit(_: *anyopaque, prepared: *anyopaque, run: *const vtable.Run) callconv(.c) void {
    const p: *Prepared = @ptrCast(@alignCast(prepared));
    pool.run(&.{
        .phases = p.phases[0..p.phase_count],
        .cancel = run.cancel,
        .status = run.status,
        .thread_max = if (run.thread_max == 0) p.thread_max else run.thread_max,
    });
}

/// `submit` has finished the work already.
fn wait(_: *anyopaque, _: *anyopaque) callconv(.c) void {}

fn free(_: *anyopaque, prepared: *anyopaque) callconv(.c) void {
    const p: *Prepared = @ptrCast(@alignCast(prepared));
    memory.gpa.free(p.steps);
    memory.gpa.free(p.phases);
    memory.gpa.free(p.seconds);
    memory.gpa.destroy(p);
}

/// Squares in shared memory, then sums of 16 of them.
const squares = struct {
    const count = 64;

    fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
        _ = task;
        result.supported = result.offers_shared;
        result.items = count;
        result.second_items = count / 16;
        result.shared_scratch = count * 8;
    }

    fn run(task: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
        const shared: [*]align(1) u64 = @ptrCast(task.shared.?.data);
        const sums: [*]align(1) u64 = @ptrCast(task.output().data);
        for (begin..end) |i| {
            if (i < count) shared[i] = i * i else sums[i - count] = 0;
            if (i < count) continue;
            for (shared[(i - count) * 16 ..][0..16]) |value| sums[i - count] += value;
        }
    }
};

test "second items run when all others are done, and shared memory must be large enough" {
    const table: isa.KernelTable = @splat(.{ .plan = squares.plan, .run = squares.run });
    var memory_shared: [squares.count]u64 = undefined;
    var sums: [4]u64 = undefined;
    var shared: abi.Tensor = .{
        .data = @ptrCast(&memory_shared),
        .dtype = .u8,
        .ne = .{ squares.count * 8 - 1, 1, 1, 1 },
        .nb = @splat(1),
    };
    const output: abi.Tensor = .{
        .data = @ptrCast(&sums),
        .dtype = .i64,
        .ne = .{ 4, 1, 1, 1 },
        .nb = @splat(8),
    };
    var status: abi.Status = .{};
    var node: vtable.Node = .{
        .task = .{
            .op = .add,
            .source_count = 0,
            .output_count = 1,
            .params = undefined,
            .sources = @splat(null),
            .outputs = .{&output} ++ .{null} ** (ops.outputs_max - 1),
            .status = &status,
            .shared = &shared,
        },
        .ranges = undefined,
        .range_count = 0,
    };
    const p = try create((&node)[0..1], 2);
    defer free(&context, p);
    p.kernels = &table;
    var problem: problems.Problem = .{};
    update(&context, p, &problem);
    try std.testing.expectEqual(.unsupported, problem.status);

    problem = .{};
    shared.ne[0] += 1;
    update(&context, p, &problem);
    try std.testing.expectEqual(.ok, problem.status);
    try std.testing.expectEqual(2, p.phase_count);
    const cancel: u8 = 0;
    submit(&context, p, &.{ .cancel = &cancel, .status = &status, .thread_max = 2 });
    try std.testing.expectEqual([4]u64{ 1240, 9176, 25304, 49624 }, sums);
}
