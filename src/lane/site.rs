//! The source line that an operation was asked for at, for the simulator's reports.

use super::{LaneCapture, Line, caller};

/// A line of the kernel's source. On the device it is nothing.
#[derive(Clone, Copy)]
pub struct Site {
    #[allow(dead_code, reason = "reports are the simulator's")]
    pub(crate) location: Line,
}

impl Site {
    /// The line that called the function that is marked `#[track_caller]` and calls this.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Site { location: caller() }
    }
}

// SAFETY: a location is constant; nothing gets out through it.
unsafe impl LaneCapture for Site {}
