//! Slices of global memory, as kernels take them.

use crate::element::Element;
use crate::lane::{Lane, LaneCapture, Site};
use crate::machine::RawSlice;
use core::marker::PhantomData;

/// A slice in global memory that no thread writes while the kernel runs.
///
/// What is read from it at warp scope is the same in all lanes.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// `d = factor * a`; what is beyond the slices is nobody's.
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

/// A slice in global memory that threads write.
///
/// The handle is copied freely among all threads; which of them writes what, and when, is for the
/// kernel to order. Two threads that race for an element leave one of their values in it.
pub struct GlobalMut<'k, T> {
    slice: RawSlice<T>,
    _kernel: PhantomData<&'k mut [T]>,
}

macro_rules! handle {
    ($($handle:ident $is_mut:literal),*) => {$(
        impl<T> Clone for $handle<'_, T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $handle<'_, T> {}
        // SAFETY: elements go in and out by value; what differs by lane is read with a `Lane` only.
        unsafe impl<T: Element> LaneCapture for $handle<'_, T> {}

        impl<T> $handle<'_, T> {
            /// The slice of `len` elements from `start` on, for the kernel parameter `name`.
            ///
            /// # Safety
            /// The elements are there for `'k`, in memory that the kernel's threads reach; nobody else writes
            /// them meanwhile, and for `GlobalMut` nobody else reads them.
            #[inline(always)]
            #[doc(hidden)]
            pub unsafe fn new(start: *mut T, len: usize, name: &'static str) -> Self {
                $handle { slice: RawSlice::new(start, len, name), _kernel: PhantomData }
            }

            /// Elements in the slice.
            #[inline(always)]
            pub const fn len(self) -> usize {
                self.slice.len()
            }

            /// The kernel's parameter, for reports; on the device nothing.
            #[inline(always)]
            pub(crate) const fn name(self) -> &'static str {
                self.slice.name()
            }

            /// Whether the slice has no elements.
            #[inline(always)]
            pub const fn is_empty(self) -> bool {
                self.slice.len() == 0
            }

            /// The slice without its first `count` elements. If it has not so many, the kernel stops. Reports count the elements
            /// of what is left.
            #[inline(always)]
            #[track_caller]
            pub fn skip(self, count: usize) -> Self {
                $handle { slice: self.slice.skip(count, Site::here()), _kernel: PhantomData }
            }

            /// An address that is aligned as the slice's start is. A buffer on a GPU starts at a multiple of 256; the simulator counts
            /// from the start of its slice, wherever the host has that.
            #[inline(always)]
            pub(crate) fn alignment(self) -> usize {
                self.slice.alignment()
            }

            /// Where the slice starts, as the threads of the kernel see it.
            ///
            /// What goes there by other means than this crate's, as by `core`'s atomics, the simulator does not see. It may be lost: what a block
            /// wrote itself can reach memory later, over that.
            #[inline(always)]
            pub fn as_ptr(self) -> *mut T {
                self.slice.as_ptr($is_mut)
            }
        }
    )*};
}
handle!(Global false, GlobalMut true);

impl<T: Element> Global<'_, T> {
    /// The same slice, whose reads the simulator orders with the writes of the launch if it is
    /// `in_place`: see [`Device::is_in_place`](crate::launch::Device::is_in_place).
    #[allow(dead_code, reason = "the host binds a kernel's parameters")]
    pub(crate) fn in_place(mut self, in_place: bool) -> Self {
        self.slice = self.slice.in_place(in_place);
        self
    }

    /// Where the slice starts.
    #[inline(always)]
    pub(crate) const fn start(self) -> *const T {
        self.slice.start()
    }

    /// Tells the simulator that elements of the slice are read.
    #[inline(always)]
    pub(crate) fn note_read(self, site: Site, index: usize, count: usize) {
        self.slice.note_read(site, index, count);
    }

    /// Element `index`. Beyond the slice, the kernel stops.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        self.get_at(index, Site::here())
    }

    /// As [`get`](Self::get), for a line of the kernel further out.
    #[inline(always)]
    pub(crate) fn get_at(self, index: usize, site: Site) -> T {
        self.slice.get(index, site)
    }

    /// Element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.slice.get_unchecked(index, Site::here()) }
    }

    /// The slice, as the machine has it.
    #[inline(always)]
    pub(crate) fn raw(self) -> RawSlice<T> {
        self.slice
    }
}

impl<T: Element> GlobalMut<'_, T> {
    /// Element `index`. Beyond the slice, the kernel stops.
    ///
    /// Other lanes may be writing it, so it is read in a lane closure.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, lane: Lane<'_>, index: usize) -> T {
        let _ = lane;
        self.slice.get_written(index, Site::here())
    }

    /// Writes element `index`. Beyond the slice, the kernel stops.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, index: usize, value: T) {
        self.set_at(index, value, Site::here());
    }

    #[inline(always)]
    pub(crate) fn set_at(self, index: usize, value: T, site: Site) {
        self.slice.set(index, value, site);
    }

    /// Writes element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_unchecked(self, index: usize, value: T) {
        // SAFETY: the caller's.
        unsafe { self.slice.set_unchecked(index, value, Site::here()) }
    }

    /// The slice, as the machine has it.
    #[inline(always)]
    pub(crate) fn raw(self) -> RawSlice<T> {
        self.slice
    }
}
