//! Special registers (PTX ISA, section 10): the coordinates of a thread in its block and grid, and
//! the clock.
//!
//! Functions of registers with the same value in all lanes of a warp are safe. The others are not.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::raw as sim;
#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

/// The thread's index in its block (`%tid.x`). [`Lane::id`](crate::lane::Lane::id) is the safe
/// form.
///
/// # Safety
/// The value differs between lanes. Call this in a lane closure. Elsewhere, the caller ensures that
/// code that depends on the value takes no lane to a collective without the others of its warp.
#[inline]
#[track_caller]
pub unsafe fn thread() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it reads a special register.
    return unsafe { nvptx::_thread_idx_x() as u32 };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::thread();
}

/// The block's coordinates in the grid (`%ctaid.{x,y,z}`).
#[inline]
pub fn block() -> [u32; 3] {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it reads special registers.
    return unsafe {
        [nvptx::_block_idx_x() as u32, nvptx::_block_idx_y() as u32, nvptx::_block_idx_z() as u32]
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::block();
}

/// The grid's size in blocks (`%nctaid.{x,y,z}`).
#[inline]
pub fn grid() -> [u32; 3] {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it reads special registers.
    return unsafe {
        [nvptx::_grid_dim_x() as u32, nvptx::_grid_dim_y() as u32, nvptx::_grid_dim_z() as u32]
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::grid();
}

/// Special registers of clusters with three coordinates: function, register, the simulator's
/// function. sm_90, PTX 7.8.
macro_rules! cluster {
    ($($name:ident $register:literal $simulated:ident;)*) => {$(
        #[doc = concat!("`%", $register, ".{x,y,z}`.")]
        #[inline]
        pub fn $name() -> [u32; 3] {
            #[cfg(target_arch = "nvptx64")]
            return {
                let (x, y, z);
                // SAFETY: it reads special registers, whose values do not change.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "mov.u32 {x}, %", $register, ".x; mov.u32 {y}, %", $register,
                            ".y; mov.u32 {z}, %", $register, ".z;"
                        ),
                        x = lateout(reg32) x, y = lateout(reg32) y, z = lateout(reg32) z,
                        options(pure, nomem, nostack));
                }
                [x, y, z]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return sim::$simulated();
        }
    )*};
}

cluster! {
    block_in_cluster "cluster_ctaid" block_in_cluster;
    cluster_shape "cluster_nctaid" cluster_shape;
    cluster "clusterid" cluster;
    clusters "nclusterid" clusters;
}

/// Special registers of clusters with one value: function, register.
macro_rules! ranks {
    ($($name:ident $register:literal;)*) => {$(
        #[doc = concat!("`%", $register, "`.")]
        #[inline]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let number;
                // SAFETY: it reads a special register, whose value does not change.
                unsafe {
                    core::arch::asm!(concat!("mov.u32 {number}, %", $register, ";"),
                        number = lateout(reg32) number,
                        options(pure, nomem, nostack));
                }
                number
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return sim::$name();
        }
    )*};
}

ranks! {
    cluster_rank "cluster_ctarank";
    cluster_size "cluster_nctarank";
}

/// Whether the kernel was launched with clusters (`%is_explicit_cluster`).
#[inline]
pub fn is_explicit_cluster() -> bool {
    #[cfg(target_arch = "nvptx64")]
    return {
        let is_one: u32;
        // SAFETY: it reads a special register, whose value does not change.
        unsafe {
            core::arch::asm!("{{ .reg .pred p; mov.pred p, %is_explicit_cluster; selp.b32 \
                              {is_one}, 1, 0, p; }}",
                is_one = lateout(reg32) is_one, options(pure, nomem, nostack));
        }
        is_one != 0
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::cluster_size() > 1;
}

/// The clock (`%clock64`). [`Lane::clock`](crate::lane::Lane::clock) is the safe form.
///
/// Code before it in the source executes before it, and code after it executes after it. Lanes may
/// read the clock at different times.
///
/// # Safety
/// As for [`thread`].
#[inline]
#[track_caller]
pub unsafe fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let cycles;
        // SAFETY: it reads a special register. It is not `nomem`, so memory accesses are not moved
        // across it.
        unsafe {
            core::arch::asm!(
                "mov.u64 {cycles}, %clock64;", cycles = lateout(reg64) cycles, options(nostack)
            )
        };
        cycles
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::clock();
}
