//! The sixteen levels of iq4_nl and iq4_xs, chosen by the reference to fit bell-shaped weights.

/// Ascending.
pub const levels = [16]i8{
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
};
