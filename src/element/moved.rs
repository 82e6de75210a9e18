//! What a lane moves to and from shared memory.

use crate::lane::Site;
use bytemuck::Pod;

/// A value that one lane moves to and from shared memory. `machine` implements it: what moves it on
/// a GPU, and what on the CPU.
#[doc(hidden)]
pub trait Moved: Pod {
    /// Loads it.
    ///
    /// # Safety
    /// `address` is that of an aligned value in shared memory.
    unsafe fn load_shared(site: Site, address: u32) -> Self;

    /// Stores it.
    ///
    /// # Safety
    /// As for `load_shared`.
    unsafe fn store_shared(self, site: Site, address: u32);

    /// Loads it from a block of the cluster.
    ///
    /// # Safety
    /// `address` is that of an aligned value in shared memory of a block of the cluster.
    unsafe fn load_cluster(site: Site, address: u32) -> Self;
}

/// One that is also stored to another block of the cluster.
#[doc(hidden)]
pub trait Sent: Moved {
    /// Stores it to a block of the cluster.
    ///
    /// # Safety
    /// As for `load_cluster`.
    unsafe fn store_cluster(self, site: Site, address: u32);
}
