//! A reference to a tensor map in a kernel.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{LaunchId, Slice, note_slice};
use crate::isa::TensorMapWords;

/// A tensor map: its address on the device; its bytes and its slice on the host.
#[derive(Clone, Copy)]
pub(crate) struct MapRef {
    #[cfg(target_arch = "nvptx64")]
    words: *const TensorMapWords,
    #[cfg(not(target_arch = "nvptx64"))]
    words: TensorMapWords,
    #[cfg(not(target_arch = "nvptx64"))]
    slice: Slice,
    #[cfg(not(target_arch = "nvptx64"))]
    launch: LaunchId,
}

impl MapRef {
    /// The map that a kernel's parameter points to.
    ///
    /// # Safety
    /// It is a valid map, and stays there.
    #[inline]
    pub(crate) unsafe fn at(words: *const TensorMapWords) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return MapRef { words };
        #[cfg(not(target_arch = "nvptx64"))]
        unreachable!("no kernel is entered on the host, at {words:?}")
    }

    #[cfg(not(target_arch = "nvptx64"))]
    /// A map that the host has made. `slice` is the parameter's name, start and length.
    pub(crate) fn of<T>(
        words: TensorMapWords,
        slice: (&'static str, *mut T, usize),
        is_mut: bool,
    ) -> Self {
        let (name, start, len) = slice;
        let slice = Slice {
            name,
            address: start.addr(),
            len,
            element: size_of::<T>(),
            is_mut,
            is_atomic: false,
        };
        MapRef { words, slice, launch: LaunchId::of_new_handles() }
    }

    /// The address of the map.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        #[cfg(target_arch = "nvptx64")]
        return self.words.cast();
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.launch.check(self.slice.name);
            note_slice(self.slice);
            (&raw const self.words).cast()
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    /// The map's bytes.
    pub(crate) fn words(&self) -> TensorMapWords {
        self.words
    }
}
