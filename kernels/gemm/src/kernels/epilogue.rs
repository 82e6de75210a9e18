//! What becomes of the sums: D = f(alpha A x B + beta C + bias).

use ptx_matrix::*;

/// What products are summed in, and what factors and activations are computed in: `f32`, `f64`, or `i32`, which wraps around.
pub trait Number: Element + PartialEq + core::fmt::Debug + core::fmt::Display {
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
    /// `activation(self)`. What is not a number stays so.
    fn activate(self, activation: Activation) -> Self;
}

/// What is done last with each element.
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
    /// Nothing.
    #[default]
    Identity = 0,
    /// What is negative becomes zero.
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

/// One row a type: its exponential function.
macro_rules! floats {
    ($($float:ident $exp:ident;)*) => {$(
        impl Number for $float {
            const HAS_EXP: bool = true;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn plus(self, factor: $float, other: $float) -> $float {
                self + factor * other
            }

            #[inline(always)]
            fn times(self, factor: $float) -> $float {
                self * factor
            }

            #[inline(always)]
            fn activate(self, activation: Activation) -> $float {
                let exponent = match activation {
                    Activation::Identity => return self,
                    // Written so that what is not a number stays so.
                    Activation::Relu => return if self < 0.0 { 0.0 } else { self },
                    Activation::Gelu => {
                        #[allow(clippy::excessive_precision, reason = "for f64 too")]
                        const TWO_ROOTS: $float = 1.595_769_121_605_731;
                        TWO_ROOTS * (self + 0.044715 * self * self * self)
                    }
                    Activation::Silu => self,
                };
                let sum = 1.0 + $exp(-exponent);
                // Far below zero the quotient would be minus infinity by infinity.
                if sum == $float::INFINITY { -0.0 } else { self / sum }
            }
        }
    )*};
}
floats! {
    f32 exp_f32;
    f64 exp_f64;
}

/// e^x, to a few units in the last place: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]. A library's function would be called, and
/// a call costs the registers that the sums are in; and what is computed with `add` and `mul` has the same bits on the simulator.
macro_rules! exponentials {
    ($($name:ident $float:ident $bits:ident $int:ident, $mantissa:literal, $bias:literal, $least:literal to $most:literal,
       $ln2_high:literal + $ln2_low:literal, [$($coefficient:expr),*];)*) => {$(
        #[inline(always)]
        fn $name(x: $float) -> $float {
            if x > $most {
                return $float::INFINITY;
            }
            if x < $least {
                return 0.0;
            }
            // To the nearest integer, by what is cut off when this is added.
            const ROUND: $float = 1.5 * (1u64 << $mantissa) as $float;
            let n = x * core::$float::consts::LOG2_E + ROUND - ROUND;
            let rest = (x - n * $ln2_high) - n * $ln2_low;
            let mut sum = 0.0;
            $(sum = sum * rest + $coefficient;)*
            sum * $float::from_bits(((n as $int + $bias) as $bits) << $mantissa)
        }
    )*};
}
exponentials! {
    exp_f32 f32 u32 i32, 23, 127, -87.0 to 88.0, 0.693_359_4 + -2.121_944_4e-4,
        [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    exp_f64 f64 u64 i64, 52, 1023, -708.0 to 709.0, 0.693_147_180_369_123_8 + 1.908_214_929_270_587_7e-10,
        [1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0, 1.0 / 40320.0,
         1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
}

/// Elements of C, D and the bias.
pub trait Output: Element {
    /// What products are summed in.
    type Sum: Number;

    /// The same number.
    fn widen(self) -> Self::Sum;
    /// The nearest one.
    fn narrow(sum: Self::Sum) -> Self;
    /// The same for a fragment.
    fn narrow_all<S>(warp: Warp<'_>, sums: &Accumulator<S, Self::Sum>) -> Accumulator<S, Self>
    where
        S: FragmentShape<RoleC, Self::Width> + FragmentShape<RoleC, <Self::Sum as Element>::Width>;
    /// The same for what a warpgroup has summed.
    fn narrow_group<const N: usize>(
        group: WarpGroup<'_>,
        sums: &GroupAccumulator<N, Self::Sum>,
    ) -> GroupAccumulator<N, Self>
    where
        M64<N>: WgmmaColumns<Self::Width> + WgmmaColumns<<Self::Sum as Element>::Width>;
}

/// A number is a sum as it is.
macro_rules! sums {
    ($($number:ident)*) => {$(
        impl Output for $number {
            type Sum = $number;

            #[inline(always)]
            fn widen(self) -> $number {
                self
            }

            #[inline(always)]
            fn narrow(sum: $number) -> $number {
                sum
            }

            #[inline(always)]
            fn narrow_all<S>(_: Warp<'_>, sums: &Accumulator<S, $number>) -> Accumulator<S, $number>
            where
                S: FragmentShape<RoleC, Self::Width>,
            {
                *sums
            }

            #[inline(always)]
            fn narrow_group<const N: usize>(
                _: WarpGroup<'_>,
                sums: &GroupAccumulator<N, $number>,
            ) -> GroupAccumulator<N, $number>
            where
                M64<N>: WgmmaColumns<<$number as Element>::Width>,
            {
                *sums
            }
        }
    )*};
}
sums!(f32 f64 i32);

/// 16 bits are rounded from an `f32`.
macro_rules! rounded {
    ($($(#[$built:meta])? $element:ident;)*) => {$(
        $(#[$built])?
        impl Output for $element {
            type Sum = f32;

            #[inline(always)]
            fn widen(self) -> f32 {
                Rounded::widen(self)
            }

            #[inline(always)]
            fn narrow(sum: f32) -> $element {
                Rounded::round(sum)
            }

            #[inline(always)]
            fn narrow_all<S>(warp: Warp<'_>, sums: &Accumulator<S, f32>) -> Accumulator<S, $element>
            where
                S: FragmentShape<RoleC, Bits16> + FragmentShape<RoleC, Bits32>,
            {
                sums.round(warp)
            }

            #[inline(always)]
            fn narrow_group<const N: usize>(
                group: WarpGroup<'_>,
                sums: &GroupAccumulator<N, f32>,
            ) -> GroupAccumulator<N, $element>
            where
                M64<N>: WgmmaColumns<Bits16> + WgmmaColumns<Bits32>,
            {
                sums.round(group)
            }
        }
    )*};
}
rounded! {
    f16;
    #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
    bf16;
}

/// What becomes of the sums of a product.
pub struct Epilogue<'k, D: Output, L = RowMajor> {
    /// M x N; none for `beta` = 0. It may be D's memory. So an element is read by a thread of those that finish the
    /// tile of D which has it, before that is written, and by no other.
    pub c: Option<GlobalMatrix<'k, D, L>>,
    /// One for each column, or row; without elements, none is added.
    pub bias: Global<'k, D>,
    /// Whether the bias has one for each row.
    pub bias_of_rows: bool,
    /// The factor of the product.
    pub alpha: D::Sum,
    /// The factor of C.
    pub beta: D::Sum,
    /// What is done last.
    pub activation: Activation,
}

impl<D: Output, L: Order> Epilogue<'_, D, L> {
    /// Whether D is alpha times the sums.
    #[inline(always)]
    pub fn is_a_factor(&self) -> bool {
        self.c.is_none() && self.bias.is_empty() && self.activation == Activation::Identity
    }

    /// Finishes a tile of sums, whose first is at (row, column) `at` of a D of so many rows and columns: calls `put(place, to, element)` with
    /// each element's place in the tile, and that in D, if it is there. What is not, is zero. A thread finishes `TOGETHER` at a time.
    #[inline(always)]
    #[track_caller]
    pub fn finish<const TOGETHER: usize, const ROWS: usize, const COLS: usize, S: Swizzle>(
        &self,
        threads: impl Threads,
        sums: SharedTile<D::Sum, ROWS, COLS, S, L>,
        at: (usize, usize),
        (rows, cols): (usize, usize),
        put: impl Fn((usize, usize), Option<(usize, usize)>, D) + LaneCapture,
    ) {
        sums.for_each_together::<TOGETHER>(threads, |places, sums| {
            let (to, finished) = self.finish_at(places, sums, at, (rows, cols));
            for i in 0..TOGETHER {
                put(places[i], to[i], finished[i]);
            }
        });
    }

    /// Where in D the sums at these places of a tile go, if it has them, and what becomes of them. A function of no tile's shape, and so compiled
    /// once for all of them.
    #[inline(always)]
    fn finish_at<const N: usize>(
        &self,
        places: [(usize, usize); N],
        mut sums: [D::Sum; N],
        at: (usize, usize),
        (rows, cols): (usize, usize),
    ) -> ([Option<(usize, usize)>; N], [D; N]) {
        let (mut all, mut inside, mut is_inside) = (places, [None; N], [false; N]);
        for i in 0..N {
            let (row, col) = (at.0 + places[i].0, at.1 + places[i].1);
            all[i] = (row, col);
            is_inside[i] = row < rows && col < cols;
            inside[i] = is_inside[i].then_some((row, col));
            sums[i] = sums[i].times(self.alpha);
        }
        let mut finished = self.finish_scaled(all, is_inside, sums);
        for i in 0..N {
            if !is_inside[i] {
                finished[i] = Zeroable::zeroed();
            }
        }
        (inside, finished)
    }

    /// Elements of D at these places, of the sums of their products, which alpha has been multiplied with; what is not inside has no C and no
    /// bias. What is asked for is found out once for all of them.
    #[inline(always)]
    pub fn finish_scaled<const N: usize>(
        &self,
        places: [(usize, usize); N],
        is_inside: [bool; N],
        mut sums: [D::Sum; N],
    ) -> [D; N] {
        if let Some(c) = self.c {
            let c: [D::Sum; N] = core::array::from_fn(|i| {
                let (row, col) = places[i];
                if is_inside[i] { c.get(row, col).widen() } else { D::Sum::ZERO }
            });
            for i in 0..N {
                sums[i] = sums[i].plus(self.beta, c[i]);
            }
        }
        if !self.bias.is_empty() {
            let bias: [D::Sum; N] = core::array::from_fn(|i| {
                let index = if self.bias_of_rows { places[i].0 } else { places[i].1 };
                if is_inside[i] { self.bias.get(index).widen() } else { D::Sum::ZERO }
            });
            for i in 0..N {
                sums[i] = sums[i].plus(D::Sum::ONE, bias[i]);
            }
        }
        match self.activation {
            Activation::Identity => sums,
            Activation::Relu => sums.map(|sum| sum.activate(Activation::Relu)),
            Activation::Gelu => sums.map(|sum| sum.activate(Activation::Gelu)),
            Activation::Silu => sums.map(|sum| sum.activate(Activation::Silu)),
        }
        .map(D::narrow)
    }
}
