//! Slices of global memory, as kernel parameters.

use crate::element::Element;
use crate::lane::{Capturable, Lane, Site};
use crate::machine::RawSlice;
use core::marker::PhantomData;

/// A slice of global memory that no thread writes while the kernel runs.
///
/// A value read from it at warp scope is the same in all lanes.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Computes `d = factor * a`. Threads beyond the slices do nothing.
/// #[kernel(threads = 64)]
/// fn scale(block: &Block, a: Global<f32>, d: GlobalMut<f32>, factor: f32) {
///     let first = block.index().x as usize * block.threads() + block.warp().index() * 32;
///     block.warp().each(|lane| {
///         let i = first + lane.id();
///         if i < a.len() {
///             d.set(i, factor * a.get(i));
///         }
///     });
/// }
///
/// let (a, mut d) = ([1.0; 100], [0.0; 100]);
/// scale::simulate(2, &a, &mut d, 3.0).unwrap();
/// assert_eq!(d[99], 3.0);
/// ```
pub struct Global<'k, T> {
    slice: RawSlice<T>,
    _kernel: PhantomData<&'k [T]>,
}

/// A slice of global memory that threads write.
///
/// All threads have copies of the handle. The kernel determines which thread writes which element,
/// and orders conflicting accesses. If two threads race for an element, one of their values is left
/// in it.
pub struct GlobalMut<'k, T> {
    slice: RawSlice<T>,
    _kernel: PhantomData<&'k mut [T]>,
}

macro_rules! handle {
    ($($handle:ident $is_mut:literal $pointer:tt),*) => {$(
        impl<T> Clone for $handle<'_, T> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $handle<'_, T> {}
        // SAFETY: elements go in and out by value, and values that may differ by lane are read with
        // a `Lane` only.
        unsafe impl<T: Element> Capturable for $handle<'_, T> {}

        impl<T> $handle<'_, T> {
            /// Makes the slice of `len` elements from `start` on, for the kernel parameter `name`.
            ///
            /// # Safety
            /// The elements are valid for `'k`, in memory that the kernel's threads reach. Nobody
            /// else writes them meanwhile, and for `GlobalMut` nobody else reads them.
            #[inline]
            #[doc(hidden)]
            pub unsafe fn new(start: *mut T, len: usize, name: &'static str) -> Self {
                $handle { slice: RawSlice::new(start, len, name), _kernel: PhantomData }
            }

            /// The address, as a launch passes it on.
            #[allow(dead_code, reason = "the host binds a kernel's parameters")]
            pub(crate) fn address(self) -> u64 {
                self.slice.address()
            }

            /// Sets whether the simulator orders a `Global`'s reads with the writes of the launch:
            /// see [`Device::is_in_place`](crate::launch::Device::is_in_place).
            #[allow(dead_code, reason = "the host binds a kernel's parameters")]
            pub(crate) fn in_place(mut self, in_place: bool) -> Self {
                self.slice = self.slice.in_place(in_place);
                self
            }

            /// The number of elements.
            #[inline]
            pub const fn len(self) -> usize {
                self.slice.len()
            }

            /// The kernel parameter's name, for reports; empty on the device.
            #[inline]
            pub(crate) const fn name(self) -> &'static str {
                self.slice.name()
            }

            /// Whether the slice has no elements.
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.slice.len() == 0
            }

            /// The slice without its first `count` elements.
            ///
            /// If the slice is shorter, the kernel stops. Reports count from the first remaining
            /// element.
            #[inline]
            #[track_caller]
            pub fn skip(self, count: usize) -> Self {
                $handle { slice: self.slice.skip(count, Site::here()), _kernel: PhantomData }
            }

            /// An address with the alignment of the slice's start. A buffer on a GPU starts at a
            /// multiple of 256. The simulator counts from the start of its slice, so that the
            /// host's alignment has no effect.
            #[inline]
            pub(crate) fn alignment(self) -> usize {
                self.slice.alignment()
            }

            /// The address of the first element, in the address space of the kernel's threads.
            ///
            /// The simulator does not see accesses through this pointer, for example by `core`'s
            /// atomics. It may lose such a write: a block's own writes reach memory later, and may
            /// overwrite it.
            #[inline]
            pub fn as_ptr(self) -> *$pointer T {
                self.slice.as_ptr($is_mut)
            }
        }
    )*};
}
handle!(Global false const, GlobalMut true mut);

impl<T: Element> Global<'_, T> {
    /// The address of the first element.
    #[inline]
    pub(crate) fn start(self) -> *const T {
        self.slice.start()
    }

    /// Reports a read of `count` elements from `index` on to the simulator.
    #[inline]
    pub(crate) fn note_read(self, site: Site, index: usize, count: usize) {
        self.slice.note_read(site, index, count);
    }

    /// Reads element `index`. Beyond the slice, the kernel stops.
    #[inline]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        self.get_at(index, Site::here())
    }

    /// Reads element `index`, or returns `default` beyond the slice. It never stops the kernel, so
    /// it may read with a `wgmma` in flight.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Adds each number and its successor.
    /// #[kernel(threads = 32)]
    /// fn sums(block: &Block, x: Global<u32>, d: GlobalMut<u32>) {
    ///     let warp = block.warp();
    ///     warp.each(|lane| d.set(lane.id(), x.get(lane.id()) + x.get_or(lane.id() + 1, 0)));
    /// }
    ///
    /// let mut d = [0; 32];
    /// sums::simulate(1, &[1; 32], &mut d).check();
    /// assert_eq!(d[30..], [2, 1]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or(self, index: usize, default: T) -> T {
        // SAFETY: in the slice.
        if index < self.len() { unsafe { self.get_unchecked(index) } } else { default }
    }

    /// Like [`get`](Self::get), for the source line `site`.
    #[inline]
    pub(crate) fn get_at(self, index: usize, site: Site) -> T {
        self.slice.get(index, site)
    }

    /// Reads element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline]
    #[track_caller]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller upholds the conditions.
        unsafe { self.slice.get_unchecked(index, Site::here()) }
    }

    /// The slice's representation in `machine`.
    #[inline]
    pub(crate) fn raw(self) -> RawSlice<T> {
        self.slice
    }
}

impl<T: Element> GlobalMut<'_, T> {
    /// Reads element `index`. Beyond the slice, the kernel stops.
    ///
    /// Other lanes may write it at the same time, so that it is read in a lane closure.
    #[inline]
    #[track_caller]
    pub fn get(self, lane: Lane<'_>, index: usize) -> T {
        let _ = lane;
        self.slice.get_written(index, Site::here())
    }

    /// Writes element `index`. Beyond the slice, the kernel stops.
    #[inline]
    #[track_caller]
    pub fn set(self, index: usize, value: T) {
        self.set_at(index, value, Site::here());
    }

    #[inline]
    pub(crate) fn set_at(self, index: usize, value: T, site: Site) {
        self.slice.set(index, value, site);
    }

    /// Writes element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline]
    #[track_caller]
    pub unsafe fn set_unchecked(self, index: usize, value: T) {
        // SAFETY: the caller upholds the conditions.
        unsafe { self.slice.set_unchecked(index, value, Site::here()) }
    }

    /// The slice's representation in `machine`.
    #[inline]
    pub(crate) fn raw(self) -> RawSlice<T> {
        self.slice
    }
}
