//! The devices there are: built-in ones first. Their number in this list is the device number of
//! images and buffers.

const std = @import("std");
const cpu = @import("../cpu/device.zig");
const vtable = @import("vtable.zig");

/// Device numbers stay below this.
pub const devices_max = 64;

/// How many devices the one CPU looks like. It only grows: programs may use every one of them.
var cpu_count: std.atomic.Value(u32) = .init(1);

pub fn setVirtualCpus(wanted: u32) void {
    _ = cpu_count.fetchMax(@min(wanted, devices_max), .monotonic);
}

pub fn count() u32 {
    return cpu_count.load(.monotonic);
}

pub fn device(number: u32) ?*const vtable.Device {
    return if (number < count()) &cpu.device else null;
}
