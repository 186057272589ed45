//! Native threads: they leave signals to the host, have a stack of known size, are counted, and
//! end by themselves.

const std = @import("std");
const memory = @import("memory.zig");
const system = @import("system.zig");

const stack_bytes = 1 << 20;

/// Starts a thread that nobody joins.
pub fn start(comptime body: anytype, args: anytype) error{OutOfMemory}!void {
    const Body = struct {
        fn run(given: @TypeOf(args)) void {
            defer _ = memory.counters.live_threads.fetchSub(1, .monotonic);
            system.ignoreSignals();
            @call(.auto, body, given);
        }
    };
    _ = memory.counters.live_threads.fetchAdd(1, .monotonic);
    const thread = std.Thread.spawn(.{ .stack_size = stack_bytes }, Body.run, .{args}) catch {
        _ = memory.counters.live_threads.fetchSub(1, .monotonic);
        return error.OutOfMemory;
    };
    thread.detach();
}

test "a thread runs with its arguments and is counted" {
    const sync = @import("sync.zig");
    const Body = struct {
        var done: sync.Signal = .{};
        fn run(value: u32) void {
            std.debug.assert(value == 5);
            done.notify();
        }
    };
    const seen = Body.done.now();
    try start(Body.run, .{5});
    Body.done.after(seen);
}
