//! The memory orders of atomic operations, as types (`.sem`, PTX ISA 8.4).

use crate::isa::Semantics;
use crate::lane::{LaneCapture, Sealed};

/// A memory order of an operation on a [`GlobalAtomic`](crate::memory::GlobalAtomic), for all
/// threads of the GPU.
///
/// | type | the operation |
/// | --- | --- |
/// | [`Relaxed`] | orders no other access |
/// | [`Acquire`] | comes before the thread's later accesses |
/// | [`Release`] | comes after the thread's earlier accesses |
/// | [`AcquireRelease`] | does both |
///
/// If a thread acquires a value that another has released, it sees all writes before the release.
/// These are the writes of the other thread, and those that it knows of, such as the writes of its
/// whole block before a `sync`. For a read-modify-write operation between the two, any order
/// suffices. A store of another thread in between ends the connection.
pub trait MemoryOrder: Sealed + Copy + LaneCapture {
    #[doc(hidden)]
    const SEMANTICS: Semantics;
}

/// An order of loads: [`Relaxed`] or [`Acquire`].
#[diagnostic::on_unimplemented(
    message = "an atomic load cannot have the order `{Self}`",
    note = "`Relaxed` and `Acquire` are the orders of loads"
)]
pub trait LoadOrder: MemoryOrder {}

/// An order of stores: [`Relaxed`] or [`Release`].
#[diagnostic::on_unimplemented(
    message = "an atomic store cannot have the order `{Self}`",
    note = "`Relaxed` and `Release` are the orders of stores"
)]
pub trait StoreOrder: MemoryOrder {}

macro_rules! orders {
    ($($(#[$doc:meta])* $order:ident: $($of:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $order;
        impl Sealed for $order {}
        impl MemoryOrder for $order {
            const SEMANTICS: Semantics = Semantics::$order;
        }
        $(impl $of for $order {})*
    )*};
}

orders! {
    /// Orders no other access. See [`MemoryOrder`].
    Relaxed: LoadOrder StoreOrder;
    /// Comes before the thread's later accesses. See [`MemoryOrder`].
    Acquire: LoadOrder;
    /// Comes after the thread's earlier accesses. See [`MemoryOrder`].
    Release: StoreOrder;
    /// Comes after the thread's earlier accesses, and before its later ones. See [`MemoryOrder`].
    AcquireRelease: ;
}
