//! The program image: what TypeScript's compiler writes and native code runs. Little-endian,
//! versioned, position-independent; `src/graph/image.ts` is its writer.
//!
//! An image holds no address and no per-step value. Memory is named by slots, which are bound to
//! buffers apart from the image; token counts within a bucket are extents, set by an update.

const std = @import("std");
const assert = std.debug.assert;

pub const magic = 0x50564c4c; // the bytes "LLVP"
pub const version = 1;
pub const none = std.math.maxInt(u32);

/// Most entries of any table: bounds what a hostile image can make the check allocate.
pub const entries_max = 1 << 20;

pub const Header = extern struct {
    magic: u32,
    version: u32,
    /// `ops.digest()` of the tables the image was written for.
    digest: u32,
    fence_count: u32,
    size: u64,
    slots: Table,
    tensors: Table,
    segments: Table,
    records: Table,
    operands: Table,
    ranges: Table,
    extents: Table,
    ports: Table,
    /// Counts and offsets in bytes.
    params: Table,
    names: Table,
    reserved: [3]u64,
};

/// `count` entries from byte `offset` of the image on.
pub const Table = extern struct { count: u32, offset: u32 };

pub const BufferType = enum(u8) { shared = 0, private = 1, mapped = 2, host = 3 };
pub const Lifetime = enum(u8) { weight = 0, state = 1, input = 2, output = 3, arena = 4 };
pub const access_read = 1;
pub const access_write = 2;

/// Memory the program needs or is given.
pub const Slot = extern struct {
    size_min: u64,
    device: u32,
    buffer_type: u8,
    access: u8,
    lifetime: u8,
    reserved: [9]u8 = @splat(0),
};

pub const Tensor = extern struct {
    slot: u32,
    dtype: u16,
    layout: u16,
    offset: u64,
    ne: [4]u64,
    nb: [4]u64,
    /// 1 + index of the extent that dimension `extent_dim` follows, or 0. The dimension is then
    /// `extent_multiple` times the extent's value, and `ne` holds its maximum.
    extent: u16,
    extent_dim: u16,
    extent_multiple: u32,
};

pub const SegmentKind = enum(u32) {
    compute = 0,
    copy = 1,
    signal = 2,
    wait = 3,
    js = 4,
    collective = 5,
};

pub const Segment = extern struct {
    kind: u32,
    device: u32,
    /// Compute and js: a range of records.
    first: u32,
    count: u32,
    /// Copy: source and target tensor. Signal and wait: the program's fence.
    a: u32,
    b: u32,
    /// Signal and wait: how far beyond the run's base value.
    value: u64,
};

pub const Record = extern struct {
    op: u16,
    flags: u16,
    params_offset: u32,
    params_size: u32,
    /// In the operand table: sources, then outputs.
    operand_first: u32,
    source_count: u16,
    output_count: u16,
    scratch: u32,
    range_first: u32,
    range_count: u32,
    name_offset: u32,
    name_size: u32,
};

/// Bytes of a slot that a record reads or writes: for barriers and hazard checks.
pub const Range = extern struct { slot: u32, write: u32, begin: u64, end: u64 };

pub const Extent = extern struct { max: u32, reserved: u32 = 0 };

pub const PortKind = enum(u32) { input = 0, output = 1 };

/// A named input or output.
pub const Port = extern struct { tensor: u32, kind: u32, name_offset: u32, name_size: u32 };

comptime {
    assert(@sizeOf(Header) == 128);
    assert(@sizeOf(Slot) == 24);
    assert(@sizeOf(Tensor) == 88);
    assert(@sizeOf(Segment) == 32);
    assert(@sizeOf(Record) == 40);
    assert(@sizeOf(Range) == 24);
    assert(@sizeOf(Extent) == 8);
    assert(@sizeOf(Port) == 16);
}

/// The tables of an image whose bounds have been checked.
pub const View = struct {
    header: *const Header,
    slots: []const Slot,
    tensors: []const Tensor,
    segments: []const Segment,
    records: []const Record,
    operands: []const u32,
    ranges: []const Range,
    extents: []const Extent,
    ports: []const Port,
    params: []align(8) const u8,
    names: []const u8,

    pub const Error = error{Image};

    /// Checks the header and every table's bounds. `bytes` must be 8-byte aligned.
    pub fn open(bytes: []align(8) const u8, digest: u32) Error!View {
        if (bytes.len < @sizeOf(Header)) return error.Image;
        const h: *const Header = @ptrCast(bytes.ptr);
        if (h.magic != magic or h.version != version or h.digest != digest) return error.Image;
        if (h.size != bytes.len) return error.Image;
        return .{
            .header = h,
            .slots = try slice(Slot, bytes, h.slots),
            .tensors = try slice(Tensor, bytes, h.tensors),
            .segments = try slice(Segment, bytes, h.segments),
            .records = try slice(Record, bytes, h.records),
            .operands = try slice(u32, bytes, h.operands),
            .ranges = try slice(Range, bytes, h.ranges),
            .extents = try slice(Extent, bytes, h.extents),
            .ports = try slice(Port, bytes, h.ports),
            .params = @alignCast(try slice(u8, bytes, h.params)),
            .names = try slice(u8, bytes, h.names),
        };
    }

    fn slice(comptime T: type, bytes: []align(8) const u8, table: Table) Error![]const T {
        if (table.count > entries_max or table.offset % 8 != 0) return error.Image;
        const size = @as(u64, table.count) * @sizeOf(T);
        if (table.offset > bytes.len or size > bytes.len - table.offset) return error.Image;
        const start: [*]const T = @ptrCast(@alignCast(bytes.ptr + table.offset));
        return start[0..table.count];
    }

    /// A name of the name table, empty when it is out of range.
    pub fn name(view: *const View, offset: u32, size: u32) []const u8 {
        if (offset > view.names.len or size > view.names.len - offset) return "";
        return view.names[offset..][0..size];
    }

    pub fn sources(view: *const View, record: *const Record) []const u32 {
        return view.operands[record.operand_first..][0..record.source_count];
    }

    pub fn outputs(view: *const View, record: *const Record) []const u32 {
        return view.operands[record.operand_first + record.source_count ..][0..record.output_count];
    }
};
