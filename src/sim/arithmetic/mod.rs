//! What `mma` computes, on whole matrices: each of the kinds of arithmetic that the forms have.

mod format;
mod fused;
mod multiply;
pub(in crate::sim) mod operands;

pub(crate) use multiply::multiply;

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

/// fp8 on sm_90, where ptxas makes two f16 instructions of one: first the k with k mod 4 in {0, 1} are summed, from zero,
/// then the others on top of it; then C is added, as two numbers are outside of the tensor cores.
macro_rules! fp8 {
    ($($a:ident $b:ident $c:ident;)*) => {$(
        impl Product<$b, $c> for $a {
            fn multiply(a: &[$a], b: &[$b], c: &mut [$c], n: usize, k: usize) {
                each_element((&numbers(a), &numbers(b), c), n, k, |a, b, c| {
                    let half = |which: usize, onto: $c| {
                        let factors = a.iter().copied().zip(b.iter().copied()).enumerate();
                        let chosen = factors.filter(|(k, _)| k / 2 % 2 == which).map(|(_, factors)| factors);
                        fused_sum(chosen, <$a as Float>::FRACTION + <$b as Float>::FRACTION, onto)
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
        each_element((a, b, c), n, k, |a, b, c| a.iter().zip(b).fold(c, |sum, (a, &b)| a.mul_add(b, sum)));
    }
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
