//! Linux and macOS; see system.zig.

const std = @import("std");
const builtin = @import("builtin");
const system = @import("system.zig");
const posix = std.posix;

pub fn allocatePages(size: usize) error{OutOfMemory}!system.Pages {
    return posix.mmap(
        null,
        size,
        .{ .READ = true, .WRITE = true },
        .{ .TYPE = .PRIVATE, .ANONYMOUS = true },
        -1,
        0,
    ) catch return error.OutOfMemory;
}

pub fn freePages(pages: system.Pages) void {
    posix.munmap(pages);
}

pub fn forbidPages(pages: system.Pages) void {
    const rc = std.c.mprotect(@ptrCast(pages.ptr), pages.len, .{});
    std.debug.assert(rc == 0);
}

pub fn mapFile(path: [*:0]const u8, offset: u64, size: u64) system.MapError!system.ConstPages {
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
    if (size == 0) return &.{};
    const first = std.mem.alignBackward(u64, offset, mapGranule());
    return posix.mmap(
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
}

pub fn unmapFile(pages: system.ConstPages) void {
    posix.munmap(pages);
}

pub fn mapGranule() usize {
    return std.heap.pageSize();
}

pub fn availableMemory() u64 {
    if (builtin.os.tag == .linux) if (linuxAvailable()) |bytes| return bytes;
    return std.process.totalSystemMemory() catch std.math.maxInt(u64);
}

fn linuxAvailable() ?u64 {
    const flags: posix.O = .{ .CLOEXEC = true };
    const fd = posix.openatZ(posix.AT.FDCWD, "/proc/meminfo", flags, 0) catch return null;
    defer _ = std.c.close(fd);
    var text: [1024]u8 = undefined;
    const len = posix.read(fd, &text) catch return null;
    const key = "MemAvailable:";
    const start = std.mem.find(u8, text[0..len], key) orelse return null;
    var words = std.mem.tokenizeAny(u8, text[start + key.len .. len], " \n");
    const kib = std.fmt.parseInt(u64, words.next() orelse return null, 10) catch return null;
    return kib * 1024;
}

pub fn nanoseconds() u64 {
    var time: std.c.timespec = undefined;
    _ = std.c.clock_gettime(.MONOTONIC, &time);
    return @as(u64, @intCast(time.sec)) * std.time.ns_per_s + @as(u64, @intCast(time.nsec));
}

pub fn die(message: []const u8) noreturn {
    _ = std.c.write(2, message.ptr, message.len);
    std.c.abort();
}

pub const Bell = struct {
    write_end: c_int,

    /// `read_end` is the caller's to close; null when no descriptor is free.
    pub fn create(read_end: *i32) ?Bell {
        var ends: [2]c_int = undefined;
        const flags: std.c.O = .{ .CLOEXEC = true, .NONBLOCK = true };
        if (builtin.os.tag == .linux) {
            if (std.c.pipe2(&ends, flags) != 0) return null;
        } else {
            if (std.c.pipe(&ends) != 0) return null;
            for (ends) |end| {
                _ = std.c.fcntl(end, std.c.F.SETFD, @as(c_int, std.c.FD_CLOEXEC));
                _ = std.c.fcntl(end, std.c.F.SETFL, @as(u32, @bitCast(flags)));
            }
        }
        read_end.* = ends[0];
        return .{ .write_end = ends[1] };
    }

    pub fn destroy(bell: Bell) void {
        _ = std.c.close(bell.write_end);
    }

    /// Makes the read end readable. Fails when nobody reads any more, or when the pipe is full,
    /// which wakes the reader as well. For threads that ignore signals.
    pub fn ring(bell: Bell) void {
        _ = std.c.write(bell.write_end, "!", 1);
    }
};

pub fn ignoreSignals() void {
    var set = posix.sigfillset();
    for ([_]posix.SIG{ .SEGV, .BUS, .ILL, .FPE, .TRAP, .ABRT }) |signal| {
        posix.sigdelset(&set, signal);
    }
    posix.sigprocmask(posix.SIG.SETMASK, &set, null);
}
