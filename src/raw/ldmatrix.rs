//! `ldmatrix` (PTX ISA 9.7.14.5.15): `.b16` sm_75, PTX 6.5; the others sm_100a, sm_100f and the like, PTX 8.6.

#[cfg(not(target_arch = "nvptx64"))]
use crate::arrangement::{Arrangement::*, Packed::*};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row a form: the function, its registers, its PTX, and how the matrices lie.
macro_rules! forms {
    ($($name:ident($($r:ident),+) $ptx:literal $registers:literal [$($arrangement:tt)*];)*) => {$(
        #[doc = concat!("`", $ptx, " {r..}, [address];`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane that the form reads an address of (on
        /// sm_75: in every lane) `address` is that of 16 readable bytes in shared memory, 16-byte aligned.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(address: u32) -> [u32; forms!(@count $($r)+)] {
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $r;)+
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!($ptx, " {{", $registers, "}}, [{address}];"),
                        $($r = lateout(reg32) $r,)+
                        address = in(reg32) address,
                        options(nostack, readonly)
                    );
                }
                [$($r),+]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return crate::sim::raw::load_matrices($ptx, $($arrangement)*, address);
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

forms! {
    ldmatrix_sync_aligned_m8n8_x1_shared_b16(r0) "ldmatrix.sync.aligned.m8n8.x1.shared.b16" "{r0}" [Rows];
    ldmatrix_sync_aligned_m8n8_x2_shared_b16(r0, r1) "ldmatrix.sync.aligned.m8n8.x2.shared.b16" "{r0}, {r1}" [Rows];
    ldmatrix_sync_aligned_m8n8_x4_shared_b16(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n8.x4.shared.b16" "{r0}, {r1}, {r2}, {r3}" [Rows];
    ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16(r0) "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "{r0}" [Columns];
    ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16(r0, r1) "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16" "{r0}, {r1}" [Columns];
    ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" "{r0}, {r1}, {r2}, {r3}" [Columns];
    ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b6x16_p32(r0) "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32" "{r0}" [RowsOfBytes(Sixes)];
    ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b6x16_p32(r0, r1) "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32" "{r0}, {r1}" [RowsOfBytes(Sixes)];
    ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b6x16_p32(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32" "{r0}, {r1}, {r2}, {r3}" [RowsOfBytes(Sixes)];
    ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b4x16_p64(r0) "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64" "{r0}" [RowsOfBytes(Fours)];
    ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b4x16_p64(r0, r1) "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64" "{r0}, {r1}" [RowsOfBytes(Fours)];
    ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b4x16_p64(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64" "{r0}, {r1}, {r2}, {r3}" [RowsOfBytes(Fours)];
    ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8(r0, r1) "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8" "{r0}, {r1}" [ColumnsOfBytes(Bytes)];
    ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8(r0, r1, r2, r3) "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8" "{r0}, {r1}, {r2}, {r3}" [ColumnsOfBytes(Bytes)];
    ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b6x16_p32(r0, r1) "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32" "{r0}, {r1}" [ColumnsOfBytes(Sixes)];
    ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b6x16_p32(r0, r1, r2, r3) "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32" "{r0}, {r1}, {r2}, {r3}" [ColumnsOfBytes(Sixes)];
    ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b4x16_p64(r0, r1) "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64" "{r0}, {r1}" [ColumnsOfBytes(Fours)];
    ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b4x16_p64(r0, r1, r2, r3) "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64" "{r0}, {r1}, {r2}, {r3}" [ColumnsOfBytes(Fours)];
}
