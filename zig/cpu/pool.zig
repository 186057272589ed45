//! The CPU device's threads. They sleep between runs; within a run they claim chunks of work from
//! one counter, so a thread that the system has put aside delays only the chunk it holds, and a
//! busy machine degrades gracefully.

const std = @import("std");
const abi = @import("../kernels/abi.zig");
const memory = @import("../runtime/memory.zig");
const sync = @import("../runtime/sync.zig");
const threads = @import("../runtime/threads.zig");

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
/// Most chunks of a phase: what threads count beyond them must not reach the phase.
pub const chunks_max = 1 << (chunk_bits - 1);
/// A vector load may touch this much behind what a kernel asked for; also keeps threads apart.
const scratch_align = 256;

/// Private memory for each of some threads.
const Scratch = struct { region: memory.Region, thread_bytes: u64, thread_count: u32 };

pub const Pool = struct {
    /// Held during a run: runs of several queues take turns.
    exclusive: sync.Mutex = .{},
    scratch: ?Scratch = null,

    /// Held for what follows, never for long and never together with a wait for a run.
    growing: sync.Mutex = .{},
    thread_count: u32 = 1,
    /// What the next run shall use instead of `scratch`.
    next_scratch: ?Scratch = null,
    reserved_bytes: u64 = 0,
    reserved_threads: u32 = 1,

    work: *const Work = undefined,
    open: std.atomic.Value(bool) = .init(false),
    active: std.atomic.Value(u32) = .init(0),
    run_number: std.atomic.Value(u32) = .init(0),

    /// Phase in the high bits, next chunk in the low ones.
    ticket: std.atomic.Value(u64) align(64) = .init(0),
    done: std.atomic.Value(u64) align(64) = .init(0),
    phase_number: std.atomic.Value(u32) align(64) = .init(0),
    sleepers: std.atomic.Value(u32) = .init(0),

    /// Makes sure of `wanted` threads and `bytes` of private memory for each, from the next run
    /// on. Called when a program is prepared, so that runs allocate nothing; does not wait for the
    /// run that may be under way, since it is the event loop that would wait.
    pub fn reserve(pool: *Pool, wanted: u32, bytes: u64) error{OutOfMemory}!void {
        pool.growing.lock();
        defer pool.growing.unlock();
        const count = std.math.clamp(wanted, pool.reserved_threads, thread_limit);
        if (bytes > memory.total()) return error.OutOfMemory;
        const rounded = std.mem.alignForward(u64, bytes, scratch_align);
        const thread_bytes = @max(rounded, pool.reserved_bytes);
        if (thread_bytes > pool.reserved_bytes or count > pool.reserved_threads) {
            if (thread_bytes > 0) try pool.growScratch(thread_bytes, count);
            pool.reserved_bytes = thread_bytes;
            pool.reserved_threads = count;
        }
        while (pool.thread_count < count) : (pool.thread_count += 1) {
            try threads.start(worker, .{ pool, pool.thread_count });
        }
    }

    fn growScratch(pool: *Pool, thread_bytes: u64, count: u32) error{OutOfMemory}!void {
        const size = std.math.mul(u64, thread_bytes, count) catch return error.OutOfMemory;
        const region = try memory.Region.create(size);
        if (pool.next_scratch) |unused| unused.region.destroy();
        pool.next_scratch = .{
            .region = region,
            .thread_bytes = thread_bytes,
            .thread_count = count,
        };
    }

    /// Takes over what was reserved since the last run, and tells how many threads there are.
    fn adoptReserved(pool: *Pool) u32 {
        pool.growing.lock();
        defer pool.growing.unlock();
        if (pool.next_scratch) |next| {
            if (pool.scratch) |old| old.region.destroy();
            pool.scratch = next;
            pool.next_scratch = null;
        }
        return pool.thread_count;
    }

    /// Runs all phases; the calling thread takes part. Returns early when `work.cancel` is set or
    /// a kernel notes a fault.
    pub fn run(pool: *Pool, work: *const Work) void {
        if (work.phases.len == 0) return;
        if (!pool.exclusive.lockUnless(work.cancel)) return;
        defer pool.exclusive.unlock();
        const thread_count = pool.adoptReserved();
        pool.work = work;
        pool.done.store(0, .monotonic);
        pool.ticket.store(0, .release);
        pool.open.store(true, .seq_cst);
        if (work.thread_max > 1 and thread_count > 1 and hasParallelWork(work)) {
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
                    if (mustStop(work)) return pool.advance(work.phases.len);
                    pool.chunk(&work.phases[phase], ticket & chunk_mask, index);
                    const done = pool.done.fetchAdd(1, .acq_rel) + 1;
                    if (done == work.phases[phase].chunk_count) pool.advance(phase + 1);
                    continue;
                }
            }
            pool.awaitPhase(before >> chunk_bits, seen);
        }
    }

    /// Phases only grow: a run that has been stopped does not go on when another thread ends the
    /// phase it was in.
    fn advance(pool: *Pool, phase: u64) void {
        pool.done.store(0, .monotonic);
        _ = pool.ticket.fetchMax(phase << chunk_bits, .acq_rel);
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

    fn mustStop(work: *const Work) bool {
        return @atomicLoad(u8, work.cancel, .monotonic) != 0 or
            @atomicLoad(u32, &work.status.fault, .monotonic) != 0;
    }

    fn chunk(pool: *Pool, phase: *const Phase, number: u64, index: u32) void {
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
        const scratch = pool.scratch orelse return @ptrCast(&no_scratch);
        std.debug.assert(index < scratch.thread_count);
        return @alignCast(scratch.region.bytes.ptr + index * scratch.thread_bytes);
    }
};

/// Where kernels that need no scratch are told to have it.
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
        static.pool.run(&.{
            .phases = &phases,
            .cancel = &never,
            .status = &status,
            .thread_max = 4,
        });
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
