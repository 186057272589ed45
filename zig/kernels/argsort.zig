//! The order that sorts each row (argsort) and the positions of the k largest values, largest
//! first (top_k). Equal values keep their order; NaN counts as the largest. One item is one row.

const std = @import("std");
const abi = @import("abi.zig");
const reductions = @import("../ops.zig").reductions;
const split = @import("split.zig");
const staging = @import("staging.zig");
const vector = @import("vector.zig");
const lanes = vector.lanes;

pub const argsort: abi.Kernel = .{ .plan = plan, .run = runSort };
pub const top_k: abi.Kernel = .{ .plan = plan, .run = runTop };

fn plan(task: *const abi.Task, result: *abi.Plan) callconv(.c) void {
    const x = task.source(0);
    if (!staging.isFloat(x.dtype)) return;
    split.byRow(result, x.rows(), x.ne[0] * 32);
    result.thread_scratch = staging.rowsBytes(5, x.ne[0]);
}

/// A value as an integer of the same order, and where it stands.
const Entry = extern struct { key: u32, index: u32 };

/// -0 and 0 are equal; NaN comes last.
fn keyOf(value: f32) u32 {
    if (value != value) return std.math.maxInt(u32);
    const bits: u32 = @bitCast(value + 0.0);
    return if (bits >> 31 == 1) ~bits else bits | 1 << 31;
}

fn runSort(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const descending = task.as(reductions.ArgsortParams).descending == 1;
    const x = task.source(0);
    const n: usize = @intCast(x.ne[0]);
    for (begin..end) |row| {
        const values = staging.readRow(x, x.row(row), staging.scratchRow(scratch, 0, n));
        writeOrder(task.output(), row, sort(values[0..n], descending, scratch));
    }
}

fn writeOrder(y: *const abi.Tensor, row: u64, entries: []const Entry) void {
    const to = y.row(row);
    for (entries, 0..) |entry, i| {
        const place = to + i * y.nb[0];
        @as(*i32, @ptrCast(@alignCast(place))).* = @intCast(entry.index);
    }
}

/// Entries of the values in order; they lie in scratch rows 1 to 4.
fn sort(values: []const f32, descending: bool, scratch: abi.Scratch) []Entry {
    const n = values.len;
    const first: [*]Entry = @ptrCast(staging.scratchRow(scratch, 1, n));
    const second = first + n;
    for (values, first[0..n], 0..) |value, *entry, i| {
        const key = keyOf(value);
        // Sorting by the complement descends, and equal values still keep their order.
        entry.* = .{ .key = if (descending) ~key else key, .index = @intCast(i) };
    }
    if (n <= insertion_max) {
        insert(first[0..n]);
    } else {
        radix(first, second, n);
    }
    return first[0..n];
}

const insertion_max = 64;

fn insert(entries: []Entry) void {
    for (1..@max(1, entries.len)) |i| {
        const entry = entries[i];
        var j = i;
        while (j > 0 and entries[j - 1].key > entry.key) : (j -= 1) entries[j] = entries[j - 1];
        entries[j] = entry;
    }
}

/// By the bytes of the key, lowest first: four passes, so the result is where it began.
fn radix(entries: [*]Entry, other: [*]Entry, n: usize) void {
    var from = entries;
    var to = other;
    for (0..4) |byte| {
        const shift: u5 = @intCast(8 * byte);
        var starts: [256]u32 = @splat(0);
        for (from[0..n]) |entry| starts[entry.key >> shift & 0xff] += 1;
        var sum: u32 = 0;
        for (&starts) |*start| {
            const count = start.*;
            start.* = sum;
            sum += count;
        }
        for (from[0..n]) |entry| {
            const start = &starts[entry.key >> shift & 0xff];
            to[start.*] = entry;
            start.* += 1;
        }
        std.mem.swap([*]Entry, &from, &to);
    }
}

fn runTop(task: *const abi.Task, begin: u64, end: u64, scratch: abi.Scratch) callconv(.c) void {
    const k: usize = task.as(reductions.TopKParams).k;
    const x = task.source(0);
    const n: usize = @intCast(x.ne[0]);
    for (begin..end) |row| {
        const values = staging.readRow(x, x.row(row), staging.scratchRow(scratch, 0, n));
        const best = if (k * 8 <= n)
            select(values[0..n], k, scratch)
        else
            sort(values[0..n], true, scratch)[0..k];
        writeOrder(task.output(), row, best);
    }
}

/// A heap of the k best so far with the worst on top, which most values do not get past.
fn select(values: []const f32, k: usize, scratch: abi.Scratch) []Entry {
    const heap: [*]Entry = @ptrCast(staging.scratchRow(scratch, 1, values.len));
    for (heap[0..k], values[0..k], 0..) |*entry, value, i| {
        entry.* = .{ .key = keyOf(value), .index = @intCast(i) };
    }
    var i = k / 2;
    while (i > 0) : (i -= 1) sink(heap[0..k], i - 1);
    i = k;
    while (i < values.len) {
        if (i + lanes <= values.len and !anyAbove(values[i..], heap[0].key)) {
            i += lanes;
            continue;
        }
        const stop = @min(i + lanes, values.len);
        for (values[i..stop], i..) |value, index| {
            const key = keyOf(value);
            if (key <= heap[0].key) continue;
            heap[0] = .{ .key = key, .index = @intCast(index) };
            sink(heap[0..k], 0);
        }
        i = stop;
    }
    std.mem.sortUnstable(Entry, heap[0..k], {}, isBetter);
    return heap[0..k];
}

inline fn anyAbove(values: []const f32, key: u32) bool {
    const bits = if (key >> 31 == 1) key & 0x7fffffff else ~key;
    const v = vector.load(values.ptr);
    // NaN compares as not below or equal.
    return !@reduce(.And, v <= vector.splat(@bitCast(bits)));
}

fn isBetter(_: void, a: Entry, b: Entry) bool {
    return if (a.key != b.key) a.key > b.key else a.index < b.index;
}

/// Moves the entry down until both entries below it are better.
fn sink(heap: []Entry, start: usize) void {
    var i = start;
    while (2 * i + 1 < heap.len) {
        var worst = 2 * i + 1;
        if (worst + 1 < heap.len and isBetter({}, heap[worst], heap[worst + 1])) worst += 1;
        if (isBetter({}, heap[worst], heap[i])) return;
        std.mem.swap(Entry, &heap[i], &heap[worst]);
        i = worst;
    }
}

const Trial = @import("trial.zig").Trial;
const testing = std.testing;

fn checkSorted(n: u64, descending: u32, coarse: bool) !void {
    var trial: Trial = .init(n);
    defer trial.deinit();
    const x = trial.random(if (coarse) .bf16 else .f32, .{ n, 3, 1, 1 }, .gaps);
    if (coarse) for (0..n) |i| trial.set(x, .{ i, 1, 0, 0 }, @floatFromInt(i * 7 % 5));
    const y = trial.empty(.i32, x.ne, .gaps);
    const params: reductions.ArgsortParams = .{ .descending = descending };
    try trial.run(.argsort, argsort, params, &.{x}, &.{y});
    for (0..3) |row| {
        var seen: [3000]bool = @splat(false);
        for (0..n) |i| {
            const index: u64 = @trunc(trial.get(y, .{ i, row, 0, 0 }));
            try testing.expect(!seen[index]);
            seen[index] = true;
            if (i == 0) continue;
            const before: u64 = @trunc(trial.get(y, .{ i - 1, row, 0, 0 }));
            const a = trial.get(x, .{ before, row, 0, 0 });
            const b = trial.get(x, .{ index, row, 0, 0 });
            try testing.expect(if (descending == 1) a >= b else a <= b);
            if (a == b) try testing.expect(before < index);
        }
    }
}

test "argsort of any length, in both directions, keeps the order of equals" {
    for ([_]u64{ 0, 1, 2, 7, 64, 65, 300, 2500 }) |n| for (0..2) |descending| {
        try checkSorted(n, @intCast(descending), false);
        try checkSorted(n, @intCast(descending), true);
    };
}

test "zeros are equal whatever their sign and NaN is the largest" {
    var trial: Trial = .init(1);
    defer trial.deinit();
    const inf = std.math.inf(f64);
    const values = [_]f64{ 0, std.math.nan(f64), -0.0, -inf, inf, 0 };
    const x = trial.of(.f32, .{ 6, 1, 1, 1 }, &values);
    const y = trial.empty(.i32, x.ne, .packed_rows);
    const params: reductions.ArgsortParams = .{ .descending = 0 };
    try trial.run(.argsort, argsort, params, &.{x}, &.{y});
    for ([_]f64{ 3, 0, 2, 5, 4, 1 }, 0..) |expected, i| {
        try testing.expectEqual(expected, trial.get(y, .{ i, 0, 0, 0 }));
    }
}

test "top_k is the start of the descending order, also where values are equal" {
    for ([_]u64{ 8, 33, 100, 2500 }) |n| for ([_]u32{ 1, 2, 5, 8 }) |k| {
        for ([_]bool{ false, true }) |coarse| {
            var trial: Trial = .init(n + k);
            defer trial.deinit();
            const x = trial.random(.f32, .{ n, 4, 1, 1 }, .packed_rows);
            if (coarse) for (0..n) |i| trial.set(x, .{ i, 1, 0, 0 }, @floatFromInt(i * 7 % 5));
            trial.set(x, .{ n / 2, 2, 0, 0 }, std.math.nan(f64));
            for (0..n) |i| trial.set(x, .{ i, 3, 0, 0 }, -std.math.inf(f64));
            const sorted = trial.empty(.i32, x.ne, .packed_rows);
            const params: reductions.ArgsortParams = .{ .descending = 1 };
            try trial.run(.argsort, argsort, params, &.{x}, &.{sorted});
            const y = trial.empty(.i32, .{ k, 4, 1, 1 }, .gaps);
            try trial.run(.top_k, top_k, reductions.TopKParams{ .k = k }, &.{x}, &.{y});
            for (0..4) |row| for (0..k) |i| {
                const at: [4]u64 = .{ i, row, 0, 0 };
                try testing.expectEqual(trial.get(sorted, at), trial.get(y, at));
            };
        }
    };
}
