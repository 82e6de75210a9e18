//! Slices of global memory, as kernels take them.

use crate::lane::LaneCapture;
use crate::site::{Site, check};
use crate::{Element, Lane};
use core::marker::PhantomData;

/// A slice in global memory that no thread writes while the kernel runs.
///
/// What is read from it at warp scope is the same in all lanes.
///
/// ```
/// use ptx_matrix::*;
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
/// The handle is copied freely among all threads; which of them writes what, and when, is for the kernel to order. Two
/// threads that race for an element leave one of their values in it.
pub struct GlobalMut<'k, T> {
    slice: RawSlice<T>,
    _kernel: PhantomData<&'k mut [T]>,
}

struct RawSlice<T> {
    start: *mut T,
    len: usize,
    /// The kernel's parameter.
    #[cfg(not(target_arch = "nvptx64"))]
    name: &'static str,
}

macro_rules! handle {
    ($($handle:ident)*) => {$(
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
                #[cfg(target_arch = "nvptx64")]
                let _ = name;
                $handle {
                    slice: RawSlice {
                        start,
                        len,
                        #[cfg(not(target_arch = "nvptx64"))]
                        name,
                    },
                    _kernel: PhantomData,
                }
            }

            /// Elements in the slice.
            #[inline(always)]
            pub const fn len(self) -> usize {
                self.slice.len
            }

            /// The kernel's parameter, for reports.
            #[cfg(not(target_arch = "nvptx64"))]
            pub(crate) const fn name(self) -> &'static str {
                self.slice.name
            }

            /// Whether the slice has no elements.
            #[inline(always)]
            pub const fn is_empty(self) -> bool {
                self.slice.len == 0
            }

            /// Where the slice starts, as the threads of the kernel see it.
            #[inline(always)]
            pub const fn as_ptr(self) -> *mut T {
                self.slice.start
            }
        }
    )*};
}
handle!(Global GlobalMut);

impl<T> Clone for RawSlice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawSlice<T> {}

impl<T: Element> RawSlice<T> {
    #[inline(always)]
    fn element(self, index: usize, access: &'static str, site: Site) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        let _ = access;
        check!(index < self.len, site, GlobalOutOfBounds { access, name: self.name, index, len: self.len });
        // SAFETY: within the slice.
        unsafe { self.start.add(index) }
    }
}

impl<T: Element> Global<'_, T> {
    /// Element `index`. Beyond the slice, the kernel stops.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, index: usize) -> T {
        let site = Site::here();
        let element = self.slice.element(index, "read", site);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::sim::note_element(site, crate::sim::Traffic::GlobalRead, element.addr(), size_of::<T>());
        // SAFETY: an element of the slice, which nobody writes.
        unsafe { element.read() }
    }

    /// Element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's.
        return unsafe { self.slice.start.add(index).read() };
        #[cfg(not(target_arch = "nvptx64"))]
        return self.get(index);
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
        let site = Site::here();
        let element = self.slice.element(index, "read", site);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::sim::read_global(site, element.addr(), size_of::<T>(), self.slice.name, index);
        // SAFETY: an element of the slice. Volatile: another thread may have written it since.
        unsafe { element.read_volatile() }
    }

    /// Writes element `index`. Beyond the slice, the kernel stops.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, index: usize, value: T) {
        self.set_at(index, value, Site::here());
    }

    #[inline(always)]
    pub(crate) fn set_at(self, index: usize, value: T, site: Site) {
        let element = self.slice.element(index, "write", site);
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // SAFETY: an element of the slice.
            let changes = bytemuck::bytes_of(&unsafe { element.read() }) != bytemuck::bytes_of(&value);
            crate::sim::write_global(site, element.addr(), size_of::<T>(), self.slice.name, index, changes);
        }
        // SAFETY: an element of the slice.
        unsafe { element.write(value) }
    }

    /// Writes element `index`, unchecked.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_unchecked(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's.
        unsafe {
            self.slice.start.add(index).write(value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.set(index, value);
    }
}
