//! What the C ABI does with queues and fences: arguments from JavaScript in, statuses and handles
//! out.

const buffers = @import("buffer.zig");
const buffer_calls = @import("buffer_calls.zig");
const channels = @import("channel.zig");
const fences = @import("fence.zig");
const problems = @import("problem.zig");
const program_calls = @import("program_calls.zig");
const programs = @import("program.zig");
const queues = @import("queue.zig");
const sizes = @import("sizes.zig");
const ok = @intFromEnum(problems.Status.ok);

pub fn create(vm: u32) u32 {
    const channel = channels.table.acquire(vm) orelse {
        _ = problems.stale();
        return 0;
    };
    const queue = queues.Queue.create(channel) catch {
        channel.release();
        return problems.noHandle(0);
    };
    return queues.table.add(queue, vm) catch {
        queue.close();
        queue.release();
        return problems.noHandle(0);
    };
}

pub fn release(handle: u32) u32 {
    const queue = queues.table.remove(handle) orelse return problems.stale();
    queue.close();
    queue.release();
    return ok;
}

fn push(handle: u32, job: u32, work: queues.Work) u32 {
    const queue = queues.table.acquire(handle) orelse {
        work.abandon();
        return problems.stale();
    };
    defer queue.release();
    if (queue.push(job, work)) return ok;
    work.abandon();
    return problems.fail(.busy, "more than {d} steps are under way", .{channels.jobs_max});
}

pub fn run(handle: u32, job: u32, program_handle: u32, input: [*]const u8, input_size: f64) u32 {
    const length = sizes.of(input_size) orelse return program_calls.noSize(input_size);
    const program = programs.table.acquire(program_handle) orelse return problems.stale();
    var problem: problems.Problem = .{};
    const entry = program.stage(input[0..@intCast(length)], &problem) catch {
        program.release();
        return problems.failWith(problem);
    };
    return push(handle, job, .{ .run = .{ .program = program, .entry = entry } });
}

pub const Place = struct { buffer: u32, offset: f64 };

pub fn copy(handle: u32, job: u32, from: Place, to: Place, size: f64) u32 {
    const source = buffers.table.acquire(from.buffer) orelse return problems.stale();
    const target = buffers.table.acquire(to.buffer) orelse {
        source.release();
        return problems.stale();
    };
    const status = if (buffer_calls.slice(source, from.offset, size) == null)
        buffer_calls.outside(source, from.offset, size)
    else if (buffer_calls.slice(target, to.offset, size) == null)
        buffer_calls.outside(target, to.offset, size)
    else if (!target.writable())
        buffer_calls.readOnly()
    else
        ok;
    if (status != ok) {
        source.release();
        target.release();
        return status;
    }
    return push(handle, job, .{ .copy = .{
        .from = source,
        .to = target,
        .from_offset = sizes.of(from.offset).?,
        .to_offset = sizes.of(to.offset).?,
        .size = sizes.of(size).?,
    } });
}

pub fn fill(handle: u32, job: u32, at: Place, size: f64, value: u32) u32 {
    const buffer = buffers.table.acquire(at.buffer) orelse return problems.stale();
    const status = if (buffer_calls.slice(buffer, at.offset, size) == null)
        buffer_calls.outside(buffer, at.offset, size)
    else if (!buffer.writable())
        buffer_calls.readOnly()
    else
        ok;
    if (status != ok) {
        buffer.release();
        return status;
    }
    return push(handle, job, .{ .fill = .{
        .buffer = buffer,
        .offset = sizes.of(at.offset).?,
        .size = sizes.of(size).?,
        .value = @truncate(value),
    } });
}

pub fn signal(handle: u32, job: u32, fence_handle: u32, value: f64) u32 {
    const wanted = sizes.of(value) orelse return noValue(value);
    const fence = fences.table.acquire(fence_handle) orelse return problems.stale();
    return push(handle, job, .{ .signal = .{ .fence = fence, .value = wanted } });
}

pub fn wait(handle: u32, job: u32, fence_handle: u32, value: f64) u32 {
    const wanted = sizes.of(value) orelse return noValue(value);
    const fence = fences.table.acquire(fence_handle) orelse return problems.stale();
    return push(handle, job, .{ .wait = .{ .fence = fence, .value = wanted } });
}

pub fn cancel(handle: u32, job: u32) u32 {
    const queue = queues.table.acquire(handle) orelse return problems.stale();
    defer queue.release();
    queue.cancel(job);
    return ok;
}

pub fn resumeJob(handle: u32, job: u32) u32 {
    const queue = queues.table.acquire(handle) orelse return problems.stale();
    defer queue.release();
    queue.resumeJob(job);
    return ok;
}

pub fn createFence(vm: u32) u32 {
    const fence = fences.Fence.create() catch return problems.noHandle(0);
    return fences.table.add(fence, vm) catch {
        fence.release();
        return problems.noHandle(0);
    };
}

pub fn signalFence(handle: u32, value: f64) u32 {
    const wanted = sizes.of(value) orelse return noValue(value);
    const fence = fences.table.acquire(handle) orelse return problems.stale();
    defer fence.release();
    fence.signal(wanted);
    return ok;
}

pub fn fenceValue(handle: u32) f64 {
    const fence = fences.table.acquire(handle) orelse return -1;
    defer fence.release();
    return @floatFromInt(fence.value.load(.acquire));
}

pub fn releaseFence(handle: u32) u32 {
    const fence = fences.table.remove(handle) orelse return problems.stale();
    fence.fail(.disposed);
    fence.release();
    return ok;
}

fn noValue(value: f64) u32 {
    return problems.fail(.invalid_argument, "fence value {d}", .{value});
}
