//! The reductions of bulk copies.

/// A reduction as a value. It selects the simulator's arithmetic and the instruction of a tensor
/// copy.
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
