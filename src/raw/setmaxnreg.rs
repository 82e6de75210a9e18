//! `setmaxnreg` (PTX ISA 9.7.20.5): registers change hands between the warps of a block. PTX 8.0;
//! sm_90a, and of newer GPUs the builds for one architecture or family.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A count that the instruction takes.
const fn check(count: u32) {
    assert!(
        count >= 24 && count <= 256 && count.is_multiple_of(8),
        "a multiple of 8, from 24 to 256"
    );
}

/// `setmaxnreg.dec.sync.aligned.u32 COUNT;`: each thread keeps `COUNT` registers, and the block has
/// the others back.
///
/// # Safety
/// All lanes of the four warps of a warpgroup execute it, converged; they have at least so many.
/// The kernel was compiled with a bound of registers or of its launch. Between two `setmaxnreg` of
/// a warpgroup its warps wait for each other.
#[inline(always)]
#[track_caller]
pub unsafe fn setmaxnreg_dec_sync_aligned_u32<const COUNT: u32>() {
    const { check(COUNT) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("setmaxnreg.dec.sync.aligned.u32 {count};", count = const COUNT, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::registers::set_in_lane("setmaxnreg.dec.sync.aligned.u32", COUNT);
}

/// `setmaxnreg.inc.sync.aligned.u32 COUNT;`: waits until the block has as many free, then each
/// thread has `COUNT` registers.
///
/// # Safety
/// As above, but that they have at most so many.
#[inline(always)]
#[track_caller]
pub unsafe fn setmaxnreg_inc_sync_aligned_u32<const COUNT: u32>() {
    const { check(COUNT) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        asm!("setmaxnreg.inc.sync.aligned.u32 {count};", count = const COUNT, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::registers::set_in_lane("setmaxnreg.inc.sync.aligned.u32", COUNT);
}
