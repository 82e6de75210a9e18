//! Bulk copies (PTX ISA 9.7.9.25.4 and .5): one thread has many bytes copied between global and
//! shared memory, asynchronously, by what is no thread. sm_90, PTX 8.0.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::bulk as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The same address. Of one that is a sum of what is the same in all threads, ptxas 13.0 (which is
/// also in the drivers of CUDA 13.0) keeps only the lower half for a bulk copy; of one that was
/// turned over and back, all. Neither costs an instruction.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(super) fn whole<T>(address: *const T) -> *const T {
    let whole;
    // SAFETY: it touches no memory.
    unsafe {
        asm!("{{ .reg .b64 t; not.b64 t, {address}; not.b64 {whole}, t; }}",
            address = in(reg64) address, whole = lateout(reg64) whole, options(pure, nomem, nostack));
    }
    whole
}

/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes,
/// [barrier];`: when the bytes are there, the barrier's phase lacks as many fewer.
///
/// # Safety
/// From now until a wait for that phase, `to` is the address of so many bytes in the block's shared
/// memory that nobody else touches, and as many bytes of global memory at `from` are there; the
/// addresses and the number are multiples of 16. `barrier` is that of an mbarrier. Both
/// may be addresses in the `.shared::cluster` window: of one block, which runs until then.
#[inline(always)]
#[track_caller]
pub unsafe fn cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{from}], {bytes}, [{barrier}];",
            to = in(reg32) to, from = in(reg64) whole(from), bytes = in(reg32) bytes, barrier = in(reg32) barrier,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
    unsafe {
        let form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
        sim::load(Site::here(), form, to, from, bytes, barrier, sim::Blocks::One);
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes;`
///
/// # Safety
/// From now until a wait for its group, so many bytes of global memory at `to` are there, and
/// nobody else touches them, and nobody writes as many bytes of the block's shared memory at
/// `from`; the addresses and the number are multiples of 16.
#[inline(always)]
#[track_caller]
pub unsafe fn cp_async_bulk_global_shared_cta_bulk_group(to: *mut u8, from: u32, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("cp.async.bulk.global.shared::cta.bulk_group [{to}], [{from}], {bytes};",
            to = in(reg64) whole(to), from = in(reg32) from, bytes = in(reg32) bytes, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
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

/// Reductions: the operation, what it is of, `.noftz` where PTX wants it.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident $noftz:literal)*;)*) => {$($(
        reductions!(@one ${concat(cp_reduce_async_bulk_global_shared_cta_bulk_group_, $operation, _, $kind)}
            (concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.", stringify!($operation), $noftz, ".", stringify!($kind)))
            $simulated $kind () "");
        reductions!(@one ${concat(cp_reduce_async_bulk_global_shared_cta_bulk_group_L2_cache_hint_, $operation, _, $kind)}
            (concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.", stringify!($operation), $noftz, ".",
                stringify!($kind)))
            $simulated $kind (policy) ", {policy}");
    )*)*};
    (@one $name:ident ($ptx:expr) $simulated:ident $kind:ident ($($policy:ident)?) $behind:literal) => {
        #[doc = concat!("`", $ptx, " [to], [from], bytes", $behind, ";`: each element in global memory becomes this of itself and of the one in shared memory.")]
        ///
        /// # Safety
        /// As [`cp_async_bulk_global_shared_cta_bulk_group`], but that others may reduce the same elements. A policy is one that `createpolicy`
        /// made.
        #[inline(always)]
        #[track_caller]
        #[allow(non_snake_case, reason = "PTX's name")]
        pub unsafe fn $name(to: *mut u8, from: u32, bytes: u32, $($policy: u64)?) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], {bytes}", $behind, ";"),
                    to = in(reg64) whole(to), from = in(reg32) from, bytes = in(reg32) bytes, $($policy = in(reg64) $policy,)?
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller's.
            unsafe {
                $(let _ = $policy;)?
                let reduction = sim::Reduction { operation: sim::Operation::$simulated, kind: sim::Kind::$kind };
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

/// `cp.async.bulk.prefetch.L2.global [from], bytes;`: to the second-level cache.
///
/// # Safety
/// So many bytes of global memory at `from` are there; the address and the number are multiples of
/// 16.
#[inline(always)]
#[track_caller]
#[allow(non_snake_case, reason = "PTX's name")]
pub unsafe fn cp_async_bulk_prefetch_L2_global(from: *const u8, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("cp.async.bulk.prefetch.L2.global [{from}], {bytes};",
            from = in(reg64) whole(from), bytes = in(reg32) bytes, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
    unsafe {
        sim::prefetch(Site::here(), "cp.async.bulk.prefetch.L2.global", from, bytes);
    }
}

/// `cp.async.bulk.commit_group;`: the bulk copies from shared memory that the thread started since
/// the last one become a group.
#[inline(always)]
#[track_caller]
pub fn cp_async_bulk_commit_group() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory of the program's.
    unsafe {
        asm!("cp.async.bulk.commit_group;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::commit(Site::here());
}

/// Waits: the function, PTX, whether it waits for the reads only, what it waits for.
macro_rules! waits {
    ($($name:ident $ptx:literal $read:literal, $doc:literal;)*) => {$(
        #[doc = concat!("`", $ptx, " N;`: ", $doc)]
        #[inline(always)]
        #[track_caller]
        pub fn $name<const N: u32>() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: it waits.
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
