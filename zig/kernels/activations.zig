//! Activation functions on vectors of f32.

const std = @import("std");
const elementary = @import("elementary.zig");
const simd = @import("simd.zig");
const vector = @import("vector.zig");
const V = vector.V;
const splat = vector.splat;

/// NaN stays NaN.
pub inline fn clamp(x: V, low: f32, high: f32) V {
    const raised = @select(f32, splat(low) > x, splat(low), x);
    return @select(f32, splat(high) < raised, splat(high), raised);
}

pub inline fn relu(x: V) V {
    return elementary.atLeast(x, 0);
}

pub inline fn elu(x: V) V {
    return @select(f32, x > splat(0), x, elementary.expm1(x));
}

/// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2 u).
pub inline fn gelu(x: V) V {
    const inner = simd.mulAdd(x * x, splat(0.044715), splat(1)) * x;
    return finite(x) * elementary.sigmoid(inner * splat(2 * @sqrt(2.0 / std.math.pi)));
}

pub inline fn geluQuick(x: V) V {
    return finite(x) * elementary.sigmoid(x * splat(1.702));
}

/// x (1 + erf(x / sqrt 2)) / 2.
pub inline fn geluErf(x: V) V {
    const tail = elementary.erfc(@abs(x) * splat(std.math.sqrt1_2)) * splat(0.5);
    const share = @select(f32, x < splat(0), tail, splat(1) - tail);
    return finite(x) * share;
}

/// Keeps -infinity times 0 from being NaN: the product is 0 long before.
inline fn finite(x: V) V {
    return elementary.atLeast(x, -1e4);
}

/// log(1 + e^x), and x where that is the same.
pub inline fn softplus(x: V) V {
    const sum = elementary.log1p(elementary.exp(elementary.atMost(x, 20)));
    return @select(f32, x > splat(20), x, sum);
}

pub inline fn hardsigmoid(x: V) V {
    return clamp((x + splat(3)) * splat(1.0 / 6.0), 0, 1);
}

pub inline fn hardswish(x: V) V {
    return elementary.atLeast(x, -3) * hardsigmoid(x);
}

pub inline fn sgn(x: V) V {
    const negative = @select(f32, x < splat(0), splat(-1), splat(0));
    return @select(f32, x > splat(0), splat(1), negative);
}

/// 1 above 0.
pub inline fn step(x: V) V {
    return @select(f32, x > splat(0), splat(1), splat(0));
}

/// To the nearest integer, halves away from 0.
pub inline fn round(x: V) V {
    const whole = @trunc(x);
    return @select(f32, @abs(x - whole) >= splat(0.5), whole + sgn(x), whole);
}
