//! What one core can do at most, measured: reading memory, f32 multiply-adds, byte dot products.

const std = @import("std");
const simd = @import("../kernels/simd.zig");
const dot = @import("../kernels/linear/dot.zig");

/// Reads all bytes once; returns how many that were.
pub noinline fn read(data: []const u8) f64 {
    const V = @Vector(simd.lanes, u32);
    const size = @sizeOf(V);
    var sums: [4]V = @splat(@splat(0));
    var i: usize = 0;
    while (i + 4 * size <= data.len) : (i += 4 * size) {
        simd.prefetch(@intFromPtr(data.ptr) + i + 8192, 4 * size);
        inline for (&sums, 0..) |*sum, j| sum.* +%= simd.load(V, data.ptr + i + j * size);
    }
    inline for (sums) |sum| std.mem.doNotOptimizeAway(sum);
    return @floatFromInt(i);
}

const rounds = 1_000_000;

/// Independent multiply-adds in registers; returns the operations, two for each.
pub noinline fn mulAdds() f64 {
    const chains = if (simd.register_count == 32) 12 else 10;
    var x: simd.F32 = @splat(0.999);
    var y: simd.F32 = @splat(1e-3);
    var sums: [chains]simd.F32 = undefined;
    inline for (&sums, 0..) |*sum, i| sum.* = @splat(i);
    for (0..rounds) |_| {
        asm volatile (""
            : [x] "+v" (x),
              [y] "+v" (y),
        );
        inline for (&sums) |*sum| sum.* = simd.mulAdd(sum.*, x, y);
    }
    inline for (sums) |sum| std.mem.doNotOptimizeAway(sum);
    return rounds * chains * simd.lanes * 2;
}

/// Independent dot products of unsigned with signed bytes, two operations for each product.
pub noinline fn byteDots() f64 {
    const chains = if (simd.has_vnni) 12 else 8;
    const Sum = dot.Sum(.{ .unsigned = 63 }, 1);
    var w: simd.U8 = @splat(3);
    var a: simd.U8 = @splat(2);
    var totals: [chains]simd.I32 = @splat(@splat(0));
    for (0..rounds) |_| {
        inline for (&totals) |*total| {
            asm volatile (""
                : [w] "+v" (w),
                  [a] "+v" (a),
            );
            var sum = Sum.begin(total.*);
            sum.add(0, w, a);
            total.* = sum.finish(total.*);
        }
    }
    inline for (totals) |total| std.mem.doNotOptimizeAway(total);
    return rounds * chains * simd.lanes * 4 * 2;
}
