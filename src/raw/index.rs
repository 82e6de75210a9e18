//! Where a thread stands in its block and its grid (PTX ISA, section 10, special registers).

use core::arch::nvptx;

/// `%tid.x`.
#[inline(always)]
pub fn thread() -> u32 {
    // SAFETY: reading a special register.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

/// `%ctaid.{x,y,z}`.
#[inline(always)]
pub fn block() -> [u32; 3] {
    // SAFETY: reading special registers.
    unsafe { [nvptx::_block_idx_x() as u32, nvptx::_block_idx_y() as u32, nvptx::_block_idx_z() as u32] }
}

/// `%nctaid.{x,y,z}`.
#[inline(always)]
pub fn grid() -> [u32; 3] {
    // SAFETY: reading special registers.
    unsafe { [nvptx::_grid_dim_x() as u32, nvptx::_grid_dim_y() as u32, nvptx::_grid_dim_z() as u32] }
}
