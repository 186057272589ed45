//! The way back to JavaScript: one pipe per JavaScript VM, one fixed-size message per completion.
//! A pipe survives Worker.terminate(), where pending callbacks crash the host.

const std = @import("std");
const builtin = @import("builtin");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");

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
    read_end: c_int,
    write_end: c_int,
    under_way: std.atomic.Value(u32) = .init(0),

    pub fn create() error{OutOfMemory}!*Channel {
        var ends: [2]c_int = undefined;
        const flags: std.c.O = .{ .CLOEXEC = true, .NONBLOCK = true };
        if (builtin.os.tag == .linux) {
            if (std.c.pipe2(&ends, flags) != 0) return error.OutOfMemory;
        } else {
            if (std.c.pipe(&ends) != 0) return error.OutOfMemory;
            for (ends) |end| {
                _ = std.c.fcntl(end, std.c.F.SETFD, @as(c_int, std.c.FD_CLOEXEC));
                _ = std.c.fcntl(end, std.c.F.SETFL, @as(u32, @bitCast(flags)));
            }
        }
        errdefer for (ends) |end| {
            _ = std.c.close(end);
        };
        const channel = try memory.gpa.create(Channel);
        channel.* = .{ .read_end = ends[0], .write_end = ends[1] };
        return channel;
    }

    pub fn retain(c: *Channel) void {
        _ = c.references.fetchAdd(1, .monotonic);
    }

    pub fn release(c: *Channel) void {
        if (c.references.fetchSub(1, .acq_rel) != 1) return;
        _ = std.c.close(c.write_end);
        _ = std.c.close(c.read_end);
        memory.gpa.destroy(c);
    }

    /// A descriptor of the read end for JavaScript to own: its event loop stays alive as long as
    /// it reads, so it opens one while jobs are under way and closes it afterwards.
    pub fn openReader(c: *const Channel) c_int {
        return std.c.fcntl(c.read_end, std.c.F.DUPFD_CLOEXEC, @as(c_int, 0));
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
        _ = std.c.write(c.write_end, @ptrCast(message), @sizeOf(Message));
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
        _ = std.c.write(c.write_end, @ptrCast(&message), @sizeOf(Message));
    }
};

/// Keeps a write to a pipe without a reader from killing the process.
pub fn ignoreBrokenPipes() void {
    if (builtin.os.tag == .windows) return;
    var set = std.posix.sigemptyset();
    std.posix.sigaddset(&set, .PIPE);
    std.posix.sigprocmask(std.posix.SIG.BLOCK, &set, null);
}

test "a message arrives whole" {
    const channel = try Channel.create();
    defer channel.release();
    try std.testing.expect(channel.begin());
    channel.finish(&.{ .job = 7, .nanoseconds = 1, .problem = .init(.busy, "later", .{}) });
    var got: Message = undefined;
    const size = std.c.read(channel.read_end, @ptrCast(&got), @sizeOf(Message));
    try std.testing.expectEqual(@sizeOf(Message), size);
    try std.testing.expectEqual(7, got.job);
    try std.testing.expectEqualStrings("later", got.problem.text());
}
