//! The source line that an operation was asked for at, for the simulator's reports.

use crate::lane::LaneCapture;

/// A line of the kernel's source. On the device it is nothing.
#[derive(Clone, Copy)]
pub struct Site {
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) location: &'static core::panic::Location<'static>,
}

impl Site {
    /// The line that called the function that is marked `#[track_caller]` and calls this.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Site {
            #[cfg(not(target_arch = "nvptx64"))]
            location: core::panic::Location::caller(),
        }
    }
}

// SAFETY: a location is constant; nothing gets out through it.
unsafe impl LaneCapture for Site {}
