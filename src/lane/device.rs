//! Lanes on the device: a `PerLane` is the executing lane's own value.

use super::{LANES, Lane, PerLane};
use core::cell::UnsafeCell;
use core::marker::PhantomData;

/// The executing lane's own value.
pub(super) type Stored<T> = T;

/// A lane's number: nothing, as the hardware knows it.
pub(super) type Number = ();

/// The source line of an operation: nothing, as only the simulator reports it.
pub(super) type Line = ();

/// The caller's line.
#[inline]
pub(super) fn caller() -> Line {}

impl<T> PerLane<T> {
    #[inline]
    pub(super) const fn splat_stored(value: T) -> Self
    where
        T: Copy,
    {
        PerLane(value)
    }

    /// Applies a function, the same in every lane, to each lane's value.
    #[inline]
    pub(crate) fn map<U>(self, value: impl Fn(T) -> U) -> PerLane<U>
    where
        T: Copy,
    {
        PerLane(value(self.0))
    }

    /// Applies a function, the same in every lane, to each lane's values.
    #[inline]
    pub(crate) fn zip<U, R>(self, other: PerLane<U>, value: impl Fn(T, U) -> R) -> PerLane<R>
    where
        T: Copy,
        U: Copy,
    {
        PerLane(value(self.0, other.0))
    }

    #[inline]
    pub(crate) fn lane_ref(&self, lane: Lane<'_>) -> &T {
        let _ = lane;
        &self.0
    }
}

/// Access to the executing lane's own value, the operand of an instruction.
impl<T> PerLane<T> {
    #[inline]
    pub(crate) fn from_own(value: T) -> Self {
        PerLane(value)
    }

    #[inline]
    pub(crate) fn own(self) -> T {
        self.0
    }

    #[inline]
    pub(crate) fn own_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Lane<'_> {
    #[inline]
    pub(crate) fn current() -> Self {
        Lane { number: (), _closure: PhantomData }
    }

    #[inline]
    pub(super) fn number(self) -> usize {
        // SAFETY: it reads a special register. A `Lane` exists only in a lane closure.
        unsafe { core::arch::nvptx::_thread_idx_x() as u32 as usize % LANES }
    }
}

/// `[element(0), element(1), ..]`.
#[inline]
pub(crate) fn array<T, const N: usize>(element: impl Fn(usize) -> T) -> [T; N] {
    core::array::from_fn(element)
}

/// `[value(array[0]), value(array[1]), ..]`.
#[inline]
pub(crate) fn mapped<T: Copy, U, const N: usize>(array: [T; N], value: impl Fn(T) -> U) -> [U; N] {
    array.map(value)
}

/// The types that a lane closure may capture. A shared reference to one carries no value from one
/// lane to uniform code.
///
/// # Safety
/// A manual implementation asserts this.
#[diagnostic::on_unimplemented(
    message = "a lane closure must not capture `{Self}`",
    label = "this lane closure captures `{Self}`",
    note = "a lane closure runs once per lane: collectives (`sync`, `load`, `accumulate`, ...) \
            belong outside of it, and a value leaves it only as its result, a `PerLane`",
    note = "compute before the closure what it needs of a warp or a block, such as `warp.index()`"
)]
pub unsafe auto trait LaneCapture {}

impl<T: ?Sized> !LaneCapture for UnsafeCell<T> {}
impl<T: ?Sized> !LaneCapture for *const T {}
impl<T: ?Sized> !LaneCapture for *mut T {}

/// The trait to implement for a handle with a pointer, so that lane closures may capture it.
pub(crate) use LaneCapture as Capturable;
