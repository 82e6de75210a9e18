//! `ldmatrix`, `stmatrix` and `movmatrix` of a warp. The functions have the names of the
//! single-lane functions in `raw`.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine;
use crate::fragment::RowAddr;
#[cfg(not(target_arch = "nvptx64"))]
use crate::fragment::{Arrangement::*, Packed::*};
use crate::lane::{PerLane, Site};
#[cfg(target_arch = "nvptx64")]
use crate::raw;

macro_rules! loads {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        [$($arrangement:tt)+] $needs:ident $version:literal $nature:ident;)*) => {$(
        /// Loads matrices. Each lane supplies the address of a row.
        ///
        /// # Safety
        /// The warp is converged, and the GPU has the form.
        #[inline]
        pub(crate) unsafe fn $name(
            site: Site, rows: PerLane<RowAddr>
        ) -> PerLane<[u32; [$(stringify!($r)),+].len()]> {
            #[cfg(target_arch = "nvptx64")]
            return {
                let _ = site;
                // SAFETY: guaranteed by the caller; a row is 16 aligned bytes of shared memory.
                PerLane::from_own(unsafe { raw::$name(rows.own().address()) })
            };
            #[cfg(not(target_arch = "nvptx64"))]
            engine::load_matrices(site, $ptx, &rows, $($arrangement)+)
        }
    )*};
}
crate::ldmatrix_forms!(loads);

macro_rules! stores {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        [$($arrangement:tt)+] $needs:ident $version:literal $nature:ident;)*) => {$(
        /// Stores matrices. Each lane supplies the address of a row.
        ///
        /// # Safety
        /// The warp is converged, and the GPU has the form.
        #[inline]
        pub(crate) unsafe fn $name(
            site: Site,
            rows: PerLane<RowAddr>,
            registers: PerLane<[u32; [$(stringify!($r)),+].len()]>,
        ) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: guaranteed by the caller; a row is 16 aligned bytes of shared memory.
            unsafe {
                let _ = site;
                raw::$name(rows.own().address(), registers.own());
            }
            #[cfg(not(target_arch = "nvptx64"))]
            engine::store_matrices(site, $ptx, &rows, &registers, $($arrangement)+);
        }
    )*};
}
crate::stmatrix_forms!(stores);

/// Transposes a matrix.
///
/// # Safety
/// The warp is converged.
#[inline]
pub(crate) unsafe fn movmatrix_sync_aligned_m8n8_trans_b16(
    site: Site,
    matrix: PerLane<u32>,
) -> PerLane<u32> {
    #[cfg(target_arch = "nvptx64")]
    return {
        let _ = site;
        // SAFETY: guaranteed by the caller.
        PerLane::from_own(unsafe { raw::movmatrix_sync_aligned_m8n8_trans_b16(matrix.own()) })
    };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        engine::note_collective(site, "movmatrix.sync.aligned.m8n8.trans.b16");
        engine::transpose_matrix(&matrix)
    }
}
