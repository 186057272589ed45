//! Searches for the scale (and min) of a group of values with the least weighted error.
//!
//! Bytes must equal those of the reference, so every sum is taken in the order of the values and
//! each expression rounds where the reference's does. Speed comes from `lanes` groups searched
//! side by side: value i of all groups lies in one vector, and what the reference does by
//! branches is done by masks.

const std = @import("std");
const rounding = @import("rounding.zig");

/// Groups whose magnitudes are all smaller are zero.
pub const tiny = 1e-15;

/// The scales that `affine` tries are those at which the largest level is
/// `max + first + i * step`.
pub const Tries = struct { first: f32, step: f32, count: usize };

/// The tries when there is an importance matrix.
pub const fine_tries: Tries = .{ .first = -0.9, .step = 0.05, .count = 37 };

/// What a value off by d costs.
pub const Loss = enum { absolute, squared };

pub fn Search(comptime lanes: usize, comptime n: usize) type {
    return struct {
        pub const V = @Vector(lanes, f32);
        pub const I = @Vector(lanes, i32);
        const zero: V = @splat(0);
        const one: V = @splat(1);

        /// `groups` neighbouring groups of n values, turned so that one vector holds value i of
        /// each; lanes beyond `groups` are zero.
        pub fn turn(src: [*]const f32, groups: usize) [n]V {
            var turned: [n][lanes]f32 = @splat(@splat(0));
            for (0..@min(groups, lanes)) |lane| {
                for (0..n) |i| turned[i][lane] = src[lane * n + i];
            }
            var out: [n]V = undefined;
            for (turned, &out) |row, *vector| vector.* = row;
            return out;
        }

        /// The inverse of `turn`, for numbers below 256.
        pub fn turnBack(numbers: *const [n]I, out: *[lanes * n]u8) void {
            for (numbers, 0..) |vector, i| {
                const bytes: [lanes]u8 = rounding.lowByte(vector);
                for (bytes, 0..) |byte, lane| out[lane * n + i] = byte;
            }
        }

        /// The sum over each group, in order.
        pub fn sum(x: *const [n]V) V {
            var total = zero;
            for (x) |value| total += value;
            return total;
        }

        pub const Symmetric = struct { scales: V, levels: [n]I };

        /// x = scale * (level - half), levels 0 .. 2 * half - 1. Nineteen scales are tried.
        pub fn symmetric(half: i32, x: *const [n]V, w: *const [n]V) Symmetric {
            const extreme = signedExtreme(x);
            const half_float: f32 = @floatFromInt(half);
            var level_inverse = @as(V, @splat(-half_float)) / extreme.value;
            var sums = correlate(half, x, w, level_inverse);
            var scale = @select(f32, sums.l2 != zero, sums.lx / sums.l2, zero);
            var best = scale * sums.lx;
            for (0..19) |i| {
                if (i == 9) continue;
                const step = @as(f32, @floatFromInt(i)) - 9;
                const inverse = @as(V, @splat(-(half_float + 0.1 * step))) / extreme.value;
                sums = correlate(half, x, w, inverse);
                const better = both(sums.l2 > zero, sums.lx * sums.lx > best * sums.l2);
                scale = @select(f32, better, sums.lx / sums.l2, scale);
                best = @select(f32, better, scale * sums.lx, best);
                level_inverse = @select(f32, better, inverse, level_inverse);
            }
            const dead = extreme.magnitude < @as(V, @splat(tiny));
            var out: Symmetric = undefined;
            out.scales = @select(f32, dead, zero, scale);
            for (x, &out.levels) |value, *level| {
                const l = rounding.nearestIn(level_inverse * value, -half, half - 1);
                level.* = @select(i32, dead, @as(I, @splat(0)), l +% @as(I, @splat(half)));
            }
            return out;
        }

        const Sums = struct { lx: V, l2: V };

        fn correlate(half: i32, x: *const [n]V, w: *const [n]V, inverse: V) Sums {
            var sums: Sums = .{ .lx = zero, .l2 = zero };
            for (x, w) |value, weight| {
                const l = toFloat(rounding.nearestIn(inverse * value, -half, half - 1));
                sums.lx += weight * value * l;
                sums.l2 += weight * l * l;
            }
            return sums;
        }

        /// Like `symmetric`, with the weight x * x: one scale is tried, then single levels are
        /// moved as long as that helps, five rounds at most.
        pub fn symmetricByMoves(half: i32, x: *const [n]V) Symmetric {
            const extreme = signedExtreme(x);
            const half_float: f32 = @floatFromInt(half);
            const inverse = @as(V, @splat(-half_float)) / extreme.value;
            var l: [n]V = undefined;
            var sums: Sums = .{ .lx = zero, .l2 = zero };
            for (x, &l) |value, *level| {
                level.* = toFloat(rounding.nearestIn(inverse * value, -half, half - 1));
                const weight = value * value;
                sums.lx += weight * value * level.*;
                sums.l2 += weight * level.* * level.*;
            }
            for (0..5) |_| {
                var moved: @Vector(lanes, bool) = @splat(false);
                for (x, &l) |value, *level| {
                    const weight = value * value;
                    var lx = sums.lx - weight * value * level.*;
                    var l2 = sums.l2 - weight * level.* * level.*;
                    const positive = lx > zero;
                    const next = toFloat(rounding.nearestIn(value * l2 / lx, -half, half - 1));
                    lx += weight * value * next;
                    l2 += weight * next * next;
                    const gain = lx * lx * sums.l2 > sums.lx * sums.lx * l2;
                    const accept = both(both(positive, next != level.*), both(l2 > zero, gain));
                    level.* = @select(f32, accept, next, level.*);
                    sums.lx = @select(f32, accept, lx, sums.lx);
                    sums.l2 = @select(f32, accept, l2, sums.l2);
                    moved = either(moved, accept);
                }
                // Another round would do the same as this one.
                if (!@reduce(.Or, moved)) break;
            }
            const dead = extreme.magnitude < @as(V, @splat(tiny));
            const scale = @select(f32, sums.l2 > zero, sums.lx / sums.l2, zero);
            var out: Symmetric = undefined;
            out.scales = @select(f32, dead, zero, scale);
            for (l, &out.levels) |level, *number| {
                const shifted: I = @intFromFloat(level + @as(V, @splat(half_float)));
                number.* = @select(i32, dead, @as(I, @splat(0)), shifted);
            }
            return out;
        }

        pub const Affine = struct {
            scales: V,
            /// What is subtracted; never negative for finite input.
            mins: V,
            levels: [n]I,
        };

        /// x = scale * level - min, levels 0 .. max.
        pub fn affine(
            comptime measured: Loss,
            max: i32,
            tries: Tries,
            x: *const [n]V,
            w: *const [n]V,
        ) Affine {
            const range = measure(x, w);
            const max_float: f32 = @floatFromInt(max);
            const inverse_at_first = @as(V, @splat(max_float)) / (range.high - range.low);
            var state: AffineState = .{
                .scale = one / inverse_at_first,
                .low = range.low,
                .level_inverse = inverse_at_first,
                .level_low = range.low,
                .best = zero,
            };
            var l: [n]V = undefined;
            assign(max, x, state.level_inverse, state.low, &l);
            state.best = lossOf(measured, x, w, &l, state.scale, state.low);
            for (0..tries.count) |i| {
                const steps = tries.first + tries.step * @as(f32, @floatFromInt(i)) + max_float;
                const inverse = @as(V, @splat(steps)) / (range.high - state.low);
                assign(max, x, inverse, state.low, &l);
                const fit = regress(x, w, &l, range.weight, range.weighted);
                const loss = lossOf(measured, x, w, &l, fit.scale, fit.low);
                const better = both(fit.valid, loss < state.best);
                state.level_inverse = @select(f32, better, inverse, state.level_inverse);
                state.level_low = @select(f32, better, state.low, state.level_low);
                state.best = @select(f32, better, loss, state.best);
                state.scale = @select(f32, better, fit.scale, state.scale);
                state.low = @select(f32, better, fit.low, state.low);
            }
            const flat = range.high == range.low;
            var out: Affine = .{
                .scales = @select(f32, flat, zero, state.scale),
                .mins = -@select(f32, flat, range.low, state.low),
                .levels = undefined,
            };
            for (x, &out.levels) |value, *level| {
                const exact = state.level_inverse * (value - state.level_low);
                const held = rounding.nearestIn(exact, 0, max);
                level.* = @select(i32, flat, @as(I, @splat(0)), held);
            }
            return out;
        }

        const AffineState = struct { scale: V, low: V, level_inverse: V, level_low: V, best: V };

        /// `low` is at most 0; `weight` sums w and `weighted` w * x.
        const Range = struct { low: V, high: V, weight: V, weighted: V };

        fn measure(x: *const [n]V, w: *const [n]V) Range {
            var range: Range = .{
                .low = x[0],
                .high = x[0],
                .weight = w[0],
                .weighted = w[0] * x[0],
            };
            for (x[1..], w[1..]) |value, weight| {
                range.low = @select(f32, value < range.low, value, range.low);
                range.high = @select(f32, value > range.high, value, range.high);
                range.weight += weight;
                range.weighted += weight * value;
            }
            range.low = @select(f32, range.low > zero, zero, range.low);
            return range;
        }

        fn assign(max: i32, x: *const [n]V, inverse: V, low: V, l: *[n]V) void {
            for (x, l) |value, *level| {
                level.* = toFloat(rounding.nearestIn(inverse * (value - low), 0, max));
            }
        }

        fn lossOf(
            comptime measured: Loss,
            x: *const [n]V,
            w: *const [n]V,
            l: *const [n]V,
            scale: V,
            low: V,
        ) V {
            var total = zero;
            for (x, w, l) |value, weight, level| {
                const diff = scale * level + low - value;
                total += weight * (if (measured == .absolute) @abs(diff) else diff * diff);
            }
            return total;
        }

        const Fit = struct { scale: V, low: V, valid: @Vector(lanes, bool) };

        /// Weighted linear regression of x on the levels, with `low` held at or below 0.
        fn regress(x: *const [n]V, w: *const [n]V, l: *const [n]V, weight_sum: V, x_sum: V) Fit {
            var l_sum = zero;
            var l2_sum = zero;
            var xl_sum = zero;
            for (x, w, l) |value, weight, level| {
                l_sum += weight * level;
                l2_sum += weight * level * level;
                xl_sum += weight * level * value;
            }
            const determinant = weight_sum * l2_sum - l_sum * l_sum;
            const scale = (weight_sum * xl_sum - x_sum * l_sum) / determinant;
            const low = (l2_sum * x_sum - l_sum * xl_sum) / determinant;
            const above = low > zero;
            return .{
                .scale = @select(f32, above, xl_sum / l2_sum, scale),
                .low = @select(f32, above, zero, low),
                .valid = determinant > zero,
            };
        }

        pub const NonNegative = struct { scales: V, levels: [n]I };

        /// x = scale * level, levels 0 .. max. Nine scales are tried, then single levels are moved
        /// as long as that helps, five rounds at most. A level below 0, of a negative x, wraps
        /// around to a byte as it does in the reference.
        pub fn nonNegative(max: i32, x: *const [n]V, w: *const [n]V) NonNegative {
            var largest = zero;
            for (x) |value| largest = @select(f32, largest > value, largest, value);
            const inverse = bestInverse(max, x, w, largest);
            var l: [n]V = undefined;
            var sums: Sums = .{ .lx = zero, .l2 = zero };
            for (x, w, &l) |value, weight, *level| {
                const number = below(max, rounding.nearest(inverse * value));
                level.* = toFloat(wrap(number));
                sums.lx += weight * value * toFloat(number);
                sums.l2 += weight * toFloat(number) * toFloat(number);
            }
            for (0..5) |_| {
                var moved: @Vector(lanes, bool) = @splat(false);
                for (x, w, &l) |value, weight, *level| {
                    var lx = sums.lx - weight * value * level.*;
                    var l2 = sums.l2 - weight * level.* * level.*;
                    const positive = both(lx > zero, l2 > zero);
                    const number = below(max, rounding.nearest(value * l2 / lx));
                    const next = toFloat(number);
                    lx += weight * value * next;
                    l2 += weight * next * next;
                    const gain = lx * lx * sums.l2 > sums.lx * sums.lx * l2;
                    const accept = both(both(positive, next != level.*), gain);
                    level.* = @select(f32, accept, toFloat(wrap(number)), level.*);
                    sums.lx = @select(f32, accept, lx, sums.lx);
                    sums.l2 = @select(f32, accept, l2, sums.l2);
                    moved = either(moved, accept);
                }
                if (!@reduce(.Or, moved)) break;
            }
            const dead = largest < @as(V, @splat(tiny));
            const scale = @select(f32, sums.l2 > zero, sums.lx / sums.l2, zero);
            var out: NonNegative = undefined;
            out.scales = @select(f32, dead, zero, scale);
            for (l, &out.levels) |level, *number| {
                number.* = @select(i32, dead, @as(I, @splat(0)), @as(I, @intFromFloat(level)));
            }
            return out;
        }

        /// The inverse scale of least squared error.
        fn bestInverse(max: i32, x: *const [n]V, w: *const [n]V, largest: V) V {
            const max_float: f32 = @floatFromInt(max);
            var chosen = @as(V, @splat(max_float)) / largest;
            const first_scale = one / chosen;
            var best = zero;
            for (x, w) |value, weight| {
                const level = toFloat(wrap(rounding.nearest(chosen * value)));
                const diff = value - first_scale * level;
                best += weight * diff * diff;
            }
            for (0..9) |i| {
                if (i == 4) continue;
                const step = @as(f32, @floatFromInt(i)) - 4;
                const inverse = @as(V, @splat(0.1 * step + max_float)) / largest;
                const scale = one / inverse;
                var loss = zero;
                for (x, w) |value, weight| {
                    const level = toFloat(below(max, rounding.nearest(inverse * value)));
                    const diff = value - scale * level;
                    loss += weight * diff * diff;
                }
                const better = loss < best;
                best = @select(f32, better, loss, best);
                chosen = @select(f32, better, inverse, chosen);
            }
            return chosen;
        }

        pub const Extreme = struct { value: V, magnitude: V };

        /// The first value whose magnitude no other exceeds; 0 when there is none above 0.
        pub fn signedExtreme(x: *const [n]V) Extreme {
            var out: Extreme = .{ .value = zero, .magnitude = zero };
            for (x) |value| {
                const larger = @abs(value) > out.magnitude;
                out.magnitude = @select(f32, larger, @abs(value), out.magnitude);
                out.value = @select(f32, larger, value, out.value);
            }
            return out;
        }

        fn below(max: i32, number: I) I {
            return @min(number, @as(I, @splat(max)));
        }

        fn wrap(number: I) I {
            return number & @as(I, @splat(255));
        }

        fn toFloat(number: I) V {
            return @floatFromInt(number);
        }

        fn both(a: @Vector(lanes, bool), b: @Vector(lanes, bool)) @Vector(lanes, bool) {
            return @select(bool, a, b, a);
        }

        fn either(a: @Vector(lanes, bool), b: @Vector(lanes, bool)) @Vector(lanes, bool) {
            return @select(bool, a, a, b);
        }
    };
}

/// The largest number, or 0 (not minus zero) when none is above it.
pub fn atLeastZero(numbers: anytype) f32 {
    const found = @reduce(.Max, numbers);
    return if (found > 0) found else 0;
}

/// The sum of squares, in order.
pub fn sumOfSquares(x: []const f32) f32 {
    var sum: f32 = 0;
    for (x) |value| sum += value * value;
    return sum;
}

/// importance * sqrt(sigma2 + x * x) for each value; `sigma2` is near the mean square.
pub fn weigh(x: []const f32, importance: [*]const f32, sigma2: f32, weights: []f32) void {
    for (x, importance, weights) |value, factor, *weight| {
        weight.* = factor * @sqrt(sigma2 + value * value);
    }
}
