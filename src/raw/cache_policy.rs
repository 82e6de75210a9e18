//! L2 cache policies (PTX ISA 9.7.9.18 `createpolicy`, sm_80, PTX 7.4), and bulk and tensor copies
//! with a policy (`.L2::cache_hint`, sm_90, PTX 8.0).
//!
//! A policy affects the speed of memory accesses, and nothing else.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{bulk as sim, tensor};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use {super::bulk::whole, core::arch::asm};

/// Policies for all bytes of an access: function, priority, description, and the simulator's number
/// for it.
macro_rules! policies {
    ($($name:ident $priority:literal, $doc:literal, $bits:literal;)*) => {$(
        /// Makes an L2 cache policy for all bytes of an access.
        ///
        #[doc = concat!("`createpolicy.fractional.L2::", $priority, ".b64 policy, 1.0;`: ", $doc)]
        #[inline]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub fn $name() -> u64 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let policy;
                // SAFETY: the instruction only computes.
                unsafe {
                    asm!(concat!("createpolicy.fractional.L2::", $priority,
                        ".b64 {policy}, 0f3F800000;"),
                        policy = lateout(reg64) policy, options(pure, nomem, nostack));
                }
                policy
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return $bits;
        }
    )*};
}

policies! {
    createpolicy_fractional_L2_evict_first_b64 "evict_first", "it goes first: what is needed once.",
        0x12f0_0000_0000_0000;
    createpolicy_fractional_L2_evict_last_b64 "evict_last",
        "it stays as long as may be: what others need too.", 0x14f0_0000_0000_0000;
    createpolicy_fractional_L2_evict_normal_b64 "evict_normal", "as without one.",
        0x16f0_0000_0000_0000;
    createpolicy_fractional_L2_evict_unchanged_b64 "evict_unchanged", "as it was.",
        0x10f0_0000_0000_0000;
}

/// Policies for a fraction of the bytes of an access: function, the two priorities, and the
/// simulator's number for it, with the bits of the fraction.
macro_rules! policies_of_parts {
    ($($name:ident $priority:literal $rest:literal $bits:literal;)*) => {$(
        /// Makes an L2 cache policy for a fraction of the bytes of an access, and a second one for
        /// the rest.
        ///
        #[doc = concat!(
            "`createpolicy.fractional.L2::", $priority, ".L2::", $rest,
            ".b64 policy, fraction;`: the first for so much of what is touched, the second for the \
             rest."
        )]
        ///
        /// # Safety
        /// `fraction` is greater than 0 and at most 1.
        #[inline]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(fraction: f32) -> u64 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let policy;
                // SAFETY: the caller upholds the function's contract. The instruction only
                // computes.
                unsafe {
                    asm!(concat!("createpolicy.fractional.L2::", $priority, ".L2::", $rest,
                        ".b64 {policy}, {fraction};"),
                        policy = lateout(reg64) policy, fraction = in(reg32) fraction,
                        options(pure, nomem, nostack));
                }
                policy
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return $bits | u64::from(fraction.to_bits());
        }
    )*};
}

policies_of_parts! {
    createpolicy_fractional_L2_evict_first_L2_evict_first_b64 "evict_first" "evict_first"
        0x12f1_0000_0000_0000;
    createpolicy_fractional_L2_evict_first_L2_evict_unchanged_b64 "evict_first" "evict_unchanged"
        0x12f2_0000_0000_0000;
    createpolicy_fractional_L2_evict_last_L2_evict_first_b64 "evict_last" "evict_first"
        0x14f1_0000_0000_0000;
    createpolicy_fractional_L2_evict_last_L2_evict_unchanged_b64 "evict_last" "evict_unchanged"
        0x14f2_0000_0000_0000;
    createpolicy_fractional_L2_evict_normal_L2_evict_first_b64 "evict_normal" "evict_first"
        0x16f1_0000_0000_0000;
    createpolicy_fractional_L2_evict_normal_L2_evict_unchanged_b64 "evict_normal" "evict_unchanged"
        0x16f2_0000_0000_0000;
    createpolicy_fractional_L2_evict_unchanged_L2_evict_first_b64 "evict_unchanged" "evict_first"
        0x10f1_0000_0000_0000;
    createpolicy_fractional_L2_evict_unchanged_L2_evict_unchanged_b64 "evict_unchanged"
        "evict_unchanged" 0x10f2_0000_0000_0000;
}

/// Copies bytes from global to shared memory with an L2 cache policy.
///
/// PTX: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [to],
/// [from], bytes, [barrier], policy;`
///
/// # Safety
/// As for [the copy][copy] without a policy. `policy` was made by `createpolicy`.
///
/// [copy]: super::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes
#[inline]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
pub unsafe fn cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_L2_cache_hint(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    policy: u64,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint \
              [{to}], [{from}], {bytes}, [{barrier}], {policy};",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            policy = in(reg64) policy, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let (form, _) = (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
            policy,
        );
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::One);
    }
}

/// Copies bytes from global memory to shared memory of each block in `mask`, with an L2 cache
/// policy.
///
#[doc = "PTX: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\
         .multicast::cluster.L2::cache_hint [to], [from], bytes, [barrier], mask, policy;`"]
///
/// # Safety
/// As for [the copy][copy] without a policy. `policy` was made by `createpolicy`.
///
/// [copy]: super::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster
#[inline]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
#[rustfmt::skip] // The line of `fn` has no room for the name.
pub unsafe fn
    cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster_L2_cache_hint(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    mask: u16,
    policy: u64,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster\
              .L2::cache_hint [{to}], [{from}], {bytes}, [{barrier}], {mask}, {policy};",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            mask = in(reg16) mask, policy = in(reg64) policy, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\
                    .multicast::cluster.L2::cache_hint";
        let _ = policy;
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::Mask(mask));
    }
}

/// Prefetches bytes of global memory to L2, with an L2 cache policy.
///
/// PTX: `cp.async.bulk.prefetch.L2.global.L2::cache_hint [from], bytes, policy;`
///
/// # Safety
/// As for [`cp_async_bulk_prefetch_L2_global`](super::cp_async_bulk_prefetch_L2_global). `policy`
/// was made by `createpolicy`.
#[inline]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
pub unsafe fn cp_async_bulk_prefetch_L2_global_L2_cache_hint(
    from: *const u8,
    bytes: u32,
    policy: u64,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.prefetch.L2.global.L2::cache_hint [{from}], {bytes}, {policy};",
            from = in(reg64) whole(from), bytes = in(reg32) bytes, policy = in(reg64) policy,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let _ = policy;
        sim::prefetch(Site::here(), "cp.async.bulk.prefetch.L2.global.L2::cache_hint", from, bytes);
    }
}

/// Copies bytes from shared to global memory with an L2 cache policy.
///
/// PTX: `cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [to], [from], bytes, policy;`
///
/// # Safety
/// As for [the copy][copy] without a policy. `policy` was made by `createpolicy`.
///
/// [copy]: super::cp_async_bulk_global_shared_cta_bulk_group
#[inline]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
pub unsafe fn cp_async_bulk_global_shared_cta_bulk_group_L2_cache_hint(
    to: *mut u8,
    from: u32,
    bytes: u32,
    policy: u64,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [{to}], [{from}], \
              {bytes}, {policy};",
            to = in(reg64) whole(to), from = in(reg32) from, bytes = in(reg32) bytes,
            policy = in(reg64) policy,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let (form, _) = ("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", policy);
        sim::store(Site::here(), form, to, from, bytes, None);
    }
}

/// One rank: its PTX name, its number, the coordinates in PTX's braces, and their names and
/// indices.
macro_rules! rank {
    ($rank:literal $dims:literal $braces:literal: $($c:ident $index:literal)*) => {
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims
                _shared_cluster_global_tile_mbarrier_complete_tx_bytes_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
            ))
            $rank $braces () "": $($c $index)* } }
        pastey::paste! { rank! { @load [<
            cp_async_bulk_tensor_ $dims
                _shared_cluster_global_tile_mbarrier_complete_tx_bytes
                _multicast_cluster_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims,
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster\
                 .L2::cache_hint"
            ))
            $rank $braces (mask) ", {mask}": $($c $index)* } }
        pastey::paste! { rank! { @store [<
            cp_async_bulk_tensor_ $dims _global_shared_cta_tile_bulk_group_L2_cache_hint
        >]
            (concat!(
                "cp.async.bulk.tensor.", $dims, ".global.shared::cta.tile.bulk_group.L2::cache_hint"
            )) None
            $rank $braces: $($c $index)* } }
        pastey::paste! { rank! { @prefetch [<
            cp_async_bulk_prefetch_tensor_ $dims _L2_global_tile_L2_cache_hint
        >]
            (concat!("cp.async.bulk.prefetch.tensor.", $dims, ".L2.global.tile.L2::cache_hint"))
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
            cp_reduce_async_bulk_tensor_ $dims _global_shared_cta_ $operation
                _tile_bulk_group_L2_cache_hint
        >]
            (concat!(
                "cp.reduce.async.bulk.tensor.", $dims, ".global.shared::cta.",
                stringify!($operation), ".tile.bulk_group.L2::cache_hint"
            ))
            (Some(tensor::Operation::$simulated)) $rank $braces: $($c $index)* } }
    };
    (
        @prefetch $name:ident ($ptx:expr) $rank:literal $braces:literal: $($c:ident $index:literal)*
    ) => {
        /// Prefetches a box of a tensor to L2, with an L2 cache policy (TMA).
        ///
        #[doc = concat!("`", $ptx, " [map, ", $braces, "], policy;`")]
        ///
        /// # Safety
        /// As for the same form without a policy. `policy` was made by `createpolicy`.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(map: *const u8, at: [i32; $rank], policy: u64) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{map}, {{", $braces, "}}], {policy};"), map = in(reg64) map,
                    policy = in(reg64) policy, $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let _ = policy;
                tensor::prefetch(Site::here(), $ptx, map, tensor::At::tiled(&at));
            }
        }
    };
    (
        @load $name:ident ($ptx:expr) $rank:literal $braces:literal ($($mask:ident)?)
            $behind:literal: $($c:ident $index:literal)*
    ) => {
        /// Loads a box of a tensor into shared memory, with an L2 cache policy (TMA).
        ///
        #[doc = concat!("`", $ptx, " [to], [map, ", $braces, "], [barrier]", $behind, ", policy;`")]
        ///
        /// # Safety
        /// As for the same form without a policy. `policy` was made by `createpolicy`.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(
            to: u32, map: *const u8, at: [i32; $rank], barrier: u32, $($mask: u16,)? policy: u64
        ) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{map}, {{", $braces, "}}], [{barrier}]", $behind,
                    ", {policy};"),
                    to = in(reg32) to, map = in(reg64) map, barrier = in(reg32) barrier,
                    $($mask = in(reg16) $mask,)?
                    policy = in(reg64) policy, $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let _ = policy;
                tensor::load(
                    Site::here(),
                    $ptx,
                    to,
                    map,
                    tensor::At::tiled(&at),
                    barrier,
                    rank!(@blocks $($mask)?),
                );
            }
        }
    };
    (@blocks) => { tensor::Blocks::One };
    (@blocks $mask:ident) => { tensor::Blocks::Mask($mask) };
    (
        @store $name:ident ($ptx:expr) $operation:tt $rank:literal $braces:literal:
            $($c:ident $index:literal)*
    ) => {
        /// Stores a box of shared memory to a tensor, or reduces the tensor with it, with an L2
        /// cache policy (TMA).
        ///
        #[doc = concat!("`", $ptx, " [map, ", $braces, "], [from], policy;`")]
        ///
        /// # Safety
        /// As for the same form without a policy. `policy` was made by `createpolicy`.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(map: *const u8, at: [i32; $rank], from: u32, policy: u64) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{map}, {{", $braces, "}}], [{from}], {policy};"),
                    map = in(reg64) map, from = in(reg32) from, policy = in(reg64) policy,
                    $($c = in(reg32) at[$index],)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let _ = policy;
                tensor::store(Site::here(), $ptx, map, tensor::At::tiled(&at), from, $operation);
            }
        }
    };
}

rank!(1 "1d" "{a}": a 0);
rank!(2 "2d" "{a}, {b}": a 0 b 1);
rank!(3 "3d" "{a}, {b}, {c}": a 0 b 1 c 2);
rank!(4 "4d" "{a}, {b}, {c}, {d}": a 0 b 1 c 2 d 3);
rank!(5 "5d" "{a}, {b}, {c}, {d}, {e}": a 0 b 1 c 2 d 3 e 4);
