//! The way back to JavaScript, one per JavaScript VM: messages wait in a ring until the VM takes
//! them, and a pipe tells it that there are some. A pipe survives Worker.terminate(), where pending
//! callbacks crash the host; where it cannot be read the VM looks from time to time. A channel also
//! stands for its VM: handles belong to one.

const std = @import("std");
const builtin = @import("builtin");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const sync = @import("sync.zig");
const system = @import("system.zig");

pub var table: handles.Handles(Channel) = .{};

/// What src/native/completions.ts reads.
pub const Message = extern struct {
    job: u32 = 0,
    /// 0: the job is over. Else 1 + the segment that waits for JavaScript.
    segment: u32 = 0,
    nanoseconds: f64 = 0,
    problem: problems.Problem = .{},

    comptime {
        std.debug.assert(@sizeOf(Message) == 256);
    }
};

/// Jobs a VM may have under way or finished and not yet taken. Each has at most two messages at a
/// time: that a segment waits for JavaScript, and that the job is over.
pub const jobs_max = 128;
const ring_size = 2 * jobs_max;

pub const Channel = struct {
    /// What JavaScript reads through the window that tells of the VM's end.
    handle: u32 = 0,
    references: std.atomic.Value(u32) = .init(1),
    mutex: sync.Mutex = .{},
    jobs: u32 = 0,
    bell: ?system.Bell = null,
    rung: bool = false,
    /// Messages [head, tail) have not been taken.
    head: usize = 0,
    tail: usize = 0,
    ring: [ring_size]Message = undefined,

    pub fn create() error{OutOfMemory}!*Channel {
        const channel = try memory.gpa.create(Channel);
        channel.* = .{};
        return channel;
    }

    pub fn retain(c: *Channel) void {
        _ = c.references.fetchAdd(1, .monotonic);
    }

    pub fn release(c: *Channel) void {
        if (c.references.fetchSub(1, .acq_rel) != 1) return;
        if (c.bell) |bell| bell.destroy();
        memory.gpa.destroy(c);
    }

    /// Claims room for a job's messages; false when the VM has too many jobs. `take` gives the
    /// room back together with the message that ends the job.
    pub fn begin(c: *Channel) bool {
        c.mutex.lock();
        defer c.mutex.unlock();
        if (c.jobs == jobs_max) return false;
        c.jobs += 1;
        return true;
    }

    pub fn send(c: *Channel, message: *const Message) void {
        c.mutex.lock();
        defer c.mutex.unlock();
        std.debug.assert(c.tail - c.head < ring_size);
        c.ring[c.tail % ring_size] = message.*;
        c.tail += 1;
        c.ringBell();
    }

    /// A descriptor that becomes readable when there are messages, which JavaScript owns; null
    /// where there is none. Its event loop stays alive as long as it reads, so it opens one while
    /// jobs are under way and closes it afterwards. Each reader has a bell of its own: one that is
    /// being closed may swallow what comes meanwhile.
    pub fn openReader(c: *Channel) ?i32 {
        c.mutex.lock();
        defer c.mutex.unlock();
        var reader: i32 = undefined;
        const bell = system.Bell.create(&reader) orelse return null;
        if (c.bell) |old| old.destroy();
        c.bell = bell;
        c.rung = false;
        if (c.head != c.tail) c.ringBell();
        return reader;
    }

    fn ringBell(c: *Channel) void {
        if (c.rung) return;
        if (c.bell) |bell| bell.ring();
        c.rung = true;
    }

    /// Moves the oldest message out; false when there is none, and the next one rings again.
    pub fn take(c: *Channel, out: *Message) bool {
        c.mutex.lock();
        defer c.mutex.unlock();
        if (c.head == c.tail) {
            c.rung = false;
            return false;
        }
        out.* = c.ring[c.head % ring_size];
        c.head += 1;
        if (out.segment == 0) c.jobs -= 1;
        return true;
    }
};

test "a message arrives whole, and gives its room back when it is taken" {
    const channel = try Channel.create();
    defer channel.release();
    var got: Message = .{};
    for (0..3) |_| {
        for (0..jobs_max) |_| try std.testing.expect(channel.begin());
        try std.testing.expect(!channel.begin());
        for (0..jobs_max) |i| {
            const problem: problems.Problem = .init(.busy, "later", .{});
            channel.send(&.{ .job = @intCast(i), .segment = 1, .problem = problem });
            channel.send(&.{ .job = @intCast(i), .problem = problem });
        }
        for (0..2 * jobs_max) |i| {
            try std.testing.expect(channel.take(&got));
            try std.testing.expectEqual(i / 2, got.job);
            try std.testing.expectEqualStrings("later", got.problem.text());
        }
        try std.testing.expect(!channel.take(&got));
    }
}

test "the bell rings once for messages that nobody has taken, and again for a new reader" {
    if (builtin.os.tag == .windows) return;
    const channel = try Channel.create();
    defer channel.release();
    var bytes: [8]u8 = undefined;
    for (0..3) |_| {
        const first = channel.openReader().?;
        defer _ = std.c.close(first);
        for (0..5) |_| {
            try std.testing.expect(channel.begin());
            channel.send(&.{});
        }
        try std.testing.expectEqual(1, std.c.read(first, &bytes, bytes.len));
        const second = channel.openReader().?;
        defer _ = std.c.close(second);
        try std.testing.expectEqual(1, std.c.read(second, &bytes, bytes.len));
        // Its writer is gone.
        try std.testing.expectEqual(0, std.c.read(first, &bytes, bytes.len));
        var got: Message = .{};
        while (channel.take(&got)) {}
        try std.testing.expectEqual(-1, std.c.read(second, &bytes, bytes.len));
    }
}
