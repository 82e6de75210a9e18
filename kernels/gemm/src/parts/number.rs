//! The numbers of a GEMM: accumulator types, output types and activations.

use ptx_matrix::element::{Bits16, Bits32};
use ptx_matrix::fragment::{FragmentShape, RoleC};
use ptx_matrix::launch;
use ptx_matrix::math::{ex2_approx_ftz, fma, rcp_approx_ftz};
use ptx_matrix::mma::{GroupAccumulator, M64, Rounded, WgmmaColumns};
use ptx_matrix::prelude::*;

/// An accumulator type: `f32`, `f64`, or `i32` with wrap-around. Scales and activations are
/// computed in it too.
pub trait Number:
    Element + launch::KernelData + PartialEq + core::fmt::Debug + core::fmt::Display
{
    /// Whether it is a floating-point type. Only those have activations with an exponential
    /// function.
    const IS_FLOAT: bool;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// `self + scale x other`.
    fn plus(self, scale: Self, other: Self) -> Self;
    /// `self x scale`.
    fn times(self, scale: Self) -> Self;
    /// `activation(self)`. A NaN stays a NaN.
    fn activate(self, activation: Activation) -> Self;
}

/// The last step of the epilogue.
///
/// | | f(x) |
/// | --- | --- |
/// | `Identity` | x |
/// | `Relu` | the larger of x and 0 |
/// | `Gelu` | x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))), GELU by tanh |
/// | `Silu` | x / (1 + exp(-x)) |
///
/// Integers have `Identity` and `Relu` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Activation {
    /// f(x) = x.
    #[default]
    Identity = 0,
    /// Negative values become zero.
    Relu = 1,
    /// GELU, in the form with tanh.
    Gelu = 2,
    /// SiLU, also called swish.
    Silu = 3,
}

impl Activation {
    /// Decodes the activation of a kernel parameter.
    #[inline]
    pub const fn of(number: u32) -> Self {
        match number {
            1 => Self::Relu,
            2 => Self::Gelu,
            3 => Self::Silu,
            _ => Self::Identity,
        }
    }
}

impl Number for i32 {
    const IS_FLOAT: bool = false;
    const ZERO: Self = 0;
    const ONE: Self = 1;

    #[inline]
    fn plus(self, scale: i32, other: i32) -> i32 {
        self.wrapping_add(scale.wrapping_mul(other))
    }

    #[inline]
    fn times(self, scale: i32) -> i32 {
        self.wrapping_mul(scale)
    }

    #[inline]
    fn activate(self, activation: Activation) -> i32 {
        if activation == Activation::Relu && self < 0 { 0 } else { self }
    }
}

impl Number for f32 {
    const IS_FLOAT: bool = true;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline]
    fn plus(self, scale: f32, other: f32) -> f32 {
        self + scale * other
    }

    #[inline]
    fn times(self, scale: f32) -> f32 {
        self * scale
    }

    #[inline]
    fn activate(self, activation: Activation) -> f32 {
        activate_f32(self, activation)
    }
}

impl Number for f64 {
    const IS_FLOAT: bool = true;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline]
    fn plus(self, scale: f64, other: f64) -> f64 {
        self + scale * other
    }

    #[inline]
    fn times(self, scale: f64) -> f64 {
        self * scale
    }

    #[inline]
    fn activate(self, activation: Activation) -> f64 {
        activate_f64(self, activation)
    }
}

/// 2 sqrt(2 / pi), the factor of x + `GELU_CUBIC` x^3 in GELU's form with tanh.
const GELU: f64 = 1.595_769_121_605_731;
const GELU_CUBIC: f64 = 0.044715;

/// In f32, e^x and the reciprocal come from the special function unit.
#[inline]
fn activate_f32(x: f32, activation: Activation) -> f32 {
    let exponent = match activation {
        Activation::Identity => return x,
        // Written so that a NaN stays one.
        Activation::Relu => return if x < 0.0 { 0.0 } else { x },
        Activation::Gelu => GELU as f32 * fma(GELU_CUBIC as f32 * x * x, x, x),
        Activation::Silu => x,
    };
    let sum = 1.0 + exp_f32(-exponent);
    let product = x * rcp_approx_ftz(sum);
    // Far below zero the product is minus infinity times zero.
    if sum == f32::INFINITY { -0.0 } else { product }
}

/// e^x = 2^high 2^low, where `high` is x log2(e) in f32, and `low` the rest of it: rounding the
/// exponent alone would cost up to 6 bits.
#[inline]
fn exp_f32(x: f32) -> f32 {
    const LOG2_E: f32 = core::f32::consts::LOG2_E;
    /// What is missing from it.
    const LOG2_E_REST: f32 = (core::f64::consts::LOG2_E - LOG2_E as f64) as f32;

    let high = x * LOG2_E;
    let power = ex2_approx_ftz(high);
    let low = fma(x, LOG2_E_REST, fma(x, LOG2_E, -high));
    let precise = fma(power, low * core::f32::consts::LN_2, power);
    // Zero or infinity: the rest of an infinite exponent is NaN.
    if high.abs() >= 128.0 { power } else { precise }
}

#[inline]
fn activate_f64(x: f64, activation: Activation) -> f64 {
    let exponent = match activation {
        Activation::Identity => return x,
        // Written so that a NaN stays one.
        Activation::Relu => return if x < 0.0 { 0.0 } else { x },
        Activation::Gelu => GELU * (x + GELU_CUBIC * x * x * x),
        Activation::Silu => x,
    };
    let sum = 1.0 + exp_f64(-exponent);
    // Far below zero the quotient would be minus infinity by infinity.
    if sum == f64::INFINITY { -0.0 } else { x / sum }
}

/// e^x, to a few units in the last place: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2].
///
/// The special function unit has no f64, and a library function would be a call, which costs the
/// registers of the accumulators. `add` and `mul` have the same bits on the simulator.
#[inline]
fn exp_f64(x: f64) -> f64 {
    /// Adding this and subtracting it rounds to the nearest integer.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    /// ln 2 as the sum of a short number and a small one.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    /// 1 / n!, from 13 to 0.
    const COEFFICIENTS: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];

    if x > 709.0 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    let n = x * core::f64::consts::LOG2_E + ROUND - ROUND;
    let rest = (x - n * LN_2[0]) - n * LN_2[1];
    let mut sum = 0.0;
    for coefficient in COEFFICIENTS {
        sum = sum * rest + coefficient;
    }
    sum * f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

/// An element type of C, D and the bias.
pub trait Output: Element {
    /// The accumulator type.
    type Acc: Number;

    /// Converts to the accumulator type, exactly.
    fn widen(self) -> Self::Acc;
    /// Rounds to the nearest.
    fn narrow(acc: Self::Acc) -> Self;
    /// Rounds a fragment.
    fn narrow_all<S>(
        warp: Warp<'_>,
        accumulator: &Accumulator<S, Self::Acc>,
    ) -> Accumulator<S, Self>
    where
        S: FragmentShape<RoleC, Self::Width> + FragmentShape<RoleC, <Self::Acc as Element>::Width>;
    /// Rounds a warpgroup's accumulator.
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        accumulator: &GroupAccumulator<N, Self::Acc>,
    ) -> GroupAccumulator<N, Self>
    where
        M64<N>: WgmmaColumns<Self::Width> + WgmmaColumns<<Self::Acc as Element>::Width>;
}

/// An accumulator's own type needs no rounding.
impl<T: Number> Output for T {
    type Acc = T;

    #[inline]
    fn widen(self) -> T {
        self
    }

    #[inline]
    fn narrow(acc: T) -> T {
        acc
    }

    #[inline]
    fn narrow_all<S>(_: Warp<'_>, accumulator: &Accumulator<S, T>) -> Accumulator<S, T>
    where
        S: FragmentShape<RoleC, T::Width>,
    {
        *accumulator
    }

    #[inline]
    fn narrow_group<const N: usize>(
        _: WarpGroup<'_>,
        accumulator: &GroupAccumulator<N, T>,
    ) -> GroupAccumulator<N, T>
    where
        M64<N>: WgmmaColumns<T::Width>,
    {
        *accumulator
    }
}

impl Output for f16 {
    type Acc = f32;

    #[inline]
    fn widen(self) -> f32 {
        Rounded::widen(self)
    }

    #[inline]
    fn narrow(acc: f32) -> f16 {
        Rounded::round(acc)
    }

    #[inline]
    fn narrow_all<S>(warp: Warp<'_>, accumulator: &Accumulator<S, f32>) -> Accumulator<S, f16>
    where
        S: FragmentShape<RoleC, Bits16> + FragmentShape<RoleC, Bits32>,
    {
        accumulator.round(warp)
    }

    #[inline]
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        accumulator: &GroupAccumulator<N, f32>,
    ) -> GroupAccumulator<N, f16>
    where
        M64<N>: WgmmaColumns<Bits16> + WgmmaColumns<Bits32>,
    {
        accumulator.round(group)
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
impl Output for bf16 {
    type Acc = f32;

    #[inline]
    fn widen(self) -> f32 {
        Rounded::widen(self)
    }

    #[inline]
    fn narrow(acc: f32) -> bf16 {
        Rounded::round(acc)
    }

    #[inline]
    fn narrow_all<S>(warp: Warp<'_>, accumulator: &Accumulator<S, f32>) -> Accumulator<S, bf16>
    where
        S: FragmentShape<RoleC, Bits16> + FragmentShape<RoleC, Bits32>,
    {
        accumulator.round(warp)
    }

    #[inline]
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        accumulator: &GroupAccumulator<N, f32>,
    ) -> GroupAccumulator<N, bf16>
    where
        M64<N>: WgmmaColumns<Bits16> + WgmmaColumns<Bits32>,
    {
        accumulator.round(group)
    }
}
