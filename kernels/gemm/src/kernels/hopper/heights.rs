//! What a consumer has for each 64 of its rows.

/// So many of it, one behind the other in the program.
///
/// In a loop they would be in memory, as a loop over the registers of a warpgroup's sums is unrolled too late to find registers for them.
pub trait Heights<const HIGH: usize> {
    /// One for each.
    fn each<T>(of: impl FnMut(usize) -> T) -> [T; HIGH];

    /// What becomes of each.
    fn map<T, R>(all: [T; HIGH], of: impl FnMut(usize, T) -> R) -> [R; HIGH];
}

/// Consumers that are so many times 64 rows high.
pub struct High<const HIGH: usize>;

impl Heights<1> for High<1> {
    #[inline(always)]
    fn each<T>(mut of: impl FnMut(usize) -> T) -> [T; 1] {
        [of(0)]
    }

    #[inline(always)]
    fn map<T, R>([top]: [T; 1], mut of: impl FnMut(usize, T) -> R) -> [R; 1] {
        [of(0, top)]
    }
}

impl Heights<2> for High<2> {
    #[inline(always)]
    fn each<T>(mut of: impl FnMut(usize) -> T) -> [T; 2] {
        [of(0), of(1)]
    }

    #[inline(always)]
    fn map<T, R>([top, low]: [T; 2], mut of: impl FnMut(usize, T) -> R) -> [R; 2] {
        [of(0, top), of(1, low)]
    }
}

impl Heights<3> for High<3> {
    #[inline(always)]
    fn each<T>(mut of: impl FnMut(usize) -> T) -> [T; 3] {
        [of(0), of(1), of(2)]
    }

    #[inline(always)]
    fn map<T, R>([top, middle, low]: [T; 3], mut of: impl FnMut(usize, T) -> R) -> [R; 3] {
        [of(0, top), of(1, middle), of(2, low)]
    }
}
