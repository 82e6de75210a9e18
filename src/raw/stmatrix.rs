//! `stmatrix` (PTX ISA 9.7.14.5.16): sm_90, PTX 7.8.

use core::arch::asm;

/// One row a form: the function, its registers, its PTX.
macro_rules! forms {
    ($($name:ident($($r:ident),+) $ptx:literal $registers:literal;)*) => {$(
        #[doc = concat!("`", $ptx, " [address], {r..};`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane that the form reads an address of,
        /// `address` is that of 16 writable bytes in shared memory, 16-byte aligned.
        #[inline(always)]
        pub unsafe fn $name(address: u32, [$($r),+]: [u32; forms!(@count $($r)+)]) {
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    concat!($ptx, " [{address}], {{", $registers, "}};"),
                    address = in(reg32) address,
                    $($r = in(reg32) $r,)+
                    options(nostack)
                );
            }
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

forms! {
    stmatrix_sync_aligned_m8n8_x1_shared_b16(r0) "stmatrix.sync.aligned.m8n8.x1.shared.b16" "{r0}";
    stmatrix_sync_aligned_m8n8_x2_shared_b16(r0, r1) "stmatrix.sync.aligned.m8n8.x2.shared.b16" "{r0}, {r1}";
    stmatrix_sync_aligned_m8n8_x4_shared_b16(r0, r1, r2, r3) "stmatrix.sync.aligned.m8n8.x4.shared.b16" "{r0}, {r1}, {r2}, {r3}";
    stmatrix_sync_aligned_m8n8_x1_trans_shared_b16(r0) "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "{r0}";
    stmatrix_sync_aligned_m8n8_x2_trans_shared_b16(r0, r1) "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16" "{r0}, {r1}";
    stmatrix_sync_aligned_m8n8_x4_trans_shared_b16(r0, r1, r2, r3) "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" "{r0}, {r1}, {r2}, {r3}";
}
