//! Fences: timeline values that queues signal and that queues or the host wait for.

const std = @import("std");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const sync = @import("sync.zig");

pub var table: handles.Handles(Fence) = .{};

pub const Fence = struct {
    references: std.atomic.Value(u32) = .init(1),
    value: std.atomic.Value(u64) = .init(0),
    /// Set for good when the device that should have signalled is lost, or the owner gave up.
    failed: std.atomic.Value(bool) = .init(false),
    changed: sync.Signal = .{},

    pub fn create() error{OutOfMemory}!*Fence {
        const fence = try memory.gpa.create(Fence);
        fence.* = .{};
        return fence;
    }

    pub fn retain(f: *Fence) void {
        _ = f.references.fetchAdd(1, .monotonic);
    }

    pub fn release(f: *Fence) void {
        if (f.references.fetchSub(1, .acq_rel) == 1) memory.gpa.destroy(f);
    }

    /// Values only grow: a smaller one than the present changes nothing.
    pub fn signal(f: *Fence, value: u64) void {
        _ = f.value.fetchMax(value, .release);
        f.changed.notify();
    }

    pub fn fail(f: *Fence) void {
        f.failed.store(true, .release);
        f.changed.notify();
    }

    pub fn reached(f: *const Fence, value: u64) bool {
        return f.value.load(.acquire) >= value;
    }

    /// Sleeps until `value` is reached; false when the fence failed or `cancel` was set first
    /// (whoever sets it calls `changed.notify`).
    pub fn wait(f: *Fence, value: u64, cancel: *const u8) bool {
        while (true) {
            const seen = f.changed.now();
            if (f.reached(value)) return true;
            if (f.failed.load(.acquire) or @atomicLoad(u8, cancel, .acquire) != 0) return false;
            f.changed.after(seen);
        }
    }
};

test "a waiter wakes when the value is reached" {
    const fence = try Fence.create();
    defer fence.release();
    const never: u8 = 0;
    const other = try std.Thread.spawn(.{}, Fence.signal, .{ fence, 3 });
    try std.testing.expect(fence.wait(2, &never));
    other.join();
    try std.testing.expect(!fence.reached(4));
}

test "a failed fence releases its waiters" {
    const fence = try Fence.create();
    defer fence.release();
    const never: u8 = 0;
    const other = try std.Thread.spawn(.{}, Fence.fail, .{fence});
    try std.testing.expect(!fence.wait(1, &never));
    other.join();
}
