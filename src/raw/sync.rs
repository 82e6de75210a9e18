//! Barriers (PTX ISA 9.7.13), and the abort of a kernel.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Synchronizes all threads of the block: memory accesses before it are visible after it.
///
/// PTX: `bar.sync 0;`
///
/// # Safety
/// All threads of the block execute it, each warp converged.
#[inline]
#[track_caller]
pub unsafe fn bar_sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("bar.sync 0;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_block();
}

/// Synchronizes `threads` threads of the block, at the barrier with number `barrier`.
///
/// PTX: `bar.sync barrier, threads;`. `threads` is a multiple of 32.
///
/// # Safety
/// `barrier` is from 1 to 15. Exactly `threads` threads execute it or [`bar_arrive_threads`] with
/// these operands, each warp converged. Other warps come to the same barrier only when something
/// else orders them after these. (`WarpGroup::sync` has number 1 plus the warpgroup's, and
/// `NamedBarrier` 9 plus its own.)
#[inline]
#[track_caller]
pub unsafe fn bar_sync_threads(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!(
            "bar.sync {barrier}, {threads};", barrier = in(reg32) barrier,
            threads = in(reg32) threads, options(nostack)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_named(barrier, threads);
}

/// Counts the warp's threads at the barrier with number `barrier`, for `threads` threads, and does
/// not wait. Threads that wait there by [`bar_sync_threads`] see this thread's earlier writes.
///
/// PTX: `bar.arrive barrier, threads;`. `threads` is a multiple of 32.
///
/// # Safety
/// As for [`bar_sync_threads`]; the warp comes to the barrier again only when something else orders
/// it after the barrier's completion.
#[inline]
#[track_caller]
pub unsafe fn bar_arrive_threads(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!(
            "bar.arrive {barrier}, {threads};", barrier = in(reg32) barrier,
            threads = in(reg32) threads, options(nostack)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::arrive_named(barrier, threads);
}

/// Synchronizes the lanes of a warp: `bar.warp.sync 0xffffffff;`.
///
/// # Safety
/// All lanes of the warp execute it.
#[inline]
#[track_caller]
pub unsafe fn bar_warp_sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("bar.warp.sync 0xffffffff;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_warp();
}

/// Stops the whole grid, and the launch reports it: `trap;` (PTX ISA 9.7.19).
#[inline]
#[track_caller]
pub fn trap() -> ! {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only stops.
    unsafe {
        core::arch::nvptx::trap()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::trap()
}
