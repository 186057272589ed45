//! iq4_nl: 32 values out of sixteen unevenly spaced ones; value = d * levels[q].

const DType = @import("../../dtype.zig").DType;
const blocks = @import("blocks.zig");
const half = @import("f16.zig");
const planes = @import("planes.zig");
const lookup = @import("lookup.zig");
const iq4 = @import("iq4.zig");

pub const dtype: DType = .iq4_nl;
pub const len = 32;
pub const group = 32;
pub const has_mins = false;

pub const Block = extern struct {
    d: u16 align(1),
    /// Byte j holds value j in its lower and value j + 16 in its upper half.
    q: [16]u8,
};

comptime {
    blocks.check(@This());
}

pub const dequantizeRow = blocks.dequantizer(@This());

pub fn unpack(block: *const Block, out: *blocks.Unpacked(@This())) void {
    var numbers: [len]u8 = undefined;
    planes.unpack(4, 16, &block.q, &numbers);
    inline for (0..2) |i| {
        out.q[i * 16 ..][0..16].* = lookup.sixteen(iq4.levels, numbers[i * 16 ..][0..16].*);
    }
    out.scales = .{half.toFloat(block.d)};
}
