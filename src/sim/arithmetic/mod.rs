//! What `mma` computes, on whole matrices: each of the kinds of arithmetic that the forms have.

mod format;
mod fused;
mod multiply;
pub(in crate::sim) mod operands;
mod sparse;
mod shim;

pub(crate) use multiply::multiply;
pub(crate) use sparse::{MetadataOrder, multiply_sparse};
pub(crate) use shim::Product as ProductO;

use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::{Accumulator, Element, FragmentA, FragmentB, tf32};
use float8::{F8E4M3, F8E5M2};
use format::{AccumulatorFloat, Float, Number};
use fused::fused_sum;
use half::{bf16, f16};
use std::vec::Vec;

/// Elements that are multiplied with those of `B` and added to those of `C`.
pub(crate) trait Product<B, C>: Sized {
    /// D = A x B + C, where `c` is C and becomes D: row-major matrices, with `k` columns in A and `n` in B.
    fn multiply(a: &[Self], b: &[B], c: &mut [C], n: usize, k: usize);
}

/// Sets every element of D to `element(row of A, column of B, element of C)`.
fn each_element<A: Copy, B: Copy, C: Copy>(
    (a, b, c): (&[A], &[B], &mut [C]),
    n: usize,
    k: usize,
    element: impl Fn(&[A], &[B], C) -> C,
) {
    let columns: Vec<Vec<B>> = (0..n).map(|col| b[col..].iter().step_by(n).copied().collect()).collect();
    for (a, c) in a.chunks(k).zip(c.chunks_mut(n)) {
        for (b, c) in columns.iter().zip(c) {
            *c = element(a, b, *c);
        }
    }
}

fn numbers<T: Float>(matrix: &[T]) -> Vec<Number> {
    matrix.iter().map(|element| element.number()).collect()
}

fn numbers_in_f16<T: Float>(matrix: &[T]) -> Vec<Number> {
    matrix.iter().map(|element| element.number().in_f16(T::FRACTION)).collect()
}

/// One fused sum over all of K and C.
macro_rules! fused {
    ($($a:ident $c:ident;)*) => {$(
        impl Product<$a, $c> for $a {
            fn multiply(a: &[$a], b: &[$a], c: &mut [$c], n: usize, k: usize) {
                each_element((&numbers(a), &numbers(b), c), n, k, |a, b, c| {
                    let factors = a.iter().copied().zip(b.iter().copied());
                    fused_sum(factors, 2 * <$a as Float>::FRACTION, c)
                });
            }
        }
    )*};
}
fused! {
    f16 f16;
    f16 f32;
    bf16 f32;
    tf32 f32;
}

/// fp8 on sm_90, where ptxas makes two f16 instructions of one, and an addition: first the k with k mod 4 in {0, 1} are
/// summed, from zero, then the others on top of it; then C is added, as two numbers are outside of the tensor cores.
macro_rules! fp8 {
    ($($a:ident $b:ident $c:ident;)*) => {$(
        impl Product<$b, $c> for $a {
            fn multiply(a: &[$a], b: &[$b], c: &mut [$c], n: usize, k: usize) {
                each_element((&numbers_in_f16(a), &numbers_in_f16(b), c), n, k, |a, b, c| {
                    let half = |which: usize, onto: $c| {
                        let factors = a.iter().copied().zip(b.iter().copied()).enumerate();
                        let chosen = factors.filter(|(k, _)| k / 2 % 2 == which).map(|(_, factors)| factors);
                        fused_sum(chosen, 2 * <f16 as Float>::FRACTION, onto)
                    };
                    let sum = half(1, half(0, $c::default())) + c;
                    if sum.is_nan() { <$c as AccumulatorFloat>::nan() } else { sum }
                });
            }
        }
    )*};
}
fp8! {
    F8E4M3 F8E4M3 f16;
    F8E4M3 F8E5M2 f16;
    F8E5M2 F8E4M3 f16;
    F8E5M2 F8E5M2 f16;
    F8E4M3 F8E4M3 f32;
    F8E4M3 F8E5M2 f32;
    F8E5M2 F8E4M3 f32;
    F8E5M2 F8E5M2 f32;
}

/// A chain of fused multiply-adds in the order of k, from C on.
impl Product<f64, f64> for f64 {
    fn multiply(a: &[f64], b: &[f64], c: &mut [f64], n: usize, k: usize) {
        each_element((a, b, c), n, k, |a, b, c| a.iter().zip(b).fold(c, |sum, (&a, &b)| fused_multiply_add(a, b, sum)));
    }
}

/// As the hardware does it: a NaN goes through, quiet, that of B before that of the sum before that of A; and one that
/// arises has its sign set.
fn fused_multiply_add(a: f64, b: f64, c: f64) -> f64 {
    const QUIET: u64 = 1 << 51;
    if let Some(nan) = [b, c, a].into_iter().find(|value| value.is_nan()) {
        return f64::from_bits(nan.to_bits() | QUIET);
    }
    let sum = a.mul_add(b, c);
    if sum.is_nan() { f64::from_bits(0xfff8_0000_0000_0000) } else { sum }
}

/// Exact, modulo 2^32.
macro_rules! integers {
    ($($a:ident $b:ident;)*) => {$(
        impl Product<$b, i32> for $a {
            fn multiply(a: &[$a], b: &[$b], c: &mut [i32], n: usize, k: usize) {
                each_element((a, b, c), n, k, |a, b, c| {
                    a.iter().zip(b).fold(c, |sum, (&a, &b)| sum.wrapping_add(i32::from(a) * i32::from(b)))
                });
            }
        }
    )*};
}
integers! {
    i8 i8;
    i8 u8;
    u8 i8;
    u8 u8;
}

/// `acc += a x b`, on all lanes' registers.
pub(crate) fn multiply_accumulate<S, A, B, C>(acc: &mut Accumulator<S, C>, a: &FragmentA<S, A>, b: &FragmentB<S, B>)
where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width> + FragmentShape<RoleC, C::Width>,
    A: Element + Product<B, C>,
    B: Element,
    C: Element,
{
    let mut d = acc.matrix();
    A::multiply(&a.matrix(), &b.matrix(), &mut d, S::N, S::K);
    *acc = Accumulator::from_matrix(&d);
}

/// What an H200 returned, of the rarer kinds.
#[cfg(test)]
mod tests {
    use super::*;

    fn element<A: Product<B, C>, B, C: Copy>(a: &[A], b: &[B], c: C) -> C {
        let mut d = [c];
        A::multiply(a, b, &mut d, 1, a.len());
        d[0]
    }

    #[test]
    fn products_below_the_least_exponent_are_cut_at_a_fixed_place() {
        let a = [0x9a96_4000, 0x1a00_0000, 0x9bac_0000, 0x9e1f_6000].map(tf32::from_bits);
        let b = [0x9a00_0000, 0x198f_a000, 0x9fba_c000, 0x1dec_e000].map(tf32::from_bits);
        assert_eq!(element(&a, &b, -0.0f32).to_bits(), 0x8000_54ba);
    }

    #[test]
    fn a_nan_of_f64_goes_through_and_that_of_b_first() {
        let nan = |payload: u64| f64::from_bits(0x7ff0 << 48 | payload);
        let quiet = |payload: u64| 0x7ff8 << 48 | payload;
        let chain = |a: [f64; 2], b: [f64; 2], c: f64| element(&a, &b, c).to_bits();
        assert_eq!(chain([nan(1), 1.0], [nan(2), 1.0], nan(3)), quiet(2));
        assert_eq!(chain([nan(1), 1.0], [1.0, 1.0], nan(3)), quiet(3));
        assert_eq!(chain([nan(1), nan(2)], [1.0, 1.0], 1.0), quiet(1));
        assert_eq!(chain([nan(1), 1.0], [1.0, nan(2)], 1.0), quiet(2));
        assert_eq!(chain([f64::INFINITY, nan(1)], [0.0, 1.0], 1.0), 0xfff8 << 48);
    }

    #[test]
    fn what_is_subnormal_in_e4m3_is_normal_in_f16() {
        // 2^-9 * 2^15 has the exponent 6, not -6 + 15: beside it, 2^-6 * 2^-11 is not cut off.
        let a = [0x01, 0x08, 0x00, 0x00].map(F8E4M3::from_bits);
        let b = [0x78, 0x10, 0x00, 0x00].map(F8E5M2::from_bits);
        assert_eq!(element(&a, &b, -64.0f32), 2.0f32.powi(-17));
    }
}
