//! Register reallocation between the warps of a block: `setmaxnreg` (PTX ISA 9.7.20.5). PTX 8.0;
//! sm_90a, and on newer GPUs the architecture- and family-specific targets.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Checks that the instruction supports the count.
const fn check(count: u32) {
    assert!(
        count >= 24 && count <= 256 && count.is_multiple_of(8),
        "a multiple of 8, from 24 to 256"
    );
}

/// Reduces the registers of each thread to `COUNT`, and returns the others to the block.
///
/// PTX: `setmaxnreg.dec.sync.aligned.u32 COUNT;`
///
/// # Safety
/// All lanes of the four warps of a warpgroup execute it, converged. They have at least `COUNT`
/// registers. The kernel was compiled with a bound on its registers or on its launch. Between two
/// `setmaxnreg` of a warpgroup, its warps synchronize.
#[inline]
#[track_caller]
pub unsafe fn setmaxnreg_dec_sync_aligned_u32<const COUNT: u32>() {
    const { check(COUNT) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("setmaxnreg.dec.sync.aligned.u32 {count};", count = const COUNT, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::registers::set_in_lane("setmaxnreg.dec.sync.aligned.u32", COUNT);
}

/// Waits until the block has enough free registers, and increases the registers of each thread to
/// `COUNT`.
///
/// PTX: `setmaxnreg.inc.sync.aligned.u32 COUNT;`
///
/// # Safety
/// As above, except that they have at most `COUNT` registers.
#[inline]
#[track_caller]
pub unsafe fn setmaxnreg_inc_sync_aligned_u32<const COUNT: u32>() {
    const { check(COUNT) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("setmaxnreg.inc.sync.aligned.u32 {count};", count = const COUNT, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::registers::set_in_lane("setmaxnreg.inc.sync.aligned.u32", COUNT);
}
