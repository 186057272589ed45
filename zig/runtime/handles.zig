//! Handles: numbers that TypeScript holds instead of addresses. A stale or invented one finds
//! nothing, so it can only give an error. Each belongs to a JavaScript VM and goes with it.

const std = @import("std");
const memory = @import("memory.zig");
const sync = @import("sync.zig");

/// A table of `*T`. A handle is 20 bits of index and 12 bits of generation; 0 is never one.
pub fn Handles(comptime T: type) type {
    return struct {
        const Self = @This();
        const index_bits = 20;
        const Entry = struct {
            object: ?*T = null,
            owner: u32 = 0,
            generation: u12 = 1,
            next_free: u32 = none,
        };
        const none = std.math.maxInt(u32);

        mutex: sync.Mutex = .{},
        entries: std.ArrayList(Entry) = .empty,
        /// Entries are used again in the order they became free, so that a stale handle stays one
        /// for long.
        first_free: u32 = none,
        last_free: u32 = none,

        /// `owner` is the channel of the VM that asks for the handle, or 0.
        pub fn add(self: *Self, object: *T, owner: u32) error{OutOfMemory}!u32 {
            self.mutex.lock();
            defer self.mutex.unlock();
            var index = self.first_free;
            if (index == none) {
                if (self.entries.items.len >= 1 << index_bits) return error.OutOfMemory;
                index = @intCast(self.entries.items.len);
                try self.entries.append(memory.gpa, .{});
            } else {
                self.first_free = self.entries.items[index].next_free;
                if (self.first_free == none) self.last_free = none;
            }
            const entry = &self.entries.items[index];
            entry.object = object;
            entry.owner = owner;
            return (@as(u32, entry.generation) << index_bits) | index;
        }

        /// Takes the handle out of the table; null when it is stale or was never given out.
        pub fn remove(self: *Self, handle: u32) ?*T {
            self.mutex.lock();
            defer self.mutex.unlock();
            _ = self.find(handle) orelse return null;
            return self.removeAt(handle & ((1 << index_bits) - 1));
        }

        /// Takes out a handle of `owner`, whichever; null when there is none left. `from` is 0 at
        /// first and remembers how far the search has come.
        pub fn removeOwned(self: *Self, owner: u32, from: *u32) ?*T {
            self.mutex.lock();
            defer self.mutex.unlock();
            while (from.* < self.entries.items.len) {
                const index = from.*;
                from.* += 1;
                const entry = &self.entries.items[index];
                if (entry.object != null and entry.owner == owner) return self.removeAt(index);
            }
            return null;
        }

        /// Looks the handle up and takes a reference (`T.retain`) before somebody can free it.
        pub fn acquire(self: *Self, handle: u32) ?*T {
            self.mutex.lock();
            defer self.mutex.unlock();
            const entry = self.find(handle) orelse return null;
            entry.object.?.retain();
            return entry.object;
        }

        fn removeAt(self: *Self, index: u32) ?*T {
            const entry = &self.entries.items[index];
            const object = entry.object;
            const last = entry.generation == std.math.maxInt(u12);
            entry.* = .{ .generation = if (last) 1 else entry.generation + 1 };
            const slot = if (self.last_free == none)
                &self.first_free
            else
                &self.entries.items[self.last_free].next_free;
            slot.* = index;
            self.last_free = index;
            return object;
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

const Thing = struct {
    references: u32 = 0,
    fn retain(t: *@This()) void {
        t.references += 1;
    }
};

test "a stale handle finds nothing" {
    var table: Handles(Thing) = .{};
    defer table.entries.deinit(memory.gpa);
    var thing: Thing = .{};
    const handle = try table.add(&thing, 0);
    try std.testing.expectEqual(&thing, table.acquire(handle).?);
    try std.testing.expectEqual(&thing, table.remove(handle).?);
    try std.testing.expectEqual(null, table.acquire(handle));
    try std.testing.expectEqual(null, table.remove(handle));
    const again = try table.add(&thing, 0);
    try std.testing.expect(again != handle);
    try std.testing.expectEqual(null, table.acquire(0xdeadbeef));
}

test "entries are used again in turn" {
    var table: Handles(Thing) = .{};
    defer table.entries.deinit(memory.gpa);
    var thing: Thing = .{};
    var given: [6]u32 = undefined;
    for (given[0..3]) |*handle| handle.* = try table.add(&thing, 0);
    for (given[0..3]) |handle| _ = table.remove(handle);
    for (given[3..]) |*handle| handle.* = try table.add(&thing, 0);
    for (given[0..3], given[3..]) |old, new| {
        try std.testing.expectEqual(old & 0xfffff, new & 0xfffff);
        try std.testing.expect(old != new);
    }
}

test "an owner's handles are taken out and others stay" {
    var table: Handles(Thing) = .{};
    defer table.entries.deinit(memory.gpa);
    var things: [4]Thing = @splat(.{});
    const mine = try table.add(&things[0], 7);
    _ = try table.add(&things[1], 8);
    _ = try table.add(&things[2], 8);
    var from: u32 = 0;
    try std.testing.expectEqual(&things[1], table.removeOwned(8, &from).?);
    try std.testing.expectEqual(&things[2], table.removeOwned(8, &from).?);
    try std.testing.expectEqual(null, table.removeOwned(8, &from));
    try std.testing.expectEqual(&things[0], table.acquire(mine).?);
}
