//! Arithmetic of `core` that the host's `core` lacks.

/// a x b + c, rounded once.
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return core::f32::math::mul_add(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    return a.mul_add(b, c);
}
