//! The C ABI: everything TypeScript may call, and nothing else. Arguments are u32, f64 (sizes and
//! offsets) and pointers; results are a status, a handle (0 on failure) or an address. The story
//! of a failure waits in `leaven_problem` on the thread that failed.
//!
//! Handles are checked; pointers must be valid for the stated sizes: src/native, the only caller,
//! makes them from typed arrays.

const std = @import("std");
const build_options = @import("build_options");
const abi = @import("kernels/abi.zig");
const dtypes = @import("dtype.zig");
const ops = @import("ops.zig");
const isa = @import("cpu/isa.zig");
const pools = @import("cpu/pool.zig");
const buffers = @import("runtime/buffer.zig");
const channels = @import("runtime/channel.zig");
const fences = @import("runtime/fence.zig");
const formats = @import("runtime/formats.zig");
const image = @import("runtime/image.zig");
const memory = @import("runtime/memory.zig");
const problems = @import("runtime/problem.zig");
const profiles = @import("runtime/profile.zig");
const programs = @import("runtime/program.zig");
const queues = @import("runtime/queue.zig");
const registry = @import("runtime/registry.zig");
const vtable = @import("runtime/vtable.zig");
const Problem = problems.Problem;
const ok = @intFromEnum(problems.Status.ok);

pub const panic = std.debug.FullPanic(@import("runtime/panic.zig").onPanic);

// ── library ────────────────────────────────────────────────────────────────────────────────────

/// A stale library fails here at load, not later at its first wrong result.
export fn leaven_digest() u32 {
    return comptime ops.digest();
}

/// Copies the story of this thread's last failure to `out`.
export fn leaven_problem(out: *Problem) void {
    out.* = problems.get().*;
}

/// Chooses the kernels' instruction set by name; for tests.
export fn leaven_choose_isa(name: [*]const u8, size: u32) u32 {
    if (isa.choose(name[0..size])) return ok;
    return problems.fail(.unsupported, "this processor does not run '{s}' (it has {s})", .{
        name[0..@min(size, 32)], isa.names[isa.best()],
    });
}

/// What tests watch: allocations, live objects, live bytes, mapped bytes, checks, runs, threads.
export fn leaven_counters(out: *[7]f64) void {
    inline for (@typeInfo(memory.Counters).@"struct".fields, 0..) |field, i| {
        out[i] = @floatFromInt(@field(memory.counters, field.name).load(.monotonic));
    }
}

/// From now on every buffer ends at an inaccessible page; for tests.
export fn leaven_guard_buffers(on: u32) void {
    memory.guard = on != 0;
}

// ── shapes and formats ─────────────────────────────────────────────────────────────────────────

/// A shape as TypeScript packs it: innermost dimension first. An absent source has dtype 65535.
const PackedShape = extern struct { dtype: u32, ne: [4]f64 align(4) };
const absent = 0xffff;

/// Infers the outputs of one op from `count` sources.
export fn leaven_infer(
    op: u32,
    params: [*]align(4) const u8,
    params_size: u32,
    sources: [*]align(4) const PackedShape,
    count: u32,
    outputs: [*]align(4) PackedShape,
) u32 {
    const row = ops.info(op) orelse return problems.fail(.shape, "unknown op {d}", .{op});
    if (params_size != row.params_size or count > row.sources.len)
        return problems.fail(.shape, "wrong number of params or sources", .{});
    var q: ops.shape.Inference = .{ .params = params };
    for (sources[0..count], 0..) |*source, i| {
        if (source.dtype == absent) continue;
        q.sources[i] = unpack(source) orelse return problems.fail(.shape, "size out of range", .{});
    }
    ops.shape.infer(op, &q) catch return problems.fail(.shape, "{s}", .{q.problem});
    for (q.outputs[0..row.output_count], outputs[0..row.output_count]) |from, *to| {
        to.dtype = @intFromEnum(from.dtype);
        for (from.ne, &to.ne) |n, *f| f.* = @floatFromInt(n);
    }
    return ok;
}

fn unpack(from: *align(4) const PackedShape) ?ops.shape.Shape {
    if (from.dtype > absent) return null;
    var ne: [4]u64 = undefined;
    for (from.ne, &ne) |f, *n| {
        if (!(f >= 0 and f < ops.shape.elements_max) or f != @floor(f)) return null;
        n.* = @intFromFloat(f);
    }
    return .{ .dtype = dtypes.fromCode(@intCast(from.dtype)) orelse return null, .ne = ne };
}

/// Turns `rows` rows of `n` values of a dtype into f32.
export fn leaven_dequantize(dtype: u32, from: [*]const u8, to: [*]align(4) f32, rows: f64, n: f64) u32 {
    return formats.dequantize(dtype, from, to, rows, n);
}

/// Turns f32 rows into a dtype; `importance` is null or one weight per value of a row.
export fn leaven_quantize(
    dtype: u32,
    from: [*]align(4) const f32,
    to: [*]u8,
    rows: f64,
    n: f64,
    importance: ?[*]align(4) const f32,
) u32 {
    return formats.quantize(dtype, from, to, rows, n, importance);
}

// ── devices ────────────────────────────────────────────────────────────────────────────────────

/// How many devices the one CPU shall look like; before any other call.
export fn leaven_virtual_cpus(count: u32) void {
    registry.setVirtualCpus(count);
}

export fn leaven_device_count() u32 {
    return registry.count();
}

export fn leaven_device_info(number: u32, out: *vtable.DeviceInfo) u32 {
    const device = registry.device(number) orelse
        return problems.fail(.invalid_argument, "there is no device {d}", .{number});
    device.info(device.context, out);
    return ok;
}

/// One `vtable.Profile` per record of an image whose tensors need no memory yet.
export fn leaven_profile(device: u32, bytes: [*]const u8, size: f64, out: [*]vtable.Profile) u32 {
    return profiles.ofImage(device, bytes[0..@intFromFloat(size)], out);
}

// ── buffers ────────────────────────────────────────────────────────────────────────────────────

export fn leaven_buffer_create(device: u32, kind: u32, size: f64) u32 {
    const buffer_type = std.enums.fromInt(image.BufferType, kind) orelse .mapped;
    if (registry.device(device) == null or buffer_type == .mapped or !isSize(size)) {
        _ = problems.fail(.invalid_argument, "device {d}, type {d}, {d} bytes", .{ device, kind, size });
        return 0;
    }
    const bytes: u64 = @intFromFloat(size);
    const buffer = buffers.Buffer.create(device, buffer_type, bytes) catch {
        _ = problems.outOfMemory(bytes, memory.available());
        return 0;
    };
    return addBuffer(buffer);
}

export fn leaven_buffer_map(device: u32, path: [*:0]const u8, offset: f64, size: f64) u32 {
    if (registry.device(device) == null or !isSize(offset) or !isSize(size)) {
        _ = problems.fail(.invalid_argument, "device {d}, {d} bytes at {d}", .{ device, size, offset });
        return 0;
    }
    const buffer = buffers.Buffer.map(device, path, @intFromFloat(offset), @intFromFloat(size)) catch |err| {
        if (err == error.OutOfMemory) _ = problems.outOfMemory(@intFromFloat(size), memory.available());
        if (err != error.OutOfMemory) _ = problems.fail(.file, "{s}", .{switch (err) {
            error.NotFound => "no such file",
            error.NoAccess => "the file cannot be read",
            error.NotAFile => "not a regular file",
            error.OutOfRange => "the file is shorter than its header says",
            error.OutOfMemory => unreachable,
        }});
        return 0;
    };
    return addBuffer(buffer);
}

fn addBuffer(buffer: *buffers.Buffer) u32 {
    return buffers.table.add(buffer) catch {
        buffer.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
}

/// Drops the handle's reference; memory goes with the last one.
export fn leaven_buffer_release(handle: u32) u32 {
    const buffer = buffers.table.remove(handle) orelse return stale();
    buffer.release();
    return ok;
}

/// The buffer's address and a reference that the releaser gives back; null when the
/// buffer must not be looked at.
export fn leaven_window(handle: u32) ?*anyopaque {
    const buffer = buffers.table.acquire(handle) orelse {
        _ = stale();
        return null;
    };
    if (!buffer.viewable()) {
        buffer.release();
        _ = problems.fail(.unsupported, "this buffer's memory is private to its device", .{});
        return null;
    }
    return @ptrCast(buffer);
}

export fn leaven_window_address(window: *anyopaque) ?*anyopaque {
    const buffer: *buffers.Buffer = @ptrCast(@alignCast(window));
    return buffer.bytes.ptr;
}

/// Address of the function that gives a window's reference back.
export fn leaven_window_releaser() *const anyopaque {
    return @ptrCast(&releaseWindow);
}

/// Called by the garbage collector, or at once when a window is detached.
fn releaseWindow(_: ?*anyopaque, window: *anyopaque) callconv(.c) void {
    const buffer: *buffers.Buffer = @ptrCast(@alignCast(window));
    buffer.release();
}

/// Copies `size` bytes from JavaScript's memory into the buffer, at once.
export fn leaven_buffer_set(handle: u32, offset: f64, from: [*]const u8, size: f64) u32 {
    const buffer = buffers.table.acquire(handle) orelse return stale();
    defer buffer.release();
    const to = sliceOf(buffer, offset, size) orelse return outside(buffer, offset, size);
    if (!buffer.writable()) return problems.fail(.unsupported, "the buffer is read only", .{});
    @memcpy(to, from[0..to.len]);
    return ok;
}

export fn leaven_buffer_get(handle: u32, offset: f64, to: [*]u8, size: f64) u32 {
    const buffer = buffers.table.acquire(handle) orelse return stale();
    defer buffer.release();
    const from = sliceOf(buffer, offset, size) orelse return outside(buffer, offset, size);
    @memcpy(to[0..from.len], from);
    return ok;
}

export fn leaven_buffer_fill(handle: u32, offset: f64, size: f64, value: u32) u32 {
    const buffer = buffers.table.acquire(handle) orelse return stale();
    defer buffer.release();
    const to = sliceOf(buffer, offset, size) orelse return outside(buffer, offset, size);
    if (!buffer.writable()) return problems.fail(.unsupported, "the buffer is read only", .{});
    @memset(to, @truncate(value));
    return ok;
}

fn sliceOf(buffer: *buffers.Buffer, offset: f64, size: f64) ?[]u8 {
    if (!isSize(offset) or !isSize(size)) return null;
    return buffer.slice(@intFromFloat(offset), @intFromFloat(size));
}

fn outside(buffer: *buffers.Buffer, offset: f64, size: f64) u32 {
    return problems.fail(.invalid_argument, "{d} bytes at {d} of a buffer of {d}", .{
        size, offset, buffer.bytes.len,
    });
}

fn isSize(value: f64) bool {
    return value >= 0 and value <= 1 << 53 and value == @floor(value);
}

fn stale() u32 {
    return problems.fail(.stale_handle, "stale handle", .{});
}

// ── programs ───────────────────────────────────────────────────────────────────────────────────

/// Copies, checks and prepares an image; `thread_max` 0 is one thread per processor.
export fn leaven_program_create(bytes: [*]const u8, size: f64, thread_max: u32) u32 {
    var problem: Problem = .{};
    const program = programs.Program.create(bytes[0..@intFromFloat(size)], thread_max, &problem) catch {
        _ = problems.failWith(problem);
        return 0;
    };
    return programs.table.add(program) catch {
        program.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
}

export fn leaven_program_update(
    handle: u32,
    bindings: [*]const programs.Binding,
    binding_count: u32,
    extents: [*]align(4) const u32,
    extent_count: u32,
) u32 {
    const program = programs.table.acquire(handle) orelse return stale();
    defer program.release();
    var problem: Problem = .{};
    program.update(bindings[0..binding_count], extents[0..extent_count], &problem) catch
        return problems.failWith(problem);
    return ok;
}

/// Runs on the calling thread.
export fn leaven_program_run(handle: u32, input: [*]const u8, input_size: f64) u32 {
    const program = programs.table.acquire(handle) orelse return stale();
    defer program.release();
    var problem: Problem = .{};
    const entry = program.stage(input[0..@intFromFloat(input_size)], &problem) catch
        return problems.failWith(problem);
    const never: u8 = 0;
    problem = program.execute(entry, &never, null);
    return if (problem.status == .ok) ok else problems.failWith(problem);
}

export fn leaven_program_release(handle: u32) u32 {
    const program = programs.table.remove(handle) orelse return stale();
    program.release();
    return ok;
}

// ── channels, queues, fences ───────────────────────────────────────────────────────────────────

/// Opens this VM's way back.
export fn leaven_channel_create() u32 {
    const channel = channels.Channel.create() catch {
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
    return channels.table.add(channel) catch {
        channel.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
}

/// A new descriptor to read completions from, which the caller closes; -1 on failure.
export fn leaven_channel_reader(handle: u32) i32 {
    const channel = channels.table.acquire(handle) orelse return -1;
    defer channel.release();
    return channel.openReader();
}

/// Copies messages that are there at present to `out`; returns their bytes. For systems where the
/// host cannot read a descriptor of ours.
export fn leaven_channel_poll(handle: u32, out: [*]u8, size: u32) u32 {
    const channel = channels.table.acquire(handle) orelse return 0;
    defer channel.release();
    return @intCast(channel.poll(out[0..size]));
}

export fn leaven_channel_release(handle: u32) u32 {
    const channel = channels.table.remove(handle) orelse return stale();
    channel.release();
    return ok;
}

export fn leaven_queue_create(channel_handle: u32) u32 {
    const channel = channels.table.acquire(channel_handle) orelse {
        _ = stale();
        return 0;
    };
    const queue = queues.Queue.create(channel) catch {
        channel.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
    return queues.table.add(queue) catch {
        queue.close();
        queue.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
}

/// Cancels what is under way; the thread ends when it has been reported.
export fn leaven_queue_release(handle: u32) u32 {
    const queue = queues.table.remove(handle) orelse return stale();
    queue.close();
    queue.release();
    return ok;
}

fn push(handle: u32, job: u32, work: queues.Work) u32 {
    const queue = queues.table.acquire(handle) orelse {
        work.abandon();
        return stale();
    };
    defer queue.release();
    if (queue.push(job, work)) return ok;
    work.abandon();
    return problems.fail(.busy, "more than {d} steps are under way", .{channels.jobs_max});
}

export fn leaven_queue_run(
    handle: u32,
    job: u32,
    program_handle: u32,
    input: [*]const u8,
    input_size: f64,
) u32 {
    const program = programs.table.acquire(program_handle) orelse return stale();
    var problem: Problem = .{};
    const entry = program.stage(input[0..@intFromFloat(input_size)], &problem) catch {
        program.release();
        return problems.failWith(problem);
    };
    return push(handle, job, .{ .run = .{ .program = program, .entry = entry } });
}

export fn leaven_queue_copy(
    handle: u32,
    job: u32,
    from_handle: u32,
    from_offset: f64,
    to_handle: u32,
    to_offset: f64,
    size: f64,
) u32 {
    const from = buffers.table.acquire(from_handle) orelse return stale();
    const to = buffers.table.acquire(to_handle) orelse {
        from.release();
        return stale();
    };
    const source = sliceOf(from, from_offset, size);
    const target = sliceOf(to, to_offset, size);
    if (source == null or target == null or !to.writable()) {
        from.release();
        to.release();
        return problems.fail(.invalid_argument, "{d} bytes from {d} to {d}", .{ size, from_offset, to_offset });
    }
    return push(handle, job, .{ .copy = .{
        .from = from,
        .to = to,
        .from_offset = @intFromFloat(from_offset),
        .to_offset = @intFromFloat(to_offset),
        .size = @intFromFloat(size),
    } });
}

export fn leaven_queue_fill(handle: u32, job: u32, buffer_handle: u32, offset: f64, size: f64, value: u32) u32 {
    const buffer = buffers.table.acquire(buffer_handle) orelse return stale();
    if (sliceOf(buffer, offset, size) == null or !buffer.writable()) {
        defer buffer.release();
        return outside(buffer, offset, size);
    }
    return push(handle, job, .{ .fill = .{
        .buffer = buffer,
        .offset = @intFromFloat(offset),
        .size = @intFromFloat(size),
        .value = @truncate(value),
    } });
}

export fn leaven_queue_signal(handle: u32, job: u32, fence_handle: u32, value: f64) u32 {
    if (!isSize(value)) return problems.fail(.invalid_argument, "fence value {d}", .{value});
    const fence = fences.table.acquire(fence_handle) orelse return stale();
    return push(handle, job, .{ .signal = .{ .fence = fence, .value = @intFromFloat(value) } });
}

export fn leaven_queue_wait(handle: u32, job: u32, fence_handle: u32, value: f64) u32 {
    if (!isSize(value)) return problems.fail(.invalid_argument, "fence value {d}", .{value});
    const fence = fences.table.acquire(fence_handle) orelse return stale();
    return push(handle, job, .{ .wait = .{ .fence = fence, .value = @intFromFloat(value) } });
}

export fn leaven_queue_cancel(handle: u32, job: u32) u32 {
    const queue = queues.table.acquire(handle) orelse return stale();
    defer queue.release();
    queue.cancel(job);
    return ok;
}

/// JavaScript has dealt with the segment that `job` waited for.
export fn leaven_queue_resume(handle: u32, job: u32) u32 {
    const queue = queues.table.acquire(handle) orelse return stale();
    defer queue.release();
    queue.resumeJob(job);
    return ok;
}

export fn leaven_fence_create() u32 {
    const fence = fences.Fence.create() catch {
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
    return fences.table.add(fence) catch {
        fence.release();
        _ = problems.outOfMemory(0, memory.available());
        return 0;
    };
}

export fn leaven_fence_signal(handle: u32, value: f64) u32 {
    if (!isSize(value)) return problems.fail(.invalid_argument, "fence value {d}", .{value});
    const fence = fences.table.acquire(handle) orelse return stale();
    defer fence.release();
    fence.signal(@intFromFloat(value));
    return ok;
}

/// The fence's present value, or -1.
export fn leaven_fence_value(handle: u32) f64 {
    const fence = fences.table.acquire(handle) orelse return -1;
    defer fence.release();
    return @floatFromInt(fence.value.load(.acquire));
}

export fn leaven_fence_release(handle: u32) u32 {
    const fence = fences.table.remove(handle) orelse return stale();
    fence.fail();
    fence.release();
    return ok;
}

test {
    _ = @import("dtype.zig");
    _ = @import("shape.zig");
    _ = @import("cpu/isa.zig");
    _ = @import("cpu/pool.zig");
    _ = @import("runtime/sync.zig");
    _ = @import("runtime/system.zig");
    _ = @import("runtime/memory.zig");
    _ = @import("runtime/handles.zig");
    _ = @import("runtime/buffer.zig");
    _ = @import("runtime/fence.zig");
    _ = @import("runtime/channel.zig");
    _ = @import("runtime/problem.zig");
    _ = @import("runtime/check.zig");
}
