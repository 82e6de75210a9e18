//! Rounding of f32 to f16.

/// Rounds two numbers to a pair of f16. Uses one instruction if the GPU has it.
#[inline]
pub(crate) fn f16_pair(low: f32, high: f32) -> u32 {
    if cfg!(any(not(target_arch = "nvptx64"), target_feature = "sm_80")) {
        crate::raw::cvt_rn_f16x2_f32(low, high)
    } else {
        u32::from(crate::raw::cvt_rn_f16_f32(low))
            | u32::from(crate::raw::cvt_rn_f16_f32(high)) << 16
    }
}
