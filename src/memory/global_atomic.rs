//! Slices of global memory for atomic operations, as kernel parameters.

use crate::element::Element;
use crate::lane::{AccessKind, Capturable, Site};
use crate::machine::RawSlice;
use core::marker::PhantomData;

/// A slice of global memory that threads access only by atomic operations: counters, flags and
/// locks, for all blocks of a launch.
///
/// All threads have copies of the handle. Its operations are
/// [`fetch`](Self::fetch), [`load`](Self::load), [`store`](Self::store),
/// [`exchange`](Self::exchange), [`compare_exchange`](Self::compare_exchange) and
/// [`wait_until`](Self::wait_until). Each has a [memory order](crate::sync::MemoryOrder). By these,
/// blocks hand on data in a [`GlobalMut`](super::GlobalMut).
///
/// In the simulator, the blocks of a launch with such a parameter take turns, in an order by the
/// seed: one runs up to its next atomic operation, then another. As many run at a time as wait for
/// each other. On a GPU, a block that waits for another needs it to run. So launch no more blocks
/// than the GPU runs at a time. Or let blocks wait only for those that have taken an earlier number
/// from a counter.
///
/// Blocks that take the next tile from a counter:
///
/// ```
/// use ptx_matrix::copy::reduction::Add;
/// use ptx_matrix::prelude::*;
/// use ptx_matrix::sync::Relaxed;
///
/// /// Doubles tiles of 32 numbers. Each warp takes the next tile from a counter.
/// #[kernel(threads = 64)]
/// fn double(block: &Block, next: GlobalAtomic<u32>, a: Global<u32>, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     loop {
///         let taken = warp.each(|lane| match lane.id() {
///             0 => next.fetch(lane, Add, 0, 1, Relaxed),
///             _ => 0,
///         });
///         let tile = warp.broadcast(&taken) as usize;
///         if tile * 32 >= a.len() {
///             break;
///         }
///         warp.each(|lane| d.set(tile * 32 + lane.id(), 2 * a.get(tile * 32 + lane.id())));
///     }
/// }
///
/// let (a, mut d, mut next) = (Vec::from_iter(0..320), [0; 320], [0]);
/// double::simulate(2, &mut next, &a, &mut d).check();
/// // Ten tiles, and four warps that find no further one.
/// assert_eq!((d[319], next[0]), (638, 14));
/// ```
///
/// The block that comes last adds the sums of all:
///
/// ```
/// use ptx_matrix::copy::reduction::Add;
/// use ptx_matrix::prelude::*;
/// use ptx_matrix::sync::AcquireRelease;
///
/// /// Each block writes a sum, and the last one adds all of them to `total`.
/// #[kernel(threads = 32)]
/// fn total(
///     block: &Block,
///     done: GlobalAtomic<u32>,
///     a: Global<u32>,
///     sums: GlobalMut<u32>,
///     total: GlobalMut<u32>,
/// ) {
///     let (warp, index, blocks) = (block.warp(), block.index().x as usize, block.grid().x);
///     warp.each(|lane| {
///         if lane.id() == 0 {
///             sums.set(index, (0..32).map(|i| a.get(index * 32 + i)).sum());
///             if done.fetch(lane, Add, 0, 1, AcquireRelease) == blocks - 1 {
///                 total.set(0, (0..blocks as usize).map(|i| sums.get(lane, i)).sum());
///             }
///         }
///     });
/// }
///
/// let (a, mut sums, mut sum) = (Vec::from_iter(0..128), [0; 4], [0]);
/// total::simulate(4, &mut [0], &a, &mut sums, &mut sum).check();
/// assert_eq!(sum, [127 * 64]);
/// ```
pub struct GlobalAtomic<'k, T> {
    slice: RawSlice<T>,
    _kernel: PhantomData<&'k mut [T]>,
}

impl<T> Clone for GlobalAtomic<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for GlobalAtomic<'_, T> {}
// SAFETY: elements go in and out by value, with a `Lane` only.
unsafe impl<T: Element> Capturable for GlobalAtomic<'_, T> {}

impl<T> GlobalAtomic<'_, T> {
    /// Makes the slice of `len` elements from `start` on, for the kernel parameter `name`.
    ///
    /// # Safety
    /// The elements are valid for `'k`, in memory that the kernel's threads reach. Nobody else uses
    /// them meanwhile.
    #[inline]
    #[doc(hidden)]
    pub unsafe fn new(start: *mut T, len: usize, name: &'static str) -> Self {
        GlobalAtomic { slice: RawSlice::new(start, len, name).atomic(), _kernel: PhantomData }
    }

    /// The address, as a launch passes it on.
    #[allow(dead_code, reason = "the host binds a kernel's parameters")]
    pub(crate) fn address(self) -> u64 {
        self.slice.address()
    }

    /// No thread accesses the elements by anything but atomic operations, so that nothing changes.
    #[allow(dead_code, reason = "the host binds a kernel's parameters")]
    pub(crate) fn in_place(self, _: bool) -> Self {
        self
    }

    /// The number of elements.
    #[inline]
    pub const fn len(self) -> usize {
        self.slice.len()
    }

    /// Whether the slice has no elements.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.slice.len() == 0
    }

    /// The slice without its first `count` elements.
    ///
    /// If the slice is shorter, the kernel stops. Reports count from the first remaining element.
    #[inline]
    #[track_caller]
    pub fn skip(self, count: usize) -> Self {
        GlobalAtomic { slice: self.slice.skip(count, Site::here()), _kernel: PhantomData }
    }
}

impl<T: Element> GlobalAtomic<'_, T> {
    /// The address of an element, for an atomic operation. Beyond the slice, the kernel stops.
    #[inline]
    pub(crate) fn to_operate(self, index: usize, access: AccessKind, site: Site) -> *mut T {
        self.slice.to_operate(index, access, site)
    }
}
