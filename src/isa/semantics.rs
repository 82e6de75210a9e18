//! The memory orders of atomic operations.

/// A memory order as a value: `.sem` of `atom`, `ld` and `st`.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Semantics {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

impl Semantics {
    /// Whether the operation's thread then knows what earlier releases of the element pass on.
    pub(crate) const fn acquires(self) -> bool {
        matches!(self, Semantics::Acquire | Semantics::AcquireRelease)
    }

    /// Whether the operation passes on what its thread did and knows.
    pub(crate) const fn releases(self) -> bool {
        matches!(self, Semantics::Release | Semantics::AcquireRelease)
    }
}
