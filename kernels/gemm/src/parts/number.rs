//! The numbers of a GEMM: what accumulators and outputs are, and the activations.

use core::ops::{Add, Div, Mul, Neg, Sub};
use ptx_matrix::element::{Bits16, Bits32};
use ptx_matrix::fragment::{FragmentShape, RoleC};
use ptx_matrix::launch;
use ptx_matrix::mma::{GroupAccumulator, M64, Rounded, WgmmaColumns};
use ptx_matrix::prelude::*;

/// An accumulator's type, in which scales and activations are computed too: `f32`, `f64`, or `i32`,
/// which wraps around.
pub trait Number:
    Element + launch::KernelData + PartialEq + core::fmt::Debug + core::fmt::Display
{
    /// Whether it has the activations with an exponential function.
    const HAS_EXP: bool;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// `self + factor x other`.
    fn plus(self, factor: Self, other: Self) -> Self;
    /// `self x factor`.
    fn times(self, factor: Self) -> Self;
    /// `activation(self)`. A NaN stays one.
    fn activate(self, activation: Activation) -> Self;
}

/// The last step of the epilogue.
///
/// | | f(x) |
/// | --- | --- |
/// | `Identity` | x |
/// | `Relu` | the larger of x and 0 |
/// | `Gelu` | x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))), which is GELU in the form with tanh |
/// | `Silu` | x / (1 + exp(-x)) |
///
/// Integers have `Identity` and `Relu` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Activation {
    /// None.
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
    /// The activation of a kernel's parameter.
    #[inline(always)]
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
    const HAS_EXP: bool = false;
    const ZERO: Self = 0;
    const ONE: Self = 1;

    #[inline(always)]
    fn plus(self, factor: i32, other: i32) -> i32 {
        self.wrapping_add(factor.wrapping_mul(other))
    }

    #[inline(always)]
    fn times(self, factor: i32) -> i32 {
        self.wrapping_mul(factor)
    }

    #[inline(always)]
    fn activate(self, activation: Activation) -> i32 {
        if activation == Activation::Relu && self < 0 { 0 } else { self }
    }
}

impl Number for f32 {
    const HAS_EXP: bool = true;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn plus(self, factor: f32, other: f32) -> f32 {
        self + factor * other
    }

    #[inline(always)]
    fn times(self, factor: f32) -> f32 {
        self * factor
    }

    #[inline(always)]
    fn activate(self, activation: Activation) -> f32 {
        activate(self, activation)
    }
}

impl Number for f64 {
    const HAS_EXP: bool = true;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn plus(self, factor: f64, other: f64) -> f64 {
        self + factor * other
    }

    #[inline(always)]
    fn times(self, factor: f64) -> f64 {
        self * factor
    }

    #[inline(always)]
    fn activate(self, activation: Activation) -> f64 {
        activate(self, activation)
    }
}

/// The constants of the activations.
trait Float:
    Number
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const INFINITY: Self;
    /// 2 sqrt(2 / pi), and GELU's factor of x^3.
    const GELU: [Self; 2];
    /// e^x is zero below, and infinity above.
    const EXP_RANGE: [Self; 2];
    const LOG2_E: Self;
    /// Adding this and subtracting it rounds to the nearest integer.
    const ROUND: Self;
    /// ln 2 as the sum of a short number and a small one.
    const LN_2: [Self; 2];
    /// 1 / n!, from the largest n to 0.
    const EXP_COEFFICIENTS: &'static [Self];

    /// 2^n of an integer.
    fn power_of_two(n: Self) -> Self;
}

impl Float for f32 {
    const INFINITY: Self = f32::INFINITY;
    const GELU: [Self; 2] = [1.595_769_121_605_731_f64 as f32, 0.044715];
    const EXP_RANGE: [Self; 2] = [-87.0, 88.0];
    const LOG2_E: Self = core::f32::consts::LOG2_E;
    const ROUND: Self = 1.5 * (1u64 << 23) as f32;
    const LN_2: [Self; 2] = [0.693_359_4, -2.121_944_4e-4];
    const EXP_COEFFICIENTS: &'static [Self] =
        &[1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];

    #[inline(always)]
    fn power_of_two(n: f32) -> f32 {
        f32::from_bits(((n as i32 + 127) as u32) << 23)
    }
}

impl Float for f64 {
    const INFINITY: Self = f64::INFINITY;
    const GELU: [Self; 2] = [1.595_769_121_605_731, 0.044715];
    const EXP_RANGE: [Self; 2] = [-708.0, 709.0];
    const LOG2_E: Self = core::f64::consts::LOG2_E;
    const ROUND: Self = 1.5 * (1u64 << 52) as f64;
    const LN_2: [Self; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    const EXP_COEFFICIENTS: &'static [Self] = &[
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

    #[inline(always)]
    fn power_of_two(n: f64) -> f64 {
        f64::from_bits(((n as i64 + 1023) as u64) << 52)
    }
}

#[inline(always)]
fn activate<F: Float>(x: F, activation: Activation) -> F {
    let exponent = match activation {
        Activation::Identity => return x,
        // Written so that a NaN stays one.
        Activation::Relu => return if x < F::ZERO { F::ZERO } else { x },
        Activation::Gelu => F::GELU[0] * (x + F::GELU[1] * x * x * x),
        Activation::Silu => x,
    };
    let sum = F::ONE + exp(-exponent);
    // Far below zero the quotient would be minus infinity by infinity.
    if sum == F::INFINITY { -F::ZERO } else { x / sum }
}

/// e^x, to a few units in the last place: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2].
///
/// A library function would be a call, which costs the registers of the accumulators. `add` and
/// `mul` have the same bits on the simulator.
#[inline(always)]
fn exp<F: Float>(x: F) -> F {
    let [least, most] = F::EXP_RANGE;
    if x > most {
        return F::INFINITY;
    }
    if x < least {
        return F::ZERO;
    }
    let n = x * F::LOG2_E + F::ROUND - F::ROUND;
    let rest = (x - n * F::LN_2[0]) - n * F::LN_2[1];
    let mut sum = F::ZERO;
    for &coefficient in F::EXP_COEFFICIENTS {
        sum = sum * rest + coefficient;
    }
    sum * F::power_of_two(n)
}

/// An element of C, D and the bias.
pub trait Output: Element {
    /// The accumulator.
    type Sum: Number;

    /// The same number.
    fn widen(self) -> Self::Sum;
    /// The nearest one.
    fn narrow(sum: Self::Sum) -> Self;
    /// The same for a fragment.
    fn narrow_all<S>(warp: Warp<'_>, sums: &Accumulator<S, Self::Sum>) -> Accumulator<S, Self>
    where
        S: FragmentShape<RoleC, Self::Width> + FragmentShape<RoleC, <Self::Sum as Element>::Width>;
    /// The same for a warpgroup's accumulator.
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        sums: &GroupAccumulator<N, Self::Sum>,
    ) -> GroupAccumulator<N, Self>
    where
        M64<N>: WgmmaColumns<Self::Width> + WgmmaColumns<<Self::Sum as Element>::Width>;
}

/// An accumulator's own type.
impl<T: Number> Output for T {
    type Sum = T;

    #[inline(always)]
    fn widen(self) -> T {
        self
    }

    #[inline(always)]
    fn narrow(sum: T) -> T {
        sum
    }

    #[inline(always)]
    fn narrow_all<S>(_: Warp<'_>, sums: &Accumulator<S, T>) -> Accumulator<S, T>
    where
        S: FragmentShape<RoleC, T::Width>,
    {
        *sums
    }

    #[inline(always)]
    fn narrow_group<const N: usize>(
        _: WarpGroup<'_>,
        sums: &GroupAccumulator<N, T>,
    ) -> GroupAccumulator<N, T>
    where
        M64<N>: WgmmaColumns<T::Width>,
    {
        *sums
    }
}

impl Output for f16 {
    type Sum = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        Rounded::widen(self)
    }

    #[inline(always)]
    fn narrow(sum: f32) -> f16 {
        Rounded::round(sum)
    }

    #[inline(always)]
    fn narrow_all<S>(warp: Warp<'_>, sums: &Accumulator<S, f32>) -> Accumulator<S, f16>
    where
        S: FragmentShape<RoleC, Bits16> + FragmentShape<RoleC, Bits32>,
    {
        sums.round(warp)
    }

    #[inline(always)]
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        sums: &GroupAccumulator<N, f32>,
    ) -> GroupAccumulator<N, f16>
    where
        M64<N>: WgmmaColumns<Bits16> + WgmmaColumns<Bits32>,
    {
        sums.round(group)
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
impl Output for bf16 {
    type Sum = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        Rounded::widen(self)
    }

    #[inline(always)]
    fn narrow(sum: f32) -> bf16 {
        Rounded::round(sum)
    }

    #[inline(always)]
    fn narrow_all<S>(warp: Warp<'_>, sums: &Accumulator<S, f32>) -> Accumulator<S, bf16>
    where
        S: FragmentShape<RoleC, Bits16> + FragmentShape<RoleC, Bits32>,
    {
        sums.round(warp)
    }

    #[inline(always)]
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        sums: &GroupAccumulator<N, f32>,
    ) -> GroupAccumulator<N, bf16>
    where
        M64<N>: WgmmaColumns<Bits16> + WgmmaColumns<Bits32>,
    {
        sums.round(group)
    }
}
