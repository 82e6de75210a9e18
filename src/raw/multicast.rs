//! Bulk copies to shared memory of other blocks of the cluster, and multicast to several blocks.
//! sm_90, PTX 8.0. Multicast is fast on sm_90a and newer.
//!
//! | copies | PTX ISA |
//! | --- | --- |
//! | `cp.async.bulk`, `cp.reduce.async.bulk` | 9.7.9.25.4 |
//! | `cp.async.bulk.tensor` | 9.7.9.27 |
//!
//! In each destination block, a multicast has the same shared memory offsets for the data and for
//! the barrier.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{bulk as sim, tensor};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use {super::bulk::whole, core::arch::asm};

/// Copies bytes from global memory to shared memory of each block in `mask` (multicast).
///
/// PTX: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [to],
/// [from], bytes, [barrier], mask;`
///
/// # Safety
/// As for [the copy][copy] to one block, in each of these blocks. They belong to the cluster, and
/// run until then.
///
/// [copy]: super::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes
#[inline]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    mask: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
              [{to}], [{from}], {bytes}, [{barrier}], {mask};",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            mask = in(reg16) mask, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let form =
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::Mask(mask));
    }
}

/// Copies bytes from this block's shared memory to that of a block of the cluster.
///
/// PTX: `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [from],
/// bytes, [barrier];`. `to` and `barrier` are both in the destination block.
///
/// # Safety
/// The addresses and `bytes` are multiples of 16. Until a wait for the barrier's phase:
///
/// - `to` is the address of `bytes` bytes in the `.shared::cluster` window, and nobody else
///   accesses them.
/// - Nobody writes the `bytes` bytes of the executing block's shared memory at `from`.
///
/// `barrier` is the address of an mbarrier in the block of `to`. That block runs until then.
#[inline]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
    to: u32,
    from: u32,
    bytes: u32,
    barrier: u32,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{to}], \
              [{from}], {bytes}, [{barrier}];",
            to = in(reg32) to, from = in(reg32) from, bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let form = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
        sim::send(Site::here(), form, to, from, bytes, barrier, None);
    }
}

/// Reductions: the operation and its element types.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident)*;)*) => {$($(
        pastey::paste! { reductions! { @one
            [<
                cp_reduce_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes_
                    $operation _ $kind
            >]
            (concat!(
                "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.",
                stringify!($operation), ".", stringify!($kind)
            ))
            $simulated $kind } }
    )*)*};
    (@one $name:ident ($ptx:expr) $simulated:ident $kind:ident) => {
        /// Reduces elements in shared memory of a block of the cluster with elements of this
        /// block's.
        ///
        #[doc = concat!(
            "`", $ptx,
            " [to], [from], bytes, [barrier];`: each element at `to` becomes this of itself and of \
             the one at `from`."
        )]
        ///
        /// # Safety
        /// As for [`cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes`]. But
        /// others may reduce the same elements.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: u32, from: u32, bytes: u32, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], {bytes}, [{barrier}];"),
                    to = in(reg32) to, from = in(reg32) from, bytes = in(reg32) bytes,
                    barrier = in(reg32) barrier,
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let reduction = sim::Reduction {
                    operation: sim::Operation::$simulated, kind: sim::Kind::$kind
                };
                sim::send(Site::here(), $ptx, to, from, bytes, barrier, Some(reduction));
            }
        }
    };
}

// Fewer operations than in global memory.
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

/// One rank: function, PTX, number of dimensions, the coordinates in PTX's braces, and their names
/// and indices.
macro_rules! ranks {
    (
        $($name:ident $ptx:literal $rank:literal $braces:literal: $($c:ident $index:literal)*;)*
    ) => {$(
        /// Loads a box of a tensor into shared memory of several blocks of the cluster (TMA
        /// multicast).
        ///
        #[doc = concat!(
            "`", $ptx, " [to], [map, ", $braces,
            "], [barrier], mask;`: to each block whose bit is set."
        )]
        ///
        /// # Safety
        /// As for the load of this rank without a mask, in each of these blocks. They belong to the
        /// cluster, and run until then.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: u32, map: *const u8, at: [i32; $rank], barrier: u32, mask: u16) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{map}, {{", $braces, "}}], [{barrier}], {mask};"),
                    to = in(reg32) to, map = in(reg64) map, barrier = in(reg32) barrier,
                    mask = in(reg16) mask,
                    $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                tensor::load(
                    Site::here(),
                    $ptx,
                    to,
                    map,
                    tensor::At::tiled(&at),
                    barrier,
                    tensor::Blocks::Mask(mask),
                );
            }
        }
    )*};
}

ranks! {
    cp_async_bulk_tensor_1d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
         .multicast::cluster"
        1 "{a}": a 0;
    cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
         .multicast::cluster"
        2 "{a}, {b}": a 0 b 1;
    cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
         .multicast::cluster"
        3 "{a}, {b}, {c}": a 0 b 1 c 2;
    cp_async_bulk_tensor_4d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
         .multicast::cluster"
        4 "{a}, {b}, {c}, {d}": a 0 b 1 c 2 d 3;
    cp_async_bulk_tensor_5d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
         .multicast::cluster"
        5 "{a}, {b}, {c}, {d}, {e}": a 0 b 1 c 2 d 3 e 4;
}
