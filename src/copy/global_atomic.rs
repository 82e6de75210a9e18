//! The operations of [`GlobalAtomic`]: `atom`, and ordered loads and stores.

use super::reduction::AtomicReduction;
use crate::element::Element;
use crate::isa::Semantics;
use crate::lane::{AccessKind, Lane, Sealed, Site};
use crate::memory::GlobalAtomic;
use crate::raw;
use crate::sync::{Acquire, LoadOrder, MemoryOrder, StoreOrder};
use crate::target::{BuildTarget, Supports};

/// An element that atomic operations load, store and exchange: `u32`, `i32`, `f32`, `u64`, `i64` or
/// `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic loads, stores and exchanges",
    note = "`u32`, `i32`, `f32`, `u64`, `i64` and `f64` have them"
)]
pub trait AtomicElement: Element + Sealed {
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn load(from: *const Self, order: Semantics) -> Self;
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn store(to: *mut Self, value: Self, order: Semantics);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn exchange(at: *mut Self, value: Self, order: Semantics) -> Self;
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn compare_exchange(
        at: *mut Self,
        expected: Self,
        value: Self,
        order: Semantics,
    ) -> Result<Self, Self>;
}

macro_rules! elements {
    ($($element:ident $kind:ident;)*) => { pastey::paste! {$(
        impl AtomicElement for $element {
            #[inline]
            #[track_caller]
            unsafe fn load(from: *const Self, order: Semantics) -> Self {
                let from = from.cast();
                // SAFETY: the caller upholds the conditions.
                Self::from_bits(unsafe {
                    if order.acquires() {
                        raw::[<ld_acquire_gpu_global_ $kind>](from)
                    } else {
                        raw::[<ld_relaxed_gpu_global_ $kind>](from)
                    }
                })
            }

            #[inline]
            #[track_caller]
            unsafe fn store(to: *mut Self, value: Self, order: Semantics) {
                let (to, value) = (to.cast(), value.to_bits());
                // SAFETY: the caller upholds the conditions.
                unsafe {
                    if order.releases() {
                        raw::[<st_release_gpu_global_ $kind>](to, value);
                    } else {
                        raw::[<st_relaxed_gpu_global_ $kind>](to, value);
                    }
                }
            }

            #[inline]
            #[track_caller]
            unsafe fn exchange(at: *mut Self, value: Self, order: Semantics) -> Self {
                let (at, value) = (at.cast(), value.to_bits());
                // SAFETY: the caller upholds the conditions.
                Self::from_bits(unsafe {
                    match order {
                        Semantics::Relaxed => {
                            raw::[<atom_relaxed_gpu_global_exch_ $kind>](at, value)
                        }
                        Semantics::Acquire => {
                            raw::[<atom_acquire_gpu_global_exch_ $kind>](at, value)
                        }
                        Semantics::Release => {
                            raw::[<atom_release_gpu_global_exch_ $kind>](at, value)
                        }
                        Semantics::AcquireRelease => {
                            raw::[<atom_acq_rel_gpu_global_exch_ $kind>](at, value)
                        }
                    }
                })
            }

            #[inline]
            #[track_caller]
            unsafe fn compare_exchange(
                at: *mut Self,
                expected: Self,
                value: Self,
                order: Semantics,
            ) -> Result<Self, Self> {
                let (at, expected, value) = (at.cast(), expected.to_bits(), value.to_bits());
                // SAFETY: the caller upholds the conditions.
                let before = unsafe {
                    match order {
                        Semantics::Relaxed => {
                            raw::[<atom_relaxed_gpu_global_cas_ $kind>](at, expected, value)
                        }
                        Semantics::Acquire => {
                            raw::[<atom_acquire_gpu_global_cas_ $kind>](at, expected, value)
                        }
                        Semantics::Release => {
                            raw::[<atom_release_gpu_global_cas_ $kind>](at, expected, value)
                        }
                        Semantics::AcquireRelease => {
                            raw::[<atom_acq_rel_gpu_global_cas_ $kind>](at, expected, value)
                        }
                    }
                };
                let result = Self::from_bits(before);
                if before == expected { Ok(result) } else { Err(result) }
            }
        }
    )*}};
}
elements! {
    u32 b32;
    i32 b32;
    f32 b32;
    u64 b64;
    i64 b64;
    f64 b64;
}

impl<T: Element> GlobalAtomic<'_, T> {
    /// Reduces element `index` by a value, atomically: `element = op(element, value)`. Returns the
    /// element before. Beyond the slice, the kernel stops.
    ///
    /// Without a use of the result, the GPU executes a `red`. In `f32`, subnormal operands and
    /// results become zero.
    ///
    /// PTX: `atom.<order>.gpu.global` (ISA 9.7.13.5), from sm_75 on.
    /// [`AtomicReduction`] has the operations and elements.
    ///
    /// ```
    /// use ptx_matrix::copy::reduction::Add;
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sync::Relaxed;
    ///
    /// /// Moves the even numbers to the front, in any order. Returns their number in `count`.
    /// #[kernel(threads = 32)]
    /// fn evens(block: &Block, a: Global<u32>, count: GlobalAtomic<u32>, d: GlobalMut<u32>) {
    ///     let first = block.index().x as usize * 32;
    ///     block.warp().each(|lane| {
    ///         let value = a.get(first + lane.id());
    ///         if value % 2 == 0 {
    ///             d.set(count.fetch(lane, Add, 0, 1, Relaxed) as usize, value);
    ///         }
    ///     });
    /// }
    ///
    /// let (a, mut count, mut d) = (Vec::from_iter(0..64), [0], [0; 64]);
    /// evens::simulate(2, &a, &mut count, &mut d).check();
    /// d[..32].sort();
    /// assert_eq!((count[0], &d[..3], d[31]), (32, &[0, 2, 4][..], 62));
    /// ```
    #[inline]
    #[track_caller]
    pub fn fetch<R: AtomicReduction<T>, O: MemoryOrder>(
        self,
        lane: Lane<'_>,
        reduction: R,
        index: usize,
        value: T,
        order: O,
    ) -> T
    where
        BuildTarget: Supports<R::Needs>,
    {
        let _ = (lane, reduction, order);
        let at = self.to_operate(index, AccessKind::Atomic, Site::here());
        // SAFETY: an element of the slice, which only atomic operations access.
        unsafe { R::fetch_in_global(at, value, O::SEMANTICS) }
    }

    /// Loads element `index`. Beyond the slice, the kernel stops.
    ///
    /// PTX: `ld.<order>.gpu.global` (ISA 9.7.9.8), from sm_75 on.
    #[inline]
    #[track_caller]
    pub fn load<O: LoadOrder>(self, lane: Lane<'_>, index: usize, order: O) -> T
    where
        T: AtomicElement,
    {
        let _ = (lane, order);
        let from = self.to_operate(index, AccessKind::AtomicLoad, Site::here());
        // SAFETY: an element of the slice, which only atomic operations access.
        unsafe { T::load(from, O::SEMANTICS) }
    }

    /// Stores element `index`. Beyond the slice, the kernel stops.
    ///
    /// PTX: `st.<order>.gpu.global` (ISA 9.7.9.11), from sm_75 on.
    #[inline]
    #[track_caller]
    pub fn store<O: StoreOrder>(self, lane: Lane<'_>, index: usize, value: T, order: O)
    where
        T: AtomicElement,
    {
        let _ = (lane, order);
        let to = self.to_operate(index, AccessKind::AtomicStore, Site::here());
        // SAFETY: an element of the slice, which only atomic operations access.
        unsafe { T::store(to, value, O::SEMANTICS) }
    }

    /// Replaces element `index` by a value, atomically. Returns the element before. Beyond the
    /// slice, the kernel stops.
    ///
    /// PTX: `atom.<order>.gpu.global.exch` (ISA 9.7.13.5), from sm_75 on.
    #[inline]
    #[track_caller]
    pub fn exchange<O: MemoryOrder>(self, lane: Lane<'_>, index: usize, value: T, order: O) -> T
    where
        T: AtomicElement,
    {
        let _ = (lane, order);
        let at = self.to_operate(index, AccessKind::AtomicExchange, Site::here());
        // SAFETY: an element of the slice, which only atomic operations access.
        unsafe { T::exchange(at, value, O::SEMANTICS) }
    }

    /// Replaces element `index` by a value, atomically, if its bits are those of `expected`.
    /// Returns the element before: `Ok` if it was replaced. Beyond the slice, the kernel stops.
    ///
    /// PTX: `atom.<order>.gpu.global.cas` (ISA 9.7.13.5), from sm_75 on.
    ///
    /// # Errors
    /// The element is another one. It is returned.
    #[inline]
    #[track_caller]
    pub fn compare_exchange<O: MemoryOrder>(
        self,
        lane: Lane<'_>,
        index: usize,
        (expected, value): (T, T),
        order: O,
    ) -> Result<T, T>
    where
        T: AtomicElement,
    {
        let _ = (lane, order);
        let at = self.to_operate(index, AccessKind::AtomicExchange, Site::here());
        // SAFETY: an element of the slice, which only atomic operations access.
        unsafe { T::compare_exchange(at, expected, value, O::SEMANTICS) }
    }

    /// Loads element `index` again and again, until this holds of its value. Returns the value. The
    /// lane then sees what was written before the value was released.
    ///
    /// The simulator reports a deadlock if the blocks change no atomic element any more.
    ///
    /// PTX: a loop of `ld.acquire.gpu.global` (ISA 9.7.9.8), from sm_75 on.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sync::Release;
    ///
    /// /// The second block doubles what the first one writes.
    /// #[kernel(threads = 32)]
    /// fn hand_over(
    ///     block: &Block,
    ///     flag: GlobalAtomic<u32>,
    ///     data: GlobalMut<u32>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let (warp, is_first) = (block.warp(), block.index().x == 0);
    ///     if is_first {
    ///         warp.each(|lane| data.set(lane.id(), lane.id() as u32));
    ///         warp.sync(); // All lanes have written.
    ///         warp.elect(|lane| flag.store(lane, 0, 1, Release));
    ///     } else {
    ///         warp.elect(|lane| {
    ///             flag.wait_until(lane, 0, |flag| flag == 1);
    ///         });
    ///         warp.sync(); // All lanes see what the elected one sees.
    ///         warp.each(|lane| d.set(lane.id(), 2 * data.get(lane, lane.id())));
    ///     }
    /// }
    ///
    /// let mut d = [0; 32];
    /// hand_over::simulate(2, &mut [0], &mut [0; 32], &mut d).check();
    /// assert_eq!(d[31], 62);
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait_until(self, lane: Lane<'_>, index: usize, is_over: impl Fn(T) -> bool) -> T
    where
        T: AtomicElement,
    {
        let from = self.to_operate(index, AccessKind::AtomicLoad, Site::here());
        let _ = lane;
        loop {
            // SAFETY: an element of the slice, which only atomic operations access.
            let value = unsafe { T::load(from, Acquire::SEMANTICS) };
            if is_over(value) {
                return value;
            }
        }
    }
}
