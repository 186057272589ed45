//! Windows 10 and later, without a C library; see system.zig. Constants and structs are those of
//! Microsoft's documentation of the Windows API.

const std = @import("std");
const system = @import("system.zig");

const Handle = *anyopaque;
const Bool = c_int;

extern "kernel32" fn VirtualAlloc(?*anyopaque, usize, u32, u32) callconv(.winapi) ?*anyopaque;
extern "kernel32" fn VirtualFree(*anyopaque, usize, u32) callconv(.winapi) Bool;
extern "kernel32" fn VirtualProtect(*anyopaque, usize, u32, *u32) callconv(.winapi) Bool;
extern "kernel32" fn CreateFileW(
    path: [*:0]const u16,
    access: u32,
    share: u32,
    security: ?*anyopaque,
    disposition: u32,
    flags: u32,
    template: ?Handle,
) callconv(.winapi) Handle;
extern "kernel32" fn GetFileType(Handle) callconv(.winapi) u32;
extern "kernel32" fn GetFileSizeEx(Handle, *i64) callconv(.winapi) Bool;
extern "kernel32" fn CreateFileMappingW(
    file: Handle,
    security: ?*anyopaque,
    protect: u32,
    size_high: u32,
    size_low: u32,
    name: ?[*:0]const u16,
) callconv(.winapi) ?Handle;
extern "kernel32" fn MapViewOfFile(
    mapping: Handle,
    access: u32,
    offset_high: u32,
    offset_low: u32,
    size: usize,
) callconv(.winapi) ?*anyopaque;
extern "kernel32" fn UnmapViewOfFile(*const anyopaque) callconv(.winapi) Bool;
extern "kernel32" fn CloseHandle(Handle) callconv(.winapi) Bool;
extern "kernel32" fn GetLastError() callconv(.winapi) u32;
extern "kernel32" fn GlobalMemoryStatusEx(*MemoryStatus) callconv(.winapi) Bool;
extern "kernel32" fn QueryPerformanceCounter(*i64) callconv(.winapi) Bool;
extern "kernel32" fn QueryPerformanceFrequency(*i64) callconv(.winapi) Bool;
extern "kernel32" fn GetStdHandle(u32) callconv(.winapi) ?Handle;
extern "kernel32" fn GetCurrentProcess() callconv(.winapi) Handle;
extern "kernel32" fn TerminateProcess(Handle, u32) callconv(.winapi) Bool;
extern "kernel32" fn CreatePipe(*Handle, *Handle, ?*anyopaque, u32) callconv(.winapi) Bool;
extern "kernel32" fn PeekNamedPipe(
    pipe: Handle,
    buffer: ?*anyopaque,
    size: u32,
    read: ?*u32,
    available: ?*u32,
    left: ?*u32,
) callconv(.winapi) Bool;
extern "kernel32" fn ReadFile(Handle, [*]u8, u32, *u32, ?*anyopaque) callconv(.winapi) Bool;
extern "kernel32" fn WriteFile(Handle, [*]const u8, u32, *u32, ?*anyopaque) callconv(.winapi) Bool;

const commit_and_reserve = 0x3000;
const release = 0x8000;
const page_no_access = 0x01;
const page_read_only = 0x02;
const page_read_write = 0x04;

pub fn allocatePages(size: usize) error{OutOfMemory}!system.Pages {
    const address = VirtualAlloc(null, size, commit_and_reserve, page_read_write) orelse
        return error.OutOfMemory;
    return pagesAt(address)[0..size];
}

fn pagesAt(address: *anyopaque) [*]align(system.page_align) u8 {
    return @ptrCast(@alignCast(address));
}

pub fn freePages(pages: system.Pages) void {
    const done = VirtualFree(pages.ptr, 0, release);
    std.debug.assert(done != 0);
}

pub fn forbidPages(pages: system.Pages) void {
    var before: u32 = undefined;
    const done = VirtualProtect(pages.ptr, pages.len, page_no_access, &before);
    std.debug.assert(done != 0);
}

const generic_read = 0x8000_0000;
const share_all = 0x7;
const open_existing = 3;
const type_disk = 1;
const map_read = 4;
const file_not_found = 2;
const path_not_found = 3;
const too_many_open_files = 4;
/// The longest path that Windows knows, in UTF-16 units.
const path_max = 32_767;

pub fn mapFile(path: [*:0]const u8, offset: u64, size: u64) system.MapError!system.ConstPages {
    const file = try openFile(std.mem.span(path));
    defer _ = CloseHandle(file);
    if (GetFileType(file) != type_disk) return error.NotAFile;
    var file_size: i64 = 0;
    if (GetFileSizeEx(file, &file_size) == 0) return error.NotAFile;
    const end = std.math.add(u64, offset, size) catch return error.OutOfRange;
    if (end > @as(u64, @intCast(file_size))) return error.OutOfRange;
    if (size == 0) return &.{};
    const mapping = CreateFileMappingW(file, null, page_read_only, 0, 0, null) orelse
        return error.NoAccess;
    defer _ = CloseHandle(mapping);
    const first = std.mem.alignBackward(u64, offset, mapGranule());
    const length: usize = @intCast(end - first);
    const high: u32 = @intCast(first >> 32);
    const address = MapViewOfFile(mapping, map_read, high, @truncate(first), length) orelse
        return error.OutOfMemory;
    return pagesAt(address)[0..length];
}

fn openFile(path: []const u8) system.MapError!Handle {
    var wide: [path_max + 1]u16 = undefined;
    if (path.len > path_max) return error.NotFound;
    const length = std.unicode.wtf8ToWtf16Le(wide[0..path_max], path) catch return error.NotFound;
    wide[length] = 0;
    const file = CreateFileW(
        wide[0..length :0],
        generic_read,
        share_all,
        null,
        open_existing,
        0,
        null,
    );
    if (@intFromPtr(file) != std.math.maxInt(usize)) return file;
    return switch (GetLastError()) {
        file_not_found, path_not_found => error.NotFound,
        too_many_open_files => error.OutOfMemory,
        else => error.NoAccess,
    };
}

pub fn unmapFile(pages: system.ConstPages) void {
    const done = UnmapViewOfFile(pages.ptr);
    std.debug.assert(done != 0);
}

/// The allocation granularity, which has been the same on every Windows.
pub fn mapGranule() usize {
    return 64 << 10;
}

const MemoryStatus = extern struct {
    size: u32 = @sizeOf(MemoryStatus),
    load_percent: u32 = 0,
    total: u64 = 0,
    available: u64 = 0,
    page_file_total: u64 = 0,
    page_file_available: u64 = 0,
    address_space_total: u64 = 0,
    address_space_available: u64 = 0,
    extended: u64 = 0,

    comptime {
        std.debug.assert(@sizeOf(MemoryStatus) == 64);
    }
};

pub fn availableMemory() u64 {
    var status: MemoryStatus = .{};
    return if (GlobalMemoryStatusEx(&status) != 0) status.available else std.math.maxInt(u64);
}

pub fn nanoseconds() u64 {
    var count: i64 = undefined;
    var per_second: i64 = undefined;
    _ = QueryPerformanceCounter(&count);
    _ = QueryPerformanceFrequency(&per_second);
    const product = @as(u128, @intCast(count)) * std.time.ns_per_s;
    return @intCast(product / @as(u128, @intCast(per_second)));
}

const stderr: u32 = @bitCast(@as(i32, -12));

pub fn die(message: []const u8) noreturn {
    var written: u32 = 0;
    if (GetStdHandle(stderr)) |handle| {
        _ = WriteFile(handle, message.ptr, @intCast(message.len), &written, null);
    }
    while (true) _ = TerminateProcess(GetCurrentProcess(), 3);
}

/// There is none: a handle cannot become a descriptor of the host's C library.
pub const Bell = struct {
    pub fn create(_: *i32) ?Bell {
        return null;
    }

    pub fn destroy(_: Bell) void {}

    pub fn ring(_: Bell) void {}
};

pub fn ignoreSignals() void {}
