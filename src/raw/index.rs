//! Where a thread stands in its block and its grid (PTX ISA, section 10, special registers).

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
