//! Asks a device about every record of an image that has no memory yet.

const std = @import("std");
const abi = @import("../kernels/abi.zig");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const image = @import("image.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const programs = @import("program.zig");
const registry = @import("registry.zig");
const vtable = @import("vtable.zig");

/// Fills one answer per record. Shapes are checked as for a program, places are not.
pub fn ofImage(number: u32, bytes: []const u8, out: [*]vtable.Profile) u32 {
    const device = registry.device(number) orelse
        return problems.fail(.invalid_argument, "there is no device {d}", .{number});
    var problem: problems.Problem = .{};
    const program = programs.Program.resolveOnly(bytes, &problem) catch return problems.failWith(problem);
    defer program.release();
    device.profile(device.context, program.nodes.ptr, @intCast(program.nodes.len), out);
    return @intFromEnum(problems.Status.ok);
}
