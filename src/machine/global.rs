//! Slices of global memory.

use crate::element::Element;
#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{self, ElementOf, LaunchId, Slice};
use crate::lane::{AccessKind, Site};
use crate::machine::check;
use bytemuck::Pod;

/// A slice of global memory: a kernel's parameter, or a part of it.
pub(crate) struct RawSlice<T> {
    start: *mut T,
    len: usize,
    /// The kernel's parameter.
    #[cfg(not(target_arch = "nvptx64"))]
    name: &'static str,
    /// Number of elements of the parameter before `start`.
    #[cfg(not(target_arch = "nvptx64"))]
    skipped: usize,
    /// Whether the launch has a `GlobalMut` of the same memory although this is a `Global`.
    #[cfg(not(target_arch = "nvptx64"))]
    in_place: bool,
    #[cfg(not(target_arch = "nvptx64"))]
    launch: LaunchId,
}

impl<T> Clone for RawSlice<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawSlice<T> {}

impl<T> RawSlice<T> {
    /// The slice of `len` elements at `start`, for the kernel parameter `name`.
    #[inline]
    pub(crate) fn new(start: *mut T, len: usize, name: &'static str) -> Self {
        #[cfg(target_arch = "nvptx64")]
        let _ = name;
        RawSlice {
            start,
            len,
            #[cfg(not(target_arch = "nvptx64"))]
            name,
            #[cfg(not(target_arch = "nvptx64"))]
            skipped: 0,
            #[cfg(not(target_arch = "nvptx64"))]
            in_place: false,
            #[cfg(not(target_arch = "nvptx64"))]
            launch: LaunchId::of_new_handles(),
        }
    }

    /// The address of its first element, as a launch passes it on.
    #[allow(dead_code, reason = "the host binds a kernel's parameters")]
    pub(crate) fn address(self) -> u64 {
        self.start.addr() as u64
    }

    /// The address of its first element.
    #[inline]
    pub(crate) fn start(self) -> *mut T {
        #[cfg(not(target_arch = "nvptx64"))]
        self.launch.check(self.name);
        self.start
    }

    /// Number of elements.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.len
    }

    /// The kernel's parameter, for reports; empty on the device.
    #[inline]
    pub(crate) const fn name(self) -> &'static str {
        #[cfg(target_arch = "nvptx64")]
        return "";
        #[cfg(not(target_arch = "nvptx64"))]
        self.name
    }

    /// The slice without its first `count` elements.
    #[inline]
    pub(crate) fn skip(self, count: usize, site: Site) -> Self {
        let RawSlice { start, len, .. } = self;
        check!(
            count <= len,
            site,
            GlobalOutOfBounds { access: AccessKind::Slice, name: self.name, index: count, len }
        );
        // SAFETY: within the slice, or at its end.
        let start = unsafe { start.add(count) };
        RawSlice {
            start,
            len: len - count,
            #[cfg(not(target_arch = "nvptx64"))]
            skipped: self.skipped + count,
            ..self
        }
    }

    /// An address with the alignment of the slice's start.
    ///
    /// A buffer on a GPU starts at a multiple of 256. The simulator counts from the start of the
    /// slice, independent of the host's address.
    #[inline]
    pub(crate) fn alignment(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        return self.start.addr();
        #[cfg(not(target_arch = "nvptx64"))]
        return self.skipped * size_of::<T>();
    }

    /// The start address, for accesses by other means. From here on the simulator associates this
    /// address with the slice.
    #[inline]
    pub(crate) fn as_ptr(self, is_mut: bool) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        let _ = is_mut;
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.launch.check(self.name);
            engine::note_slice(Slice {
                name: self.name,
                address: self.start.addr(),
                len: self.len,
                element: size_of::<T>(),
                is_mut,
                is_atomic: false,
            });
        }
        self.start
    }

    /// The same slice, for atomic operations. In the simulator, the clusters of its launch take
    /// turns.
    #[inline]
    pub(crate) fn atomic(self) -> Self {
        #[cfg(not(target_arch = "nvptx64"))]
        engine::Binding::take_turns();
        self
    }

    /// The same slice. If `in_place`, the simulator orders its reads with the writes of the launch.
    #[allow(dead_code, reason = "the host binds a kernel's parameters")]
    pub(crate) fn in_place(self, in_place: bool) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = in_place;
            self
        };
        #[cfg(not(target_arch = "nvptx64"))]
        RawSlice { in_place, ..self }
    }
}

impl<T: Element> RawSlice<T> {
    /// An element, for reports.
    #[cfg(not(target_arch = "nvptx64"))]
    const fn of(self, index: usize) -> ElementOf {
        ElementOf { name: self.name, index }
    }

    /// The index of the element at an address.
    #[cfg(not(target_arch = "nvptx64"))]
    fn index_of(self, element: *const T) -> usize {
        element.addr().wrapping_sub(self.start.addr()) / size_of::<T>()
    }

    #[inline]
    fn element(self, index: usize, access: AccessKind, site: Site) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        let _ = access;
        #[cfg(not(target_arch = "nvptx64"))]
        self.launch.check(self.name);
        check!(
            index < self.len,
            site,
            GlobalOutOfBounds { access, name: self.name, index, len: self.len }
        );
        // SAFETY: within the slice.
        unsafe { self.start.add(index) }
    }

    /// Reports to the simulator that elements of the slice are read.
    #[inline]
    pub(crate) fn note_read(self, site: Site, index: usize, count: usize) {
        #[cfg(target_arch = "nvptx64")]
        let _ = (site, index, count);
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let start = self.start.addr() + index * size_of::<T>();
            let size = size_of::<T>();
            engine::read_constant(site, start..start + count * size, self.of(index), size);
        }
    }

    /// The same for the elements at an address.
    #[inline]
    pub(crate) fn note_read_at(self, site: Site, from: *const T, count: usize) {
        #[cfg(target_arch = "nvptx64")]
        let _ = (site, from, count);
        #[cfg(not(target_arch = "nvptx64"))]
        self.note_read(site, self.index_of(from), count);
    }

    /// Reads element `index`. No thread writes it.
    #[inline]
    pub(crate) fn get(self, index: usize, site: Site) -> T {
        let element = self.element(index, AccessKind::Read, site);
        #[cfg(not(target_arch = "nvptx64"))]
        {
            if self.in_place {
                return self.read_written(element, index, site);
            }
            let start = element.addr();
            let size = size_of::<T>();
            engine::load_constant(site, start..start + size, self.of(index), size);
        }
        // SAFETY: an element of the slice, which no thread writes.
        unsafe { element.read() }
    }

    /// The same without a check on the device.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline]
    pub(crate) unsafe fn get_unchecked(self, index: usize, site: Site) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        return unsafe {
            let _ = site;
            self.start.add(index).read()
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return self.get(index, site);
    }

    /// Reads element `index`. Threads may write it.
    #[inline]
    pub(crate) fn get_written(self, index: usize, site: Site) -> T {
        let element = self.element(index, AccessKind::Read, site);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: an element of the slice. Volatile: another thread may have written it since.
        return unsafe {
            let _ = site;
            element.read_volatile()
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return self.read_written(element, index, site);
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline]
    fn read_written(self, element: *mut T, index: usize, site: Site) -> T {
        // SAFETY: an element of the slice, which no thread writes before the block has ended.
        let mut value = unsafe { element.read() };
        let bytes = bytemuck::bytes_of_mut(&mut value);
        engine::read_global(site, element.addr(), self.of(index), bytes);
        value
    }

    /// Writes element `index`.
    #[inline]
    pub(crate) fn set(self, index: usize, value: T, site: Site) {
        let element = self.element(index, AccessKind::Write, site);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: an element of the slice.
        unsafe {
            let _ = site;
            element.write(value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            // SAFETY: an element of the slice, which no thread writes before the block has ended.
            let before = unsafe { element.read() };
            let (before, value) = (bytemuck::bytes_of(&before), bytemuck::bytes_of(&value));
            // Exposed, since the block's writes go there after its end.
            engine::write_global(site, element.expose_provenance(), self.of(index), before, value);
        }
    }

    /// The same without a check on the device.
    ///
    /// # Safety
    /// `index` is less than `len()`.
    #[inline]
    pub(crate) unsafe fn set_unchecked(self, index: usize, value: T, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            self.start.add(index).write(value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.set(index, value, site);
    }

    /// The address of element `index`, for an atomic reduction.
    #[inline]
    pub(crate) fn to_reduce(self, index: usize, site: Site) -> *mut T {
        let _ = self.as_ptr(true);
        self.element(index, AccessKind::Reduction, site)
    }

    /// The address of element `index`, for an atomic operation.
    #[inline]
    pub(crate) fn to_operate(self, index: usize, access: AccessKind, site: Site) -> *mut T {
        let element = self.element(index, access, site);
        #[cfg(not(target_arch = "nvptx64"))]
        engine::note_slice(Slice {
            name: self.name,
            address: self.start.addr(),
            len: self.len,
            element: size_of::<T>(),
            is_mut: true,
            is_atomic: true,
        });
        element
    }

    /// The address of `count` elements from `index` on, which have `bytes` bytes and must start at
    /// a multiple of that.
    #[inline]
    pub(crate) fn vector(
        self,
        index: usize,
        (count, bytes): (usize, usize),
        access: AccessKind,
        site: Site,
    ) -> *const T {
        #[cfg(target_arch = "nvptx64")]
        let _ = access;
        check!(
            count <= self.len && index <= self.len - count,
            site,
            GlobalOutOfBounds {
                access,
                name: self.name,
                index: index.saturating_add(count).saturating_sub(1),
                len: self.len
            }
        );
        let address = self.alignment() + index * size_of::<T>();
        check!(
            address.is_multiple_of(bytes),
            site,
            GlobalMisaligned { access, name: self.name, index, bytes }
        );
        // SAFETY: within the slice.
        unsafe { self.start.add(index) }
    }

    /// Writes the bytes of `piece` to consecutive elements from `first` on.
    ///
    /// # Safety
    /// They are elements of the slice, and aligned.
    #[inline]
    pub(crate) unsafe fn store_piece<P: Pod>(self, first: usize, piece: P, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            self.as_ptr(true).add(first).cast::<P>().write(piece);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        for (further, value) in bytemuck::cast_slice::<P, T>(&[piece]).iter().enumerate() {
            self.set(first + further, *value, site);
        }
    }

    /// Reads a value that consists of `count` elements of the slice. No thread writes them.
    ///
    /// # Safety
    /// They are elements of the slice, and the address is a multiple of the value's size.
    #[inline]
    pub(crate) unsafe fn load_piece<V: Pod>(self, from: *const T, count: usize, site: Site) -> V {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller; no thread writes them.
        return unsafe {
            let _ = (count, site);
            from.cast::<V>().read()
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (start, first) = (from.addr(), self.of(self.index_of(from)));
            if self.in_place {
                let mut value = V::zeroed();
                let elements = bytemuck::cast_slice_mut::<V, T>(core::slice::from_mut(&mut value));
                for (further, element) in elements.iter_mut().enumerate() {
                    *element = self.get(first.index + further, site);
                }
                return value;
            }
            let size = size_of::<T>();
            engine::load_constant(site, start..start + count * size, first, size);
            // SAFETY: guaranteed by the caller.
            unsafe { from.cast::<V>().read_unaligned() }
        }
    }
}
