//! `stmatrix` (PTX ISA 9.7.14.5.16): `.b16` sm_90, PTX 7.8; `.b8` sm_100a, sm_100f and the like, PTX 8.6.

#[cfg(not(target_arch = "nvptx64"))]
use crate::arrangement::Arrangement::*;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row a form: the function, its registers, its PTX, and how the matrices lie.
macro_rules! forms {
    ($($name:ident($($r:ident),+) $ptx:literal $registers:literal [$($arrangement:tt)*];)*) => {$(
        #[doc = concat!("`", $ptx, " [address], {r..};`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane that the form reads an address of,
        /// `address` is that of 16 writable bytes in shared memory, 16-byte aligned.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(address: u32, [$($r),+]: [u32; forms!(@count $($r)+)]) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    concat!($ptx, " [{address}], {{", $registers, "}};"),
                    address = in(reg32) address,
                    $($r = in(reg32) $r,)+
                    options(nostack)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::sim::raw::store_matrices($ptx, $($arrangement)*, address, [$($r),+]);
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

forms! {
    stmatrix_sync_aligned_m8n8_x1_shared_b16(r0) "stmatrix.sync.aligned.m8n8.x1.shared.b16" "{r0}" [Rows];
    stmatrix_sync_aligned_m8n8_x2_shared_b16(r0, r1) "stmatrix.sync.aligned.m8n8.x2.shared.b16" "{r0}, {r1}" [Rows];
    stmatrix_sync_aligned_m8n8_x4_shared_b16(r0, r1, r2, r3) "stmatrix.sync.aligned.m8n8.x4.shared.b16" "{r0}, {r1}, {r2}, {r3}" [Rows];
    stmatrix_sync_aligned_m8n8_x1_trans_shared_b16(r0) "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "{r0}" [Columns];
    stmatrix_sync_aligned_m8n8_x2_trans_shared_b16(r0, r1) "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16" "{r0}, {r1}" [Columns];
    stmatrix_sync_aligned_m8n8_x4_trans_shared_b16(r0, r1, r2, r3) "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" "{r0}, {r1}, {r2}, {r3}" [Columns];
    stmatrix_sync_aligned_m16n8_x1_trans_shared_b8(r0) "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8" "{r0}" [StoredColumnsOfBytes];
    stmatrix_sync_aligned_m16n8_x2_trans_shared_b8(r0, r1) "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8" "{r0}, {r1}" [StoredColumnsOfBytes];
    stmatrix_sync_aligned_m16n8_x4_trans_shared_b8(r0, r1, r2, r3) "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8" "{r0}, {r1}, {r2}, {r3}" [StoredColumnsOfBytes];
}
