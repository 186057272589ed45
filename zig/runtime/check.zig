//! The program check: proves once that an image can do no harm, whatever wrote it. Every range,
//! shape and index is looked at; afterwards a run needs to check run-time data only.

const std = @import("std");
const dtypes = @import("../dtype.zig");
const ops = @import("../ops.zig");
const abi = @import("../kernels/abi.zig");
const image = @import("image.zig");
const memory = @import("memory.zig");
const problems = @import("problem.zig");
const Problem = problems.Problem;
const View = image.View;

/// Strides and sizes stay below this, so that address sums fit in 64 bits.
const bytes_max: u64 = 1 << 60;

/// A range for each operand and as many more: bounds what looking for hazards costs.
const ranges_max = 2 * (ops.sources_max + ops.outputs_max + 1);

/// Splits and copies between devices; looking for a wait's signal takes the square of it.
const segments_max = 1 << 12;

/// How far the fence values of one run may reach: the next run's start above them.
pub const fence_values: u64 = 1 << 20;

/// Checks a whole image with every extent at its maximum. `problem` says what is wrong with it.
pub fn whole(view: *const View, problem: *Problem) error{Check}!void {
    _ = memory.counters.checks.fetchAdd(1, .monotonic);
    var check: Check = .{ .view = view, .problem = problem };
    try check.slots();
    for (view.tensors, 0..) |*t, index| try check.tensor(t, index);
    for (view.records, 0..) |*r, index| try check.record(r, index);
    try check.segments();
    try check.fences();
    try check.ports();
}

/// Checks the shapes of all records again for tensors whose extents have changed.
pub fn shapes(view: *const View, tensors: []const abi.Tensor, problem: *Problem) error{Check}!void {
    var check: Check = .{ .view = view, .problem = problem };
    for (view.records, 0..) |*r, index| try check.shape(r, index, tensors);
}

const Check = struct {
    view: *const View,
    problem: *Problem,

    fn fail(c: *Check, comptime fmt: []const u8, args: anytype) error{Check} {
        c.problem.* = .init(.invalid_image, fmt, args);
        return error.Check;
    }

    fn slots(c: *Check) !void {
        for (c.view.slots, 0..) |s, i| {
            if (s.size_min >= bytes_max) return c.fail("slot {d}: size {d}", .{ i, s.size_min });
            if (std.enums.fromInt(image.BufferType, s.buffer_type) == null)
                return c.fail("slot {d}: buffer type {d}", .{ i, s.buffer_type });
            const lifetime = std.enums.fromInt(image.Lifetime, s.lifetime) orelse
                return c.fail("slot {d}: lifetime {d}", .{ i, s.lifetime });
            if (s.access == 0 or s.access > image.access_read | image.access_write)
                return c.fail("slot {d}: access {d}", .{ i, s.access });
            const writes = s.access & image.access_write != 0;
            if (writes and (lifetime == .weight or lifetime == .input))
                return c.fail("slot {d}: weights and inputs are read only", .{i});
        }
    }

    fn tensor(c: *Check, t: *const image.Tensor, index: usize) !void {
        if (t.slot >= c.view.slots.len) return c.fail("tensor {d}: slot {d}", .{ index, t.slot });
        const dtype = dtypes.fromCode(t.dtype) orelse
            return c.fail("tensor {d}: dtype {d}", .{ index, t.dtype });
        if (t.layout != 0) return c.fail("tensor {d}: layout {d}", .{ index, t.layout });
        try c.extent(t, index);
        const end = spanEnd(t, dtype) orelse
            return c.fail("tensor {d}: its size overflows", .{index});
        const size = c.view.slots[t.slot].size_min;
        if (end > size)
            return c.fail("tensor {d}: ends at {d} of slot {d}'s {d} bytes", .{
                index, end, t.slot, size,
            });
        const alignment = scalarBytes(dtype);
        if (t.offset % alignment != 0)
            return c.fail("tensor {d}: offset {d} is misaligned", .{ index, t.offset });
        for (t.nb) |stride| {
            if (stride % alignment != 0)
                return c.fail("tensor {d}: stride {d} is misaligned", .{ index, stride });
        }
    }

    fn extent(c: *Check, t: *const image.Tensor, index: usize) !void {
        if (t.extent == 0) return;
        if (t.extent > c.view.extents.len or t.extent_dim > 3 or t.extent_multiple == 0)
            return c.fail("tensor {d}: extent {d}", .{ index, t.extent });
        const max = c.view.extents[t.extent - 1].max;
        if (t.ne[t.extent_dim] != @as(u64, max) * t.extent_multiple)
            return c.fail("tensor {d}: not declared at its maximum", .{index});
    }

    fn record(c: *Check, r: *const image.Record, index: usize) !void {
        const info = ops.info(r.op) orelse return c.fail("record {d}: op {d}", .{ index, r.op });
        if (r.flags != 0) return c.fail("record {d}: flags {d}", .{ index, r.flags });
        if (r.params_size != info.params_size or r.params_offset % 4 != 0)
            return c.fail("{s}: params of {d} bytes", .{ info.name, r.params_size });
        if (!fits(r.params_offset, r.params_size, c.view.params.len))
            return c.fail("{s}: params at {d}", .{ info.name, r.params_offset });
        if (r.source_count > info.sources.len or r.output_count != info.output_count)
            return c.fail("{s}: {d} sources, {d} outputs", .{
                info.name, r.source_count, r.output_count,
            });
        const operand_count = @as(u64, r.source_count) + r.output_count;
        if (!fits(r.operand_first, operand_count, c.view.operands.len))
            return c.fail("{s}: operands at {d}", .{ info.name, r.operand_first });
        if (r.range_count > ranges_max or !fits(r.range_first, r.range_count, c.view.ranges.len))
            return c.fail("{s}: {d} ranges at {d}", .{ info.name, r.range_count, r.range_first });
        try c.operands(r, info);
        if (r.scratch != image.none) try c.scratch(r, info);
        try c.shape(r, index, null);
        for (c.view.outputs(r), 0..) |output, i| try c.placed(r, info, output, i);
    }

    fn operands(c: *Check, r: *const image.Record, info: *const ops.Info) !void {
        const sources = c.view.sources(r);
        for (info.sources, 0..) |declared, i| {
            if (i < sources.len and sources[i] != image.none) {
                try c.operand(info.name, r, sources[i], false);
            } else if (!declared.optional) {
                return c.fail("{s}: source {s} is missing", .{ info.name, declared.name });
            }
        }
        for (c.view.outputs(r)) |index| try c.operand(info.name, r, index, true);
    }

    fn scratch(c: *Check, r: *const image.Record, info: *const ops.Info) !void {
        try c.operand(info.name, r, r.scratch, true);
        for (c.view.sources(r)) |source| {
            if (source != image.none and c.meet(source, r.scratch))
                return c.fail("{s}: scratch overlaps a source", .{info.name});
        }
    }

    /// What is written must not be read at the same time, unless the op does so element by element
    /// in the same place, and no element may be written twice.
    fn placed(
        c: *Check,
        r: *const image.Record,
        info: *const ops.Info,
        index: u32,
        number: usize,
    ) !void {
        if (overlapsItself(&c.view.tensors[index]))
            return c.fail("{s}: output {d} overlaps itself", .{ info.name, number });
        if (r.scratch != image.none and c.meet(r.scratch, index))
            return c.fail("{s}: scratch overlaps an output", .{info.name});
        for (c.view.outputs(r)[0..number]) |other| {
            if (c.meet(other, index)) return c.fail("{s}: outputs overlap", .{info.name});
        }
        if (number == 0) if (info.updates) |source| try c.updates(info.name, r, source);
        for (c.view.sources(r), 0..) |source, i| {
            if (source == image.none or !c.meet(source, index)) continue;
            const updated = number == 0 and info.updates != null and info.updates.? == i;
            const in_place = number == 0 and c.samePlace(source, index) and
                std.mem.findScalar(u8, info.reuses, @intCast(i)) != null;
            if (!updated and !in_place)
                return c.fail("{s}: output {d} overlaps source {d}", .{ info.name, number, i });
        }
    }

    /// Whether any byte may belong to both tensors.
    fn meet(c: *Check, a: u32, b: u32) bool {
        const x = &c.view.tensors[a];
        const y = &c.view.tensors[b];
        const x_end = spanEnd(x, dtypes.fromCode(x.dtype).?).?;
        const y_end = spanEnd(y, dtypes.fromCode(y.dtype).?).?;
        return x.slot == y.slot and x.offset < y_end and y.offset < x_end;
    }

    fn samePlace(c: *Check, a: u32, b: u32) bool {
        const x = &c.view.tensors[a];
        const y = &c.view.tensors[b];
        return x.dtype == y.dtype and std.mem.eql(u64, &x.ne, &y.ne) and sameSteps(x, y);
    }

    fn operand(c: *Check, name: []const u8, r: *const image.Record, index: u32, write: bool) !void {
        if (index >= c.view.tensors.len) return c.fail("{s}: tensor {d}", .{ name, index });
        const t = &c.view.tensors[index];
        const needed: u8 = if (write) image.access_write else image.access_read;
        if (c.view.slots[t.slot].access & needed == 0)
            return c.fail("{s}: slot {d} does not allow it", .{ name, t.slot });
        const end = spanEnd(t, dtypes.fromCode(t.dtype).?).?;
        if (end == t.offset) return;
        for (c.view.ranges[r.range_first..][0..r.range_count]) |range| {
            const covers = range.slot == t.slot and range.begin <= t.offset and range.end >= end;
            if (covers and (!write or range.write != 0)) return;
        }
        return c.fail("{s}: tensor {d} is in no declared range", .{ name, index });
    }

    fn updates(c: *Check, name: []const u8, r: *const image.Record, source: u8) !void {
        const from = &c.view.tensors[c.view.sources(r)[source]];
        const to = &c.view.tensors[c.view.outputs(r)[0]];
        if (!sameSteps(from, to))
            return c.fail("{s}: the output is not the tensor it updates", .{name});
    }

    /// Runs the op's own rule; sizes come from `tensors` where given, else from the image.
    fn shape(c: *Check, r: *const image.Record, index: usize, tensors: ?[]const abi.Tensor) !void {
        const info = ops.info(r.op).?;
        var q: ops.shape.Inference = .{ .params = @alignCast(c.view.params.ptr + r.params_offset) };
        for (c.view.sources(r), 0..) |source, i| {
            if (source != image.none) q.sources[i] = c.shapeOf(source, tensors);
        }
        ops.shape.infer(r.op, &q) catch
            return c.fail("{s} (record {d}): {s}", .{ info.name, index, q.problem });
        for (c.view.outputs(r), 0..) |output, i| {
            const given = c.shapeOf(output, tensors);
            const wanted = q.outputs[i];
            if (given.dtype != wanted.dtype or !std.mem.eql(u64, &given.ne, &wanted.ne))
                return c.fail("{s} (record {d}): output {d} has another shape", .{
                    info.name, index, i,
                });
        }
    }

    fn shapeOf(c: *Check, index: u32, tensors: ?[]const abi.Tensor) ops.shape.Shape {
        if (tensors) |list| return .{ .dtype = list[index].dtype, .ne = list[index].ne };
        const t = &c.view.tensors[index];
        return .{ .dtype = dtypes.fromCode(t.dtype).?, .ne = t.ne };
    }

    /// Segments cover all records in order, and name tensors and fences that exist.
    fn segments(c: *Check) !void {
        if (c.view.segments.len > segments_max)
            return c.fail("{d} segments", .{c.view.segments.len});
        var next: u64 = 0;
        for (c.view.segments, 0..) |s, i| {
            const kind = std.enums.fromInt(image.SegmentKind, s.kind) orelse
                return c.fail("segment {d}: kind {d}", .{ i, s.kind });
            switch (kind) {
                .compute, .js => {
                    if (s.first != next) return c.fail("segment {d}: records out of order", .{i});
                    next += s.count;
                    if (next > c.view.records.len) return c.fail("segment {d}: too many", .{i});
                },
                .copy => try c.copy(&s, i),
                .signal, .wait => if (s.a >= c.view.header.fence_count)
                    return c.fail("segment {d}: fence {d}", .{ i, s.a }),
                .collective => return c.fail("segment {d}: reserved kind", .{i}),
            }
        }
        if (next != c.view.records.len) return c.fail("records outside every segment", .{});
    }

    fn copy(c: *Check, s: *const image.Segment, index: usize) !void {
        if (s.a >= c.view.tensors.len or s.b >= c.view.tensors.len)
            return c.fail("segment {d}: copies tensor {d} to {d}", .{ index, s.a, s.b });
        const from = &c.view.tensors[s.a];
        const to = &c.view.tensors[s.b];
        const same = from.dtype == to.dtype and std.mem.eql(u64, &from.ne, &to.ne) and
            std.mem.eql(u64, &from.nb, &to.nb) and from.extent == to.extent;
        if (!same) return c.fail("segment {d}: copies between different layouts", .{index});
        if (c.view.slots[from.slot].access & image.access_read == 0)
            return c.fail("segment {d}: the source cannot be read", .{index});
        if (c.view.slots[to.slot].access & image.access_write == 0)
            return c.fail("segment {d}: the target is read only", .{index});
        if (overlapsItself(to) or c.meet(s.a, s.b))
            return c.fail("segment {d}: what is copied overlaps", .{index});
    }

    /// Segments run in order, so a wait must find its signal before itself.
    fn fences(c: *Check) !void {
        const segments_of = c.view.segments;
        const count = c.view.header.fence_count;
        if (count > segments_of.len)
            return c.fail("{d} fences for {d} segments", .{ count, segments_of.len });
        for (segments_of, 0..) |wait, i| {
            const is_wait = wait.kind == @intFromEnum(image.SegmentKind.wait);
            if (!is_wait and wait.kind != @intFromEnum(image.SegmentKind.signal)) continue;
            if (wait.value >= fence_values)
                return c.fail("segment {d}: value {d}", .{ i, wait.value });
            if (!is_wait) continue;
            for (segments_of[0..i]) |signal| {
                if (signal.kind == @intFromEnum(image.SegmentKind.signal) and signal.a == wait.a and
                    signal.value >= wait.value) break;
            } else return c.fail("segment {d}: fence {d} is never signalled", .{ i, wait.a });
        }
    }

    fn ports(c: *Check) !void {
        for (c.view.ports, 0..) |p, i| {
            if (p.tensor >= c.view.tensors.len)
                return c.fail("port {d}: tensor {d}", .{ i, p.tensor });
            if (std.enums.fromInt(image.PortKind, p.kind) == null)
                return c.fail("port {d}: kind {d}", .{ i, p.kind });
            if (!fits(p.name_offset, p.name_size, c.view.names.len))
                return c.fail("port {d}: name", .{i});
        }
    }
};

/// Whether element (i, j, k, l) of both has one address. Strides of one element do not matter.
fn sameSteps(a: *const image.Tensor, b: *const image.Tensor) bool {
    if (a.slot != b.slot or a.offset != b.offset) return false;
    for (a.ne, a.nb, b.nb) |n, x, y| if (n > 1 and x != y) return false;
    return true;
}

fn fits(offset: u64, size: u64, total: u64) bool {
    return offset <= total and size <= total - offset;
}

/// Alignment that the values of a dtype need: blocks are read byte by byte.
pub fn scalarBytes(dtype: dtypes.DType) u32 {
    if (dtype == .q8_row) return 4;
    const l = dtypes.layout(dtype);
    return if (l.block_len == 1) l.block_bytes else 1;
}

/// Whether two elements of a sound tensor may share a byte: strides in order of size must each
/// reach beyond everything that the smaller ones span.
fn overlapsItself(t: *const image.Tensor) bool {
    const l = dtypes.layout(dtypes.fromCode(t.dtype).?);
    const counts = [4]u64{ t.ne[0] / l.block_len, t.ne[1], t.ne[2], t.ne[3] };
    for (counts) |n| if (n == 0) return false;
    var order = [4]u8{ 0, 1, 2, 3 };
    for (1..4) |i| {
        var k = i;
        while (k > 0 and t.nb[order[k]] < t.nb[order[k - 1]]) : (k -= 1) {
            std.mem.swap(u8, &order[k], &order[k - 1]);
        }
    }
    var span: u64 = l.block_bytes;
    for (order) |d| {
        if (counts[d] == 1) continue;
        if (t.nb[d] < span) return true;
        span += (counts[d] - 1) * t.nb[d];
    }
    return false;
}

/// The byte after the last one that a tensor touches, relative to its slot; null on overflow.
pub fn spanEnd(t: *const image.Tensor, dtype: dtypes.DType) ?u64 {
    const l = dtypes.layout(dtype);
    if (t.offset >= bytes_max) return null;
    var product: u64 = 1;
    for (t.ne, t.nb) |n, stride| {
        product = std.math.mul(u64, product, @max(n, 1)) catch return null;
        if (product >= ops.shape.elements_max or stride >= bytes_max) return null;
    }
    if (t.ne[0] % l.block_len != 0) return null;
    for (t.ne) |n| if (n == 0) return t.offset;
    // A quantized row of leaven's own layout is not made of blocks: it must be whole.
    if (l.block_len > 1 and t.nb[0] != l.block_bytes) return null;
    var end = t.offset + l.block_bytes;
    const counts = [4]u64{ t.ne[0] / l.block_len, t.ne[1], t.ne[2], t.ne[3] };
    for (counts, t.nb) |n, stride| {
        const reach = std.math.mul(u64, n - 1, stride) catch return null;
        end = std.math.add(u64, end, reach) catch return null;
    }
    return if (end < bytes_max) end else null;
}

fn tensorOf(offset: u64, ne: [4]u64, nb: [4]u64) image.Tensor {
    return .{
        .slot = 0,
        .dtype = 0,
        .layout = 0,
        .offset = offset,
        .ne = ne,
        .nb = nb,
        .extent = 0,
        .extent_dim = 0,
        .extent_multiple = 0,
    };
}

test "a tensor's span ends with its last element" {
    const t = tensorOf(8, .{ 3, 2, 1, 1 }, .{ 4, 100, 200, 200 });
    try std.testing.expectEqual(@as(?u64, 8 + 100 + 12), spanEnd(&t, .f32));
}

test "permuted and spaced tensors lie apart, repeated and interleaved ones may not" {
    for ([_]image.Tensor{
        tensorOf(0, .{ 3, 2, 1, 1 }, .{ 4, 12, 0, 0 }),
        tensorOf(0, .{ 2, 3, 1, 5 }, .{ 12, 4, 0, 24 }),
        tensorOf(0, .{ 3, 0, 1, 1 }, .{ 0, 0, 0, 0 }),
        tensorOf(0, .{ 1, 1, 1, 1 }, .{ 0, 0, 0, 0 }),
    }) |t| try std.testing.expect(!overlapsItself(&t));
    for ([_]image.Tensor{
        tensorOf(0, .{ 3, 2, 1, 1 }, .{ 4, 8, 0, 0 }),
        tensorOf(0, .{ 3, 2, 1, 1 }, .{ 4, 0, 0, 0 }),
        tensorOf(0, .{ 2, 1, 1, 1 }, .{ 0, 8, 8, 8 }),
    }) |t| try std.testing.expect(overlapsItself(&t));
}
