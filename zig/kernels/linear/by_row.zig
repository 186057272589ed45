//! Tile blocks of any format, row by row through its `unpack`: for types whose values are looked up
//! in tables, which is no work for vectors across rows.

const std = @import("std");
const DType = @import("../../dtype.zig").DType;
const layout = @import("../../dtype.zig").layout;
const simd = @import("../simd.zig");
const unpacking = @import("../formats/blocks.zig");
const rows_file = @import("rows.zig");
const tile = @import("tile.zig");
const Rows = rows_file.Rows;

pub fn ByRow(comptime format_file: type) type {
    return struct {
        pub const dtype: DType = format_file.dtype;
        pub const format: tile.Format = .{
            .codes = .signed,
            .group = @min(format_file.group, tile.block_len),
            .has_offset = format_file.has_mins,
        };

        /// Unpacking passes through memory, so that tiles cost little more.
        pub const in_registers = false;

        const shape = format.shape();
        const groups = shape.groups();
        const Unpacked = unpacking.Unpacked(format_file);

        pub inline fn unpack(rows: Rows, sink: anytype) void {
            var unpacked: [simd.lanes]Unpacked = undefined;
            for (&unpacked, 0..) |*block, i| format_file.unpack(@ptrCast(rows.row(i)), block);
            const codes: Rows = .{ .base = @ptrCast(&unpacked[0].q), .stride = @sizeOf(Unpacked) };
            for (0..format_file.len / tile.block_len) |i| {
                const low = rows_file.load16(codes, i * tile.block_len);
                const high = rows_file.load16(codes, i * tile.block_len + 16);
                var block: tile.Block(shape) = .{
                    .codes = tile.signed(low ++ high),
                    .scale = undefined,
                };
                inline for (0..groups) |g| {
                    const group = (i * groups + g) * format.group / format_file.group;
                    block.scale[g] = across(&unpacked, "scales", group);
                    if (format.has_offset) block.offset[g] = -across(&unpacked, "mins", group);
                }
                sink.put(block);
            }
        }

        inline fn across(
            unpacked: *const [simd.lanes]Unpacked,
            comptime field: []const u8,
            group: usize,
        ) simd.F32 {
            var v: simd.F32 = undefined;
            inline for (unpacked, 0..) |*block, i| v[i] = @field(block, field)[group];
            return v;
        }
    };
}
