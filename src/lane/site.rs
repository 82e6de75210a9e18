//! The source line of an operation, for the simulator's reports.

use super::{Line, caller};

/// A line of the kernel's source. On the device it is empty.
#[derive(Clone, Copy)]
pub struct Site {
    #[allow(dead_code, reason = "reports are the simulator's")]
    pub(crate) location: Line,
}

impl Site {
    /// The line of the call of the enclosing `#[track_caller]` function.
    #[inline]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Site { location: caller() }
    }
}
