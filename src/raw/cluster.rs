//! Clusters and dependent grids. sm_90, PTX 7.8.
//!
//! - The cluster barrier: `barrier.cluster` (PTX ISA 9.7.13.3).
//! - Addresses of another block's shared memory: `mapa` (9.7.9.23), `getctarank` (9.7.9.24).
//! - Loads and stores of distributed shared memory (DSMEM).
//! - Programmatic dependent launch: `griddepcontrol` (9.7.13.14).
//!
//! An address of the block's own shared memory is valid in the `.shared::cluster` window too.
//! [`mapa_shared_cluster_u32`] maps it to the same place in another block.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{cluster as sim, peer};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Forms of the barrier: function, PTX, description, safety, and the simulator's function.
macro_rules! barriers {
    (
        $(
            $name:ident $ptx:literal, $doc:literal, $safety:literal,
            $simulated:ident($($relaxed:literal)?);
        )*
    ) => {$(
        #[doc = concat!("`", $ptx, ";`: ", $doc)]
        ///
        /// # Safety
        #[doc = $safety]
        #[inline]
        #[track_caller]
        pub unsafe fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, ";"), options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::$simulated($ptx $(, $relaxed)?);
        }
    )*};
}

barriers! {
    barrier_cluster_arrive "barrier.cluster.arrive",
        "the thread has come to the cluster's barrier; what it did to memory before, those see who \
         have waited.",
        "The thread waits before it arrives again.", arrive_in_lane(false);
    barrier_cluster_arrive_release "barrier.cluster.arrive.release",
        "the same, as it is written out.",
        "As [`barrier_cluster_arrive`].", arrive_in_lane(false);
    barrier_cluster_arrive_relaxed "barrier.cluster.arrive.relaxed",
        "the thread has come; nobody learns by it of what it did to memory.",
        "As [`barrier_cluster_arrive`].",
        arrive_in_lane(true);
    barrier_cluster_arrive_aligned "barrier.cluster.arrive.aligned",
        "as `barrier.cluster.arrive`, of a warp together.",
        "All lanes of the warp execute it, converged, and wait before they arrive again.",
        arrive_in_lane(false);
    barrier_cluster_arrive_release_aligned "barrier.cluster.arrive.release.aligned",
        "as `barrier.cluster.arrive.release`, of a warp together.",
        "As [`barrier_cluster_arrive_aligned`].",
        arrive_in_lane(false);
    barrier_cluster_arrive_relaxed_aligned "barrier.cluster.arrive.relaxed.aligned",
        "as `barrier.cluster.arrive.relaxed`, of a warp together.",
        "As [`barrier_cluster_arrive_aligned`].",
        arrive_in_lane(true);
    barrier_cluster_wait "barrier.cluster.wait",
        "until all threads of the cluster's blocks have arrived, or ended.",
        "The thread has arrived, once since it waited last.",
        wait_in_lane();
    barrier_cluster_wait_acquire "barrier.cluster.wait.acquire",
        "the same, as it is written out.",
        "As [`barrier_cluster_wait`].", wait_in_lane();
    barrier_cluster_wait_aligned "barrier.cluster.wait.aligned",
        "as `barrier.cluster.wait`, of a warp together.",
        "All lanes of the warp execute it, converged, and have arrived, once since they waited \
         last.",
        wait_in_lane();
    barrier_cluster_wait_acquire_aligned "barrier.cluster.wait.acquire.aligned",
        "as `barrier.cluster.wait.acquire`, of a warp together.",
        "As [`barrier_cluster_wait_aligned`].", wait_in_lane();
}

/// Addresses: the `mapa` and `getctarank` functions, address type, register class, PTX type.
macro_rules! addresses {
    ($($map:ident $rank:ident $address:ty, $class:ident, $ptx:literal;)*) => {$(
        /// Maps an address of the block's shared memory to another block of the cluster.
        ///
        #[doc = concat!(
            "`mapa.shared::cluster.", $ptx,
            " mapped, address, rank;`: where in the shared memory of the block of this rank lies \
             what lies at `address` in this block's."
        )]
        ///
        /// # Safety
        /// `rank` is the rank of a block of the cluster.
        #[inline]
        #[track_caller]
        pub unsafe fn $map(address: $address, rank: u32) -> $address {
            #[cfg(target_arch = "nvptx64")]
            return {
                let mapped;
                // SAFETY: the caller upholds the function's contract. The instruction only
                // computes, and is no collective.
                unsafe {
                    asm!(concat!("mapa.shared::cluster.", $ptx, " {mapped}, {address}, {rank};"),
                        mapped = lateout($class) mapped, address = in($class) address,
                        rank = in(reg32) rank,
                        options(pure, nomem, nostack));
                }
                mapped
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return peer::map(address as u32, rank).into();
        }

        /// Returns the rank of the block that an address belongs to.
        ///
        #[doc = concat!(
            "`getctarank.shared::cluster.", $ptx,
            " rank, address;`: the rank of the block in whose shared memory an address lies."
        )]
        ///
        /// # Safety
        /// `address` is in the `.shared::cluster` window.
        #[inline]
        #[track_caller]
        pub unsafe fn $rank(address: $address) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let rank;
                // SAFETY: the caller upholds the function's contract. The instruction only
                // computes, and is no collective.
                unsafe {
                    asm!(concat!("getctarank.shared::cluster.", $ptx, " {rank}, {address};"),
                        rank = lateout(reg32) rank, address = in($class) address,
                        options(pure, nomem, nostack));
                }
                rank
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return peer::rank_of(address as u32);
        }
    )*};
}

addresses! {
    mapa_shared_cluster_u32 getctarank_shared_cluster_u32 u32, reg32, "u32";
    mapa_shared_cluster_u64 getctarank_shared_cluster_u64 u64, reg64, "u64";
}

/// One row for each width: load, store, value type, register class, PTX type, and the type in
/// memory.
macro_rules! memory {
    ($($load:ident $store:ident $value:ty, $class:ident, $ptx:literal, $element:ty;)*) => {$(
        /// Loads a value from shared memory of a block of the cluster (DSMEM).
        ///
        #[doc = concat!("`ld.shared::cluster.", $ptx, " value, [address];`")]
        ///
        /// # Safety
        /// `address` is the address of a readable, aligned value of this width, in shared memory of
        /// a running block of the cluster.
        #[inline]
        #[track_caller]
        pub unsafe fn $load(address: u32) -> $value {
            #[cfg(target_arch = "nvptx64")]
            return {
                let value;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(concat!("ld.shared::cluster.", $ptx, " {value}, [{address}];"),
                        value = lateout($class) value, address = in(reg32) address,
                        options(nostack, readonly));
                }
                value
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return peer::load_element::<$element>(address).into();
        }

        /// Stores a value to shared memory of a block of the cluster (DSMEM).
        ///
        #[doc = concat!("`st.shared::cluster.", $ptx, " [address], value;`")]
        ///
        /// # Safety
        /// `address` is the address of a writable, aligned value of this width, in shared memory of
        /// a running block of the cluster.
        #[inline]
        #[track_caller]
        pub unsafe fn $store(address: u32, value: $value) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!("st.shared::cluster.", $ptx, " [{address}], {value};"),
                    address = in(reg32) address, value = in($class) value, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            peer::store_element(address, value as $element);
        }
    )*};
}

memory! {
    ld_shared_cluster_u8 st_shared_cluster_u8 u16, reg16, "u8", u8;
    ld_shared_cluster_b16 st_shared_cluster_b16 u16, reg16, "b16", u16;
    ld_shared_cluster_b32 st_shared_cluster_b32 u32, reg32, "b32", u32;
    ld_shared_cluster_b64 st_shared_cluster_b64 u64, reg64, "b64", u64;
}

/// Loads 16 bytes from shared memory of a block of the cluster (DSMEM).
///
/// PTX: `ld.shared::cluster.v4.b32 {r0, r1, r2, r3}, [address];`
///
/// # Safety
/// `address` is the address of 16 readable bytes, 16-byte aligned, in shared memory of a running
/// block of the cluster.
#[inline]
#[track_caller]
pub unsafe fn ld_shared_cluster_v4_b32(address: u32) -> [u32; 4] {
    #[cfg(target_arch = "nvptx64")]
    return {
        let (r0, r1, r2, r3);
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!("ld.shared::cluster.v4.b32 {{{r0}, {r1}, {r2}, {r3}}}, [{address}];",
                r0 = lateout(reg32) r0, r1 = lateout(reg32) r1, r2 = lateout(reg32) r2,
                r3 = lateout(reg32) r3,
                address = in(reg32) address, options(nostack, readonly));
        }
        [r0, r1, r2, r3]
    };
    #[cfg(not(target_arch = "nvptx64"))]
    peer::load_element(address)
}

/// Stores 16 bytes to shared memory of a block of the cluster (DSMEM).
///
/// PTX: `st.shared::cluster.v4.b32 [address], {r0, r1, r2, r3};`
///
/// # Safety
/// `address` is the address of 16 writable bytes, 16-byte aligned, in shared memory of a running
/// block of the cluster.
#[inline]
#[track_caller]
pub unsafe fn st_shared_cluster_v4_b32(address: u32, [r0, r1, r2, r3]: [u32; 4]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("st.shared::cluster.v4.b32 [{address}], {{{r0}, {r1}, {r2}, {r3}}};",
            address = in(reg32) address, r0 = in(reg32) r0, r1 = in(reg32) r1, r2 = in(reg32) r2,
            r3 = in(reg32) r3,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    peer::store_element(address, [r0, r1, r2, r3]);
}

/// Waits until the prerequisite grids are complete and their writes are visible (programmatic
/// dependent launch).
///
/// PTX: `griddepcontrol.wait;`. Without prerequisite grids it returns at once. The simulator starts
/// a launch after all earlier ones have ended.
#[inline]
#[track_caller]
pub fn griddepcontrol_wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        asm!("griddepcontrol.wait;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::note_lane(Site::here(), "griddepcontrol.wait");
}

/// Signals that, for this block, dependent grids may start (programmatic dependent launch).
///
/// PTX: `griddepcontrol.launch_dependents;`
#[inline]
#[track_caller]
pub fn griddepcontrol_launch_dependents() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory.
    unsafe {
        asm!("griddepcontrol.launch_dependents;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::note_lane(Site::here(), "griddepcontrol.launch_dependents");
}
