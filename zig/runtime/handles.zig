//! Handles: numbers that TypeScript holds instead of addresses. A stale or invented one finds
//! nothing, so it can only give an error.

const std = @import("std");
const memory = @import("memory.zig");
const sync = @import("sync.zig");

/// A table of `*T`. A handle is 20 bits of index and 12 bits of generation; 0 is never one.
pub fn Handles(comptime T: type) type {
    return struct {
        const Self = @This();
        const index_bits = 20;
        const Entry = struct { object: ?*T = null, generation: u12 = 1, next_free: u32 = none };
        const none = std.math.maxInt(u32);

        mutex: sync.Mutex = .{},
        entries: std.ArrayList(Entry) = .empty,
        first_free: u32 = none,

        pub fn add(self: *Self, object: *T) error{OutOfMemory}!u32 {
            self.mutex.lock();
            defer self.mutex.unlock();
            var index = self.first_free;
            if (index == none) {
                if (self.entries.items.len >= 1 << index_bits) return error.OutOfMemory;
                index = @intCast(self.entries.items.len);
                try self.entries.append(memory.gpa, .{});
            } else {
                self.first_free = self.entries.items[index].next_free;
            }
            const entry = &self.entries.items[index];
            entry.object = object;
            return (@as(u32, entry.generation) << index_bits) | index;
        }

        /// Takes the handle out of the table; null when it is stale or was never given out.
        pub fn remove(self: *Self, handle: u32) ?*T {
            self.mutex.lock();
            defer self.mutex.unlock();
            const index = handle & ((1 << index_bits) - 1);
            const entry = self.find(handle) orelse return null;
            const object = entry.object;
            entry.object = null;
            entry.generation = if (entry.generation == std.math.maxInt(u12)) 1 else entry.generation + 1;
            entry.next_free = self.first_free;
            self.first_free = index;
            return object;
        }

        /// Looks the handle up and takes a reference (`T.retain`) before another thread can free it.
        pub fn acquire(self: *Self, handle: u32) ?*T {
            self.mutex.lock();
            defer self.mutex.unlock();
            const entry = self.find(handle) orelse return null;
            entry.object.?.retain();
            return entry.object;
        }

        fn find(self: *Self, handle: u32) ?*Entry {
            const index = handle & ((1 << index_bits) - 1);
            if (index >= self.entries.items.len) return null;
            const entry = &self.entries.items[index];
            if (entry.object == null or entry.generation != handle >> index_bits) return null;
            return entry;
        }
    };
}

test "a stale handle finds nothing" {
    const Thing = struct {
        references: u32 = 0,
        fn retain(t: *@This()) void {
            t.references += 1;
        }
    };
    var table: Handles(Thing) = .{};
    defer table.entries.deinit(memory.gpa);
    var thing: Thing = .{};
    const handle = try table.add(&thing);
    try std.testing.expectEqual(&thing, table.acquire(handle).?);
    try std.testing.expectEqual(&thing, table.remove(handle).?);
    try std.testing.expectEqual(null, table.acquire(handle));
    try std.testing.expectEqual(null, table.remove(handle));
    const again = try table.add(&thing);
    try std.testing.expect(again != handle);
    try std.testing.expectEqual(null, table.acquire(0xdeadbeef));
}
