//! The kinds of accesses to memory.

use core::fmt;

/// What an access to memory does, in a [`Misuse`](crate::sim::Misuse).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An asynchronous copy: `cp.async`, or a bulk copy of TMA.
    Copy,
    /// An atomic reduction, by `red` or by a bulk copy.
    Reduction,
    /// An arrival at an mbarrier.
    Arrival,
    /// An atomic addition, minimum or the like: `atom`.
    Atomic,
    /// An atomic load.
    AtomicLoad,
    /// An atomic store.
    AtomicStore,
    /// An atomic exchange, or a compare-and-exchange.
    AtomicExchange,
    /// An instruction of an mbarrier.
    Barrier,
    /// `mbarrier.init`.
    BarrierInit,
    /// `mbarrier.inval`.
    BarrierInvalidate,
    /// The choice of a part of a slice.
    Slice,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Copy => "copy",
            AccessKind::Reduction => "reduction",
            AccessKind::Arrival => "arrival",
            AccessKind::Atomic => "atomic operation",
            AccessKind::AtomicLoad => "atomic load",
            AccessKind::AtomicStore => "atomic store",
            AccessKind::AtomicExchange => "atomic exchange",
            AccessKind::Barrier => "mbarrier",
            AccessKind::BarrierInit => "mbarrier.init",
            AccessKind::BarrierInvalidate => "mbarrier.inval",
            AccessKind::Slice => "slice",
        })
    }
}
