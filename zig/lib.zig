//! The C ABI: everything TypeScript may call, and nothing else. Arguments are u32, f64 (sizes and
//! offsets) and pointers; results are a status, a handle (0 on failure) or an address. The story
//! of a failure waits in `leaven_problem` on the thread that failed.
//!
//! Handles and numbers are checked; pointers must be valid for the stated sizes: src/native, the
//! only caller, makes them from typed arrays.

const std = @import("std");
const ops = @import("ops.zig");
const isa = @import("cpu/isa.zig");
const buffer_calls = @import("runtime/buffer_calls.zig");
const channels = @import("runtime/channel.zig");
const formats = @import("cpu/formats.zig");
const memory = @import("runtime/memory.zig");
const problems = @import("runtime/problem.zig");
const program_calls = @import("runtime/program_calls.zig");
const programs = @import("runtime/program.zig");
const queue_calls = @import("runtime/queue_calls.zig");
const registry = @import("runtime/registry.zig");
const vm = @import("runtime/vm.zig");
const vtable = @import("runtime/vtable.zig");
const ok = @intFromEnum(problems.Status.ok);

pub const panic = std.debug.FullPanic(@import("runtime/panic.zig").onPanic);

// ── library ────────────────────────────────────────────────────────────────────────────────────

/// A stale library fails here at load, not later at its first wrong result.
export fn leaven_digest() u32 {
    return comptime ops.digest();
}

/// Copies the story of this thread's last failure to `out`.
export fn leaven_problem(out: *problems.Problem) void {
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

// ── the JavaScript VM ──────────────────────────────────────────────────────────────────────────

/// Opens a VM's way back: the address of its number (a u32), or null. JavaScript wraps it with
/// `leaven_vm_releaser`, so that everything the VM holds goes when the VM does.
export fn leaven_vm_open() ?*anyopaque {
    const channel = vm.open() catch {
        _ = problems.outOfMemory(0);
        return null;
    };
    return @ptrCast(&channel.handle);
}

export fn leaven_vm_releaser() *const anyopaque {
    return @ptrCast(&closeVm);
}

fn closeVm(_: ?*anyopaque, number: *anyopaque) callconv(.c) void {
    const handle: *u32 = @ptrCast(@alignCast(number));
    vm.close(@alignCast(@fieldParentPtr("handle", handle)));
}

/// A new descriptor that becomes readable when there are messages, which the caller closes; -1
/// where there is none.
export fn leaven_vm_reader(number: u32) i32 {
    const channel = channels.table.acquire(number) orelse return -1;
    defer channel.release();
    return channel.openReader() orelse -1;
}

/// Moves the oldest message to `out`; 0 when there is none.
export fn leaven_vm_take(number: u32, out: *channels.Message) u32 {
    const channel = channels.table.acquire(number) orelse return 0;
    defer channel.release();
    return @intFromBool(channel.take(out));
}

// ── shapes and formats ─────────────────────────────────────────────────────────────────────────

/// Infers the outputs of one op from `count` sources.
export fn leaven_infer(
    op: u32,
    params: [*]align(4) const u8,
    params_size: u32,
    sources: [*]align(4) const ops.shape.Packed,
    count: u32,
    outputs: [*]align(4) ops.shape.Packed,
) u32 {
    const given = params[0..params_size];
    const complaint = ops.shape.inferPacked(op, given, sources[0..count], outputs) orelse return ok;
    return problems.fail(.shape, "{s}", .{complaint});
}

/// Turns `rows` rows of `n` values of a dtype into f32.
export fn leaven_dequantize(
    dtype: u32,
    from: [*]const u8,
    to: [*]align(4) f32,
    rows: f64,
    n: f64,
) u32 {
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

/// How many devices the one CPU shall look like, at least.
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

/// One `vtable.Profile` per record of an image whose tensors need no memory yet; `count` records.
export fn leaven_profile(
    device: u32,
    bytes: [*]const u8,
    size: f64,
    out: [*]vtable.Profile,
    count: u32,
) u32 {
    return program_calls.profile(device, bytes, size, out, count);
}

// ── buffers ────────────────────────────────────────────────────────────────────────────────────

/// Zeroed memory of a device, for the VM with number `owner`.
export fn leaven_buffer_create(owner: u32, device: u32, kind: u32, size: f64) u32 {
    return buffer_calls.create(owner, device, kind, size);
}

/// Part of a file, read only.
export fn leaven_buffer_map(
    owner: u32,
    device: u32,
    path: [*:0]const u8,
    offset: f64,
    size: f64,
) u32 {
    return buffer_calls.map(owner, device, path, offset, size);
}

/// Drops the handle's reference; memory goes with the last one.
export fn leaven_buffer_release(handle: u32) u32 {
    return buffer_calls.release(handle);
}

/// A reference for a window of bytes [offset, offset + size), which the releaser gives back; null
/// when JavaScript must not look at them.
export fn leaven_window(handle: u32, offset: f64, size: f64) ?*anyopaque {
    return @ptrCast(buffer_calls.window(handle, offset, size) orelse return null);
}

/// Where the window's buffer starts.
export fn leaven_window_address(window: *anyopaque) ?*anyopaque {
    return bufferOf(window).bytes.ptr;
}

/// Address of the function that gives a window's reference back.
export fn leaven_window_releaser() *const anyopaque {
    return @ptrCast(&releaseWindow);
}

/// Called by the garbage collector, or at once when a window is detached.
fn releaseWindow(_: ?*anyopaque, window: *anyopaque) callconv(.c) void {
    bufferOf(window).release();
}

fn bufferOf(window: *anyopaque) *@import("runtime/buffer.zig").Buffer {
    return @ptrCast(@alignCast(window));
}

/// Copies `size` bytes from JavaScript's memory into the buffer, at once.
export fn leaven_buffer_set(handle: u32, offset: f64, from: [*]const u8, size: f64) u32 {
    return buffer_calls.set(handle, offset, from, size);
}

export fn leaven_buffer_get(handle: u32, offset: f64, to: [*]u8, size: f64) u32 {
    return buffer_calls.get(handle, offset, to, size);
}

export fn leaven_buffer_fill(handle: u32, offset: f64, size: f64, value: u32) u32 {
    return buffer_calls.fill(handle, offset, size, value);
}

// ── programs ───────────────────────────────────────────────────────────────────────────────────

/// Copies, checks and prepares an image; `thread_max` 0 is one thread per processor.
export fn leaven_program_create(owner: u32, bytes: [*]const u8, size: f64, thread_max: u32) u32 {
    return program_calls.create(owner, bytes, size, thread_max);
}

/// Binds slots and, unless there are none, sets all extents; on failure everything stays.
export fn leaven_program_update(
    handle: u32,
    bindings: [*]const programs.Binding,
    binding_count: u32,
    extents: [*]align(4) const u32,
    extent_count: u32,
) u32 {
    return program_calls.update(handle, bindings[0..binding_count], extents[0..extent_count]);
}

/// Runs on the calling thread.
export fn leaven_program_run(handle: u32, input: [*]const u8, input_size: f64) u32 {
    return program_calls.run(handle, input, input_size);
}

export fn leaven_program_release(handle: u32) u32 {
    return program_calls.release(handle);
}

// ── queues and fences ──────────────────────────────────────────────────────────────────────────

export fn leaven_queue_create(owner: u32) u32 {
    return queue_calls.create(owner);
}

/// Cancels what is under way; the thread ends when it has been reported.
export fn leaven_queue_release(handle: u32) u32 {
    return queue_calls.release(handle);
}

/// A run with the given input bytes; `job` is the number that its messages carry.
export fn leaven_queue_run(
    handle: u32,
    job: u32,
    program: u32,
    input: [*]const u8,
    input_size: f64,
) u32 {
    return queue_calls.run(handle, job, program, input, input_size);
}

export fn leaven_queue_copy(
    handle: u32,
    job: u32,
    from: u32,
    from_offset: f64,
    to: u32,
    to_offset: f64,
    size: f64,
) u32 {
    return queue_calls.copy(
        handle,
        job,
        .{ .buffer = from, .offset = from_offset },
        .{ .buffer = to, .offset = to_offset },
        size,
    );
}

export fn leaven_queue_fill(
    handle: u32,
    job: u32,
    buffer: u32,
    offset: f64,
    size: f64,
    value: u32,
) u32 {
    return queue_calls.fill(handle, job, .{ .buffer = buffer, .offset = offset }, size, value);
}

export fn leaven_queue_signal(handle: u32, job: u32, fence: u32, value: f64) u32 {
    return queue_calls.signal(handle, job, fence, value);
}

export fn leaven_queue_wait(handle: u32, job: u32, fence: u32, value: f64) u32 {
    return queue_calls.wait(handle, job, fence, value);
}

export fn leaven_queue_cancel(handle: u32, job: u32) u32 {
    return queue_calls.cancel(handle, job);
}

/// JavaScript has dealt with the segment that `job` waited for.
export fn leaven_queue_resume(handle: u32, job: u32) u32 {
    return queue_calls.resumeJob(handle, job);
}

export fn leaven_fence_create(owner: u32) u32 {
    return queue_calls.createFence(owner);
}

export fn leaven_fence_signal(handle: u32, value: f64) u32 {
    return queue_calls.signalFence(handle, value);
}

/// The fence's present value, or -1.
export fn leaven_fence_value(handle: u32) f64 {
    return queue_calls.fenceValue(handle);
}

export fn leaven_fence_release(handle: u32) u32 {
    return queue_calls.releaseFence(handle);
}

test {
    _ = isa;
    _ = vm;
    _ = channels;
    _ = memory;
    _ = problems;
    _ = @import("dtype.zig");
    _ = @import("shape.zig");
    _ = @import("cpu/pool.zig");
    _ = @import("cpu/device.zig");
    _ = @import("runtime/buffer.zig");
    _ = @import("runtime/check.zig");
    _ = @import("runtime/fence.zig");
    _ = @import("runtime/handles.zig");
    _ = @import("runtime/queue.zig");
    _ = @import("runtime/sizes.zig");
    _ = @import("runtime/sync.zig");
    _ = @import("runtime/system.zig");
    _ = @import("runtime/threads.zig");
}
