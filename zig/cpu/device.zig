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
        const plan = planOf(&node.task);
        answer.* = .{ .supported = @intFromBool(plan.supported) };
    }
}

fn planOf(task: *const abi.Task) abi.Plan {
    var plan: abi.Plan = .{};
    isa.kernels()[@intFromEnum(task.op)].plan(task, &plan);
    return plan;
}

const Prepared = struct {
    nodes: []const vtable.Node,
    kernels: *const isa.KernelTable,
    thread_max: u32,
    steps: []pools.Step,
    phases: []pools.Phase,
    phase_count: usize,
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
    const steps = try memory.gpa.alloc(pools.Step, nodes.len);
    errdefer memory.gpa.free(steps);
    const phases = try memory.gpa.alloc(pools.Phase, nodes.len);
    p.* = .{
        .nodes = nodes,
        .kernels = isa.kernels(),
        .thread_max = if (thread_max == 0) pools.processors() else thread_max,
        .steps = steps,
        .phases = phases,
        .phase_count = 0,
    };
    return p;
}

/// Plans every record anew and cuts them into phases.
fn update(_: *anyopaque, prepared: *anyopaque, problem: *problems.Problem) callconv(.c) void {
    const p: *Prepared = @ptrCast(@alignCast(prepared));
    var scratch: u64 = 0;
    var step_count: usize = 0;
    var phase_first: usize = 0;
    var node_first: usize = 0;
    p.phase_count = 0;
    for (p.nodes, 0..) |*node, index| {
        var plan: abi.Plan = .{};
        p.kernels[@intFromEnum(node.task.op)].plan(&node.task, &plan);
        if (!plan.supported) {
            problem.* = unsupported(&node.task);
            return;
        }
        scratch = @max(scratch, plan.thread_scratch);
        if (meetsHazard(p.nodes[node_first..index], node)) {
            endPhase(p, phase_first, step_count);
            phase_first = step_count;
            node_first = index;
        }
        if (plan.items == 0) continue;
        const first = if (step_count == phase_first) 0 else blk: {
            const last = &p.steps[step_count - 1];
            break :blk last.chunk_first + last.chunk_count;
        };
        const grain = @max(plan.grain, 1);
        p.steps[step_count] = .{
            .kernel = p.kernels[@intFromEnum(node.task.op)],
            .task = &node.task,
            .items = plan.items,
            .grain = grain,
            .chunk_first = first,
            .chunk_count = std.math.divCeil(u64, plan.items, grain) catch unreachable,
        };
        step_count += 1;
    }
    endPhase(p, phase_first, step_count);
    pool.reserve(@min(p.thread_max, pools.thread_limit), scratch) catch {
        problem.* = .init(.out_of_memory, "no memory for {d} bytes of scratch", .{scratch});
    };
}

fn endPhase(p: *Prepared, first: usize, end: usize) void {
    if (first == end) return;
    const last = &p.steps[end - 1];
    p.phases[p.phase_count] = .{
        .steps = p.steps[first..end],
        .chunk_count = last.chunk_first + last.chunk_count,
    };
    p.phase_count += 1;
}

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
    memory.gpa.destroy(p);
}
