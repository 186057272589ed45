//! What the C ABI does with buffers: arguments from JavaScript in, statuses and handles out.

const std = @import("std");
const buffers = @import("buffer.zig");
const image = @import("image.zig");
const problems = @import("problem.zig");
const registry = @import("registry.zig");
const sizes = @import("sizes.zig");
const Buffer = buffers.Buffer;
const ok = @intFromEnum(problems.Status.ok);

pub fn create(vm: u32, device: u32, kind: u32, size: f64) u32 {
    const buffer_type = std.enums.fromInt(image.BufferType, kind) orelse .mapped;
    const bytes = sizes.of(size);
    if (registry.device(device) == null or buffer_type == .mapped or bytes == null) {
        const args = .{ device, kind, size };
        _ = problems.fail(.invalid_argument, "device {d}, type {d}, {d} bytes", args);
        return 0;
    }
    const buffer = Buffer.create(device, buffer_type, bytes.?) catch
        return problems.noHandle(bytes.?);
    return add(buffer, vm);
}

pub fn map(vm: u32, device: u32, path: [*:0]const u8, offset: f64, size: f64) u32 {
    const start = sizes.of(offset);
    const bytes = sizes.of(size);
    if (registry.device(device) == null or start == null or bytes == null) {
        const args = .{ device, size, offset };
        _ = problems.fail(.invalid_argument, "device {d}, {d} bytes at {d}", args);
        return 0;
    }
    const buffer = Buffer.map(device, path, start.?, bytes.?) catch |err| {
        if (err == error.OutOfMemory) return problems.noHandle(bytes.?);
        _ = problems.fail(.file, "{s}", .{switch (err) {
            error.NotFound => "no such file",
            error.NoAccess => "the file cannot be read",
            error.NotAFile => "not a regular file",
            error.OutOfRange => "the file is shorter than its header says",
            error.OutOfMemory => unreachable,
        }});
        return 0;
    };
    return add(buffer, vm);
}

fn add(buffer: *Buffer, vm: u32) u32 {
    return buffers.table.add(buffer, vm) catch {
        buffer.release();
        return problems.noHandle(0);
    };
}

pub fn release(handle: u32) u32 {
    const buffer = buffers.table.remove(handle) orelse return problems.stale();
    buffer.release();
    return ok;
}

/// A reference for a window of bytes [offset, offset + size).
pub fn window(handle: u32, offset: f64, size: f64) ?*Buffer {
    const buffer = buffers.table.acquire(handle) orelse {
        _ = problems.stale();
        return null;
    };
    if (!buffer.viewable()) {
        _ = problems.fail(.unsupported, "this buffer's memory cannot be viewed", .{});
    } else if (slice(buffer, offset, size) == null) {
        _ = outside(buffer, offset, size);
    } else return buffer;
    buffer.release();
    return null;
}

/// JavaScript's memory may be a window of the same buffer, so the bytes may overlap.
pub fn set(handle: u32, offset: f64, from: [*]const u8, size: f64) u32 {
    const buffer = buffers.table.acquire(handle) orelse return problems.stale();
    defer buffer.release();
    const to = slice(buffer, offset, size) orelse return outside(buffer, offset, size);
    if (!buffer.writable()) return readOnly();
    @memmove(to, from[0..to.len]);
    return ok;
}

pub fn get(handle: u32, offset: f64, to: [*]u8, size: f64) u32 {
    const buffer = buffers.table.acquire(handle) orelse return problems.stale();
    defer buffer.release();
    const from = slice(buffer, offset, size) orelse return outside(buffer, offset, size);
    @memmove(to[0..from.len], from);
    return ok;
}

pub fn fill(handle: u32, offset: f64, size: f64, value: u32) u32 {
    const buffer = buffers.table.acquire(handle) orelse return problems.stale();
    defer buffer.release();
    const to = slice(buffer, offset, size) orelse return outside(buffer, offset, size);
    if (!buffer.writable()) return readOnly();
    @memset(to, @truncate(value));
    return ok;
}

/// Bytes of a buffer, or null when they are not all inside.
pub fn slice(buffer: *const Buffer, offset: f64, size: f64) ?[]u8 {
    return buffer.slice(sizes.of(offset) orelse return null, sizes.of(size) orelse return null);
}

pub fn outside(buffer: *const Buffer, offset: f64, size: f64) u32 {
    return problems.fail(.invalid_argument, "{d} bytes at {d} of a buffer of {d}", .{
        size, offset, buffer.bytes.len,
    });
}

pub fn readOnly() u32 {
    return problems.fail(.unsupported, "the buffer is read only", .{});
}
