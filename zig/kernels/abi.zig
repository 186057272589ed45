//! What the CPU device and the kernels agree on. Each instruction set's object exports one table
//! of `Kernel`, indexed by op code; everything else in the object stays hidden.

const std = @import("std");
const ops = @import("../ops.zig");
const DType = @import("../dtype.zig").DType;

/// A tensor as a kernel sees it. `ne` counts elements, `nb` is the stride in bytes between
/// neighbours of a dimension; `nb[0]` is that between blocks. The check has proved that every
/// element lies inside memory the program owns.
pub const Tensor = extern struct {
    data: [*]u8,
    dtype: DType,
    layout: u16 = 0,
    ne: [4]u64,
    nb: [4]u64,

    pub fn rows(t: *const Tensor) u64 {
        return t.ne[1] * t.ne[2] * t.ne[3];
    }

    /// Address of row `index`, counted over the three outer dimensions.
    pub fn row(t: *const Tensor, index: u64) [*]u8 {
        const a = index % t.ne[1];
        const b = index / t.ne[1] % t.ne[2];
        const c = index / t.ne[1] / t.ne[2];
        return t.data + a * t.nb[1] + b * t.nb[2] + c * t.nb[3];
    }
};

/// Where a run's first run-time fault is noted: an index outside what it may point at.
pub const Status = extern struct {
    /// 0 while all is well, else one of `Fault`; the first fault wins.
    fault: u32 = 0,
    op: u32 = 0,
    value: i64 = 0,
    limit: i64 = 0,

    pub const Fault = enum(u32) { none = 0, index = 1 };

    /// Notes that `value` is outside [0, limit). Any thread may call it.
    pub fn badIndex(status: *Status, op: ops.Op, value: i64, limit: u64) void {
        const index = @intFromEnum(Fault.index);
        const earlier = @cmpxchgStrong(u32, &status.fault, 0, index, .seq_cst, .seq_cst);
        if (earlier != null) return;
        status.op = @intFromEnum(op);
        status.value = value;
        status.limit = @intCast(limit);
    }
};

/// One record with its operands resolved to addresses.
pub const Task = extern struct {
    op: ops.Op,
    source_count: u16,
    output_count: u16,
    params: [*]align(4) const u8,
    sources: [ops.sources_max]?*const Tensor,
    outputs: [ops.outputs_max]?*const Tensor,
    status: *Status,
    /// Memory that all items share, where the plan asked for it; of no particular alignment.
    shared: ?*const Tensor = null,

    pub fn as(task: *const Task, comptime Params: type) *const Params {
        return @ptrCast(task.params);
    }

    pub fn source(task: *const Task, index: usize) *const Tensor {
        return task.sources[index].?;
    }

    pub fn output(task: *const Task) *const Tensor {
        return task.outputs[0].?;
    }
};

/// A kernel's answer to "can you, and in how many pieces?". It depends on dtypes, sizes, strides
/// and params only, never on data or on the number of threads, and no address is read for it.
pub const Plan = extern struct {
    /// False when these dtypes or strides are not implemented.
    supported: bool = false,
    /// Independent work items; the device hands out ranges of them.
    items: u64 = 0,
    /// Items handed out together: large enough that the hand-out costs nothing.
    grain: u64 = 1,
    /// Bytes of private memory each thread needs, 64-byte aligned.
    thread_scratch: u64 = 0,
    /// Set by a device that gives a task shared memory and runs second items; a kernel that would
    /// like them does without where this is false, and again without `Task.shared`.
    offers_shared: bool = false,
    /// Bytes that all items of the record share; what they hold at first is open.
    shared_scratch: u64 = 0,
    /// Items that start when all others are done, numbered from `items` on, handed out singly.
    second_items: u64 = 0,
};

/// A thread's private memory.
pub const Scratch = [*]align(64) u8;

pub const Kernel = extern struct {
    plan: *const fn (task: *const Task, plan: *Plan) callconv(.c) void,
    /// Computes items [begin, end). Results do not depend on how items are grouped.
    run: *const fn (task: *const Task, begin: u64, end: u64, scratch: Scratch) callconv(.c) void,
};
