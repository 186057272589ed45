//! The way back to JavaScript: one pipe per JavaScript VM, one fixed-size message per completion.
//! A pipe survives Worker.terminate(), where pending callbacks crash the host.

const std = @import("std");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const system = @import("system.zig");

pub var table: handles.Handles(Channel) = .{};

/// What src/native/completions.ts reads. Its size divides the pipe's atomic write size.
pub const Message = extern struct {
    job: u32,
    /// 0: the job is over. Else 1 + the segment that waits for JavaScript.
    segment: u32 = 0,
    nanoseconds: f64,
    problem: problems.Problem,

    comptime {
        std.debug.assert(@sizeOf(Message) == 256);
    }
};

/// Jobs a VM may have under way. The messages of all of them fit into the smallest pipe
/// (64 KiB on Linux and macOS) twice, one for the end and one for a segment that JavaScript runs,
/// so that a write never blocks.
pub const jobs_max = 128;

pub const Channel = struct {
    references: std.atomic.Value(u32) = .init(1),
    pipe: system.Pipe,
    under_way: std.atomic.Value(u32) = .init(0),

    pub fn create() error{OutOfMemory}!*Channel {
        const pipe = try system.Pipe.create();
        errdefer pipe.close();
        const channel = try memory.gpa.create(Channel);
        channel.* = .{ .pipe = pipe };
        return channel;
    }

    pub fn retain(c: *Channel) void {
        _ = c.references.fetchAdd(1, .monotonic);
    }

    pub fn release(c: *Channel) void {
        if (c.references.fetchSub(1, .acq_rel) != 1) return;
        c.pipe.close();
        memory.gpa.destroy(c);
    }

    /// A descriptor of the read end for JavaScript to own: its event loop stays alive as long as
    /// it reads, so it opens one while jobs are under way and closes it afterwards.
    /// -1 where there are none; then it polls.
    pub fn openReader(c: *const Channel) i32 {
        return c.pipe.openReader();
    }

    /// Takes the messages that are there at present; returns their bytes.
    pub fn poll(c: *const Channel, out: []u8) usize {
        return c.pipe.read(out);
    }

    /// Claims room for one message; false when the VM has too many jobs under way.
    pub fn begin(c: *Channel) bool {
        if (c.under_way.fetchAdd(1, .acquire) < jobs_max) return true;
        _ = c.under_way.fetchSub(1, .release);
        return false;
    }

    pub fn finish(c: *Channel, message: *const Message) void {
        // A reader that is gone (its Worker was terminated) makes this fail: nobody is left to
        // tell. The queue's thread ignores SIGPIPE.
        c.pipe.write(std.mem.asBytes(message));
        _ = c.under_way.fetchSub(1, .release);
    }

    /// Says that `segment` of a job waits for JavaScript.
    pub fn observe(c: *Channel, job: u32, segment: u32) void {
        const message: Message = .{
            .job = job,
            .segment = segment + 1,
            .nanoseconds = 0,
            .problem = .{},
        };
        c.pipe.write(std.mem.asBytes(&message));
    }
};

test "a message arrives whole" {
    const channel = try Channel.create();
    defer channel.release();
    try std.testing.expect(channel.begin());
    channel.finish(&.{ .job = 7, .nanoseconds = 1, .problem = .init(.busy, "later", .{}) });
    var got: Message = undefined;
    try std.testing.expectEqual(@sizeOf(Message), channel.poll(std.mem.asBytes(&got)));
    try std.testing.expectEqual(7, got.job);
    try std.testing.expectEqualStrings("later", got.problem.text());
}
