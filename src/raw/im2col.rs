//! TMA in im2col mode: copies of the pixels of images (PTX ISA 9.7.9.27, with the modes of 5.5.4).
//! sm_90, PTX 8.0 (to `.shared::cta`: 8.6).
//!
//! They are like copies of boxes, with tensor maps of im2col mode. The coordinates are those of the
//! first pixel, in the map's bounding box. Loads to shared memory also take offsets that move all
//! pixels: along W, along W and H, or along W, H and D.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::tensor as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One rank: its PTX name, its number, the coordinates in PTX's braces with their names and
/// indices, and the offsets likewise.
macro_rules! rank {
    ($rank:literal $dims:literal $cs:literal $c:tt $spatial:literal $os:literal $o:tt) => {
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims _shared_cluster_global_im2col_mbarrier_complete_tx_bytes
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
            ))
            $rank $cs $c $spatial $os $o () () "" } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims _shared_cta_global_im2col_mbarrier_complete_tx_bytes
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cta.global.im2col.mbarrier::complete_tx::bytes"
            ))
            $rank $cs $c $spatial $os $o () () "" } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims
                _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_multicast_cluster
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster"
            ))
            $rank $cs $c $spatial $os $o (mask) () ", {mask}" } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims
                _shared_cluster_global_im2col_mbarrier_complete_tx_bytes_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint"
            ))
            $rank $cs $c $spatial $os $o () (policy) ", {policy}" } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims
                _shared_cluster_global_im2col_mbarrier_complete_tx_bytes
                _multicast_cluster_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster\
                 .L2::cache_hint"
            ))
            $rank $cs $c $spatial $os $o (mask) (policy) ", {mask}, {policy}" } }
        pastey::paste! { rank! { @store [<
            cp_async_bulk_tensor_ $dims _global_shared_cta_im2col_no_offs_bulk_group
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims, ".global.shared::cta.im2col_no_offs.bulk_group"
            )) None
            "the pixels become what is in shared memory" $rank $cs $c () "" } }
        pastey::paste! { rank! { @store [<
            cp_async_bulk_tensor_ $dims _global_shared_cta_im2col_no_offs_bulk_group_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint"
            )) None
            "the pixels become what is in shared memory" $rank $cs $c (policy) ", {policy}" } }
        rank!(@reductions $dims $rank $cs $c:
            add Add, min Min, max Max, inc Inc, dec Dec, and And, or Or, xor Xor);
        pastey::paste! { rank! { @prefetch [<
            cp_async_bulk_prefetch_tensor_ $dims _L2_global_im2col
        >]
            (concat!("cp.async.bulk.prefetch.tensor.", $dims, ".L2.global.im2col"))
            $rank $cs $c $spatial $os $o () "" } }
        pastey::paste! { rank! { @prefetch [<
            cp_async_bulk_prefetch_tensor_ $dims _L2_global_im2col_L2_cache_hint
        >]
            (concat!("cp.async.bulk.prefetch.tensor.", $dims, ".L2.global.im2col.L2::cache_hint"))
            $rank $cs $c $spatial $os $o (policy) ", {policy}" } }
    };
    (
        @reductions $dims:literal $rank:literal $cs:literal $c:tt:
            $($operation:ident $simulated:ident),*
    ) => {$(
        pastey::paste! { rank! { @store [<
            cp_reduce_async_bulk_tensor_ $dims _global_shared_cta_ $operation
                _im2col_no_offs_bulk_group
        >]
            (concat!(
                "cp.reduce.async.bulk.tensor.", $dims, ".global.shared::cta.",
                stringify!($operation), ".im2col_no_offs.bulk_group"
            ))
            (Some(sim::Operation::$simulated))
            "each element of the pixels becomes this of itself and of the one in shared memory"
                $rank $cs $c () "" } }
        pastey::paste! { rank! { @store [<
            cp_reduce_async_bulk_tensor_ $dims _global_shared_cta_ $operation
                _im2col_no_offs_bulk_group_L2_cache_hint
        >]
            (concat!(
                "cp.reduce.async.bulk.tensor.", $dims, ".global.shared::cta.",
                stringify!($operation), ".im2col_no_offs.bulk_group.L2::cache_hint"
            ))
            (Some(sim::Operation::$simulated))
            "each element of the pixels becomes this of itself and of the one in shared memory"
                $rank $cs $c (policy) ", {policy}" } }
    )*};
    (@load $name:ident ($ptx:expr) $rank:literal $cs:literal ($($c:ident $ci:literal)*)
        $spatial:literal $os:literal ($($o:ident $oi:literal)*) ($($mask:ident)?)
        ($($policy:ident)?) $behind:literal) => {
        /// Loads pixels of a tensor into shared memory (TMA in im2col mode).
        ///
        #[doc = concat!(
            "`", $ptx, " [to], [map, ", $cs, "], [barrier], ", $os, $behind,
            ";`: when the pixels are there, the barrier's phase lacks their bytes fewer."
        )]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank and of im2col mode, in a kernel's parameters,
        /// in constant or in global memory. `barrier` is the address of an mbarrier. A policy was
        /// made by `createpolicy`. Until a wait for the barrier's phase:
        ///
        /// - The tensor is valid.
        /// - `to` is the address of the pixels' bytes in the block's shared memory, and nobody else
        ///   accesses them. It is a multiple of 128. For the swizzles of 32, 64 and 128 bytes, it
        ///   is a multiple of 256, 512 and 1024.
        ///
        /// With a mask, this holds in each block whose bit is set. These blocks belong to the
        /// cluster and run until then.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        #[allow(clippy::too_many_arguments, reason = "PTX's")]
        pub unsafe fn $name(
            to: u32,
            map: *const u8,
            at: [i32; $rank],
            barrier: u32,
            offsets: [u16; $spatial],
            $($mask: u16,)?
            $($policy: u64,)?
        ) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{map}, {{", $cs, "}}], [{barrier}], {{", $os, "}}",
                    $behind, ";"),
                    to = in(reg32) to, map = in(reg64) map, barrier = in(reg32) barrier,
                    $($c = in(reg32) at[$ci],)*
                    $($o = in(reg16) offsets[$oi],)* $($mask = in(reg16) $mask,)?
                    $($policy = in(reg64) $policy,)? options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                $(let _ = $policy;)?
                sim::load(
                    Site::here(),
                    $ptx,
                    to,
                    map,
                    sim::At::im2col(&at, &offsets),
                    barrier,
                    rank!(@blocks $($mask)?),
                );
            }
        }
    };
    (@blocks) => { sim::Blocks::One };
    (@blocks $mask:ident) => { sim::Blocks::Mask($mask) };
    (@store $name:ident ($ptx:expr) $operation:tt $what:literal $rank:literal $cs:literal
        ($($c:ident $ci:literal)*) ($($policy:ident)?) $behind:literal) => {
        /// Stores pixels of shared memory to a tensor, or reduces the tensor with them (TMA in
        /// im2col mode).
        ///
        #[doc = concat!("`", $ptx, " [map, ", $cs, "], [from]", $behind, ";`: ", $what, ".")]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank and of im2col mode, in a kernel's parameters,
        /// in constant or in global memory. For a reduction, the map's element type has the
        /// operation. `from` is an address as for a load. A policy was made by `createpolicy`.
        /// Until a wait for the group:
        ///
        /// - The tensor is valid.
        /// - Nobody writes the pixels' bytes of shared memory.
        /// - Nobody accesses the pixels in global memory, except for other reductions.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(map: *const u8, at: [i32; $rank], from: u32, $($policy: u64)?) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{map}, {{", $cs, "}}], [{from}]", $behind, ";"),
                    map = in(reg64) map, from = in(reg32) from,
                    $($c = in(reg32) at[$ci],)* $($policy = in(reg64) $policy,)?
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                $(let _ = $policy;)?
                sim::store(Site::here(), $ptx, map, sim::At::im2col(&at, &[]), from, $operation);
            }
        }
    };
    (@prefetch $name:ident ($ptx:expr) $rank:literal $cs:literal ($($c:ident $ci:literal)*)
        $spatial:literal $os:literal ($($o:ident $oi:literal)*) ($($policy:ident)?)
        $behind:literal) => {
        /// Prefetches pixels of a tensor to L2 (TMA in im2col mode).
        ///
        #[doc = concat!(
            "`", $ptx, " [map, ", $cs, "], ", $os, $behind,
            ";`: the pixels, to the second-level cache."
        )]
        ///
        /// # Safety
        /// `map` points to a tensor map of this rank and of im2col mode, in a kernel's parameters,
        /// in constant or in global memory. The tensor is valid. A policy was made by
        /// `createpolicy`.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(
            map: *const u8, at: [i32; $rank], offsets: [u16; $spatial], $($policy: u64)?
        ) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{map}, {{", $cs, "}}], {{", $os, "}}", $behind, ";"),
                    map = in(reg64) map,
                    $($c = in(reg32) at[$ci],)* $($o = in(reg16) offsets[$oi],)*
                    $($policy = in(reg64) $policy,)? options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                $(let _ = $policy;)?
                sim::prefetch(Site::here(), $ptx, map, sim::At::im2col(&at, &offsets));
            }
        }
    };
}

rank!(3 "3d" "{c}, {w}, {n}" (c 0 w 1 n 2) 1 "{ow}" (ow 0));
rank!(4 "4d" "{c}, {w}, {h}, {n}" (c 0 w 1 h 2 n 3) 2 "{ow}, {oh}" (ow 0 oh 1));
rank!(5 "5d" "{c}, {w}, {h}, {d}, {n}" (c 0 w 1 h 2 d 3 n 4) 3 "{ow}, {oh}, {od}" (ow 0 oh 1 od 2));
