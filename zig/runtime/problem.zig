//! Why a call failed: a status, a message and two numbers, kept per thread until it is read.

const std = @import("std");
const memory = @import("memory.zig");

/// Values are part of the C ABI and have a twin in src/native/status.ts.
pub const Status = enum(u32) {
    ok = 0,
    invalid_argument = 1,
    invalid_image = 2,
    out_of_memory = 3,
    stale_handle = 4,
    shape = 5,
    busy = 6,
    cancelled = 7,
    bad_index = 8,
    file = 9,
    unsupported = 10,
    device_lost = 11,
};

pub const message_max = 216;

/// A status with its story; small enough to travel through a pipe in one atomic write.
pub const Problem = extern struct {
    status: Status = .ok,
    message_size: u32 = 0,
    /// Out of memory: bytes needed. Bad index: the value.
    a: f64 = 0,
    /// Out of memory: bytes free. Bad index: the limit.
    b: f64 = 0,
    message: [message_max]u8 = @splat(0),

    pub fn init(status: Status, comptime fmt: []const u8, args: anytype) Problem {
        var p: Problem = .{ .status = status };
        var writer: std.Io.Writer = .fixed(&p.message);
        // A message that is too long is cut: the start says what matters.
        writer.print(fmt, args) catch {};
        p.message_size = @intCast(writer.end);
        return p;
    }

    pub fn outOfMemory(needed: u64) Problem {
        var p: Problem = .init(.out_of_memory, "out of memory", .{});
        p.a = @floatFromInt(needed);
        p.b = @floatFromInt(memory.available());
        return p;
    }

    pub fn text(p: *const Problem) []const u8 {
        return p.message[0..p.message_size];
    }
};

/// Of a job that was asked to stop.
pub const cancelled: Problem = blk: {
    const text = "cancelled";
    var p: Problem = .{ .status = .cancelled, .message_size = text.len };
    @memcpy(p.message[0..text.len], text);
    break :blk p;
};

threadlocal var last: Problem = .{};

/// Remembers why this thread's call fails and returns the status.
pub fn fail(status: Status, comptime fmt: []const u8, args: anytype) u32 {
    last = .init(status, fmt, args);
    return @intFromEnum(status);
}

pub fn failWith(problem: Problem) u32 {
    last = problem;
    return @intFromEnum(problem.status);
}

pub fn outOfMemory(needed: u64) u32 {
    return failWith(.outOfMemory(needed));
}

/// What a constructor returns when there is no memory.
pub fn noHandle(needed: u64) u32 {
    _ = outOfMemory(needed);
    return 0;
}

pub fn stale() u32 {
    return fail(.stale_handle, "stale handle", .{});
}

/// The last problem of this thread.
pub fn get() *const Problem {
    return &last;
}

test "a long message is cut, not lost" {
    const p: Problem = .init(.shape, "{s}", .{"x" ** 500});
    try std.testing.expectEqual(message_max, p.text().len);
}
