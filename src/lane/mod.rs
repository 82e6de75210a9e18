//! What differs by lane: [`PerLane`], and the [`Lane`] that a lane closure is given.

mod array;
mod grid;
mod sealed;
mod site;

pub(crate) use array::{array, mapped};
pub use grid::Grid;
pub use sealed::Sealed;
pub use site::Site;

use core::cell::UnsafeCell;
use core::marker::PhantomData;

/// Lanes in a warp.
pub const LANES: usize = 32;

/// What a lane closure may capture.
///
/// A lane closure runs once per lane. It may read what is uniform and what is per lane, and write global
/// and shared memory; it may not carry a lane's value out by another way than its result, or the value
/// would pass for a uniform one. So it captures no interior mutability (`Cell`, atomics), no raw pointer,
/// and neither the warp nor the block, whose collectives all lanes must reach together.
///
/// A `static` is not captured; but a kernel that uses one that can change is refused by the builder.
///
/// # Safety
/// An implementation by hand asserts that a shared reference to the type carries no value from one lane
/// to uniform code.
#[diagnostic::on_unimplemented(
    message = "a lane closure must not capture `{Self}`",
    label = "this lane closure captures `{Self}`",
    note = "a lane closure runs once per lane: collectives (`sync`, `load`, `accumulate`, ...) belong outside of it, and a value leaves it only as its result, a `PerLane`"
)]
pub unsafe auto trait LaneCapture {}

impl<T: ?Sized> !LaneCapture for UnsafeCell<T> {}
impl<T: ?Sized> !LaneCapture for *const T {}
impl<T: ?Sized> !LaneCapture for *mut T {}

/// A value that may differ from lane to lane of a warp.
///
/// It is made by [`Warp::each`](crate::Warp::each) and read with [`Lane::get`] inside another lane closure;
/// outside of one there is no way to ask for "the" value. On the device it is the lane's own `T` and
/// costs nothing; on the host it holds all 32.
///
/// ```
/// use ptx_matrix::*;
///
/// #[kernel(threads = 32)]
/// fn squares(block: &Block, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     let mut numbers: PerLane<u32> = warp.each(|lane| lane.id() as u32);
///     warp.update(&mut numbers, |_, number| *number *= *number);
///     warp.each(|lane| d.set(lane.id(), lane.get(&numbers)));
/// }
///
/// let mut d = [0; 32];
/// squares::simulate(1, &mut d).unwrap();
/// assert_eq!(d[7], 49);
/// ```
#[derive(Clone, Copy)]
#[cfg_attr(target_arch = "nvptx64", repr(transparent))]
pub struct PerLane<T>(#[cfg(target_arch = "nvptx64")] T, #[cfg(not(target_arch = "nvptx64"))] [T; LANES]);

impl<T> PerLane<T> {
    /// The same value in every lane.
    #[inline(always)]
    pub const fn splat(value: T) -> Self
    where
        T: Copy,
    {
        #[cfg(target_arch = "nvptx64")]
        return PerLane(value);
        #[cfg(not(target_arch = "nvptx64"))]
        return PerLane([value; LANES]);
    }

    /// A function, the same in every lane, of each lane's value.
    #[inline(always)]
    pub(crate) fn map<U>(self, value: impl Fn(T) -> U) -> PerLane<U>
    where
        T: Copy,
    {
        #[cfg(target_arch = "nvptx64")]
        return PerLane(value(self.0));
        #[cfg(not(target_arch = "nvptx64"))]
        return PerLane(crate::lane::mapped(self.0, value));
    }

    /// A function, the same in every lane, of each lane's values.
    #[inline(always)]
    pub(crate) fn zip<U, R>(self, other: PerLane<U>, value: impl Fn(T, U) -> R) -> PerLane<R>
    where
        T: Copy,
        U: Copy,
    {
        #[cfg(target_arch = "nvptx64")]
        return PerLane(value(self.0, other.0));
        #[cfg(not(target_arch = "nvptx64"))]
        return PerLane(core::array::from_fn(|lane| value(self.0[lane], other.0[lane])));
    }

    #[inline(always)]
    pub(crate) fn lane_ref(&self, lane: Lane<'_>) -> &T {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = lane;
            &self.0
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return &self.0[lane.id()];
    }
}

/// The executing lane's own value: what an instruction's operand is made of.
#[cfg(target_arch = "nvptx64")]
impl<T> PerLane<T> {
    #[inline(always)]
    pub(crate) fn from_own(value: T) -> Self {
        PerLane(value)
    }

    #[inline(always)]
    pub(crate) fn own(self) -> T {
        self.0
    }

    #[inline(always)]
    pub(crate) fn own_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// All lanes' values, in order: what the simulator computes with.
#[cfg(not(target_arch = "nvptx64"))]
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

// SAFETY: all-zero bytes are a `T` in each lane.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for PerLane<T> {}

/// One lane of a warp, inside a lane closure.
#[derive(Clone, Copy)]
pub struct Lane<'w> {
    #[cfg(not(target_arch = "nvptx64"))]
    id: usize,
    _closure: PhantomData<&'w ()>,
}

impl Lane<'_> {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Lane { _closure: PhantomData }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn simulated(id: usize) -> Self {
        Lane { id, _closure: PhantomData }
    }

    /// The lane's number in its warp, `0..32`.
    #[inline(always)]
    pub fn id(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: reading a special register; a lane, so this is a lane closure.
        return unsafe { core::arch::nvptx::_thread_idx_x() as u32 } as usize % LANES;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.id;
    }

    /// This lane's value.
    #[inline(always)]
    pub fn get<T: Copy>(self, values: &PerLane<T>) -> T {
        *values.lane_ref(self)
    }
}
