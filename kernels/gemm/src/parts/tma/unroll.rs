//! Arrays of accumulators with unrolled iteration.

/// Arrays whose elements stay in registers, because each step is written out.
///
/// LLVM unrolls a loop over a warpgroup's accumulators too late to keep them in registers.
pub trait Unroll<T, const COUNT: usize>: Sized {
    /// Makes the array of `of(index)`.
    fn from_each(of: impl FnMut(usize) -> T) -> Self;

    /// Maps each element to `of(index, element)`.
    fn map_each<R>(self, of: impl FnMut(usize, T) -> R) -> [R; COUNT];
}

impl<T> Unroll<T, 1> for [T; 1] {
    #[inline]
    fn from_each(mut of: impl FnMut(usize) -> T) -> Self {
        [of(0)]
    }

    #[inline]
    fn map_each<R>(self, mut of: impl FnMut(usize, T) -> R) -> [R; 1] {
        let [first] = self;
        [of(0, first)]
    }
}

impl<T> Unroll<T, 2> for [T; 2] {
    #[inline]
    fn from_each(mut of: impl FnMut(usize) -> T) -> Self {
        [of(0), of(1)]
    }

    #[inline]
    fn map_each<R>(self, mut of: impl FnMut(usize, T) -> R) -> [R; 2] {
        let [first, second] = self;
        [of(0, first), of(1, second)]
    }
}

impl<T> Unroll<T, 3> for [T; 3] {
    #[inline]
    fn from_each(mut of: impl FnMut(usize) -> T) -> Self {
        [of(0), of(1), of(2)]
    }

    #[inline]
    fn map_each<R>(self, mut of: impl FnMut(usize, T) -> R) -> [R; 3] {
        let [first, second, third] = self;
        [of(0, first), of(1, second), of(2, third)]
    }
}
