//! Arrays that functions make.
//!
//! On the device as `core` makes them: inlined, and in registers. For the simulator the functions that do it are compiled once for all closures
//! with the same result, and not with each: with that the kernels of this project are an eighth less to compile, by rustc's estimate
//! (`-Zdump-mono-stats`).

/// `[element(0), element(1), ..]`.
#[inline(always)]
pub(crate) fn array<T, const N: usize>(element: impl Fn(usize) -> T) -> [T; N] {
    #[cfg(target_arch = "nvptx64")]
    return core::array::from_fn(element);
    #[cfg(not(target_arch = "nvptx64"))]
    simulated(&element)
}

/// `[value(array[0]), value(array[1]), ..]`.
#[inline(always)]
pub(crate) fn mapped<T: Copy, U, const N: usize>(array: [T; N], value: impl Fn(T) -> U) -> [U; N] {
    #[cfg(target_arch = "nvptx64")]
    return array.map(value);
    #[cfg(not(target_arch = "nvptx64"))]
    simulated(&|index: usize| value(array[index]))
}

/// In place of `dyn Fn`, whose table would have each closure three times.
#[cfg(not(target_arch = "nvptx64"))]
trait Element<T> {
    fn at(&self, index: usize) -> T;
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T, F: Fn(usize) -> T> Element<T> for F {
    fn at(&self, index: usize) -> T {
        self(index)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(never)]
fn simulated<T, const N: usize>(element: &dyn Element<T>) -> [T; N] {
    core::array::from_fn(|index| element.at(index))
}
