//! Copies to shared memory of several blocks of the cluster, and from one block's to another's,
//! which it also reduces (PTX ISA 9.7.9.25.4 `cp.async.bulk` and `cp.reduce.async.bulk`, 9.7.9.27
//! `cp.async.bulk.tensor`). sm_90, PTX 8.0; to several blocks they are fast on sm_90a and newer.
//!
//! What goes to several blocks lies in each at the same place, and in each tells the barrier at the
//! same place.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{bulk as sim, tensor};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use {super::bulk::whole, core::arch::asm};

/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [to],
/// [from], bytes, [barrier], mask;`: to each block whose bit is set.
///
/// # Safety
/// As [`cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes`](super::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes)
/// in each of these blocks, which are of the cluster, and run until then.
#[inline(always)]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    mask: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to}], [{from}], {bytes}, [{barrier}], {mask};",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes, barrier = in(reg32) barrier,
            mask = in(reg16) mask, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
    unsafe {
        let form =
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::Mask(mask));
    }
}

/// `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [from], bytes,
/// [barrier];`: to shared memory of the block of the cluster that both `to` and `barrier` are in.
///
/// # Safety
/// From now until a wait for the barrier's phase, `to` is the address, in the `.shared::cluster`
/// window, of so many bytes that nobody else touches, and nobody writes as many of the executing
/// block's shared memory at `from`; the addresses and the number are multiples of
/// 16. `barrier` is that of an mbarrier in the block of `to`, which runs until then.
#[inline(always)]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
    to: u32,
    from: u32,
    bytes: u32,
    barrier: u32,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{to}], [{from}], {bytes}, [{barrier}];",
            to = in(reg32) to, from = in(reg32) from, bytes = in(reg32) bytes, barrier = in(reg32) barrier,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let form = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
        sim::send(Site::here(), form, to, from, bytes, barrier, None);
    }
}

/// Reductions: the operation, and what it is of.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident)*;)*) => {$($(
        reductions!(@one
            ${concat(cp_reduce_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes_, $operation, _, $kind)}
            (concat!("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.", stringify!($operation), ".",
                stringify!($kind)))
            $simulated $kind);
    )*)*};
    (@one $name:ident ($ptx:expr) $simulated:ident $kind:ident) => {
        #[doc = concat!("`", $ptx, " [to], [from], bytes, [barrier];`: each element at `to` becomes this of itself and of the one at `from`.")]
        ///
        /// # Safety
        /// As [`cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes`], but that others may reduce the same elements.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(to: u32, from: u32, bytes: u32, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], {bytes}, [{barrier}];"),
                    to = in(reg32) to, from = in(reg32) from, bytes = in(reg32) bytes, barrier = in(reg32) barrier,
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let reduction = sim::Reduction { operation: sim::Operation::$simulated, kind: sim::Kind::$kind };
                sim::send(Site::here(), $ptx, to, from, bytes, barrier, Some(reduction));
            }
        }
    };
}

// Fewer than in global memory.
reductions! {
    add Add: u32 s32 u64;
    min Min: u32 s32;
    max Max: u32 s32;
    inc Inc: u32;
    dec Dec: u32;
    and And: b32;
    or Or: b32;
    xor Xor: b32;
}

/// One rank: the function, PTX, how many dimensions, their coordinates in PTX's braces, as names,
/// and by index.
macro_rules! ranks {
    ($($name:ident $ptx:literal $rank:literal $braces:literal: $($c:ident $index:literal)*;)*) => {$(
        #[doc = concat!("`", $ptx, " [to], [map, ", $braces, "], [barrier], mask;`: to each block whose bit is set.")]
        ///
        /// # Safety
        /// As the load of a tensor of this rank without a mask, in each of these blocks, which are of the cluster, and run until then.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(to: u32, map: *const u8, at: [i32; $rank], barrier: u32, mask: u16) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{map}, {{", $braces, "}}], [{barrier}], {mask};"),
                    to = in(reg32) to, map = in(reg64) map, barrier = in(reg32) barrier, mask = in(reg16) mask,
                    $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller's.
            unsafe {
                tensor::load(Site::here(), $ptx, to, map, tensor::At::tiled(&at), barrier, tensor::Blocks::Mask(mask));
            }
        }
    )*};
}

ranks! {
    cp_async_bulk_tensor_1d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        1 "{a}": a 0;
    cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        2 "{a}, {b}": a 0 b 1;
    cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        3 "{a}, {b}, {c}": a 0 b 1 c 2;
    cp_async_bulk_tensor_4d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        4 "{a}, {b}, {c}, {d}": a 0 b 1 c 2 d 3;
    cp_async_bulk_tensor_5d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        5 "{a}, {b}, {c}, {d}, {e}": a 0 b 1 c 2 d 3 e 4;
}
