//! The methods of `f32` and `f64` that `std` has and `core` lacks.

/// Methods of `f32` and `f64` that `core` lacks: `x.sqrt()` works in kernels too.
///
/// [`prelude`](crate::prelude) exports the trait. Where `std` is available, its methods of the same
/// names take precedence, with the same results.
///
/// All are computed in IEEE 754 arithmetic: they give the same bits on every GPU and on the CPU.
/// `docs/NUMERICS.md` names the exceptions.
///
/// | method | PTX for `f32`, from sm_75 on |
/// | --- | --- |
/// | [`sqrt`] | `sqrt.rn.f32` |
/// | [`mul_add`] | `fma.rn.f32` |
/// | [`floor`], [`ceil`], [`trunc`] | `cvt.rmi`, `cvt.rpi`, `cvt.rzi.f32.f32` |
/// | [`round_ties_even`] | `cvt.rni.f32.f32` |
/// | others | several instructions |
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// #[kernel(threads = 32)]
/// fn roots(block: &Block, x: Global<f32>, d: GlobalMut<f32>) {
///     block.warp().each(|lane| d.set(lane.id(), x.get(lane.id()).sqrt()));
/// }
///
/// let mut d = [0.0; 32];
/// roots::simulate(1, &[2.25; 32], &mut d).check();
/// assert_eq!(d, [1.5; 32]);
/// ```
///
/// [`sqrt`]: Self::sqrt
/// [`mul_add`]: Self::mul_add
/// [`floor`]: Self::floor
/// [`ceil`]: Self::ceil
/// [`trunc`]: Self::trunc
/// [`round_ties_even`]: Self::round_ties_even
pub trait FloatMath: Copy + crate::lane::Sealed {
    /// Computes self x `factor` + `addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Computes the square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Computes the cube root. That of `f64` reads a table in local memory.
    fn cbrt(self) -> Self;
    /// Rounds towards negative infinity.
    fn floor(self) -> Self;
    /// Rounds towards positive infinity.
    fn ceil(self) -> Self;
    /// Rounds to the nearest integer, and halves away from zero.
    fn round(self) -> Self;
    /// Rounds to the nearest integer, and halves to the even one.
    fn round_ties_even(self) -> Self;
    /// Rounds towards zero.
    fn trunc(self) -> Self;
    /// Computes the fractional part, `self - self.trunc()`.
    fn fract(self) -> Self;
    /// Computes the quotient rounded so that the remainder is not negative.
    fn div_euclid(self, divisor: Self) -> Self;
    /// Computes the remainder that is not negative.
    fn rem_euclid(self, divisor: Self) -> Self;
    /// Computes an integer power. It is not correctly rounded.
    fn powi(self, exponent: i32) -> Self;
}

macro_rules! methods {
    ($float:ident $math:path: $($method:ident($($argument:ident: $of:ty),*);)*) => {
        impl FloatMath for $float {$(
            #[inline]
            fn $method(self, $($argument: $of),*) -> $float {
                #[cfg(target_arch = "nvptx64")]
                {
                    use $math as math;
                    math::$method(self, $($argument),*)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                $float::$method(self, $($argument),*)
            }
        )*}
    };
    ($($float:ident $math:path;)*) => {$(
        methods! { $float $math:
            mul_add(factor: $float, addend: $float);
            sqrt();
            cbrt();
            floor();
            ceil();
            round();
            round_ties_even();
            trunc();
            fract();
            div_euclid(divisor: $float);
            rem_euclid(divisor: $float);
            powi(exponent: i32);
        }
    )*};
}
methods! {
    f32 core::f32::math;
    f64 core::f64::math;
}
