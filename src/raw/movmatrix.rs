//! Matrix transposition in registers: `movmatrix` (PTX ISA 9.7.14.5.17). sm_75, PTX 7.8.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Transposes an 8x8 matrix of 16-bit elements in the registers of a warp.
///
/// PTX: `movmatrix.sync.aligned.m8n8.trans.b16 d, a;`
///
/// # Safety
/// All lanes of the warp execute it, converged.
#[inline]
#[track_caller]
pub unsafe fn movmatrix_sync_aligned_m8n8_trans_b16(a: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let d;
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!(
                "movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a};",
                d = lateout(reg32) d,
                a = in(reg32) a,
                options(nostack, nomem)
            );
        }
        d
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::engine::raw::transpose_matrix("movmatrix.sync.aligned.m8n8.trans.b16", a);
}
