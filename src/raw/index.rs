//! Special registers (PTX ISA, section 10): where a thread stands in its block and its grid, and the clock.

#[cfg(not(target_arch = "nvptx64"))]
use crate::sim::raw as sim;
#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

/// `%tid.x`.
#[inline(always)]
#[track_caller]
pub fn thread() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reading a special register.
    return unsafe { nvptx::_thread_idx_x() as u32 };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::thread();
}

/// `%ctaid.{x,y,z}`.
#[inline(always)]
pub fn block() -> [u32; 3] {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reading special registers.
    return unsafe { [nvptx::_block_idx_x() as u32, nvptx::_block_idx_y() as u32, nvptx::_block_idx_z() as u32] };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::block();
}

/// `%nctaid.{x,y,z}`.
#[inline(always)]
pub fn grid() -> [u32; 3] {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reading special registers.
    return unsafe { [nvptx::_grid_dim_x() as u32, nvptx::_grid_dim_y() as u32, nvptx::_grid_dim_z() as u32] };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::grid();
}

/// `%clock64`. What was written before it is executed before it, and the rest after it.
#[inline(always)]
#[track_caller]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let cycles;
        // SAFETY: reading a special register. Not `nomem`, so that accesses to memory stay on their side of it.
        unsafe { core::arch::asm!("mov.u64 {cycles}, %clock64;", cycles = lateout(reg64) cycles, options(nostack)) };
        cycles
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::clock();
}
