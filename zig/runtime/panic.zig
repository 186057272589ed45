//! What happens when an assert of our own fails: a message and a place on stderr, then abort.

const std = @import("std");
const system = @import("system.zig");

pub fn onPanic(message: []const u8, first_trace_address: ?usize) noreturn {
    var text: [512]u8 = undefined;
    var writer: std.Io.Writer = .fixed(&text);
    writer.print("leaven native panic: {s} (at 0x{x})\n", .{
        message, first_trace_address orelse @returnAddress(),
    }) catch {};
    system.die(writer.buffered());
}
