//! The fused sum of the tensor cores, bit for bit (`docs/NUMERICS.md`).
//!
//! An element of D is one sum of all products and C:
//!
//! 1. Products are exact.
//! 2. All terms are aligned to the largest exponent among them, which is at least [`Fused::floor`].
//!    Each is truncated toward zero to [`Fused::fraction_bits`] fraction bits.
//! 3. The sum of the aligned terms is exact.
//! 4. The result is truncated toward zero to f32, or rounded to the nearest f16.
//!
//! Some GPUs sum only few products at a time.

use super::architecture::{BLACKWELL_KINDS, Fused, HOPPER_WGMMA_FP8, TensorCores};
use super::format::{AccumulatorFloat, Float, Number};
use super::{MmaArithmetic, each_element};
use crate::element::{InByte, e2m1, e2m3, e3m2, tf32};
use crate::isa::{F8F6F4, Plain, WarpGroupFp8};
use crate::target::Arch;
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use std::vec;
use std::vec::Vec;

impl Fused {
    /// The smallest exponent to which the terms of a sum in `C` are aligned.
    fn least<C: AccumulatorFloat>(self) -> i32 {
        if C::FRACTION == f32::FRACTION { self.floor.f32 } else { self.floor.f16 }
    }

    /// `sum * 2^exponent`, rounded like the tensor cores do.
    fn round<C: AccumulatorFloat>(self, sum: i64, exponent: i32) -> C {
        C::round(sum, exponent).cut_to(self.f32_bits)
    }

    /// A x B + C for plain elements.
    pub(super) fn multiply<A: Float, B: Float, C: AccumulatorFloat>(
        self,
        (a, b, c): (&[A], &[B], &[C]),
        n: usize,
        k: usize,
    ) -> Vec<C> {
        let (fraction, step) = (A::FRACTION + B::FRACTION, self.row_bytes / size_of::<A>());
        self.sums_by_steps((&numbers(a), &numbers(b), c), n, k, fraction, step)
    }

    /// The sums over `step` columns of A at a time. Products have `fraction` fraction bits.
    pub(super) fn sums_by_steps<C: AccumulatorFloat>(
        self,
        (a, b, c): (&[Number], &[Number], &[C]),
        n: usize,
        k: usize,
        fraction: i32,
        step: usize,
    ) -> Vec<C> {
        if step >= k {
            return fused_sums((a, b, c), n, k, fraction, self);
        }
        let mut sums = c.to_vec();
        for first in (0..k).step_by(step) {
            let columns = first..k.min(first + step);
            let mut of_a = Vec::with_capacity(a.len() / k * columns.len());
            a.chunks(k).for_each(|row| of_a.extend_from_slice(&row[columns.clone()]));
            let b = &b[columns.start * n..columns.end * n];
            sums = fused_sums((&of_a, b, &sums), n, columns.len(), fraction, self);
        }
        sums
    }
}

fn numbers<T: Float>(matrix: &[T]) -> Vec<Number> {
    matrix.iter().map(|element| element.number()).collect()
}

/// Implements `MmaArithmetic` with fused sums. The expression selects the parameters of the GPU's
/// tensor cores.
macro_rules! fused {
    (|$cores:pat_param| $fused:expr; $($option:ident $a:ty, [$($b:ty),*] $c:ident;)*) => {$($(
        impl MmaArithmetic<$b, $c, $option> for $a {
            type D = $c;

            fn multiply(gpu: Arch, a: &[$a], b: &[$b], c: &[$c], n: usize, k: usize) -> Vec<$c> {
                let $cores = TensorCores::of(gpu);
                $fused.multiply((a, b, c), n, k)
            }
        }
    )*)*};
}
fused! { |cores| cores.floats;
    Plain f16, [f16] f16;
    Plain f16, [f16] f32;
    Plain bf16, [bf16] f32;
    Plain tf32, [tf32] f32;
}
fused! { |_| BLACKWELL_KINDS;
    F8F6F4 F8E4M3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16;
    F8F6F4 F8E5M2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16;
    F8F6F4 e3m2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16;
    F8F6F4 e2m3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16;
    F8F6F4 InByte<e2m1>, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16;
    F8F6F4 F8E4M3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32;
    F8F6F4 F8E5M2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32;
    F8F6F4 e3m2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32;
    F8F6F4 e2m3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32;
    F8F6F4 InByte<e2m1>, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32;
}

fused! { |_| HOPPER_WGMMA_FP8;
    WarpGroupFp8 F8E4M3, [F8E4M3, F8E5M2] f16;
    WarpGroupFp8 F8E5M2, [F8E4M3, F8E5M2] f16;
    WarpGroupFp8 F8E4M3, [F8E4M3, F8E5M2] f32;
    WarpGroupFp8 F8E5M2, [F8E4M3, F8E5M2] f32;
}

#[inline]
pub(super) fn product(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative }, other) | (other, Number::Infinite { negative }) => {
            match other {
                Number::Finite { significand: 0, .. } | Number::Nan => Number::Nan,
                Number::Finite { negative: sign, .. } | Number::Infinite { negative: sign } => {
                    Number::Infinite { negative: negative != sign }
                }
            }
        }
        (
            Number::Finite { negative: x, significand: m, exponent: e },
            Number::Finite { negative: y, significand: n, exponent: f },
        ) => Number::Finite { negative: x != y, significand: m * n, exponent: e + f },
    }
}

/// A x B + C, each element as one fused sum. Products have `fraction` fraction bits.
///
/// It is generic over C's format only, since each pair of formats would be compiled separately.
fn fused_sums<C: AccumulatorFloat>(
    (a, b, c): (&[Number], &[Number], &[C]),
    n: usize,
    k: usize,
    fraction: i32,
    fused: Fused,
) -> Vec<C> {
    let numbers = |matrix: &[Number]| Operand::all_finite(matrix.iter().copied());
    let addends = Operand::all_finite(c.iter().map(|c| c.number()));
    match (numbers(a), numbers(b), addends) {
        (Some(a), Some(b), Some(addends)) => whole_sums((&a, &b, &addends), n, k, fraction, fused)
            .unwrap_or_else(|| {
                each_element((&a, &b, &addends), n, k, |a, b, c| {
                    finite_sum(a, b, fraction, c, fused)
                })
            }),
        _ => each_element((a, b, c), n, k, |a, b, c| fused_sum(a, b, fraction, c, fused)),
    }
}

/// A finite number without its class, for the fast path: `significand * 2^(exponent - fraction)`.
#[derive(Clone, Copy)]
struct Operand {
    significand: i64,
    exponent: i32,
}

impl Operand {
    /// A zero, with an exponent below that of any term or product.
    const ZERO: Self = Self { significand: 0, exponent: -100_000 };

    fn finite(number: Number) -> Option<Self> {
        match number {
            Number::Finite { significand: 0, .. } => Some(Self::ZERO),
            Number::Finite { negative, significand, exponent } => Some(Self {
                significand: if negative { -significand } else { significand },
                exponent,
            }),
            Number::Infinite { .. } | Number::Nan => None,
        }
    }

    fn all_finite(numbers: impl ExactSizeIterator<Item = Number>) -> Option<Vec<Self>> {
        let mut all = Vec::with_capacity(numbers.len());
        for number in numbers {
            all.push(Self::finite(number)?);
        }
        Some(all)
    }
}

/// The range of the nonzero bits of some numbers.
#[derive(Clone, Copy)]
struct Places {
    lowest: i32,
    /// The largest exponent.
    highest: i32,
}

impl Places {
    /// The range for numbers with `fraction` fraction bits. `None` if all are zero.
    fn of(numbers: &[Operand], fraction: i32) -> Option<Self> {
        let some = numbers.iter().filter(|number| number.significand != 0).map(|number| Self {
            lowest: number.exponent - fraction + number.significand.trailing_zeros() as i32,
            highest: number.exponent,
        });
        some.reduce(|all, one| Self {
            lowest: all.lowest.min(one.lowest),
            highest: all.highest.max(one.highest),
        })
    }
}

/// The sums, if all of them are exact before the conversion to D. Most tests have small integers,
/// for which this holds. Then f64 arithmetic is exact too.
fn whole_sums<C: AccumulatorFloat>(
    (a, b, c): (&[Operand], &[Operand], &[Operand]),
    n: usize,
    k: usize,
    fraction: i32,
    fused: Fused,
) -> Option<Vec<C>> {
    let fraction_bits = fused.fraction_bits;
    // Only the total of A's and B's fraction bits matters.
    let (Some(of_a), Some(of_b)) = (Places::of(a, 0), Places::of(b, fraction)) else {
        // Beyond the end of K all elements are zero.
        let sum = |c: &Operand| match c.significand {
            0 => fused.round(0, 0),
            _ => finite_sum(&[], &[], fraction, *c, fused),
        };
        return Some(c.iter().map(sum).collect());
    };
    let products =
        Places { lowest: of_a.lowest + of_b.lowest, highest: of_a.highest + of_b.highest };
    let of_c = Places::of(c, C::FRACTION).unwrap_or(products);
    let unit = products.lowest.min(of_c.lowest);
    if unit < products.highest.max(of_c.highest).max(fused.least::<C>()) - fraction_bits {
        return None;
    }
    let whole = |operands: &[Operand], lowest: i32| -> Vec<f64> {
        operands.iter().map(|of| shifted(of.significand, of.exponent - lowest) as f64).collect()
    };
    let (a, b) = (whole(a, of_a.lowest), whole(b, of_b.lowest + fraction));
    // Beyond the ends of M and N all elements are zero.
    let filled = |row: &[f64]| Some(1 + row.iter().rposition(|b| *b != 0.0)?);
    let cols = b.chunks(n).filter_map(filled).max().unwrap_or_default();
    let mut d = Vec::with_capacity(c.len());
    for (a, c) in a.chunks(k).zip(c.chunks(n)) {
        let mut sums = vec![0.0; n];
        for (a, b) in a.iter().zip(b.chunks(n)).filter(|(a, _)| **a != 0.0) {
            sums.iter_mut().zip(&b[..cols]).for_each(|(sum, b)| *sum += a * b);
        }
        d.extend(sums.into_iter().zip(c).map(|(sum, c)| {
            let c = shifted(c.significand, c.exponent - C::FRACTION - unit);
            fused.round::<C>(shifted(sum as i64, products.lowest - unit) + c, unit)
        }));
    }
    Some(d)
}

/// Shifts a significand left by `more` bits, then right by `below` bits, truncating toward zero.
#[inline(always)]
fn aligned(significand: i64, more: i32, below: i32) -> i64 {
    let cut = shifted(significand.abs(), more) >> below.min(63);
    if significand < 0 { -cut } else { cut }
}

/// [`fused_sum`] for finite numbers.
fn finite_sum<C: AccumulatorFloat>(
    a: &[Operand],
    b: &[Operand],
    fraction: i32,
    c: Operand,
    fused: Fused,
) -> C {
    let fraction_bits = fused.fraction_bits;
    let products =
        || a.iter().zip(b).map(|(a, b)| (a.significand * b.significand, a.exponent + b.exponent));
    let least = fused.least::<C>().max(c.exponent);
    let largest = products().fold(least, |largest, (_, exponent)| largest.max(exponent));
    let c_written = aligned(c.significand, fraction_bits - C::FRACTION, largest - c.exponent);
    let sum = products().fold(c_written, |sum, (significand, exponent)| {
        sum + aligned(significand, fraction_bits - fraction, largest - exponent)
    });
    fused.round(sum, largest - fraction_bits)
}

/// One element of D: the fused sum of all `a[k] * b[k]` and `c`. Products have `fraction` fraction
/// bits.
fn fused_sum<C: AccumulatorFloat>(
    a: &[Number],
    b: &[Number],
    fraction: i32,
    c: C,
    fused: Fused,
) -> C {
    fused_terms(a.iter().zip(b).map(|(&a, &b)| (product(a, b), fraction)), c, fused)
}

/// The largest exponent of the terms, and the special values among them.
struct Extremes {
    largest: i32,
    positive_infinity: bool,
    negative_infinity: bool,
    nan: bool,
}

impl Extremes {
    #[inline]
    fn see(&mut self, term: Number) {
        match term {
            Number::Nan => self.nan = true,
            Number::Infinite { negative: true } => self.negative_infinity = true,
            Number::Infinite { negative: false } => self.positive_infinity = true,
            Number::Finite { significand: 0, .. } => {}
            Number::Finite { exponent, .. } => self.largest = self.largest.max(exponent),
        }
    }
}

/// The fused sum of given products, each with its number of fraction bits.
#[inline]
pub(super) fn fused_terms<C: AccumulatorFloat>(
    products: impl Iterator<Item = (Number, i32)> + Clone,
    c: C,
    fused: Fused,
) -> C {
    let fraction_bits = fused.fraction_bits;
    let mut seen = Extremes {
        largest: fused.least::<C>(),
        positive_infinity: false,
        negative_infinity: false,
        nan: false,
    };
    seen.see(c.number());
    for (term, _) in products.clone() {
        seen.see(term);
    }
    let Extremes { largest, positive_infinity, negative_infinity, nan } = seen;
    if nan || positive_infinity && negative_infinity {
        return C::nan();
    }
    if positive_infinity || negative_infinity {
        return C::infinity(negative_infinity);
    }
    let written = |term: Number, fraction: i32| match term {
        Number::Finite { negative, significand, exponent } if significand != 0 => {
            let cut = shifted(significand, fraction_bits - fraction - (largest - exponent));
            if negative { -cut } else { cut }
        }
        _ => 0,
    };
    let mut sum = written(c.number(), C::FRACTION);
    for (term, fraction) in products {
        sum += written(term, fraction);
    }
    fused.round(sum, largest - fraction_bits)
}

/// `value * 2^by`, truncated toward zero.
#[inline]
pub(super) fn shifted(value: i64, by: i32) -> i64 {
    if by >= 0 { value << by } else { value >> (-by).min(63) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hopper() -> Fused {
        TensorCores::of(Arch::SM_90).floats
    }

    /// Random bits, and numbers with long sums, with infinities and NaNs among them.
    fn check<T: Float, C: AccumulatorFloat>(of: fn(u32) -> T, sum: fn(u32) -> C, fused: Fused) {
        let mut random = fastrand::Rng::with_seed(1);
        for case in 0..20_000 {
            let k = 16;
            let mut bits = |spread: bool| {
                let bits = random.u32(..);
                if spread { bits } else { bits & 0x8fff_8fff | 0x3000_3000 }
            };
            let mut draw = |spread| -> Vec<T> {
                let zero = |at: usize, bits| if at % 5 == case % 7 { 0 } else { bits };
                (0..k).map(|at| of(zero(at, bits(spread)))).collect()
            };
            let (a, b) = (numbers(&draw(case % 3 == 0)), numbers(&draw(case % 3 == 0)));
            let c = sum(if case % 4 == 0 { 0 } else { bits(case % 3 == 0) });
            let one = fused_sum(&a, &b, 2 * T::FRACTION, c, fused);
            let same = fused_sums((&a, &b, &[c]), 1, k, 2 * T::FRACTION, fused);
            assert_eq!(
                vec![one.bits()],
                same.iter().map(|sum| sum.bits()).collect::<Vec<_>>(),
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn finite_sums_are_the_same_without_the_questions() {
        check(|bits| bf16::from_bits(bits as u16), f32::from_bits, hopper());
        check(|bits| f16::from_bits(bits as u16), f32::from_bits, hopper());
        check(|bits| f16::from_bits(bits as u16), |bits| f16::from_bits(bits as u16), hopper());
        check(tf32::from_bits, f32::from_bits, hopper());
        check(|bits| F8E4M3::from_bits(bits as u8), f32::from_bits, HOPPER_WGMMA_FP8);
        check(|bits| F8E5M2::from_bits(bits as u8), f32::from_bits, BLACKWELL_KINDS);
    }

    /// Numbers with few bits in a range of exponents: some sums are exact, others lose a bit.
    #[test]
    fn sums_that_lose_no_bit_are_the_same() {
        fn check<C: AccumulatorFloat>(fused: Fused) -> [usize; 2] {
            let (mut random, mut cases) = (fastrand::Rng::with_seed(2), [0; 2]);
            for case in 0..20_000 {
                let (rows, n, k, fraction) = (2, 3, 8, 20);
                let (bits, spread) = (random.u32(1..=11), random.i32(1..=12));
                let mut draw =
                    |count: usize, point: i32, spread: i32, lowest: i32| -> Vec<Operand> {
                        let number = |random: &mut fastrand::Rng| match random.i64(0..1 << bits) {
                            0 => Operand::ZERO,
                            significand => {
                                // Normalised: the point follows the first bit.
                                let first = 63 - significand.leading_zeros() as i32;
                                let sign = if random.bool() { -1 } else { 1 };
                                let significand = (sign * significand) << (point - first);
                                Operand {
                                    significand,
                                    exponent: lowest + first + random.i32(0..spread),
                                }
                            }
                        };
                        (0..count).map(|_| number(&mut random)).collect()
                    };
                let lowest = [-8, 0, 3, -70][case % 4];
                let (mut a, b) = (
                    draw(rows * k, fraction / 2, spread, lowest),
                    draw(k * n, fraction / 2, spread, lowest),
                );
                if case % 10 == 9 {
                    a.fill(Operand::ZERO);
                }
                let c = draw(rows * n, C::FRACTION.max(10), 12, 2 * lowest);
                let one = each_element((&a, &b, &c), n, k, |a, b, c| {
                    finite_sum::<C>(a, b, fraction, c, fused)
                });
                let whole = whole_sums::<C>((&a, &b, &c), n, k, fraction, fused);
                cases[usize::from(whole.is_some())] += 1;
                let bits = |sums: &[C]| sums.iter().map(|sum| sum.bits()).collect::<Vec<_>>();
                assert!(whole.is_none_or(|whole| bits(&whole) == bits(&one)), "{case}");
            }
            cases
        }
        for cases in [
            check::<f32>(hopper()),
            check::<f16>(hopper()),
            check::<f32>(HOPPER_WGMMA_FP8),
            check::<f32>(BLACKWELL_KINDS),
        ] {
            assert!(cases.into_iter().all(|count| count > 1000), "{cases:?}");
        }
    }
}
