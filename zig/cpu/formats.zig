//! Reading and writing rows of the storage formats on behalf of TypeScript.

const std = @import("std");
const dtypes = @import("../dtype.zig");
const formats = @import("../kernels/formats.zig");
const Table = @import("../kernels/formats/table.zig").Table;
const isa = @import("isa.zig");
const problems = @import("../runtime/problem.zig");
const ok = @intFromEnum(problems.Status.ok);

const tables: [isa.names.len]*const Table = blk: {
    var list: [isa.names.len]*const Table = undefined;
    for (isa.names, &list) |name, *table| {
        table.* = @extern(*const Table, .{ .name = "leaven_formats_" ++ name });
    }
    break :blk list;
};

const Rows = struct { dtype: dtypes.DType, count: usize, len: usize };

/// Turns `rows` rows of `n` values of a dtype into f32.
pub fn dequantize(code: u32, from: [*]const u8, to: [*]f32, rows: f64, n: f64) u32 {
    const r = check(code, rows, n) orelse return refuse(code, rows, n);
    if (!formats.canDequantize(r.dtype))
        return problems.fail(.unsupported, "{t} cannot be read", .{r.dtype});
    const done = tables[isa.current()].dequantize(r.dtype, from, to, r.count, r.len);
    std.debug.assert(done);
    return ok;
}

/// Turns f32 rows into a dtype; `importance` is null or one weight per value of a row.
pub fn quantize(
    code: u32,
    from: [*]const f32,
    to: [*]u8,
    rows: f64,
    n: f64,
    importance: ?[*]const f32,
) u32 {
    const r = check(code, rows, n) orelse return refuse(code, rows, n);
    if (!formats.canQuantize(r.dtype, true))
        return problems.fail(.unsupported, "{t} cannot be written", .{r.dtype});
    if (!formats.canQuantize(r.dtype, importance != null))
        return problems.fail(.unsupported, "{t} needs an importance matrix", .{r.dtype});
    const done = tables[isa.current()].quantize(r.dtype, from, to, r.count, r.len, importance);
    std.debug.assert(done);
    return ok;
}

fn check(code: u32, rows: f64, n: f64) ?Rows {
    const max = 1 << 40;
    if (!(rows >= 0 and rows < max and n >= 0 and n < max) or code > 0xffff) return null;
    const dtype = dtypes.fromCode(@intCast(code)) orelse return null;
    const len: usize = @intFromFloat(n);
    const count: usize = @intFromFloat(rows);
    const bytes = dtypes.rowBytes(dtype, len) orelse return null;
    // Neither side may be larger than an address can count.
    _ = std.math.mul(usize, count, @max(bytes, len * @sizeOf(f32))) catch return null;
    return .{ .dtype = dtype, .count = count, .len = len };
}

fn refuse(code: u32, rows: f64, n: f64) u32 {
    return problems.fail(
        .invalid_argument,
        "dtype {d} has no {d} rows of {d} values",
        .{ code, rows, n },
    );
}

test "rows go through the kernels of the chosen instruction set and back" {
    var values: [2 * 64]f32 = undefined;
    for (&values, 0..) |*value, i| value.* = @floatFromInt(@as(i32, @intCast(i)) - 64);
    const code = @intFromEnum(dtypes.DType.q8_0);
    var bytes: [4 * 34]u8 = undefined;
    try std.testing.expectEqual(ok, quantize(code, &values, &bytes, 2, 64, null));
    var back: [2 * 64]f32 = undefined;
    try std.testing.expectEqual(ok, dequantize(code, &bytes, &back, 2, 64));
    for (values, back) |value, read| try std.testing.expectApproxEqAbs(value, read, 0.26);
}

test "wrong sizes, unknown dtypes and a missing importance matrix are refused" {
    var values: [256]f32 = @splat(1);
    var bytes: [1024]u8 = undefined;
    const iq1_s = @intFromEnum(dtypes.DType.iq1_s);
    try std.testing.expect(ok != quantize(iq1_s, &values, &bytes, 1, 256, null));
    try std.testing.expect(ok != quantize(iq1_s, &values, &bytes, 1, 255, &values));
    try std.testing.expect(ok != quantize(5000, &values, &bytes, 1, 256, null));
    try std.testing.expect(ok != quantize(0, &values, &bytes, std.math.nan(f64), 1, null));
    try std.testing.expect(ok != dequantize(0, &bytes, &values, 1e12, 1e12));
    try std.testing.expect(ok != dequantize(0, &bytes, &values, -1, 1));
    const q8_row = @intFromEnum(dtypes.DType.q8_row);
    try std.testing.expect(ok != dequantize(q8_row, &bytes, &values, 1, 32));
    try std.testing.expect(ok != quantize(q8_row, &values, &bytes, 1, 32, null));
}
