//! Bulk copies between global and shared memory (PTX ISA 9.7.9.25.4 and .5). sm_90, PTX 8.0.
//!
//! One thread issues the copy of many bytes. The hardware completes it asynchronously.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::bulk as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Returns the same address, in a form that ptxas 13.0 handles correctly.
///
/// ptxas 13.0 (also in the drivers of CUDA 13.0) has a bug with bulk copies. If the address is a
/// sum of values that are equal in all threads, ptxas keeps only its lower half. It keeps all of an
/// address that is complemented twice. The complements cost no instruction.
#[cfg(target_arch = "nvptx64")]
#[inline]
pub(super) fn whole<T>(address: *const T) -> *const T {
    let whole;
    // SAFETY: it touches no memory.
    unsafe {
        asm!("{{ .reg .b64 t; not.b64 t, {address}; not.b64 {whole}, t; }}",
            address = in(reg64) address, whole = lateout(reg64) whole,
            options(pure, nomem, nostack));
    }
    whole
}

/// Copies bytes from global to shared memory, and reports them to an mbarrier.
///
/// PTX: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes,
/// [barrier];`. On completion, the barrier's phase has `bytes` fewer pending.
///
/// # Safety
/// Both addresses and `bytes` are multiples of 16. Until a wait for the barrier's phase:
///
/// - `to` is the address of `bytes` bytes in the block's shared memory, and nobody else accesses
///   them.
/// - `from` points to as many valid bytes of global memory.
///
/// `barrier` is the address of an mbarrier. `to` and `barrier` may be addresses in the
/// `.shared::cluster` window, both in one block. That block runs until then.
#[inline]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{from}], \
              {bytes}, [{barrier}];",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        let form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::One);
    }
}

/// Copies bytes from shared to global memory, as part of the thread's current bulk group.
///
/// PTX: `cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes;`
///
/// # Safety
/// Both addresses and `bytes` are multiples of 16. Until a wait for the group:
///
/// - `to` points to `bytes` valid bytes of global memory, and nobody else accesses them.
/// - Nobody writes the `bytes` bytes of the block's shared memory at `from`.
#[inline]
#[track_caller]
pub unsafe fn cp_async_bulk_global_shared_cta_bulk_group(to: *mut u8, from: u32, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.global.shared::cta.bulk_group [{to}], [{from}], {bytes};",
            to = in(reg64) whole(to), from = in(reg32) from, bytes = in(reg32) bytes,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        sim::store(
            Site::here(),
            "cp.async.bulk.global.shared::cta.bulk_group",
            to,
            from,
            bytes,
            None,
        );
    }
}

/// Reductions: the operation, its element types, and `.noftz` where PTX requires it.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident $noftz:literal)*;)*) => {$($(
        pastey::paste! { reductions! { @one [<
            cp_reduce_async_bulk_global_shared_cta_bulk_group_ $operation _ $kind
        >]
            (concat!(
                "cp.reduce.async.bulk.global.shared::cta.bulk_group.", stringify!($operation),
                $noftz, ".", stringify!($kind)
            ))
            $simulated $kind () "" } }
        pastey::paste! { reductions! { @one [<
            cp_reduce_async_bulk_global_shared_cta_bulk_group_L2_cache_hint_ $operation _ $kind
        >]
            (concat!(
                "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.",
                stringify!($operation), $noftz, ".", stringify!($kind)
            ))
            $simulated $kind (policy) ", {policy}" } }
    )*)*};
    (
        @one $name:ident ($ptx:expr) $simulated:ident $kind:ident ($($policy:ident)?)
            $behind:literal
    ) => {
        /// Reduces elements of global memory with elements of shared memory, as part of the
        /// thread's current bulk group.
        ///
        #[doc = concat!(
            "`", $ptx, " [to], [from], bytes", $behind,
            ";`: each element in global memory becomes this of itself and of the one in shared \
             memory."
        )]
        ///
        /// # Safety
        /// As for [`cp_async_bulk_global_shared_cta_bulk_group`]. But others may reduce the same
        /// elements. A policy was made by `createpolicy`.
        #[inline]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(to: *mut u8, from: u32, bytes: u32, $($policy: u64)?) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], {bytes}", $behind, ";"),
                    to = in(reg64) whole(to), from = in(reg32) from, bytes = in(reg32) bytes,
                    $($policy = in(reg64) $policy,)?
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                $(let _ = $policy;)?
                let reduction = sim::Reduction {
                    operation: sim::Operation::$simulated, kind: sim::Kind::$kind
                };
                sim::store(Site::here(), $ptx, to, from, bytes, Some(reduction));
            }
        }
    };
}

reductions! {
    add Add: u32 "" s32 "" u64 "" f32 "" f64 "" f16 ".noftz" bf16 ".noftz";
    min Min: u32 "" s32 "" u64 "" s64 "" f16 "" bf16 "";
    max Max: u32 "" s32 "" u64 "" s64 "" f16 "" bf16 "";
    inc Inc: u32 "";
    dec Dec: u32 "";
    and And: b32 "" b64 "";
    or Or: b32 "" b64 "";
    xor Xor: b32 "" b64 "";
}

/// Prefetches bytes of global memory to L2.
///
/// PTX: `cp.async.bulk.prefetch.L2.global [from], bytes;`
///
/// # Safety
/// `from` points to `bytes` valid bytes of global memory. The address and `bytes` are multiples of
/// 16.
#[inline]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
pub unsafe fn cp_async_bulk_prefetch_L2_global(from: *const u8, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("cp.async.bulk.prefetch.L2.global [{from}], {bytes};",
            from = in(reg64) whole(from), bytes = in(reg32) bytes, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        sim::prefetch(Site::here(), "cp.async.bulk.prefetch.L2.global", from, bytes);
    }
}

/// Closes the thread's current bulk group: all its bulk copies from shared memory since the last
/// group.
///
/// PTX: `cp.async.bulk.commit_group;`
#[inline]
#[track_caller]
pub fn cp_async_bulk_commit_group() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory of the program.
    unsafe {
        asm!("cp.async.bulk.commit_group;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::commit(Site::here());
}

/// Waits: function, PTX, whether it waits for the reads only, and a description.
macro_rules! waits {
    ($($name:ident $ptx:literal $read:literal, $doc:literal;)*) => {$(
        #[doc = concat!("`", $ptx, " N;`: ", $doc)]
        #[inline]
        #[track_caller]
        pub fn $name<const N: u32>() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: it only waits.
            unsafe {
                asm!(concat!($ptx, " {n};"), n = const N, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::wait(Site::here(), $ptx, N as usize, $read);
        }
    )*};
}

waits! {
    cp_async_bulk_wait_group "cp.async.bulk.wait_group" false,
        "until at most the thread's `N` newest groups are still going on.";
    cp_async_bulk_wait_group_read "cp.async.bulk.wait_group.read" true,
        "until at most the thread's `N` newest groups still read shared memory.";
}
