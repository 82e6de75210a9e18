//! TMA: copies of boxes of tensors (PTX ISA 9.7.9.27). sm_90, PTX 8.0 (to `.shared::cta`: 8.6).
//!
//! They are `cp.async.bulk` copies whose place in global memory is a tensor map and coordinates.
//! The innermost coordinate comes first. Out-of-bounds elements of a box are zero in shared memory,
//! and are not written to global memory.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::tensor as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One rank: its PTX name, its number, the coordinates in PTX's braces, and their names and
/// indices.
macro_rules! rank {
    ($rank:literal $dims:literal $braces:literal: $($c:ident $index:literal)*) => {
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims _shared_cluster_global_tile_mbarrier_complete_tx_bytes
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            ))
            $rank $braces: $($c $index)* } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims _shared_cta_global_tile_mbarrier_complete_tx_bytes
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cta.global.tile.mbarrier::complete_tx::bytes"
            ))
            $rank $braces: $($c $index)* } }
        pastey::paste! { rank! { @store [<
            cp_async_bulk_tensor_ $dims _global_shared_cta_tile_bulk_group
        >]
            (concat!("cp.async.bulk.tensor.", $dims, ".global.shared::cta.tile.bulk_group")) None
            "the box becomes what is in shared memory" $rank $braces: $($c $index)* } }
        pastey::paste! { rank! { @prefetch [<cp_async_bulk_prefetch_tensor_ $dims _L2_global_tile>]
            (concat!("cp.async.bulk.prefetch.tensor.", $dims, ".L2.global.tile"))
            $rank $braces: $($c $index)* } }
        rank!(@reductions $dims $rank $braces [$($c $index)*]:
            add Add, min Min, max Max, inc Inc, dec Dec, and And, or Or, xor Xor);
    };
    (
        @reductions $dims:literal $rank:literal $braces:literal $cs:tt:
            $($operation:ident $simulated:ident),*
    ) => {
        $(rank!(@reduction $dims $rank $braces $cs $operation $simulated);)*
    };
    (
        @reduction $dims:literal $rank:literal $braces:literal [$($c:ident $index:literal)*]
            $operation:ident $simulated:ident
    ) => {
        pastey::paste! { rank! { @store [<
            cp_reduce_async_bulk_tensor_ $dims _global_shared_cta_ $operation _tile_bulk_group
        >]
            (concat!(
                "cp.reduce.async.bulk.tensor.", $dims, ".global.shared::cta.",
                stringify!($operation), ".tile.bulk_group"
            ))
            (Some(sim::Operation::$simulated))
            "each element of the box becomes this of itself and of the one in shared memory"
                $rank $braces: $($c $index)* } }
    };
    (@load $name:ident ($ptx:expr) $rank:literal $braces:literal: $($c:ident $index:literal)*) => {
        /// Loads a box of a tensor into shared memory (TMA).
        ///
        #[doc = concat!(
            "`", $ptx, " [to], [map, ", $braces,
            "], [barrier];`: when the box is there, the barrier's phase lacks its bytes fewer."
        )]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank, in a kernel's parameters, in constant or in
        /// global memory. `barrier` is the address of an mbarrier. Until a wait for the barrier's
        /// phase:
        ///
        /// - The tensor is valid.
        /// - `to` is the address of the box's bytes in the block's shared memory, and nobody else
        ///   accesses them. It is a multiple of 128. For the swizzles of 32, 64 and 128 bytes, it
        ///   is a multiple of 256, 512 and 1024.
        ///
        /// With `.shared::cluster`, `to` and `barrier` may be addresses in its window, both in one
        /// block. That block runs until then.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: u32, map: *const u8, at: [i32; $rank], barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{map}, {{", $braces, "}}], [{barrier}];"),
                    to = in(reg32) to, map = in(reg64) map, barrier = in(reg32) barrier,
                    $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                sim::load(
                    Site::here(), $ptx, to, map, sim::At::tiled(&at), barrier, sim::Blocks::One
                );
            }
        }
    };
    (
        @store $name:ident ($ptx:expr) $operation:tt $what:literal $rank:literal $braces:literal:
            $($c:ident $index:literal)*
    ) => {
        /// Stores a box of shared memory to a tensor, or reduces the tensor with it (TMA).
        ///
        #[doc = concat!("`", $ptx, " [map, ", $braces, "], [from];`: ", $what, ".")]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank, in a kernel's parameters, in constant or in
        /// global memory. For a reduction, the map's element type has the operation. `from` is an
        /// address as for a load. Until a wait for the group:
        ///
        /// - The tensor is valid.
        /// - Nobody writes the box's bytes of shared memory.
        /// - Nobody accesses the box in global memory, except for other reductions.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(map: *const u8, at: [i32; $rank], from: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{map}, {{", $braces, "}}], [{from}];"),
                    map = in(reg64) map, from = in(reg32) from,
                    $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                sim::store(Site::here(), $ptx, map, sim::At::tiled(&at), from, $operation);
            }
        }
    };
    (
        @prefetch $name:ident ($ptx:expr) $rank:literal $braces:literal: $($c:ident $index:literal)*
    ) => {
        /// Prefetches a box of a tensor to L2 (TMA).
        ///
        #[doc = concat!("`", $ptx, " [map, ", $braces, "];`: the box, to the second-level cache.")]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank, in a kernel's parameters, in constant or in
        /// global memory. The tensor is valid.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(map: *const u8, at: [i32; $rank]) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(
                    concat!($ptx, " [{map}, {{", $braces, "}}];"), map = in(reg64) map,
                    $($c = in(reg32) at[$index],)* options(nostack)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                sim::prefetch(Site::here(), $ptx, map, sim::At::tiled(&at));
            }
        }
    };
}

rank!(1 "1d" "{a}": a 0);
rank!(2 "2d" "{a}, {b}": a 0 b 1);
rank!(3 "3d" "{a}, {b}, {c}": a 0 b 1 c 2);
rank!(4 "4d" "{a}, {b}, {c}, {d}": a 0 b 1 c 2 d 3);
rank!(5 "5d" "{a}, {b}, {c}, {d}, {e}": a 0 b 1 c 2 d 3 e 4);

/// Prefetches a tensor map.
///
/// PTX: `prefetch.tensormap [map];`
///
/// # Safety
/// `map` points to a tensor map, in a kernel's parameters, in constant or in global memory.
#[inline]
#[track_caller]
pub unsafe fn prefetch_tensormap(map: *const u8) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("prefetch.tensormap [{map}];", map = in(reg64) map, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        sim::prefetch_map(Site::here(), "prefetch.tensormap", map);
    }
}
