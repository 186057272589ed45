//! Reading and writing rows of the storage formats on behalf of TypeScript.

const std = @import("std");
const dtypes = @import("../dtype.zig");
const kernels = @import("../kernels/formats.zig");
const problems = @import("problem.zig");
const ok = @intFromEnum(problems.Status.ok);

const Rows = struct { dtype: dtypes.DType, count: usize, len: usize, bytes: usize };

/// Turns `rows` rows of `n` values of a dtype into f32.
pub fn dequantize(code: u32, from: [*]const u8, to: [*]f32, rows: f64, n: f64) u32 {
    const r = check(code, rows, n) orelse return refuse(code, n);
    for (0..r.count) |i| {
        if (!kernels.dequantizeRow(r.dtype, from + i * r.bytes, to + i * r.len, r.len))
            return problems.fail(.unsupported, "{t} cannot be read", .{r.dtype});
    }
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
    const r = check(code, rows, n) orelse return refuse(code, n);
    for (0..r.count) |i| {
        if (!kernels.quantizeRow(r.dtype, from + i * r.len, to + i * r.bytes, r.len, importance))
            return problems.fail(.unsupported, "{t} cannot be written without an importance matrix", .{r.dtype});
    }
    return ok;
}

fn check(code: u32, rows: f64, n: f64) ?Rows {
    const max = 1 << 40;
    if (!(rows >= 0 and rows < max and n >= 0 and n < max) or code > 0xffff) return null;
    const dtype = dtypes.fromCode(@intCast(code)) orelse return null;
    const len: usize = @intFromFloat(n);
    const bytes = dtypes.rowBytes(dtype, len) orelse return null;
    return .{ .dtype = dtype, .count = @intFromFloat(rows), .len = len, .bytes = @intCast(bytes) };
}

fn refuse(code: u32, n: f64) u32 {
    return problems.fail(.invalid_argument, "dtype {d} has no rows of {d} values", .{ code, n });
}
