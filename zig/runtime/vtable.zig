//! What a device gives to the runtime and what the runtime gives to a device: C structs with their
//! size and version first, so that a library built for another version is told so instead of
//! crashing. The CPU device uses the same table as loaded ones.

const abi = @import("../kernels/abi.zig");
const ops = @import("../ops.zig");
const problems = @import("problem.zig");
const image = @import("image.zig");

pub const version = 1;

pub const DeviceType = enum(u32) { cpu = 0, gpu = 1, integrated_gpu = 2, accelerator = 3 };

/// Answers of a device about itself; texts are cut to fit and end with a zero byte.
pub const DeviceInfo = extern struct {
    type: DeviceType,
    /// Bit set of `Capability`.
    capabilities: u32,
    memory_total: f64,
    memory_free: f64,
    name: [64]u8 = @splat(0),
    description: [128]u8 = @splat(0),
    features: [128]u8 = @splat(0),
};

pub const Capability = struct {
    pub const asynchronous = 1;
    pub const host_buffer = 2;
    pub const map = 4;
    pub const fences = 8;
};

/// What a device says of one record.
pub const Profile = extern struct {
    supported: u32 = 0,
    /// Offload pays from this many rows on; 0 never.
    offload_rows: u32 = 0,
    /// Memory in the program's arena while the record runs.
    scratch_bytes: u64 = 0,
};

/// A record with its operands resolved for one device.
pub const Node = extern struct {
    task: abi.Task,
    ranges: [*]const image.Range,
    range_count: u32,
};

/// One run of a prepared segment.
pub const Run = extern struct {
    /// Non-zero asks the device to stop as soon as it can.
    cancel: *const u8,
    status: *abi.Status,
    thread_max: u32,
};

/// Every function may be called from any thread; calls with the same `prepared` never overlap.
pub const Device = extern struct {
    size: u32,
    version: u32,
    context: *anyopaque,
    info: *const fn (context: *anyopaque, out: *DeviceInfo) callconv(.c) void,
    /// One answer per node; no operand has an address yet.
    profile: *const fn (
        context: *anyopaque,
        nodes: [*]const Node,
        count: u32,
        out: [*]Profile,
    ) callconv(.c) void,
    /// Makes nodes ready to run. Node structs live as long as the result; their tensors' sizes
    /// and addresses may change before `update`.
    prepare: *const fn (
        context: *anyopaque,
        nodes: [*]const Node,
        count: u32,
        thread_max: u32,
        out: *?*anyopaque,
        problem: *problems.Problem,
    ) callconv(.c) void,
    /// New sizes or addresses stand in the nodes' tensors.
    update: *const fn (
        context: *anyopaque,
        prepared: *anyopaque,
        problem: *problems.Problem,
    ) callconv(.c) void,
    /// Runs to the end, or enqueues when the device is asynchronous; `wait` then ends it.
    submit: *const fn (
        context: *anyopaque,
        prepared: *anyopaque,
        run: *const Run,
    ) callconv(.c) void,
    wait: *const fn (context: *anyopaque, prepared: *anyopaque) callconv(.c) void,
    free: *const fn (context: *anyopaque, prepared: *anyopaque) callconv(.c) void,
};
