//! Barriers (PTX ISA 9.7.13), and the end of a kernel that went wrong.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// `bar.sync 0;`: all threads of the block wait for each other; their memory accesses before it are
/// seen after it.
///
/// # Safety
/// All threads of the block execute it, each warp converged.
#[inline(always)]
#[track_caller]
pub unsafe fn bar_sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("bar.sync 0;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_block();
}

/// `bar.sync barrier, threads;`: the same for so many threads of the block, a multiple of 32, at
/// the barrier of this number.
///
/// # Safety
/// `barrier` is from 1 to 15, and so many threads, and no others, execute it with these operands,
/// each warp converged.
#[inline(always)]
#[track_caller]
pub unsafe fn bar_sync_threads(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("bar.sync {barrier}, {threads};", barrier = in(reg32) barrier, threads = in(reg32) threads, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_named(barrier, threads);
}

/// `bar.warp.sync 0xffffffff;`: the same for the lanes of a warp.
///
/// # Safety
/// All lanes of the warp execute it.
#[inline(always)]
#[track_caller]
pub unsafe fn bar_warp_sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("bar.warp.sync 0xffffffff;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::sync_warp();
}

/// `trap;`: stops the whole grid; the launch reports it (PTX ISA 9.7.19).
#[inline(always)]
#[track_caller]
pub fn trap() -> ! {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it does nothing but stop.
    unsafe {
        core::arch::nvptx::trap()
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::trap()
}
