//! Queues: ordered streams of work. Each has a native thread, the submitter, that takes jobs in
//! order and reports each end through the channel of the VM that submitted it.

const std = @import("std");
const buffers = @import("buffer.zig");
const channels = @import("channel.zig");
const fences = @import("fence.zig");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const programs = @import("program.zig");
const sync = @import("sync.zig");
const system = @import("system.zig");
const threads = @import("threads.zig");
const Problem = problems.Problem;

pub var table: handles.Handles(Queue) = .{};

const jobs_max = channels.jobs_max;

/// What a job does. Whatever it points at holds a reference until the job is over.
pub const Work = union(enum) {
    run: struct { program: *programs.Program, entry: u32 },
    copy: struct {
        from: *buffers.Buffer,
        to: *buffers.Buffer,
        from_offset: u64,
        to_offset: u64,
        size: u64,
    },
    fill: struct { buffer: *buffers.Buffer, offset: u64, size: u64, value: u8 },
    signal: struct { fence: *fences.Fence, value: u64 },
    wait: struct { fence: *fences.Fence, value: u64 },

    /// Gives back every reference.
    pub fn release(work: Work) void {
        switch (work) {
            .run => |r| r.program.release(),
            .copy => |c| {
                c.from.release();
                c.to.release();
            },
            .fill => |f| f.buffer.release(),
            .signal => |s| s.fence.release(),
            .wait => |w| w.fence.release(),
        }
    }

    /// Frees what a run has staged, for work that will not be done.
    pub fn abandon(work: Work) void {
        if (work == .run) work.run.program.unstage(work.run.entry);
        work.release();
    }
};

const Job = struct {
    number: u32,
    work: Work,
    cancel: u8 = 0,
    /// For a run that waits for JavaScript: raised when it may go on.
    resumed: u32 = 0,
};

pub const Queue = struct {
    references: std.atomic.Value(u32) = .init(1),
    channel: *channels.Channel,
    mutex: sync.Mutex = .{},
    changed: sync.Signal = .{},
    closing: bool = false,
    jobs: [jobs_max]Job = undefined,
    /// Jobs [head, tail) are under way or waiting; the one at `head` is being done.
    head: usize = 0,
    tail: usize = 0,

    /// Takes over the caller's reference to the channel.
    pub fn create(channel: *channels.Channel) error{OutOfMemory}!*Queue {
        const queue = try memory.gpa.create(Queue);
        errdefer memory.gpa.destroy(queue);
        queue.* = .{ .channel = channel };
        queue.retain(); // The thread's.
        try threads.start(submit, .{queue});
        return queue;
    }

    pub fn retain(q: *Queue) void {
        _ = q.references.fetchAdd(1, .monotonic);
    }

    pub fn release(q: *Queue) void {
        if (q.references.fetchSub(1, .acq_rel) != 1) return;
        q.channel.release();
        memory.gpa.destroy(q);
    }

    /// Asks the thread to end: waiting jobs are cancelled, then reported. Never blocks.
    pub fn close(q: *Queue) void {
        q.mutex.lock();
        q.closing = true;
        for (q.head..q.tail) |i| q.cancelJob(&q.jobs[i % jobs_max]);
        q.mutex.unlock();
        q.changed.notify();
    }

    /// Appends a job; false when too many are under way. On success the work's references are the
    /// queue's.
    pub fn push(q: *Queue, number: u32, work: Work) bool {
        q.mutex.lock();
        if (q.closing or q.tail - q.head == jobs_max or !q.channel.begin()) {
            q.mutex.unlock();
            return false;
        }
        q.jobs[q.tail % jobs_max] = .{ .number = number, .work = work };
        q.tail += 1;
        q.mutex.unlock();
        q.changed.notify();
        return true;
    }

    /// Cancels job `number`, if it is still under way.
    pub fn cancel(q: *Queue, number: u32) void {
        q.mutex.lock();
        for (q.head..q.tail) |i| {
            const job = &q.jobs[i % jobs_max];
            if (job.number == number) q.cancelJob(job);
        }
        q.mutex.unlock();
        q.changed.notify();
    }

    fn cancelJob(_: *Queue, job: *Job) void {
        @atomicStore(u8, &job.cancel, 1, .release);
        if (job.work == .wait) job.work.wait.fence.changed.notify();
        if (job.work == .run) {
            for (job.work.run.program.fences) |fence| fence.changed.notify();
        }
    }

    /// Lets job `number` go on after JavaScript has done its segment.
    pub fn resumeJob(q: *Queue, number: u32) void {
        q.mutex.lock();
        if (q.head < q.tail) {
            const job = &q.jobs[q.head % jobs_max];
            if (job.number == number) _ = @atomicRmw(u32, &job.resumed, .Add, 1, .release);
        }
        q.mutex.unlock();
        q.changed.notify();
    }

    fn submit(q: *Queue) void {
        defer q.release();
        while (q.next()) |job| {
            const start = system.nanoseconds();
            const problem = q.perform(job);
            const message: channels.Message = .{
                .job = job.number,
                .nanoseconds = @floatFromInt(system.nanoseconds() - start),
                .problem = problem,
            };
            const work = job.work;
            q.mutex.lock();
            q.head += 1;
            q.mutex.unlock();
            // References go first: who awaits the job may look at the counters next.
            work.release();
            q.channel.send(&message);
        }
    }

    /// Sleeps until there is a job; null when the queue is closed and empty.
    fn next(q: *Queue) ?*Job {
        while (true) {
            const seen = q.changed.now();
            q.mutex.lock();
            const empty = q.head == q.tail;
            const closing = q.closing;
            q.mutex.unlock();
            if (!empty) return &q.jobs[q.head % jobs_max];
            if (closing) return null;
            q.changed.after(seen);
        }
    }

    fn perform(q: *Queue, job: *Job) Problem {
        switch (job.work) {
            .run => |r| {
                var observed: Observed = .{ .queue = q, .job = job };
                return r.program.execute(r.entry, &job.cancel, .{
                    .context = &observed,
                    .call = Observed.call,
                });
            },
            .wait => |w| return waitFor(w.fence, w.value, &job.cancel),
            else => {},
        }
        const cancelled = @atomicLoad(u8, &job.cancel, .acquire) != 0;
        switch (job.work) {
            .copy => |c| if (!cancelled) {
                const from = c.from.slice(c.from_offset, c.size).?;
                const to = c.to.slice(c.to_offset, c.size).?;
                @memmove(to, from);
            },
            .fill => |f| if (!cancelled) @memset(f.buffer.slice(f.offset, f.size).?, f.value),
            // What the fence would tell of has not been done.
            .signal => |s| if (cancelled) s.fence.fail(.abandoned) else s.fence.signal(s.value),
            .run, .wait => unreachable,
        }
        return if (cancelled) problems.cancelled else .{};
    }
};

fn waitFor(fence: *fences.Fence, value: u64, cancel: *const u8) Problem {
    if (fence.wait(value, cancel)) return .{};
    return switch (fence.failure.load(.acquire)) {
        .none => problems.cancelled,
        .disposed => .init(.cancelled, "the fence was disposed of", .{}),
        .abandoned => .init(.cancelled, "the queue that was to signal it was disposed of", .{}),
        .device_lost => .init(.device_lost, "the device that was to signal the fence is lost", .{}),
    };
}

/// Hands a segment to JavaScript and waits until it has been dealt with.
const Observed = struct {
    queue: *Queue,
    job: *Job,

    fn call(context: *anyopaque, segment: u32) bool {
        const o: *Observed = @ptrCast(@alignCast(context));
        const before = @atomicLoad(u32, &o.job.resumed, .acquire);
        o.queue.channel.send(&.{ .job = o.job.number, .segment = segment + 1 });
        while (true) {
            const seen = o.queue.changed.now();
            if (@atomicLoad(u32, &o.job.resumed, .acquire) != before) return true;
            if (@atomicLoad(u8, &o.job.cancel, .acquire) != 0) return false;
            o.queue.changed.after(seen);
        }
    }
};
