//! Lanes on the host: a `PerLane` is the values of all 32 lanes.

use super::{LANES, Lane, PerLane};
use core::marker::PhantomData;
use core::panic::Location;

/// All lanes' values.
pub(super) type Stored<T> = [T; LANES];

/// A lane's number.
pub(super) type Number = usize;

/// The source line of an operation.
pub(super) type Line = &'static Location<'static>;

/// The caller's line.
#[inline]
#[track_caller]
pub(super) fn caller() -> Line {
    Location::caller()
}

impl<T> PerLane<T> {
    #[inline]
    pub(super) const fn splat_stored(value: T) -> Self
    where
        T: Copy,
    {
        PerLane([value; LANES])
    }

    /// Applies a function, the same in every lane, to each lane's value.
    #[inline]
    pub(crate) fn map<U>(self, value: impl Fn(T) -> U) -> PerLane<U>
    where
        T: Copy,
    {
        PerLane(mapped(self.0, value))
    }

    /// Applies a function, the same in every lane, to each lane's values.
    #[inline]
    pub(crate) fn zip<U, R>(self, other: PerLane<U>, value: impl Fn(T, U) -> R) -> PerLane<R>
    where
        T: Copy,
        U: Copy,
    {
        PerLane(core::array::from_fn(|lane| value(self.0[lane], other.0[lane])))
    }

    #[inline]
    pub(crate) fn lane_ref(&self, lane: Lane<'_>) -> &T {
        &self.0[lane.id()]
    }
}

/// Access to all lanes' values, in order, for the simulator.
impl<T> PerLane<T> {
    pub(crate) fn from_array(values: [T; LANES]) -> Self {
        PerLane(values)
    }

    pub(crate) fn array(&self) -> &[T; LANES] {
        &self.0
    }

    pub(crate) fn array_mut(&mut self) -> &mut [T; LANES] {
        &mut self.0
    }
}

impl Lane<'_> {
    pub(crate) fn simulated(number: usize) -> Self {
        Lane { number, _closure: PhantomData }
    }

    #[inline]
    pub(super) fn number(self) -> usize {
        self.number
    }
}

// The functions that make arrays are compiled once for all closures with the same result type, and
// not once for each closure. By rustc's estimate (`-Zdump-mono-stats`), this project's kernels then
// have an eighth less to compile.

/// `[element(0), element(1), ..]`.
#[inline]
pub(crate) fn array<T, const N: usize>(element: impl Fn(usize) -> T) -> [T; N] {
    simulated(&element)
}

/// `[value(array[0]), value(array[1]), ..]`.
#[inline]
pub(crate) fn mapped<T: Copy, U, const N: usize>(array: [T; N], value: impl Fn(T) -> U) -> [U; N] {
    simulated(&|index: usize| value(array[index]))
}

/// Replaces `dyn Fn`, whose vtable would contain each closure three times.
trait Element<T> {
    fn at(&self, index: usize) -> T;
}

impl<T, F: Fn(usize) -> T> Element<T> for F {
    fn at(&self, index: usize) -> T {
        self(index)
    }
}

#[inline(never)]
fn simulated<T, const N: usize>(element: &dyn Element<T>) -> [T; N] {
    core::array::from_fn(|index| element.at(index))
}

/// The types that a lane closure may capture.
///
/// A lane closure runs once for each lane. It may read uniform and per-lane values, and write
/// global and shared memory. A lane's value may leave it only as its result. By any other way, the
/// value would pass for a uniform one.
///
/// So these types cannot be captured:
///
/// - interior mutability (`Cell`, atomics) and raw pointers,
/// - the warp and the block, as all lanes must reach their collectives together.
///
/// On the CPU, stable Rust decides by [`Sync`], which permits atomics. A build for a GPU refuses
/// them too: there this is an auto trait.
///
/// A `static` is not captured. The builder refuses kernels that use a mutable `static`.
#[diagnostic::on_unimplemented(
    message = "a lane closure must not capture a `Cell`, a raw pointer, a warp, a warpgroup, a \
               block or a cluster",
    label = "this lane closure captures one of them, or uses a type that contains one",
    note = "a lane closure runs once per lane: collectives (`sync`, `load`, `accumulate`, ...) \
            belong outside of it, and a value leaves it only as its result, a `PerLane`",
    note = "compute before the closure what it needs of a warp or a block, such as `warp.index()`",
    note = "all that it captures must be `Sync`; a build for a GPU names the type that it refuses"
)]
pub trait LaneCapture: Sync {}

#[diagnostic::do_not_recommend]
impl<T: Sync + ?Sized> LaneCapture for T {}

/// The trait to implement for a handle with a pointer, so that lane closures may capture it.
pub(crate) use core::marker::Sync as Capturable;
