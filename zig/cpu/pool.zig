//! The CPU device's threads. They sleep between runs; within a run they claim chunks of work from
//! one counter, so a thread that the system has put aside delays only the chunk it holds, and a
//! busy machine degrades gracefully.

const std = @import("std");
const abi = @import("../kernels/abi.zig");
const memory = @import("../runtime/memory.zig");
const sync = @import("../runtime/sync.zig");

/// One kernel call's worth of a record, cut into chunks.
pub const Step = struct {
    kernel: abi.Kernel,
    task: *const abi.Task,
    item_first: u64 = 0,
    items: u64,
    grain: u64,
    /// Of the phase: this step's chunks are numbered from here.
    chunk_first: u64,
    chunk_count: u64,
};

/// Steps without hazards between them: their chunks may run in any order. Never empty.
pub const Phase = struct { steps: []const Step, chunk_count: u64 };

pub const Work = struct {
    phases: []const Phase,
    cancel: *const u8,
    status: *const abi.Status,
    /// Threads that take part, at most; at least 1.
    thread_max: u32,
};

pub const thread_limit = 256;
/// About 20 us of waiting before a thread gives its core away; chosen by bench/decode.ts.
const spins = 400;
const chunk_bits = 40;
const chunk_mask: u64 = (1 << chunk_bits) - 1;
/// A vector load may touch this much behind what a kernel asked for; also keeps threads apart.
const scratch_align = 256;

pub const Pool = struct {
    /// Held during a run: runs of several queues take turns.
    exclusive: sync.Mutex = .{},
    threads: u32 = 1,
    scratch: ?memory.Region = null,
    scratch_bytes: u64 = 0,

    work: *const Work = undefined,
    open: std.atomic.Value(bool) = .init(false),
    active: std.atomic.Value(u32) = .init(0),
    run_number: std.atomic.Value(u32) = .init(0),

    /// Phase in the high bits, next chunk in the low ones.
    ticket: std.atomic.Value(u64) align(64) = .init(0),
    done: std.atomic.Value(u64) align(64) = .init(0),
    phase_number: std.atomic.Value(u32) align(64) = .init(0),
    sleepers: std.atomic.Value(u32) = .init(0),

    /// Makes sure of `threads` threads and `bytes` of private memory for each. Called when a
    /// program is prepared, so that runs allocate nothing.
    pub fn reserve(pool: *Pool, threads: u32, bytes: u64) error{OutOfMemory}!void {
        pool.exclusive.lock();
        defer pool.exclusive.unlock();
        const count = @max(1, @min(threads, thread_limit));
        const per_thread = std.mem.alignForward(u64, @max(bytes, pool.scratch_bytes), scratch_align);
        if (per_thread > pool.scratch_bytes or count > pool.threads) {
            const larger = if (per_thread == 0)
                null
            else
                try memory.Region.create(per_thread * @max(count, pool.threads));
            if (pool.scratch) |region| region.destroy();
            pool.scratch = larger;
            pool.scratch_bytes = per_thread;
        }
        while (pool.threads < count) {
            const config: std.Thread.SpawnConfig = .{ .stack_size = 1 << 20 };
            const thread = std.Thread.spawn(config, worker, .{ pool, pool.threads }) catch
                return error.OutOfMemory;
            thread.detach();
            pool.threads += 1;
            _ = memory.counters.live_threads.fetchAdd(1, .monotonic);
        }
    }

    /// Runs all phases; the calling thread takes part. Returns early when `work.cancel` is set or
    /// a kernel notes a fault.
    pub fn run(pool: *Pool, work: *const Work) void {
        if (work.phases.len == 0) return;
        pool.exclusive.lock();
        defer pool.exclusive.unlock();
        pool.work = work;
        pool.done.store(0, .monotonic);
        pool.ticket.store(0, .release);
        pool.open.store(true, .seq_cst);
        if (work.thread_max > 1 and pool.threads > 1 and hasParallelWork(work)) {
            _ = pool.run_number.fetchAdd(1, .release);
            sync.wakeAll(&pool.run_number);
        }
        pool.participate(work, 0);
        pool.open.store(false, .seq_cst);
        pool.awaitLeavers();
    }

    fn hasParallelWork(work: *const Work) bool {
        for (work.phases) |phase| if (phase.chunk_count > 1) return true;
        return false;
    }

    fn awaitLeavers(pool: *Pool) void {
        var spin: u32 = 0;
        while (true) {
            const count = pool.active.load(.seq_cst);
            if (count == 0) return;
            spin += 1;
            if (spin < spins) std.atomic.spinLoopHint() else sync.wait(&pool.active, count);
        }
    }

    fn worker(pool: *Pool, index: u32) void {
        while (true) {
            const seen = pool.run_number.load(.acquire);
            _ = pool.active.fetchAdd(1, .seq_cst);
            if (pool.open.load(.seq_cst)) {
                const work = pool.work;
                if (index < work.thread_max) pool.participate(work, index);
            }
            if (pool.active.fetchSub(1, .seq_cst) == 1) sync.wakeAll(&pool.active);
            var spin: u32 = 0;
            while (pool.run_number.load(.acquire) == seen) {
                spin += 1;
                if (spin < spins) std.atomic.spinLoopHint() else sync.wait(&pool.run_number, seen);
            }
        }
    }

    fn participate(pool: *Pool, work: *const Work, index: u32) void {
        while (true) {
            const seen = pool.phase_number.load(.acquire);
            const before = pool.ticket.load(.acquire);
            if (before >> chunk_bits >= work.phases.len) return;
            if (before & chunk_mask < work.phases[before >> chunk_bits].chunk_count) {
                const ticket = pool.ticket.fetchAdd(1, .acq_rel);
                const phase = ticket >> chunk_bits;
                if (phase >= work.phases.len) return;
                if (ticket & chunk_mask < work.phases[phase].chunk_count) {
                    pool.chunk(work, &work.phases[phase], ticket & chunk_mask, index);
                    const done = pool.done.fetchAdd(1, .acq_rel) + 1;
                    if (done == work.phases[phase].chunk_count) pool.advance(phase + 1);
                    continue;
                }
            }
            pool.awaitPhase(before >> chunk_bits, seen);
        }
    }

    fn advance(pool: *Pool, phase: u64) void {
        pool.done.store(0, .monotonic);
        pool.ticket.store(phase << chunk_bits, .release);
        _ = pool.phase_number.fetchAdd(1, .seq_cst);
        if (pool.sleepers.load(.seq_cst) > 0) sync.wakeAll(&pool.phase_number);
    }

    fn awaitPhase(pool: *Pool, phase: u64, seen: u32) void {
        for (0..spins) |_| {
            if (pool.ticket.load(.acquire) >> chunk_bits != phase) return;
            std.atomic.spinLoopHint();
        }
        _ = pool.sleepers.fetchAdd(1, .seq_cst);
        defer _ = pool.sleepers.fetchSub(1, .seq_cst);
        if (pool.phase_number.load(.seq_cst) == seen) sync.wait(&pool.phase_number, seen);
    }

    fn chunk(pool: *Pool, work: *const Work, phase: *const Phase, number: u64, index: u32) void {
        if (@atomicLoad(u8, work.cancel, .monotonic) != 0) return;
        if (@atomicLoad(u32, &work.status.fault, .monotonic) != 0) return;
        for (phase.steps) |*step| {
            if (number >= step.chunk_first + step.chunk_count) continue;
            const begin = (number - step.chunk_first) * step.grain;
            const end = @min(begin + step.grain, step.items);
            const first = step.item_first;
            step.kernel.run(step.task, first + begin, first + end, pool.scratchOf(index));
            return;
        }
    }

    fn scratchOf(pool: *const Pool, index: u32) [*]align(64) u8 {
        const region = pool.scratch orelse return @ptrCast(&no_scratch);
        return @alignCast(region.bytes.ptr + index * pool.scratch_bytes);
    }
};

var no_scratch: u8 align(64) = 0;

/// Processors that this process may use.
pub fn processors() u32 {
    const count = std.Thread.getCpuCount() catch 1;
    return @intCast(@min(count, thread_limit));
}

test "every item of every phase is done once, in order of phases" {
    const Sum = struct {
        var total: std.atomic.Value(u64) = .init(0);
        fn plan(_: *const abi.Task, _: *abi.Plan) callconv(.c) void {}
        fn run(_: *const abi.Task, begin: u64, end: u64, _: [*]align(64) u8) callconv(.c) void {
            for (begin..end) |i| _ = total.fetchAdd(i, .monotonic);
        }
    };
    const never: u8 = 0;
    var status: abi.Status = .{};
    const task: abi.Task = undefined;
    const step: Step = .{
        .kernel = .{ .plan = Sum.plan, .run = Sum.run },
        .task = &task,
        .items = 1000,
        .grain = 7,
        .chunk_first = 0,
        .chunk_count = 143,
    };
    const phases: [50]Phase = @splat(.{ .steps = &.{step}, .chunk_count = 143 });
    const static = struct {
        // Its threads outlive the test.
        var pool: Pool = .{};
    };
    try static.pool.reserve(4, 1000);
    for (0..20) |_| {
        Sum.total.store(0, .monotonic);
        static.pool.run(&.{ .phases = &phases, .cancel = &never, .status = &status, .thread_max = 4 });
        try std.testing.expectEqual(50 * 499_500, Sum.total.load(.monotonic));
    }
}

test "a cancelled run ends without finishing" {
    const Never = struct {
        fn plan(_: *const abi.Task, _: *abi.Plan) callconv(.c) void {}
        fn run(_: *const abi.Task, _: u64, _: u64, _: [*]align(64) u8) callconv(.c) void {
            unreachable;
        }
    };
    const cancelled: u8 = 1;
    var status: abi.Status = .{};
    const task: abi.Task = undefined;
    const step: Step = .{
        .kernel = .{ .plan = Never.plan, .run = Never.run },
        .task = &task,
        .items = 10,
        .grain = 1,
        .chunk_first = 0,
        .chunk_count = 10,
    };
    var pool: Pool = .{};
    pool.run(&.{
        .phases = &.{.{ .steps = &.{step}, .chunk_count = 10 }},
        .cancel = &cancelled,
        .status = &status,
        .thread_max = 1,
    });
}
