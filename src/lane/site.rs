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

/// `check!(condition, site, Misuse { .. })`: where the condition does not hold, the kernel stops: on the host
/// with a report of the misuse, on the device with a trap.
macro_rules! check {
    ($condition:expr, $site:expr, $misuse:ident { $($field:tt)* }) => {
        if !$condition {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = $site;
                crate::raw::trap();
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::engine::fail($site, crate::engine::Misuse::$misuse { $($field)* });
        }
    };
}
pub(crate) use check;
