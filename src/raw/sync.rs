//! Barriers (PTX ISA 9.7.13), and the end of a kernel that went wrong.

use core::arch::asm;

/// `bar.sync 0;`: all threads of the block wait for each other; their memory accesses before it are seen after it.
///
/// # Safety
/// All threads of the block execute it, each warp converged.
#[inline(always)]
pub unsafe fn bar_sync() {
    // SAFETY: the caller's.
    unsafe { asm!("bar.sync 0;", options(nostack)) }
}

/// `bar.warp.sync 0xffffffff;`: the same for the lanes of a warp.
///
/// # Safety
/// All lanes of the warp execute it.
#[inline(always)]
pub unsafe fn bar_warp_sync() {
    // SAFETY: the caller's.
    unsafe { asm!("bar.warp.sync 0xffffffff;", options(nostack)) }
}

/// `trap;`: stops the whole grid; the launch reports it (PTX ISA 9.7.19).
#[inline(always)]
pub fn trap() -> ! {
    // SAFETY: it does nothing but stop.
    unsafe { core::arch::nvptx::trap() }
}
