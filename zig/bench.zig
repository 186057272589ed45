//! Speed of the linear and quantize_row kernels on one thread, for one instruction set: bytes per
//! second with few columns against read bandwidth, operations per second with many columns
//! against the peak of the unit; both are measured between the repeats. Medians. Seconds are those
//! that the thread ran, so that other processes disturb less.
//!
//!   zig build bench-kernels-v4_vnni -- [--types q8_0,f16] [--m 1,512] [--k 4096] [--n 4096] [--mib
//! 256]

const std = @import("std");
const abi = @import("kernels/abi.zig");
const ceilings = @import("bench/ceilings.zig");
const dtypes = @import("dtype.zig");
const quantize_row = @import("kernels/quantize_row.zig").quantize_row;
const linear = @import("kernels/linear.zig").linear;
const DType = dtypes.DType;

const repeats = 9;
/// With up to this many columns the weights' bytes are counted, beyond it the operations.
const few_columns = 16;

const Options = struct {
    types: []const u8 = "",
    columns: []const u8 = "1,8,512",
    k: u64 = 4096,
    n: u64 = 4096,
    /// Weights are copied until they are this large together, so that no cache holds them.
    mib: u64 = 256,

    fn parse(args: std.process.Args) !Options {
        var options: Options = .{};
        var it = args.iterate();
        _ = it.skip();
        while (it.next()) |name| {
            const value = it.next() orelse return error.MissingValue;
            if (std.mem.eql(u8, name, "--types")) {
                options.types = value;
            } else if (std.mem.eql(u8, name, "--m")) {
                options.columns = value;
            } else if (std.mem.eql(u8, name, "--k")) {
                options.k = try std.fmt.parseInt(u64, value, 10);
            } else if (std.mem.eql(u8, name, "--n")) {
                options.n = try std.fmt.parseInt(u64, value, 10);
            } else if (std.mem.eql(u8, name, "--mib")) {
                options.mib = try std.fmt.parseInt(u64, value, 10);
            } else return error.UnknownOption;
        }
        return options;
    }
};

const Bench = struct {
    io: std.Io,
    gpa: std.mem.Allocator,
    scratch: []align(64) u8,
    streamed: []u8,

    fn tensor(bench: *Bench, dtype: DType, ne0: u64, ne1: u64) !abi.Tensor {
        const row = dtypes.rowBytes(dtype, ne0) orelse return error.CutsBlock;
        const data = try bench.gpa.alignedAlloc(u8, .@"64", row * ne1 + 8);
        var generator: std.Random.DefaultPrng = .init(1);
        // As floats of any width these are neither infinite nor subnormal, which would be slow.
        for (0..row * ne1 / 8) |i| {
            const word = generator.next() & 0x3b3b3b3b3b3b3b3b | 0x0808080808080808;
            data[i * 8 ..][0..8].* = @bitCast(word);
        }
        return .{
            .data = data.ptr,
            .dtype = dtype,
            .ne = .{ ne0, ne1, 1, 1 },
            .nb = .{ dtypes.layout(dtype).block_bytes, row, row * ne1, row * ne1 },
        };
    }

    fn seconds(bench: *Bench) f64 {
        const now = std.Io.Clock.now(.cpu_thread, bench.io);
        return @as(f64, @floatFromInt(now.nanoseconds)) / 1e9;
    }

    /// Runs all items in hand-outs of the plan's grain.
    fn execute(
        bench: *Bench,
        kernel: abi.Kernel,
        operands: []const abi.Tensor,
        y: *const abi.Tensor,
    ) !void {
        var status: abi.Status = .{};
        var task: abi.Task = .{
            .op = .linear,
            .source_count = @intCast(operands.len),
            .output_count = 1,
            .params = @ptrCast(&@as(u32, 0)),
            .sources = @splat(null),
            .outputs = @splat(null),
            .status = &status,
        };
        for (operands, 0..) |*operand, i| task.sources[i] = operand;
        task.outputs[0] = y;
        var plan: abi.Plan = .{};
        kernel.plan(&task, &plan);
        if (!plan.supported) return error.Unsupported;
        if (plan.thread_scratch > bench.scratch.len) return error.ScratchTooSmall;
        var item: u64 = 0;
        while (item < plan.items) : (item += plan.grain) {
            kernel.run(&task, item, @min(item + plan.grain, plan.items), bench.scratch.ptr);
        }
    }

    /// Bytes or operations per second of a ceiling.
    fn peak(bench: *Bench, unit: Unit) f64 {
        const before = bench.seconds();
        const work = switch (unit) {
            .bytes => ceilings.read(bench.streamed),
            .f32_operations => ceilings.mulAdds(),
            .byte_operations => ceilings.byteDots(),
        };
        return work / (bench.seconds() - before);
    }

    fn linearRow(bench: *Bench, dtype: DType, k: u64, n: u64, m: u64) !void {
        const quantized = dtypes.isQuantized(dtype);
        const matrix_bytes = (dtypes.rowBytes(dtype, k) orelse return) * n;
        const copies = if (m > few_columns) 1 else @max(1, bench.streamed.len / matrix_bytes);
        var w = try bench.tensor(dtype, k, n * copies);
        defer bench.free(w);
        const x = try bench.tensor(if (quantized) .q8_row else .f32, k, m);
        defer bench.free(x);
        const y = try bench.tensor(.f32, n, m);
        defer bench.free(y);
        const all = w.data;
        w.ne[1] = n;
        const many: Unit = if (quantized) .byte_operations else .f32_operations;
        const unit: Unit = if (m <= few_columns) .bytes else many;
        var rates: [repeats]f64 = undefined;
        var peaks: [repeats]f64 = undefined;
        bench.execute(linear, &.{ w, x }, &y) catch return;
        for (&rates, &peaks) |*rate, *ceiling| {
            const before = bench.seconds();
            for (0..copies) |i| {
                w.data = all + i * n * w.nb[1];
                try bench.execute(linear, &.{ w, x }, &y);
            }
            const amount = if (unit == .bytes) matrix_bytes * copies else 2 * k * n * m;
            const work: f64 = @floatFromInt(amount);
            rate.* = work / (bench.seconds() - before);
            ceiling.* = bench.peak(unit);
        }
        w.data = all;
        w.ne[1] = n * copies;
        report(@tagName(dtype), m, unit, &rates, &peaks);
    }

    fn quantizeRow(bench: *Bench, k: u64, m: u64) !void {
        const x = try bench.tensor(.f32, k, m);
        defer bench.free(x);
        const y = try bench.tensor(.q8_row, k, m);
        defer bench.free(y);
        var rates: [repeats]f64 = undefined;
        var peaks: [repeats]f64 = undefined;
        for (&rates, &peaks) |*rate, *ceiling| {
            const before = bench.seconds();
            try bench.execute(quantize_row, &.{x}, &y);
            rate.* = @as(f64, @floatFromInt(x.nb[2])) / (bench.seconds() - before);
            ceiling.* = bench.peak(.bytes);
        }
        report("quantize", m, .bytes, &rates, &peaks);
    }

    fn free(bench: *Bench, t: abi.Tensor) void {
        const size = t.nb[1] * t.ne[1] + 8;
        bench.gpa.free(@as([]align(64) u8, @alignCast(t.data[0..size])));
    }
};

const Unit = enum { bytes, f32_operations, byte_operations };

fn median(values: *[repeats]f64) f64 {
    std.mem.sort(f64, values, {}, std.sort.asc(f64));
    return values[repeats / 2];
}

fn report(name: []const u8, m: u64, unit: Unit, rates: *[repeats]f64, peaks: *[repeats]f64) void {
    var shares: [repeats]f64 = undefined;
    for (&shares, rates, peaks) |*share, rate, peak| share.* = rate / peak;
    std.debug.print("{s:<8} m {d:>4}  {d:>7.1} of {d:>6.1} {s:<8} {d:>5.1} %\n", .{
        name,                  m, median(rates) / 1e9, median(peaks) / 1e9,
        switch (unit) {
            .bytes => "GB/s",
            .f32_operations => "GFLOP/s",
            .byte_operations => "GOP/s",
        },
        100 * median(&shares),
    });
}

fn listed(list: []const u8, name: []const u8) bool {
    if (list.len == 0) return true;
    var it = std.mem.splitScalar(u8, list, ',');
    while (it.next()) |entry| if (std.mem.eql(u8, entry, name)) return true;
    return false;
}

pub fn main(init: std.process.Init) !void {
    const gpa = std.heap.page_allocator;
    const options: Options = try .parse(init.minimal.args);
    var bench: Bench = .{
        .io = init.io,
        .gpa = gpa,
        .scratch = try gpa.alignedAlloc(u8, .@"64", 1 << 20),
        .streamed = try gpa.alloc(u8, options.mib << 20),
    };
    for (0..bench.streamed.len / 8) |i| bench.streamed[i * 8 ..][0..8].* = @bitCast(i);
    // Let the clock rise.
    for (0..200) |_| _ = ceilings.byteDots();
    var columns = std.mem.splitScalar(u8, options.columns, ',');
    while (columns.next()) |text| {
        const m = try std.fmt.parseInt(u64, text, 10);
        if (listed(options.types, "quantize")) try bench.quantizeRow(options.k, m);
        for (std.enums.values(DType)) |dtype| {
            if (listed(options.types, @tagName(dtype))) {
                try bench.linearRow(dtype, options.k, options.n, m);
            }
        }
    }
}
