//! `ldmatrix` (PTX ISA 9.7.14.5.15): sm_75, PTX 6.5.

use core::arch::asm;

/// One row a form: the function, its registers, its PTX.
macro_rules! forms {
    ($($name:ident($($r:ident),+) $ptx:literal $registers:literal;)*) => {$(
        #[doc = concat!("`", $ptx, " {r..}, [address];`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane that the form reads an address of (on
        /// sm_75: in every lane) `address` is that of 16 readable bytes in shared memory, 16-byte aligned.
        #[inline(always)]
        pub unsafe fn $name(address: u32) -> [u32; forms!(@count $($r)+)] {
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
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

forms! {
    ldmatrix_sync_aligned_m8n8_x1_shared_b16(r0) "ldmatrix.sync.aligned.m8n8.x1.shared.b16" "{r0}";
    ldmatrix_sync_aligned_m8n8_x2_shared_b16(r0, r1) "ldmatrix.sync.aligned.m8n8.x2.shared.b16" "{r0}, {r1}";
    ldmatrix_sync_aligned_m8n8_x4_shared_b16(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n8.x4.shared.b16" "{r0}, {r1}, {r2}, {r3}";
    ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16(r0) "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "{r0}";
    ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16(r0, r1) "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16" "{r0}, {r1}";
    ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(r0, r1, r2, r3) "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" "{r0}, {r1}, {r2}, {r3}";
}
