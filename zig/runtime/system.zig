//! What the runtime asks of the operating system, the same on each: pages, file maps, a pipe, time,
//! free memory, and the way out after a failed assert.

const std = @import("std");
const builtin = @import("builtin");
const system = if (builtin.os.tag == .windows)
    @import("system_windows.zig")
else
    @import("system_posix.zig");

pub const page_align = std.heap.page_size_min;
pub const Pages = []align(page_align) u8;
pub const ConstPages = []align(page_align) const u8;

pub const MapError = error{ NotFound, NoAccess, NotAFile, OutOfRange, OutOfMemory };

/// Zeroed pages of our own; `size` is a multiple of the page size.
pub const allocatePages: fn (size: usize) error{OutOfMemory}!Pages = system.allocatePages;
pub const freePages: fn (pages: Pages) void = system.freePages;
/// From now on touching these pages faults.
pub const forbidPages: fn (pages: Pages) void = system.forbidPages;

/// Maps [offset, offset + size) of a file, read only, from the granule that `offset` lies in; see
/// `mapGranule`. Nothing is mapped when `size` is 0, but the file must reach so far.
pub const mapFile: fn (path: [*:0]const u8, offset: u64, size: u64) MapError!ConstPages =
    system.mapFile;
pub const unmapFile: fn (pages: ConstPages) void = system.unmapFile;
/// Maps begin at multiples of this many bytes of the file.
pub const mapGranule: fn () usize = system.mapGranule;

/// Bytes that could be allocated now without swapping, by the system's own estimate.
pub const availableMemory: fn () u64 = system.availableMemory;

/// Of a clock that never goes back; for differences.
pub const nanoseconds: fn () u64 = system.nanoseconds;

/// Writes `message` to stderr and ends the process as a crash.
pub const die: fn (message: []const u8) noreturn = system.die;

/// A pipe whose read end is JavaScript's, to wake its event loop.
pub const Bell = system.Bell;

/// The calling thread leaves signals to the host, except those that tell of a fault of its own.
pub const ignoreSignals: fn () void = system.ignoreSignals;

test "pages are zeroed and can be written" {
    const pages = try allocatePages(2 * std.heap.pageSize());
    defer freePages(pages);
    try std.testing.expect(std.mem.allEqual(u8, pages, 0));
    @memset(pages, 1);
}

test "a file is mapped from the granule before the offset" {
    try std.testing.expectError(error.NotFound, mapFile("no-such-file", 0, 1));
    try std.testing.expectError(error.OutOfRange, mapFile("build.zig", 1 << 40, 1));
    try std.testing.expectError(error.OutOfRange, mapFile("build.zig", std.math.maxInt(u64), 1));
    try std.testing.expectError(error.OutOfRange, mapFile("build.zig", 1 << 40, 0));
    try std.testing.expectEqual(0, (try mapFile("build.zig", 5, 0)).len);
    const pages = try mapFile("build.zig", 5, 20);
    defer unmapFile(pages);
    try std.testing.expectEqual(25, pages.len);
    try std.testing.expectStringStartsWith(pages, "//! Builds");
}

test "time passes" {
    const before = nanoseconds();
    while (nanoseconds() == before) {}
    try std.testing.expect(nanoseconds() > before);
    try std.testing.expect(availableMemory() > 0);
}
