//! Approximate special functions: one to three instructions of the special function unit each.
//!
//! They are scalar functions, for lane closures and for warp scope. On the CPU they return the bits
//! of an H100, for every argument. `docs/NUMERICS.md` describes how these were found. No other GPU
//! was run.
//!
//! | function | PTX | largest error, measured on all arguments or as stated |
//! | --- | --- | --- |
//! | [`ex2_approx`] | `ex2.approx` | 2^-22.7 of the result |
//! | [`lg2_approx`] | `lg2.approx` | 2^-22.1 for x in [0.5, 2), else 2^-22.2 of the result |
//! | [`rcp_approx`] | `rcp.approx` | 2^-23.2 of the result |
//! | [`rsqrt_approx`] | `rsqrt.approx` | 2^-22.9 of the result |
//! | [`sqrt_approx`] | `sqrt.approx` | 2^-23.2 of the result |
//! | [`tanh_approx`] | `tanh.approx` | 2^-16.4 of the result; PTX promises 2^-11 |
//! | [`sin_approx`], [`cos_approx`] | `sin.approx`, `cos.approx` | 2^-21.2 for x in [-pi, pi] |
//!
//! The errors of `ex2`, `rcp`, `rsqrt` and `sqrt` are those of normal arguments and results. A
//! function with `_ftz` flushes subnormal arguments and results to zero. For NaN, every function
//! returns the NaN `0x7fffffff`. Functions of pairs return `0x7fff`.
//!
//! Division and [`fma`] are correctly rounded on every GPU. Use them for results that must not
//! depend on the GPU.
//!
//! ```
//! use ptx_matrix::{math::ex2_approx_ftz, prelude::*};
//!
//! #[kernel(threads = 32)]
//! fn powers(block: &Block, x: Global<f32>, d: GlobalMut<f32>) {
//!     block.warp().each(|lane| d.set(lane.id(), ex2_approx_ftz(x.get(lane.id()))));
//! }
//!
//! let x: Vec<f32> = (0..32).map(|lane| lane as f32 / 4.0 - 3.0).collect();
//! let mut d = [0.0; 32];
//! powers::simulate(1, &x, &mut d).unwrap();
//! assert_eq!((d[0], d[12], d[16]), (0.125, 1.0, 2.0));
//! assert_eq!(d[13].to_bits(), 0x3f98_37f1); // like an H100: 1 ulp above the nearest f32
//! ```

mod float;

pub use float::FloatMath;

use crate::element::{bf16, f16};
use crate::target::{AtLeast, BuiltFor};
use crate::{machine, raw};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $raw:ident $ptx:literal;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("PTX: `", $ptx, "`, from sm_75 on.")]
        #[inline]
        #[track_caller]
        pub fn $name(x: f32) -> f32 {
            raw::$raw(x)
        }
    )*};
}

functions! {
    /// Computes 2^x. Exact for integers.
    ex2_approx ex2_approx_f32 "ex2.approx.f32";
    /// Computes 2^x, and flushes subnormal numbers to zero.
    ex2_approx_ftz ex2_approx_ftz_f32 "ex2.approx.ftz.f32";
    /// Computes the logarithm to base 2. For 1 it is zero. For other powers of two it may be
    /// inexact.
    lg2_approx lg2_approx_f32 "lg2.approx.f32";
    /// Computes the logarithm to base 2, and flushes subnormal numbers to zero.
    lg2_approx_ftz lg2_approx_ftz_f32 "lg2.approx.ftz.f32";
    /// Computes the reciprocal, 1 / x.
    rcp_approx rcp_approx_f32 "rcp.approx.f32";
    /// Computes the reciprocal, 1 / x, and flushes subnormal numbers to zero.
    rcp_approx_ftz rcp_approx_ftz_f32 "rcp.approx.ftz.f32";
    /// Computes 1 / sqrt(x). Exact for powers of four.
    rsqrt_approx rsqrt_approx_f32 "rsqrt.approx.f32";
    /// Computes 1 / sqrt(x), and flushes subnormal numbers to zero.
    rsqrt_approx_ftz rsqrt_approx_ftz_f32 "rsqrt.approx.ftz.f32";
    /// Computes the square root.
    sqrt_approx sqrt_approx_f32 "sqrt.approx.f32";
    /// Computes the square root, and flushes subnormal numbers to zero.
    sqrt_approx_ftz sqrt_approx_ftz_f32 "sqrt.approx.ftz.f32";
    /// Computes the hyperbolic tangent. It has no form with `.ftz`, and keeps subnormal numbers.
    tanh_approx tanh_approx_f32 "tanh.approx.f32";
    /// Computes the sine of x in radians. Beyond a few turns, the range reduction loses bits.
    sin_approx sin_approx_f32 "sin.approx.f32";
    /// Computes the sine of x in radians, and flushes subnormal numbers to zero.
    sin_approx_ftz sin_approx_ftz_f32 "sin.approx.ftz.f32";
    /// Computes the cosine of x in radians. Beyond a few turns, the range reduction loses bits.
    cos_approx cos_approx_f32 "cos.approx.f32";
    /// Computes the cosine of x in radians, and flushes subnormal numbers to zero.
    cos_approx_ftz cos_approx_ftz_f32 "cos.approx.ftz.f32";
}

/// a x b + c, rounded once to the nearest.
///
/// PTX: `fma.rn.f32`, from sm_75 on.
///
/// ```
/// use ptx_matrix::math::fma;
///
/// // The square of 1 + 2^-12 ends with 2^-24, which a product alone rounds off.
/// let x = 1.0 + f32::EPSILON * 2048.0;
/// assert_eq!(fma(x, x, -1.0) - 2.0 * (x - 1.0), 2.0f32.powi(-24));
/// ```
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    machine::fma(a, b, c)
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident $element:ident $least:literal $raw:ident $ptx:literal;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("PTX: `", $ptx, "`, from sm_", $least, " on.")]
        #[inline]
        #[track_caller]
        pub fn $name([low, high]: [$element; 2]) -> [$element; 2]
        where
            $element: BuiltFor<AtLeast<$least>>,
        {
            let pair = raw::$raw(u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16);
            [$element::from_bits(pair as u16), $element::from_bits((pair >> 16) as u16)]
        }
    )*};
}

pairs! {
    /// Computes 2^x of two numbers: the result of f32, truncated toward zero.
    ex2_approx_f16x2 f16 75 ex2_approx_f16x2 "ex2.approx.f16x2";
    /// Computes 2^x of two numbers, and flushes subnormal numbers to zero: the result of f32,
    /// truncated toward zero.
    ex2_approx_ftz_bf16x2 bf16 90 ex2_approx_ftz_bf16x2 "ex2.approx.ftz.bf16x2";
    /// Computes the hyperbolic tangent of two numbers: the result of f32, truncated toward zero.
    tanh_approx_f16x2 f16 75 tanh_approx_f16x2 "tanh.approx.f16x2";
    /// Computes the hyperbolic tangent of two numbers: the result of f32, truncated toward zero.
    tanh_approx_bf16x2 bf16 90 tanh_approx_bf16x2 "tanh.approx.bf16x2";
}
