//! Where native memory comes from: small objects, page-aligned buffers and file maps, all counted
//! so that tests can prove that nothing is allocated per token and nothing leaks.

const std = @import("std");
const builtin = @import("builtin");
const posix = std.posix;

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

const backing = std.heap.c_allocator;
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
    whole: []align(std.heap.page_size_min) u8,
    bytes: []u8,

    /// `size` may be 0. Fails when the machine does not have the memory.
    pub fn create(size: u64) error{OutOfMemory}!Region {
        if (size > available()) return error.OutOfMemory;
        const page = std.heap.pageSize();
        const rounded = std.mem.alignForward(usize, @max(size, 1), page);
        const extra: usize = if (guard) page else 0;
        const whole = posix.mmap(
            null,
            rounded + 2 * extra,
            .{ .READ = true, .WRITE = true },
            .{ .TYPE = .PRIVATE, .ANONYMOUS = true },
            -1,
            0,
        ) catch return error.OutOfMemory;
        var start = extra;
        if (guard) {
            protect(whole[0..page]);
            protect(@alignCast(whole[whole.len - page ..]));
            // Kernels may rely on 64-byte alignment, so up to 63 bytes lie before the guard.
            start += rounded - std.mem.alignForward(usize, @max(size, 1), 64);
        }
        _ = counters.allocations.fetchAdd(1, .monotonic);
        _ = counters.live_bytes.fetchAdd(whole.len, .monotonic);
        return .{ .whole = whole, .bytes = whole[start..][0..size] };
    }

    pub fn destroy(region: Region) void {
        _ = counters.live_bytes.fetchSub(region.whole.len, .monotonic);
        posix.munmap(region.whole);
    }
};

fn protect(pages: []align(std.heap.page_size_min) u8) void {
    const rc = std.c.mprotect(@ptrCast(pages.ptr), pages.len, .{});
    std.debug.assert(rc == 0);
}

/// A read-only map of part of a file. The file may be unlinked meanwhile; if it shrinks, reading
/// what is gone kills the process (SIGBUS), which no library can catch for its host.
pub const FileMap = struct {
    whole: []align(std.heap.page_size_min) const u8,
    bytes: []const u8,

    pub const Error = error{ NotFound, NoAccess, NotAFile, OutOfRange, OutOfMemory };

    /// Maps bytes [offset, offset + size) of the file; they must exist.
    pub fn open(path: [*:0]const u8, offset: u64, size: u64) Error!FileMap {
        const fd = posix.openatZ(
            posix.AT.FDCWD,
            path,
            .{ .ACCMODE = .RDONLY, .CLOEXEC = true, .NONBLOCK = true },
            0,
        ) catch |err| return switch (err) {
            error.FileNotFound, error.NotDir => error.NotFound,
            error.SystemResources, error.ProcessFdQuotaExceeded => error.OutOfMemory,
            else => error.NoAccess,
        };
        defer _ = std.c.close(fd);
        const file_size = std.c.lseek(fd, 0, std.c.SEEK.END);
        if (file_size < 0) return error.NotAFile;
        const end = std.math.add(u64, offset, size) catch return error.OutOfRange;
        if (end > @as(u64, @intCast(file_size))) return error.OutOfRange;
        if (size == 0) return .{ .whole = &.{}, .bytes = &.{} };
        const page = std.heap.pageSize();
        const first = std.mem.alignBackward(u64, offset, page);
        const whole = posix.mmap(
            null,
            @intCast(end - first),
            .{ .READ = true },
            .{ .TYPE = .PRIVATE },
            fd,
            first,
        ) catch |err| return switch (err) {
            error.MemoryMappingNotSupported => error.NotAFile,
            error.AccessDenied, error.PermissionDenied => error.NoAccess,
            else => error.OutOfMemory,
        };
        _ = counters.mapped_bytes.fetchAdd(whole.len, .monotonic);
        return .{ .whole = whole, .bytes = whole[@intCast(offset - first)..] };
    }

    pub fn close(map: FileMap) void {
        if (map.whole.len == 0) return;
        _ = counters.mapped_bytes.fetchSub(map.whole.len, .monotonic);
        posix.munmap(map.whole);
    }
};

/// Bytes that could be allocated now without swapping, by the system's own estimate.
pub fn available() u64 {
    return switch (builtin.os.tag) {
        .linux => linuxAvailable() orelse std.math.maxInt(u64),
        else => total(),
    };
}

/// Physical memory of the machine in bytes.
pub fn total() u64 {
    return std.process.totalSystemMemory() catch std.math.maxInt(u64);
}

fn linuxAvailable() ?u64 {
    const fd = posix.openatZ(posix.AT.FDCWD, "/proc/meminfo", .{ .CLOEXEC = true }, 0) catch return null;
    defer _ = std.c.close(fd);
    var text: [1024]u8 = undefined;
    const len = posix.read(fd, &text) catch return null;
    const key = "MemAvailable:";
    const start = std.mem.find(u8, text[0..len], key) orelse return null;
    var words = std.mem.tokenizeAny(u8, text[start + key.len .. len], " \n");
    const kib = std.fmt.parseInt(u64, words.next() orelse return null, 10) catch return null;
    return kib * 1024;
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

test "a range beyond the file is refused before it is mapped" {
    try std.testing.expectError(error.OutOfRange, FileMap.open("build.zig", 1 << 40, 1));
    try std.testing.expectError(error.NotFound, FileMap.open("no-such-file", 0, 1));
}
