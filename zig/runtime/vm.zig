//! The life of a JavaScript VM. A Worker can be terminated at any time and runs no finalizers, but
//! its garbage collector lets go of all memory that native code has lent it. So each VM is lent its
//! channel: when that comes back, everything that the VM still holds is given up.

const buffers = @import("buffer.zig");
const channels = @import("channel.zig");
const fences = @import("fence.zig");
const handles = @import("handles.zig");
const programs = @import("program.zig");
const queues = @import("queue.zig");

/// Opens a channel; its first four bytes are its handle.
pub fn open() error{OutOfMemory}!*channels.Channel {
    const channel = try channels.Channel.create();
    errdefer channel.release();
    channel.retain(); // The table's.
    channel.handle = channels.table.add(channel, 0) catch |err| {
        channel.release();
        return err;
    };
    return channel;
}

/// Gives up what the channel's VM holds, and the channel. Never blocks.
pub fn close(channel: *channels.Channel) void {
    const owner = channel.handle;
    var next: Owned(queues.Queue) = .{ .table = &queues.table, .owner = owner };
    while (next.take()) |queue| {
        queue.close();
        queue.release();
    }
    var programs_left: Owned(programs.Program) = .{ .table = &programs.table, .owner = owner };
    while (programs_left.take()) |program| program.release();
    var fences_left: Owned(fences.Fence) = .{ .table = &fences.table, .owner = owner };
    while (fences_left.take()) |fence| {
        fence.fail(.disposed);
        fence.release();
    }
    var buffers_left: Owned(buffers.Buffer) = .{ .table = &buffers.table, .owner = owner };
    while (buffers_left.take()) |buffer| buffer.release();
    if (channels.table.remove(owner)) |found| found.release();
    channel.release();
}

fn Owned(comptime T: type) type {
    return struct {
        table: *handles.Handles(T),
        owner: u32,
        from: u32 = 0,

        fn take(o: *@This()) ?*T {
            return o.table.removeOwned(o.owner, &o.from);
        }
    };
}

test "what a VM holds goes with it" {
    const std = @import("std");
    const memory = @import("memory.zig");
    const before = memory.counters.live_bytes.load(.monotonic);
    const channel = try open();
    const buffer = try buffers.Buffer.create(0, .shared, 4096);
    const handle = try buffers.table.add(buffer, channel.handle);
    const fence = try fences.Fence.create();
    _ = try fences.table.add(fence, channel.handle);
    channel.retain();
    const queue = try queues.Queue.create(channel);
    const queue_handle = try queues.table.add(queue, channel.handle);
    fence.retain();
    try std.testing.expect(queue.push(1, .{ .wait = .{ .fence = fence, .value = 1 } }));
    close(channel);
    try std.testing.expectEqual(null, buffers.table.acquire(handle));
    try std.testing.expectEqual(null, queues.table.acquire(queue_handle));
    try std.testing.expectEqual(before, memory.counters.live_bytes.load(.monotonic));
}
