//! Slices of global memory, as kernels take them.

use crate::lane::LaneCapture;
use crate::lane::Site;
use crate::machine::check;
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
    /// Elements of it that lie before `start`.
    #[cfg(not(target_arch = "nvptx64"))]
    skipped: usize,
    /// Whether a `GlobalMut` of the launch is the same memory, though this is a `Global`.
    #[cfg(not(target_arch = "nvptx64"))]
    in_place: bool,
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
                #[cfg(target_arch = "nvptx64")]
                let _ = name;
                $handle {
                    slice: RawSlice {
                        start,
                        len,
                        #[cfg(not(target_arch = "nvptx64"))]
                        name,
                        #[cfg(not(target_arch = "nvptx64"))]
                        skipped: 0,
                        #[cfg(not(target_arch = "nvptx64"))]
                        in_place: false,
                    },
                    _kernel: PhantomData,
                }
            }

            /// Elements in the slice.
            #[inline(always)]
            pub const fn len(self) -> usize {
                self.slice.len
            }

            /// The kernel's parameter, for reports; on the device nothing.
            #[inline(always)]
            pub(crate) const fn name(self) -> &'static str {
                #[cfg(target_arch = "nvptx64")]
                return "";
                #[cfg(not(target_arch = "nvptx64"))]
                self.slice.name
            }

            /// Whether the slice has no elements.
            #[inline(always)]
            pub const fn is_empty(self) -> bool {
                self.slice.len == 0
            }

            /// The slice without its first `count` elements. If it has not so many, the kernel stops. Reports count the elements
            /// of what is left.
            #[inline(always)]
            #[track_caller]
            pub fn skip(self, count: usize) -> Self {
                let RawSlice { start, len, .. } = self.slice;
                check!(
                    count <= len,
                    Site::here(),
                    GlobalOutOfBounds { access: "slice", name: self.slice.name, index: count, len }
                );
                // SAFETY: within the slice, or its end.
                let start = unsafe { start.add(count) };
                let slice = RawSlice {
                    start,
                    len: len - count,
                    #[cfg(not(target_arch = "nvptx64"))]
                    skipped: self.slice.skipped + count,
                    ..self.slice
                };
                $handle { slice, _kernel: PhantomData }
            }

            /// An address that is aligned as the slice's start is. A buffer on a GPU starts at a multiple of 256; the simulator counts
            /// from the start of its slice, wherever the host has that.
            #[inline(always)]
            pub(crate) fn alignment(self) -> usize {
                #[cfg(target_arch = "nvptx64")]
                return self.slice.start.addr();
                #[cfg(not(target_arch = "nvptx64"))]
                return self.slice.skipped * size_of::<T>();
            }

            /// Where the slice starts, as the threads of the kernel see it.
            ///
            /// What goes there by other means than this crate's, as by `core`'s atomics, the simulator does not see. It may be lost: what a block
            /// wrote itself can reach memory later, over that.
            #[inline(always)]
            pub fn as_ptr(self) -> *mut T {
                #[cfg(not(target_arch = "nvptx64"))]
                crate::engine::note_slice(crate::engine::Slice {
                    name: self.slice.name,
                    address: self.slice.start.addr(),
                    len: self.slice.len,
                    element: size_of::<T>(),
                    is_mut: $is_mut,
                });
                self.slice.start
            }
        }
    )*};
}
handle!(Global false, GlobalMut true);

impl<T> Clone for RawSlice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawSlice<T> {}

impl<T: Element> RawSlice<T> {
    /// An element, for reports.
    #[cfg(not(target_arch = "nvptx64"))]
    const fn of(self, index: usize) -> crate::engine::ElementOf {
        crate::engine::ElementOf { name: self.name, index }
    }

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
    /// The same slice, whose reads the simulator orders with the writes of the launch if it is `in_place`:
    /// see [`Device::is_in_place`](crate::launch::Device::is_in_place).
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn in_place(mut self, in_place: bool) -> Self {
        self.slice.in_place = in_place;
        self
    }

    /// Where the slice starts.
    #[inline(always)]
    pub(crate) const fn start(self) -> *const T {
        self.slice.start
    }

    /// Tells the simulator that elements of the slice are read.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn note_read(self, site: Site, index: usize, count: usize) {
        let start = self.slice.start.addr() + index * size_of::<T>();
        crate::engine::read_constant(site, start..start + count * size_of::<T>(), self.slice.of(index));
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
        let element = self.slice.element(index, "read", site);
        #[cfg(not(target_arch = "nvptx64"))]
        if self.slice.in_place {
            // SAFETY: an element of the slice, which nobody writes before the block has ended.
            let mut value = unsafe { element.read() };
            let bytes = bytemuck::bytes_of_mut(&mut value);
            crate::engine::read_global(site, element.addr(), self.slice.of(index), bytes);
            return value;
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            crate::engine::note_access(site);
            crate::engine::note_element(site, crate::engine::Traffic::GlobalRead, element.addr(), size_of::<T>());
            self.note_read(site, index, 1);
        }
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
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: an element of the slice. Volatile: another thread may have written it since.
        return unsafe {
            let _ = site;
            element.read_volatile()
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return {
            // SAFETY: an element of the slice, which nobody writes before the block has ended.
            let mut value = unsafe { element.read() };
            let bytes = bytemuck::bytes_of_mut(&mut value);
            crate::engine::read_global(site, element.addr(), self.slice.of(index), bytes);
            value
        };
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
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: an element of the slice.
        unsafe {
            let _ = site;
            element.write(value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            crate::engine::note_access(site);
            // SAFETY: an element of the slice, which nobody writes before the block has ended.
            let before = unsafe { element.read() };
            let (before, value) = (bytemuck::bytes_of(&before), bytemuck::bytes_of(&value));
            // Exposed: when the block has ended, its writes go there.
            crate::engine::write_global(site, element.expose_provenance(), self.slice.of(index), before, value);
        }
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
