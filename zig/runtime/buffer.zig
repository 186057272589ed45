//! Buffers: memory of a device, counted by references. TypeScript holds one reference, every
//! window into it one, every binding and every step under way one; the last to go frees it.

const std = @import("std");
const image = @import("image.zig");
const memory = @import("memory.zig");
const handles = @import("handles.zig");

pub var table: handles.Handles(Buffer) = .{};

pub const Buffer = struct {
    references: std.atomic.Value(u32) = .init(1),
    device: u32,
    kind: image.BufferType,
    bytes: []u8,
    source: Source,

    const Source = union(enum) { region: memory.Region, map: memory.FileMap };

    /// Zeroed memory; `kind` is anything but mapped.
    pub fn create(device: u32, kind: image.BufferType, size: u64) error{OutOfMemory}!*Buffer {
        std.debug.assert(kind != .mapped);
        const buffer = try memory.gpa.create(Buffer);
        errdefer memory.gpa.destroy(buffer);
        const region = try memory.Region.create(size);
        buffer.* = .{
            .device = device,
            .kind = kind,
            .bytes = region.bytes,
            .source = .{ .region = region },
        };
        return buffer;
    }

    /// Part of a file, read only.
    pub fn map(
        device: u32,
        path: [*:0]const u8,
        offset: u64,
        size: u64,
    ) memory.FileMap.Error!*Buffer {
        const buffer = try memory.gpa.create(Buffer);
        errdefer memory.gpa.destroy(buffer);
        const file = try memory.FileMap.open(path, offset, size);
        buffer.* = .{
            .device = device,
            .kind = .mapped,
            // Never written: `writable` is false for maps and every writer asks it.
            .bytes = @constCast(file.bytes),
            .source = .{ .map = file },
        };
        return buffer;
    }

    pub fn retain(b: *Buffer) void {
        _ = b.references.fetchAdd(1, .monotonic);
    }

    pub fn release(b: *Buffer) void {
        if (b.references.fetchSub(1, .acq_rel) != 1) return;
        switch (b.source) {
            .region => |region| region.destroy(),
            .map => |file| file.close(),
        }
        memory.gpa.destroy(b);
    }

    pub fn writable(b: *const Buffer) bool {
        return b.kind != .mapped;
    }

    /// Whether JavaScript may look at the memory itself: it could write to what it sees, and
    /// writing to a map that is read only ends the process.
    pub fn viewable(b: *const Buffer) bool {
        return b.kind == .shared or b.kind == .host;
    }

    /// Bytes [offset, offset + size), or null when they are not all inside.
    pub fn slice(b: *const Buffer, offset: u64, size: u64) ?[]u8 {
        if (offset > b.bytes.len or size > b.bytes.len - offset) return null;
        return b.bytes[@intCast(offset)..][0..@intCast(size)];
    }
};

test "memory goes with the last reference" {
    const before = memory.counters.live_bytes.load(.monotonic);
    const buffer = try Buffer.create(0, .shared, 4096);
    buffer.retain();
    buffer.release();
    try std.testing.expect(memory.counters.live_bytes.load(.monotonic) > before);
    try std.testing.expectEqual(null, buffer.slice(4000, 97));
    buffer.release();
    try std.testing.expectEqual(before, memory.counters.live_bytes.load(.monotonic));
}
