//! Where native memory comes from: small objects, page-aligned buffers and file maps, all counted
//! so that tests can prove that nothing is allocated per token and nothing leaks.

const std = @import("std");
const builtin = @import("builtin");
const system = @import("system.zig");

pub const page_bytes = std.heap.page_size_max;

/// What tests watch; every field only grows, except the live ones.
pub const Counters = struct {
    allocations: std.atomic.Value(u64) = .init(0),
    live_objects: std.atomic.Value(u64) = .init(0),
    live_bytes: std.atomic.Value(u64) = .init(0),
    mapped_bytes: std.atomic.Value(u64) = .init(0),
    checks: std.atomic.Value(u64) = .init(0),
    runs: std.atomic.Value(u64) = .init(0),
    live_threads: std.atomic.Value(u64) = .init(0),
};
pub var counters: Counters = .{};

/// The allocator of the runtime's own small objects.
pub const gpa: std.mem.Allocator = .{ .ptr = undefined, .vtable = &counting };

/// Windows libraries go without a C library.
const backing = if (builtin.link_libc) std.heap.c_allocator else std.heap.smp_allocator;
const counting: std.mem.Allocator.VTable = .{
    .alloc = allocCounted,
    .resize = resizeCounted,
    .remap = remapCounted,
    .free = freeCounted,
};

fn allocCounted(_: *anyopaque, len: usize, alignment: std.mem.Alignment, ra: usize) ?[*]u8 {
    const memory = backing.rawAlloc(len, alignment, ra) orelse return null;
    _ = counters.allocations.fetchAdd(1, .monotonic);
    _ = counters.live_objects.fetchAdd(1, .monotonic);
    return memory;
}

fn resizeCounted(_: *anyopaque, m: []u8, alignment: std.mem.Alignment, len: usize, ra: usize) bool {
    return backing.rawResize(m, alignment, len, ra);
}

fn remapCounted(
    _: *anyopaque,
    m: []u8,
    alignment: std.mem.Alignment,
    len: usize,
    ra: usize,
) ?[*]u8 {
    _ = counters.allocations.fetchAdd(1, .monotonic);
    return backing.rawRemap(m, alignment, len, ra);
}

fn freeCounted(_: *anyopaque, m: []u8, alignment: std.mem.Alignment, ra: usize) void {
    _ = counters.live_objects.fetchSub(1, .monotonic);
    backing.rawFree(m, alignment, ra);
}

/// Set by tests: every region then ends at an inaccessible page, so that one byte too far faults.
pub var guard = false;

/// A private, zeroed, page-aligned piece of memory.
pub const Region = struct {
    /// Everything that was taken from the system.
    whole: system.Pages,
    bytes: []u8,

    /// `size` may be 0. Fails when the machine does not have the memory.
    pub fn create(size: u64) error{OutOfMemory}!Region {
        if (size > available()) return error.OutOfMemory;
        const page = std.heap.pageSize();
        const rounded = std.mem.alignForward(usize, @max(size, 1), page);
        const extra: usize = if (guard) page else 0;
        const whole = try system.allocatePages(rounded + 2 * extra);
        var start = extra;
        if (guard) {
            system.forbidPages(whole[0..page]);
            system.forbidPages(@alignCast(whole[whole.len - page ..]));
            // Kernels may rely on 64-byte alignment, so up to 63 bytes lie before the guard.
            start += rounded - std.mem.alignForward(usize, @max(size, 1), 64);
        }
        _ = counters.allocations.fetchAdd(1, .monotonic);
        _ = counters.live_bytes.fetchAdd(whole.len, .monotonic);
        return .{ .whole = whole, .bytes = whole[start..][0..size] };
    }

    pub fn destroy(region: Region) void {
        _ = counters.live_bytes.fetchSub(region.whole.len, .monotonic);
        system.freePages(region.whole);
    }
};

/// A read-only map of part of a file. The file may be unlinked meanwhile; if it shrinks, reading
/// what is gone kills the process (SIGBUS), which no library can catch for its host.
pub const FileMap = struct {
    whole: system.ConstPages,
    bytes: []const u8,

    pub const Error = system.MapError;

    /// Maps bytes [offset, offset + size) of the file; they must exist.
    pub fn open(path: [*:0]const u8, offset: u64, size: u64) Error!FileMap {
        const whole = try system.mapFile(path, offset, size);
        if (size == 0) return .{ .whole = &.{}, .bytes = &.{} };
        _ = counters.mapped_bytes.fetchAdd(whole.len, .monotonic);
        return .{ .whole = whole, .bytes = whole[@intCast(offset % system.mapGranule())..] };
    }

    pub fn close(map: FileMap) void {
        if (map.whole.len == 0) return;
        _ = counters.mapped_bytes.fetchSub(map.whole.len, .monotonic);
        system.unmapFile(map.whole);
    }
};

pub const available = system.availableMemory;

/// Physical memory of the machine in bytes.
pub fn total() u64 {
    return std.process.totalSystemMemory() catch std.math.maxInt(u64);
}

test "a guarded region is usable to its last byte" {
    guard = true;
    defer guard = false;
    const region = try Region.create(100);
    defer region.destroy();
    @memset(region.bytes, 7);
    try std.testing.expectEqual(100, region.bytes.len);
}

test "more than the machine has is an error" {
    try std.testing.expectError(error.OutOfMemory, Region.create(1 << 60));
}
