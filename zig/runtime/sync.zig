//! Waiting and waking between threads: a futex per operating system, and what is built on it.
//! std.Io's primitives need an Io instance, which a library that is loaded into a foreign process
//! has no place to keep.

const std = @import("std");
const builtin = @import("builtin");

const linux = std.os.linux;

const darwin = struct {
    const compare_and_wait = 1;
    const wake_all = 0x100;
    extern "c" fn __ulock_wait(op: u32, addr: *const anyopaque, value: u64, timeout_us: u32) c_int;
    extern "c" fn __ulock_wake(op: u32, addr: *const anyopaque, value: u64) c_int;
};

const windows = struct {
    extern "ntdll" fn RtlWaitOnAddress(
        addr: *const anyopaque,
        compare: *const anyopaque,
        size: usize,
        timeout: ?*const i64,
    ) callconv(.winapi) u32;
    extern "ntdll" fn RtlWakeAddressAll(addr: *const anyopaque) callconv(.winapi) void;
};

/// Sleeps while `word` holds `expected`; may return early for no reason.
pub fn wait(word: *const std.atomic.Value(u32), expected: u32) void {
    switch (builtin.os.tag) {
        .linux => _ = linux.futex_4arg(
            &word.raw,
            .{ .cmd = .WAIT, .private = true },
            expected,
            null,
        ),
        .macos, .ios => _ = darwin.__ulock_wait(darwin.compare_and_wait, &word.raw, expected, 0),
        .windows => _ = windows.RtlWaitOnAddress(&word.raw, &expected, 4, null),
        else => @compileError("no futex for this system"),
    }
}

/// Like `wait`, for at most `nanoseconds`.
pub fn waitFor(word: *const std.atomic.Value(u32), expected: u32, nanoseconds: u32) void {
    switch (builtin.os.tag) {
        .linux => {
            const time: linux.timespec = .{ .sec = 0, .nsec = nanoseconds };
            _ = linux.futex_4arg(&word.raw, .{ .cmd = .WAIT, .private = true }, expected, &time);
        },
        .macos, .ios => _ = darwin.__ulock_wait(
            darwin.compare_and_wait,
            &word.raw,
            expected,
            @max(1, nanoseconds / std.time.ns_per_us),
        ),
        .windows => {
            // Relative times are negative, in units of 100 ns.
            const timeout = -@as(i64, @max(1, nanoseconds / 100));
            _ = windows.RtlWaitOnAddress(&word.raw, &expected, 4, &timeout);
        },
        else => @compileError("no futex for this system"),
    }
}

/// Wakes every thread that sleeps on `word`.
pub fn wakeAll(word: *const std.atomic.Value(u32)) void {
    switch (builtin.os.tag) {
        .linux => _ = linux.futex_3arg(
            &word.raw,
            .{ .cmd = .WAKE, .private = true },
            std.math.maxInt(i32),
        ),
        .macos, .ios => _ = darwin.__ulock_wake(
            darwin.compare_and_wait | darwin.wake_all,
            &word.raw,
            0,
        ),
        .windows => windows.RtlWakeAddressAll(&word.raw),
        else => @compileError("no futex for this system"),
    }
}

/// Three-state mutex (Drepper 2011, "Futexes Are Tricky"): 0 free, 1 taken, 2 taken and waited for.
pub const Mutex = struct {
    state: std.atomic.Value(u32) = .init(0),

    pub fn lock(m: *Mutex) void {
        if (m.state.cmpxchgStrong(0, 1, .acquire, .monotonic) == null) return;
        while (m.state.swap(2, .acquire) != 0) wait(&m.state, 2);
    }

    /// Takes the lock unless `cancel` is set before, which is looked at every few milliseconds.
    pub fn lockUnless(m: *Mutex, cancel: *const u8) bool {
        if (m.tryLock()) return true;
        while (m.state.swap(2, .acquire) != 0) {
            if (@atomicLoad(u8, cancel, .acquire) != 0) return false;
            waitFor(&m.state, 2, 5 * std.time.ns_per_ms);
        }
        return true;
    }

    pub fn tryLock(m: *Mutex) bool {
        return m.state.cmpxchgStrong(0, 1, .acquire, .monotonic) == null;
    }

    pub fn unlock(m: *Mutex) void {
        if (m.state.swap(0, .release) == 2) wakeAll(&m.state);
    }
};

/// A counter that threads wait on: remember `now()`, look at the shared state, then `after(seen)`.
pub const Signal = struct {
    count: std.atomic.Value(u32) = .init(0),

    pub fn now(s: *const Signal) u32 {
        return s.count.load(.acquire);
    }

    pub fn notify(s: *Signal) void {
        _ = s.count.fetchAdd(1, .release);
        wakeAll(&s.count);
    }

    /// Sleeps until `notify` was called after `now()` gave `seen`.
    pub fn after(s: *const Signal, seen: u32) void {
        while (s.count.load(.acquire) == seen) wait(&s.count, seen);
    }
};

test "who waits for a mutex can be cancelled" {
    var mutex: Mutex = .{};
    var cancel: u8 = 0;
    try std.testing.expect(mutex.lockUnless(&cancel));
    const Late = struct {
        fn set(flag: *u8) void {
            @atomicStore(u8, flag, 1, .release);
        }
    };
    const other = try std.Thread.spawn(.{}, Late.set, .{&cancel});
    try std.testing.expect(!mutex.lockUnless(&cancel));
    other.join();
    mutex.unlock();
    try std.testing.expect(mutex.tryLock());
}

test "a mutex keeps two threads apart" {
    const Shared = struct {
        mutex: Mutex = .{},
        sum: u32 = 0,

        fn add(s: *@This()) void {
            for (0..10_000) |_| {
                s.mutex.lock();
                defer s.mutex.unlock();
                s.sum += 1;
            }
        }
    };
    var shared: Shared = .{};
    const other = try std.Thread.spawn(.{}, Shared.add, .{&shared});
    shared.add();
    other.join();
    try std.testing.expectEqual(20_000, shared.sum);
}
