//! Values that a lane loads from and stores to shared memory.

use crate::lane::Site;
use bytemuck::Pod;

/// A value that a lane can load from and store to shared memory.
///
/// `machine` implements it, for the GPU and for the CPU.
#[doc(hidden)]
pub trait Moved: Pod {
    /// Loads the value from shared memory.
    ///
    /// # Safety
    /// `address` is the address of an aligned value in shared memory.
    unsafe fn load_shared(site: Site, address: u32) -> Self;

    /// Stores the value to shared memory.
    ///
    /// # Safety
    /// As for `load_shared`.
    unsafe fn store_shared(self, site: Site, address: u32);

    /// Loads the value from shared memory of a block of the cluster.
    ///
    /// # Safety
    /// `address` is the address of an aligned value in shared memory of a block of the cluster.
    unsafe fn load_cluster(site: Site, address: u32) -> Self;
}

/// A value that a lane can also store to shared memory of another block of the cluster.
#[doc(hidden)]
pub trait Sent: Moved {
    /// Stores the value to shared memory of a block of the cluster.
    ///
    /// # Safety
    /// As for `load_cluster`.
    unsafe fn store_cluster(self, site: Site, address: u32);
}
