//! Programs: a checked image, the buffers bound to its slots, and what devices prepared from it.

const std = @import("std");
const abi = @import("../kernels/abi.zig");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const buffers = @import("buffer.zig");
const check = @import("check.zig");
const fences = @import("fence.zig");
const handles = @import("handles.zig");
const image = @import("image.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const registry = @import("registry.zig");
const sizes = @import("sizes.zig");
const sync = @import("sync.zig");
const vtable = @import("vtable.zig");
const Problem = problems.Problem;

pub var table: handles.Handles(Program) = .{};

/// Runs whose inputs may lie staged at a time.
pub const ring_depth = 2;

/// One line of the list that TypeScript passes: which memory a slot means.
pub const Binding = extern struct { slot: u32, buffer: u32, offset: f64 };

const Bound = struct { buffer: *buffers.Buffer, offset: u64 };

pub const Program = struct {
    references: std.atomic.Value(u32) = .init(1),
    /// Held while the program runs or changes.
    mutex: sync.Mutex = .{},
    arena: std.heap.ArenaAllocator,
    view: image.View,
    tensors: []abi.Tensor,
    nodes: []vtable.Node,
    /// By segment: what the device made of it.
    prepared: []?*anyopaque,
    bound: []?Bound,
    /// The present value of each extent.
    extents: []u32,
    /// Bindings that an update has not made yet.
    next_bound: []?Bound,
    fences: []*fences.Fence,
    /// The slot whose bytes come with each run, and its staging entries.
    input_slot: ?u32,
    ring: ?memory.Region,
    ring_busy: [ring_depth]std.atomic.Value(bool) = @splat(.init(false)),
    /// Fence values of a run start here; grows with every run.
    fence_base: u64 = 0,
    /// Where kernels note what goes wrong in a run.
    status: abi.Status = .{},

    /// Copies and checks `bytes`, then prepares every segment. Slots may be bound later.
    pub fn create(bytes: []const u8, thread_max: u32, problem: *Problem) error{Problem}!*Program {
        const p = try resolve(bytes, problem);
        errdefer p.release();
        try p.makeRing(problem);
        try p.prepareAll(thread_max, problem);
        return p;
    }

    /// A program that no device has prepared: enough to ask devices about its records.
    pub fn resolve(bytes: []const u8, problem: *Problem) error{Problem}!*Program {
        return build(bytes, problem) catch |err| switch (err) {
            error.Problem => error.Problem,
            error.OutOfMemory => blk: {
                problem.* = .outOfMemory(bytes.len);
                break :blk error.Problem;
            },
        };
    }

    fn build(bytes: []const u8, problem: *Problem) !*Program {
        const p = try memory.gpa.create(Program);
        errdefer memory.gpa.destroy(p);
        var arena: std.heap.ArenaAllocator = .init(memory.gpa);
        errdefer arena.deinit();
        const a = arena.allocator();
        const copy = try a.alignedAlloc(u8, .@"8", bytes.len);
        @memcpy(copy, bytes);
        const view = image.View.open(copy, comptime ops.digest()) catch {
            problem.* = .init(.invalid_image, "the image's header or tables are out of range", .{});
            return error.Problem;
        };
        check.whole(&view, problem) catch return error.Problem;
        try checkDevices(&view, problem);

        p.* = .{
            .arena = arena,
            .view = view,
            .tensors = try a.alloc(abi.Tensor, view.tensors.len),
            .nodes = try a.alloc(vtable.Node, view.records.len),
            .prepared = try a.alloc(?*anyopaque, view.segments.len),
            .bound = try a.alloc(?Bound, view.slots.len),
            .next_bound = try a.alloc(?Bound, view.slots.len),
            .extents = try a.alloc(u32, view.extents.len),
            .fences = try a.alloc(*fences.Fence, view.header.fence_count),
            .input_slot = try inputSlot(&view, problem),
            .ring = null,
        };
        @memset(p.prepared, null);
        @memset(p.bound, null);
        @memset(p.next_bound, null);
        for (p.extents, view.extents) |*value, declared| value.* = declared.max;
        for (p.tensors, view.tensors) |*t, *from| t.* = unboundTensor(from);
        for (p.nodes, view.records) |*node, *record| p.resolveNode(node, record);
        try p.makeFences();
        p.arena = arena;
        return p;
    }

    fn makeRing(p: *Program, problem: *Problem) error{Problem}!void {
        const slot = p.input_slot orelse return;
        const size = std.mem.alignForward(u64, @max(p.view.slots[slot].size_min, 1), 64);
        p.ring = memory.Region.create(size * ring_depth) catch {
            problem.* = .outOfMemory(size * ring_depth);
            return error.Problem;
        };
    }

    fn makeFences(p: *Program) error{OutOfMemory}!void {
        for (p.fences, 0..) |*fence, made| {
            fence.* = fences.Fence.create() catch |err| {
                for (p.fences[0..made]) |f| f.release();
                return err;
            };
        }
    }

    fn prepareAll(p: *Program, thread_max: u32, problem: *Problem) error{Problem}!void {
        for (p.view.segments, p.prepared) |s, *prepared| {
            if (s.kind != @intFromEnum(image.SegmentKind.compute)) continue;
            const device = registry.device(s.device).?;
            const nodes = p.nodes[s.first..][0..s.count];
            device.prepare(device.context, nodes.ptr, s.count, thread_max, prepared, problem);
            if (problem.status != .ok) return error.Problem;
        }
    }

    fn resolveNode(p: *Program, node: *vtable.Node, r: *const image.Record) void {
        node.* = .{
            .task = .{
                .op = @enumFromInt(r.op),
                .source_count = r.source_count,
                .output_count = r.output_count,
                .params = @alignCast(p.view.params.ptr + r.params_offset),
                .sources = @splat(null),
                .outputs = @splat(null),
                .status = &p.status,
            },
            .ranges = p.view.ranges.ptr + r.range_first,
            .range_count = r.range_count,
        };
        for (p.view.sources(r), 0..) |index, i| {
            if (index != image.none) node.task.sources[i] = &p.tensors[index];
        }
        for (p.view.outputs(r), 0..) |index, i| node.task.outputs[i] = &p.tensors[index];
        if (r.scratch != image.none) node.task.shared = &p.tensors[r.scratch];
    }

    pub fn retain(p: *Program) void {
        _ = p.references.fetchAdd(1, .monotonic);
    }

    pub fn release(p: *Program) void {
        if (p.references.fetchSub(1, .acq_rel) != 1) return;
        for (p.bound) |bound| if (bound) |b| b.buffer.release();
        if (p.ring) |ring| ring.destroy();
        p.freePrepared();
        for (p.fences) |fence| fence.release();
        p.arena.deinit();
        memory.gpa.destroy(p);
    }

    fn freePrepared(p: *Program) void {
        for (p.view.segments, p.prepared) |s, prepared| {
            const device = registry.device(s.device) orelse continue;
            if (prepared) |ready| device.free(device.context, ready);
        }
    }

    /// Binds slots and sets extents. On failure everything stays as it was.
    pub fn update(
        p: *Program,
        bindings: []const Binding,
        extents: []const u32,
        problem: *Problem,
    ) error{Problem}!void {
        // Never waits: a run may itself be waiting for the thread that calls this.
        if (!p.mutex.tryLock()) {
            problem.* = .init(.busy, "the program is running", .{});
            return error.Problem;
        }
        defer p.mutex.unlock();
        for (p.next_bound, p.bound) |*next, bound| {
            next.* = bound;
            if (bound) |b| b.buffer.retain();
        }
        defer for (p.next_bound) |*next| {
            if (next.*) |b| b.buffer.release();
            next.* = null;
        };
        for (bindings) |binding| try p.bind(binding, problem);
        try p.checkOverlaps(problem);
        if (extents.len > 0) try p.setExtents(extents, problem);
        std.mem.swap([]?Bound, &p.bound, &p.next_bound);
        p.setAddresses();
    }

    fn bind(p: *Program, binding: Binding, problem: *Problem) error{Problem}!void {
        if (binding.slot >= p.bound.len)
            return fail(problem, "slot {d} does not exist", .{binding.slot});
        const slot = &p.view.slots[binding.slot];
        const offset = sizes.of(binding.offset) orelse
            return fail(problem, "slot {d}: offset {d}", .{ binding.slot, binding.offset });
        const buffer = buffers.table.acquire(binding.buffer) orelse {
            problem.* = .init(.stale_handle, "slot {d}: no such buffer", .{binding.slot});
            return error.Problem;
        };
        errdefer buffer.release();
        if (buffer.device != slot.device)
            return fail(problem, "slot {d} is on another device", .{binding.slot});
        if (buffer.slice(offset, slot.size_min) == null)
            return fail(problem, "slot {d} needs {d} bytes at {d}, the buffer has {d}", .{
                binding.slot, slot.size_min, offset, buffer.bytes.len,
            });
        if (slot.access & image.access_write != 0 and !buffer.writable())
            return fail(problem, "slot {d} is written, the buffer is read only", .{binding.slot});
        if (!std.mem.isAligned(@intFromPtr(buffer.bytes.ptr) + offset, 8))
            return fail(problem, "slot {d}: offset {d} is misaligned", .{ binding.slot, offset });
        const next = &p.next_bound[binding.slot];
        if (next.*) |old| old.buffer.release();
        next.* = .{ .buffer = buffer, .offset = offset };
    }

    /// Hazards are computed by slot, so two slots must not mean the same written memory.
    fn checkOverlaps(p: *Program, problem: *Problem) error{Problem}!void {
        for (p.next_bound, p.view.slots, 0..) |a, slot_a, i| {
            if (a == null or slot_a.access & image.access_write == 0) continue;
            for (p.next_bound, p.view.slots, 0..) |b, slot_b, j| {
                if (i == j or b == null or a.?.buffer != b.?.buffer) continue;
                const apart = a.?.offset + slot_a.size_min <= b.?.offset or
                    b.?.offset + slot_b.size_min <= a.?.offset;
                if (!apart) return fail(problem, "slots {d} and {d} overlap", .{ i, j });
            }
        }
    }

    fn setExtents(p: *Program, extents: []const u32, problem: *Problem) error{Problem}!void {
        if (extents.len != p.view.extents.len)
            return fail(problem, "{d} extents are needed", .{p.view.extents.len});
        for (extents, p.view.extents, 0..) |value, declared, i| {
            if (value > declared.max)
                return fail(problem, "extent {d} is {d} of at most {d}", .{
                    i, value, declared.max,
                });
        }
        p.applyExtents(extents);
        p.refresh(problem) catch {
            // These sizes have passed once, so they do again.
            p.applyExtents(p.extents);
            var ignored: Problem = .{};
            p.refresh(&ignored) catch {};
            return error.Problem;
        };
        @memcpy(p.extents, extents);
    }

    fn applyExtents(p: *Program, extents: []const u32) void {
        for (p.tensors, p.view.tensors) |*t, *from| {
            if (from.extent == 0) continue;
            t.ne[from.extent_dim] = @as(u64, extents[from.extent - 1]) * from.extent_multiple;
        }
    }

    fn refresh(p: *Program, problem: *Problem) error{Problem}!void {
        check.shapes(&p.view, p.tensors, problem) catch return error.Problem;
        for (p.view.segments, p.prepared) |s, prepared| {
            const device = registry.device(s.device) orelse continue;
            if (prepared) |ready| device.update(device.context, ready, problem);
            if (problem.status != .ok) return error.Problem;
        }
    }

    fn setAddresses(p: *Program) void {
        for (p.tensors, p.view.tensors) |*t, *from| {
            const bound = p.bound[from.slot] orelse continue;
            t.data = bound.buffer.bytes.ptr + @as(usize, @intCast(bound.offset + from.offset));
        }
    }

    fn setInput(p: *Program, entry: usize) void {
        const slot = p.input_slot orelse return;
        const base = p.ringEntry(entry);
        for (p.tensors, p.view.tensors) |*t, *from| {
            if (from.slot == slot) t.data = base.ptr + @as(usize, @intCast(from.offset));
        }
    }

    fn ringEntry(p: *const Program, entry: usize) []u8 {
        const ring = p.ring.?;
        const size = ring.bytes.len / ring_depth;
        return ring.bytes[entry * size ..][0..size];
    }

    /// Copies a run's input bytes into a free staging entry and returns its number.
    pub fn stage(p: *Program, input: []const u8, problem: *Problem) error{Problem}!u32 {
        const size = if (p.input_slot) |slot| p.view.slots[slot].size_min else 0;
        if (input.len != size)
            return fail(problem, "{d} input bytes given, {d} needed", .{ input.len, size });
        for (p.bound, p.view.slots, 0..) |bound, slot, i| {
            if (bound == null and slot.size_min > 0 and p.input_slot != @as(u32, @intCast(i)))
                return fail(problem, "slot {d} is not bound", .{i});
        }
        for (&p.ring_busy, 0..) |*busy, entry| {
            if (busy.swap(true, .acquire)) continue;
            if (size > 0) @memcpy(p.ringEntry(entry)[0..input.len], input);
            return @intCast(entry);
        }
        problem.* = .init(.busy, "{d} runs of this program are under way", .{ring_depth});
        return error.Problem;
    }

    pub fn unstage(p: *Program, entry: u32) void {
        p.ring_busy[entry].store(false, .release);
    }

    /// What the runner of a program does for it when a segment belongs to JavaScript.
    pub const Observer = struct {
        context: *anyopaque,
        /// False when the run shall end.
        call: *const fn (context: *anyopaque, segment: u32) bool,
    };

    /// Runs all segments in order. The staged `entry` is free again afterwards.
    pub fn execute(p: *Program, entry: u32, cancel: *const u8, observer: ?Observer) Problem {
        defer p.unstage(entry);
        if (!p.mutex.lockUnless(cancel)) return problems.cancelled;
        defer p.mutex.unlock();
        _ = memory.counters.runs.fetchAdd(1, .monotonic);
        p.setInput(entry);
        p.fence_base += check.fence_values;
        p.status = .{};
        for (p.view.segments, 0..) |*s, index| {
            if (@atomicLoad(u8, cancel, .acquire) != 0) return problems.cancelled;
            switch (@as(image.SegmentKind, @enumFromInt(s.kind))) {
                .compute => p.compute(s, index, cancel),
                .copy => copyTensor(&p.tensors[s.a], &p.tensors[s.b]),
                .signal => p.fences[s.a].signal(p.fence_base + s.value),
                .wait => if (!p.fences[s.a].wait(p.fence_base + s.value, cancel))
                    return problems.cancelled,
                .js => {
                    const o = observer orelse
                        return .init(.unsupported, "JavaScript is needed between steps", .{});
                    if (!o.call(o.context, @intCast(index))) return problems.cancelled;
                },
                .collective => unreachable, // The check refuses it.
            }
            if (p.status.fault != 0) return faultOf(&p.status);
        }
        // A cancel that came after the last chunk has left nothing undone, yet cannot be told
        // from one that came before: it is reported as one.
        if (@atomicLoad(u8, cancel, .acquire) != 0) return problems.cancelled;
        return .{};
    }

    fn compute(p: *Program, s: *const image.Segment, index: usize, cancel: *const u8) void {
        const ready = p.prepared[index] orelse return;
        const device = registry.device(s.device).?;
        device.submit(device.context, ready, &.{
            .cancel = cancel,
            .status = &p.status,
            .thread_max = 0,
        });
        device.wait(device.context, ready);
    }
};

fn fail(problem: *Problem, comptime fmt: []const u8, args: anytype) error{Problem} {
    problem.* = .init(.invalid_argument, fmt, args);
    return error.Problem;
}

fn faultOf(status: *const abi.Status) Problem {
    const name = if (ops.info(status.op)) |row| row.name else "op";
    var p: Problem = .init(.bad_index, "{s}: index {d} is outside [0, {d})", .{
        name, status.value, status.limit,
    });
    p.a = @floatFromInt(status.value);
    p.b = @floatFromInt(status.limit);
    return p;
}

fn unboundTensor(from: *const image.Tensor) abi.Tensor {
    return .{
        .data = unbound,
        .dtype = dtypes.fromCode(from.dtype).?,
        .layout = from.layout,
        .ne = from.ne,
        .nb = from.nb,
    };
}

/// The address of tensors in unbound slots: aligned, and never read, since such a program
/// refuses to run.
const unbound: [*]u8 = @ptrFromInt(64);

fn checkDevices(view: *const image.View, problem: *Problem) error{Problem}!void {
    for (view.slots, 0..) |s, i| {
        if (registry.device(s.device) == null)
            return fail(problem, "slot {d}: no device {d}", .{ i, s.device });
    }
    for (view.segments, 0..) |s, i| {
        if (registry.device(s.device) == null)
            return fail(problem, "segment {d}: no device {d}", .{ i, s.device });
    }
}

fn inputSlot(view: *const image.View, problem: *Problem) error{Problem}!?u32 {
    var found: ?u32 = null;
    for (view.slots, 0..) |s, i| {
        if (s.lifetime != @intFromEnum(image.Lifetime.input)) continue;
        if (found != null) return fail(problem, "slot {d} is a second input slot", .{i});
        found = @intCast(i);
    }
    return found;
}

/// The check has proved that both have one layout.
fn copyTensor(from: *const abi.Tensor, to: *const abi.Tensor) void {
    const l = dtypes.layout(from.dtype);
    const row_bytes = from.ne[0] / l.block_len * l.block_bytes;
    if (row_bytes == 0) return;
    for (0..@intCast(from.rows())) |row| {
        if (from.nb[0] == l.block_bytes) {
            @memmove(to.row(row)[0..@intCast(row_bytes)], from.row(row)[0..@intCast(row_bytes)]);
        } else for (0..@intCast(from.ne[0])) |i| {
            const at: usize = @intCast(i * from.nb[0]);
            @memmove(to.row(row)[at..][0..l.block_bytes], from.row(row)[at..][0..l.block_bytes]);
        }
    }
}
