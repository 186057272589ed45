//! Fences: timeline values that queues signal and that queues or the host wait for.

const std = @import("std");
const handles = @import("handles.zig");
const memory = @import("memory.zig");
const sync = @import("sync.zig");

pub var table: handles.Handles(Fence) = .{};

/// Why a fence will not be signalled any more.
pub const Failure = enum(u8) {
    none,
    /// Its owner has disposed of it.
    disposed,
    /// The queue that was to signal it has been disposed of before.
    abandoned,
    device_lost,
};

pub const Fence = struct {
    references: std.atomic.Value(u32) = .init(1),
    value: std.atomic.Value(u64) = .init(0),
    /// Set for good; the first failure wins.
    failure: std.atomic.Value(Failure) = .init(.none),
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

    pub fn fail(f: *Fence, failure: Failure) void {
        _ = f.failure.cmpxchgStrong(.none, failure, .release, .monotonic);
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
            const failed = f.failure.load(.acquire) != .none;
            if (failed or @atomicLoad(u8, cancel, .acquire) != 0) return false;
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
    const other = try std.Thread.spawn(.{}, Fence.fail, .{ fence, .disposed });
    try std.testing.expect(!fence.wait(1, &never));
    other.join();
}
