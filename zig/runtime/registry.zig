//! The devices there are: built-in ones first. Their number in this list is the device number of
//! images and buffers.

const std = @import("std");
const cpu = @import("../cpu/device.zig");
const vtable = @import("vtable.zig");

/// Device numbers stay below this.
pub const devices_max = 64;

/// Set once, before anything else is used: how many devices the one CPU shall look like.
var cpu_count: u32 = 1;

pub fn setVirtualCpus(wanted: u32) void {
    cpu_count = std.math.clamp(wanted, 1, devices_max);
}

pub fn count() u32 {
    return cpu_count;
}

pub fn device(number: u32) ?*const vtable.Device {
    return if (number < cpu_count) &cpu.device else null;
}
