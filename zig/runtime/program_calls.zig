//! What the C ABI does with programs: arguments from JavaScript in, statuses and handles out.

const problems = @import("problem.zig");
const programs = @import("program.zig");
const registry = @import("registry.zig");
const sizes = @import("sizes.zig");
const vtable = @import("vtable.zig");
const Problem = problems.Problem;
const Program = programs.Program;
const ok = @intFromEnum(problems.Status.ok);

/// Fills `count` answers, one per record of an image whose tensors need no memory yet.
pub fn profile(number: u32, bytes: [*]const u8, size: f64, out: [*]vtable.Profile, count: u32) u32 {
    const device = registry.device(number) orelse
        return problems.fail(.invalid_argument, "there is no device {d}", .{number});
    const length = sizes.of(size) orelse return noSize(size);
    var problem: Problem = .{};
    const program = Program.resolve(bytes[0..@intCast(length)], &problem) catch
        return problems.failWith(problem);
    defer program.release();
    if (program.nodes.len != count)
        return problems.fail(.invalid_argument, "{d} records, not {d}", .{
            program.nodes.len, count,
        });
    device.profile(device.context, program.nodes.ptr, count, out);
    return ok;
}

pub fn create(vm: u32, bytes: [*]const u8, size: f64, thread_max: u32) u32 {
    const length = sizes.of(size) orelse {
        _ = noSize(size);
        return 0;
    };
    var problem: Problem = .{};
    const program = Program.create(bytes[0..@intCast(length)], thread_max, &problem) catch {
        _ = problems.failWith(problem);
        return 0;
    };
    return programs.table.add(program, vm) catch {
        program.release();
        return problems.noHandle(0);
    };
}

pub fn update(handle: u32, bindings: []const programs.Binding, extents: []align(4) const u32) u32 {
    const program = programs.table.acquire(handle) orelse return problems.stale();
    defer program.release();
    var problem: Problem = .{};
    program.update(bindings, extents, &problem) catch return problems.failWith(problem);
    return ok;
}

/// Runs on the calling thread.
pub fn run(handle: u32, input: [*]const u8, input_size: f64) u32 {
    const length = sizes.of(input_size) orelse return noSize(input_size);
    const program = programs.table.acquire(handle) orelse return problems.stale();
    defer program.release();
    var problem: Problem = .{};
    const entry = program.stage(input[0..@intCast(length)], &problem) catch
        return problems.failWith(problem);
    const never: u8 = 0;
    problem = program.execute(entry, &never, null);
    return if (problem.status == .ok) ok else problems.failWith(problem);
}

pub fn release(handle: u32) u32 {
    const program = programs.table.remove(handle) orelse return problems.stale();
    program.release();
    return ok;
}

pub fn noSize(size: f64) u32 {
    return problems.fail(.invalid_argument, "{d} is no size", .{size});
}
