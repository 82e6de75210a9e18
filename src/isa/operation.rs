//! What a bulk copy can do to elements instead of replacing them.

/// What is done, as a value: by it the simulator computes, and tensor copies choose the
/// instruction.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}
