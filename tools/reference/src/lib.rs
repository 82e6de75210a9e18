//! The expected results of the instructions, from the definition of the matrices. The simulator
//! computes by other means; this crate computes one element at a time, with integers of any size.

mod chain;
pub mod data;
mod integers;
mod matrices;
mod number;
mod scaled;
mod sparse;
mod tensor_core;

pub use chain::fused;
pub use integers::integer_product;
pub use matrices::Matrices;
pub use scaled::{ScaledOperand, scaled};
pub use sparse::{Granularity, multiply_sparse};

use data::Element;
use half::{bf16, f16};
use number::Rounding;
use ptx_matrix::element::{F8E4M3, F8E5M2, InByte, b1, e2m1, e2m3, e3m2, s4, tf32, u4};
use ptx_matrix::mma::{AndPopc, F8F6F4, Plain, Rm, Rn, Rp, Rz, SatFinite, Widen, XorPopc};
use ptx_matrix::sim::{Arch, Quad, WarpGroupFp8};
use tensor_core::{chain, f8f6f4, fp8, quad, sum_of_floats, wgmma_fp8};

/// Computes an element of D from a row of A, a column of B, and what it is added to.
pub type Dot<'f, A, B, C, D> = &'f dyn Fn(&[A], &[B], C) -> D;

/// D = A x B + C for row-major matrices. `dot(row of A, column of B, element of C)` computes an
/// element.
pub fn multiply<A, B: Copy, C: Copy, D>(
    (m, n, k): (usize, usize, usize),
    (a, b, c): (&[A], &[B], &[C]),
    dot: Dot<'_, A, B, C, D>,
) -> Vec<D> {
    assert_eq!(b.len(), k * n, "the elements of B");
    let columns = columns(b, n);
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        for (col, column) in columns.iter().enumerate() {
            d.push(dot(&a[row * k..(row + 1) * k], column, c[row * n + col]));
        }
    }
    d
}

// Separate functions, generic over the element alone, because there are hundreds of forms.

/// The columns of a row-major matrix with `n` columns.
pub fn columns<T: Copy>(matrix: &[T], n: usize) -> Vec<Vec<T>> {
    (0..n).map(|col| matrix.iter().skip(col).step_by(n).copied().collect()).collect()
}

/// The elements of a column in these rows.
fn picked<T: Copy>(column: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| column[row]).collect()
}

/// An element of A. Its products with elements of B are added to elements of C, with the option `O`
/// of `mma`.
pub trait Operand<B, C, O>: Element {
    /// An element of D.
    type D: Element;
    /// Whether small integers are multiplied and added as integers are. (Rounded down, a sum of
    /// zero may be negative.)
    const MULTIPLIES: bool;
    /// An element of D as a GPU computes it (`docs/NUMERICS.md`).
    fn dot(gpu: Arch, a: &[Self], b: &[B], c: C) -> Self::D;
}

/// The arithmetic of each combination of elements, with the option, and whether it multiplies.
macro_rules! dots {
    ($($option:ident $multiplies:literal |$gpu:pat_param, $x:ident, $y:ident, $z:ident| $dot:expr =>
        $($a:ty, [$($b:ty),*] $c:ident $d:ident),*;)*) => {$($($(
        impl Operand<$b, $c, $option> for $a {
            type D = $d;
            const MULTIPLIES: bool = $multiplies;
            fn dot($gpu: Arch, $x: &[$a], $y: &[$b], $z: $c) -> $d {
                assert_eq!($x.len(), $y.len(), "a row of A and a column of B");
                $dot
            }
        }
    )*)*)*};
}
dots! {
    Plain true |gpu, a, b, c| sum_of_floats(gpu, a, b, c) =>
        f16, [f16] f16 f16, f16, [f16] f32 f32, bf16, [bf16] f32 f32, tf32, [tf32] f32 f32;
    Plain true |gpu, a, b, c| fp8(gpu, a, b, c) =>
        F8E4M3, [F8E4M3, F8E5M2] f16 f16, F8E5M2, [F8E4M3, F8E5M2] f16 f16,
        F8E4M3, [F8E4M3, F8E5M2] f32 f32, F8E5M2, [F8E4M3, F8E5M2] f32 f32;
    WarpGroupFp8 true |gpu, a, b, c| wgmma_fp8(gpu, a, b, c) =>
        F8E4M3, [F8E4M3, F8E5M2] f16 f16, F8E5M2, [F8E4M3, F8E5M2] f16 f16,
        F8E4M3, [F8E4M3, F8E5M2] f32 f32, F8E5M2, [F8E4M3, F8E5M2] f32 f32;
    F8F6F4 true |gpu, a, b, c| f8f6f4(gpu, a, b, c) =>
        F8E4M3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16 f16,
        F8E4M3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32 f32,
        F8E5M2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16 f16,
        F8E5M2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32 f32,
        e3m2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16 f16,
        e3m2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32 f32,
        e2m3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16 f16,
        e2m3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32 f32,
        InByte<e2m1>, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f16 f16,
        InByte<e2m1>, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>] f32 f32;
    Quad true |gpu, a, b, c| quad(gpu, a, b, c) => f16, [f16] f16 f16, f16, [f16] f32 f32;
    Widen true |gpu, a, b, c| quad(gpu, a, b, f32::from(c)) => f16, [f16] f16 f32;
    Plain true |gpu, a, b, c| chain(gpu, a, b, c, Rounding::Nearest) => f64, [f64] f64 f64;
    Rn true |gpu, a, b, c| chain(gpu, a, b, c, Rounding::Nearest) => f64, [f64] f64 f64;
    Rz true |gpu, a, b, c| chain(gpu, a, b, c, Rounding::Zero) => f64, [f64] f64 f64;
    Rm false |gpu, a, b, c| chain(gpu, a, b, c, Rounding::Down) => f64, [f64] f64 f64;
    Rp true |gpu, a, b, c| chain(gpu, a, b, c, Rounding::Up) => f64, [f64] f64 f64;
    Plain true |_, a, b, c| exact(a, b, c) =>
        i8, [i8, u8] i32 i32, u8, [i8, u8] i32 i32, s4, [s4, u4] i32 i32, u4, [s4, u4] i32 i32;
    SatFinite true |_, a, b, c| saturated(a, b, c) =>
        i8, [i8, u8] i32 i32, u8, [i8, u8] i32 i32, s4, [s4, u4] i32 i32, u4, [s4, u4] i32 i32;
    XorPopc false |_, a, b, c| popcount(a, b, c, |a, b| a ^ b) => b1, [b1] i32 i32;
    AndPopc false |_, a, b, c| popcount(a, b, c, |a, b| a & b) => b1, [b1] i32 i32;
}

fn integer_sum<A: Element, B: Element>(a: &[A], b: &[B], c: i64) -> i64 {
    sum_of_products(&integers(a), &integers(b)) + c
}

fn integers<T: Element>(elements: &[T]) -> Vec<i64> {
    elements.iter().map(|element| element.to_integer()).collect()
}

fn sum_of_products(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Computes an element of D in integers: the result of any arithmetic in which nothing rounds.
pub fn exact<A: Element, B: Element, C: Element, D: Element>(a: &[A], b: &[B], c: C) -> D {
    D::from_integer(integer_sum(a, b, c.to_integer()))
}

fn saturated<A: Element, B: Element>(a: &[A], b: &[B], c: i32) -> i32 {
    let sum = integer_sum(a, b, c.into());
    i32::try_from(sum).unwrap_or(if sum < 0 { i32::MIN } else { i32::MAX })
}

/// Counts the bits that remain after an operation.
fn popcount(a: &[b1], b: &[b1], c: i32, operation: impl Fn(u8, u8) -> u8) -> i32 {
    let word = |bits: &[b1]| bits.iter().map(|bit| bit.to_bits()).collect::<Vec<u8>>();
    let ones: u32 = word(a).into_iter().zip(word(b)).map(|(a, b)| u32::from(operation(a, b))).sum();
    c.wrapping_add_unsigned(ones)
}
