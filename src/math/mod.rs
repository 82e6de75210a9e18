//! Approximate special functions: one to three instructions of the special function unit each. Also
//! [arithmetic of pairs](#arithmetic-of-pairs) of 16-bit floats.
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
//!
//! ## Arithmetic of pairs
//!
//! A register has two f16 or bf16, and one instruction computes with both. The operators of `half`
//! convert each number to f32 and back. The functions [`fma_f16x2`], [`add_f16x2`] and the like
//! round each result once, to the nearest; NaN is `0x7fff`. Two f32 become a pair by
//! [`round_bf16x2`] or [`round_f16x2`]. Bytes move by [`permute_bytes`]. Together they dequantise
//! 4-bit weights:
//!
//! ```
//! use ptx_matrix::math::{mul_f16x2, permute_bytes, sub_f16x2};
//! use ptx_matrix::prelude::*;
//!
//! /// The first two of eight unsigned 4-bit numbers, each minus 8, times a scale.
//! fn dequantised(eight: u32, scale: f16) -> [f16; 2] {
//!     // Behind the bits of 1024, a number n is the f16 1024 + n.
//!     let biased = permute_bytes(eight, eight >> 4, 0x4400) & 0x000f_000f | 0x6400_6400;
//!     let biased = [f16::from_bits(biased as u16), f16::from_bits((biased >> 16) as u16)];
//!     mul_f16x2(sub_f16x2(biased, [f16::from_f32(1032.0); 2]), [scale; 2])
//! }
//!
//! let half = f16::from_f32(0.5);
//! assert_eq!(dequantised(0x7654_32f3, half), [-2.5, 3.5].map(f16::from_f32));
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
    ($($(#[$doc:meta])* $name:ident $element:ident $least:literal $raw:ident $ptx:literal
        $($operand:ident)+;)*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("PTX: `", $ptx, "`, from sm_", $least, " on.")]
        #[inline]
        #[track_caller]
        pub fn $name($($operand: [$element; 2]),+) -> [$element; 2]
        where
            $element: BuiltFor<AtLeast<$least>>,
        {
            let register = |[low, high]: [$element; 2]| {
                u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
            };
            let pair = raw::$raw($(register($operand)),+);
            [$element::from_bits(pair as u16), $element::from_bits((pair >> 16) as u16)]
        }
    )*};
}

pairs! {
    /// Computes 2^x of two numbers: the result of f32, truncated toward zero.
    ex2_approx_f16x2 f16 75 ex2_approx_f16x2 "ex2.approx.f16x2" x;
    /// Computes 2^x of two numbers, and flushes subnormal numbers to zero: the result of f32,
    /// truncated toward zero.
    ex2_approx_ftz_bf16x2 bf16 90 ex2_approx_ftz_bf16x2 "ex2.approx.ftz.bf16x2" x;
    /// Computes the hyperbolic tangent of two numbers: the result of f32, truncated toward zero.
    tanh_approx_f16x2 f16 75 tanh_approx_f16x2 "tanh.approx.f16x2" x;
    /// Computes the hyperbolic tangent of two numbers: the result of f32, truncated toward zero.
    tanh_approx_bf16x2 bf16 90 tanh_approx_bf16x2 "tanh.approx.bf16x2" x;
    /// a + b of two pairs.
    add_f16x2 f16 75 add_rn_f16x2 "add.rn.f16x2" a b;
    /// a - b of two pairs.
    sub_f16x2 f16 75 sub_rn_f16x2 "sub.rn.f16x2" a b;
    /// a x b of two pairs.
    mul_f16x2 f16 75 mul_rn_f16x2 "mul.rn.f16x2" a b;
    /// a x b + c of three pairs, rounded once.
    fma_f16x2 f16 75 fma_rn_f16x2 "fma.rn.f16x2" a b c;
    /// a + b of two pairs. Below sm_90: [`fma_bf16x2`] with 1.
    add_bf16x2 bf16 90 add_rn_bf16x2 "add.rn.bf16x2" a b;
    /// a - b of two pairs. Below sm_90: [`fma_bf16x2`] with -1.
    sub_bf16x2 bf16 90 sub_rn_bf16x2 "sub.rn.bf16x2" a b;
    /// a x b of two pairs. Below sm_90: [`fma_bf16x2`] with -0.
    mul_bf16x2 bf16 90 mul_rn_bf16x2 "mul.rn.bf16x2" a b;
    /// a x b + c of three pairs, rounded once.
    fma_bf16x2 bf16 80 fma_rn_bf16x2 "fma.rn.bf16x2" a b c;
}

macro_rules! roundings {
    ($($name:ident $element:ident $raw:ident $ptx:literal;)*) => {$(
        /// Rounds two numbers to the nearest. NaN becomes `0x7fff`.
        ///
        #[doc = concat!("PTX: `", $ptx, "`, from sm_80 on.")]
        #[inline]
        pub fn $name([low, high]: [f32; 2]) -> [$element; 2]
        where
            $element: BuiltFor<AtLeast<80>>,
        {
            let pair = raw::$raw(low, high);
            [$element::from_bits(pair as u16), $element::from_bits((pair >> 16) as u16)]
        }
    )*};
}

roundings! {
    round_f16x2 f16 cvt_rn_f16x2_f32 "cvt.rn.f16x2.f32";
    round_bf16x2 bf16 cvt_rn_bf16x2_f32 "cvt.rn.bf16x2.f32";
}

/// Four of the eight bytes of two registers. Each hexadecimal digit of the selector chooses a byte
/// of the result, the lowest digit the lowest byte: 0 to 3 from `low`, 4 to 7 from `high`. With 8
/// more, it repeats the sign of that byte.
///
/// PTX: `prmt.b32`, from sm_75 on.
///
/// ```
/// use ptx_matrix::math::permute_bytes;
///
/// assert_eq!(permute_bytes(0x3322_1100, 0x7766_5544, 0x5140), 0x5511_4400);
/// assert_eq!(permute_bytes(0x0000_0080, 0, 0x8810), 0xffff_0080);
/// ```
#[inline]
#[track_caller]
pub fn permute_bytes(low: u32, high: u32, selector: u32) -> u32 {
    raw::prmt_b32(low, high, selector)
}
