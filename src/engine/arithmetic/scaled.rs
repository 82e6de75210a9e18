//! Block scaling, as published for sm_120 (MMA-Sim, arXiv 2511.10909). Not verified here.

use super::architecture::BLACKWELL_KINDS;
use super::each_element;
use super::format::{AccumulatorFloat, Float, Number};
use super::fused::{fused_terms, product, shifted};
use crate::element::{F8E4M3, F8E5M2, InByte, e2m1, e2m3, e3m2, ue4m3, ue8m0};
use crate::fragment::{Mxf4, Mxf4Nvf4, Mxf8f6f4};
use std::vec::Vec;

/// The arithmetic of one combination of element types and a kind of scales: `Self` for A, then B.
pub(crate) trait ScaledMmaArithmetic<B, K>: Sized {
    /// The element type of the scales.
    type Scale;

    /// A x B + C of row-major matrices; A has `k` columns and B has `n`. The lengths of `scales_a`
    /// and `scales_b` determine the number of scales for each row and column.
    fn multiply(
        a: &[Self],
        b: &[B],
        c: &[f32],
        scales_a: &[Self::Scale],
        scales_b: &[Self::Scale],
        n: usize,
        k: usize,
    ) -> Vec<f32>;
}

/// The numbers of a row or column, and their scales.
type Scaled<'s> = (&'s [Number], &'s [Number]);

/// Computes an element of D from a row of A, a column of B and an element of C. The last argument
/// is a number of fraction bits, which the elements' types determine.
type Sum = fn(Scaled<'_>, Scaled<'_>, f32, i32) -> f32;

/// Computes D, which has `n` columns, with `k` columns of A. Not generic over the elements, so that
/// it is compiled once.
fn each_scaled(
    (a, scales_a): Scaled<'_>,
    (b, scales_b): Scaled<'_>,
    c: &[f32],
    n: usize,
    k: usize,
    (sum, fraction): (Sum, i32),
) -> Vec<f32> {
    let rows = a.len() / k;
    let (per_row, per_column) = (scales_a.len() / rows, scales_b.len() / n);
    // The index of the element replaces C: it gives the row and the column.
    let index: Vec<usize> = (0..c.len()).collect();
    each_element((a, b, &index), n, k, |a, b, index| {
        let (row, col) = (index / n, index % n);
        let scales =
            (&scales_a[row * per_row..][..per_row], &scales_b[col * per_column..][..per_column]);
        sum((a, scales.0), (b, scales.1), c[index], fraction)
    })
}

/// A power of two, or NaN.
fn power(scale: ue8m0) -> Number {
    match scale.to_bits() {
        u8::MAX => Number::Nan,
        bits => Number::Finite { negative: false, significand: 1, exponent: i32::from(bits) - 127 },
    }
}

/// One fused sum over all of K and C. The scales are added to the exponents of the products.
fn scaled_sum((a, scale_a): Scaled<'_>, (b, scale_b): Scaled<'_>, c: f32, fraction: i32) -> f32 {
    let scale = product(scale_a[0], scale_b[0]);
    let products = a.iter().zip(b).map(|(&a, &b)| (product(product(a, b), scale), fraction));
    fused_terms(products, c, BLACKWELL_KINDS)
}

macro_rules! bytes {
    ($($a:ty, [$($b:ty),*];)*) => {$($(
        impl ScaledMmaArithmetic<$b, Mxf8f6f4> for $a {
            type Scale = ue8m0;

            fn multiply(
                a: &[$a],
                b: &[$b],
                c: &[f32],
                scales_a: &[ue8m0],
                scales_b: &[ue8m0],
                n: usize,
                k: usize,
            ) -> Vec<f32> {
                let (a, b) = (numbers(a), numbers(b));
                let (scales_a, scales_b) = (powers(scales_a), powers(scales_b));
                let sum: (Sum, _) =
                    (scaled_sum, <$a as Float>::FRACTION + <$b as Float>::FRACTION);
                each_scaled((&a, &scales_a), (&b, &scales_b), c, n, k, sum)
            }
        }
    )*)*};
}
bytes! {
    F8E4M3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
    F8E5M2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
    e3m2, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
    e2m3, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
    InByte<e2m1>, [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
}

fn numbers<T: Float>(matrix: &[T]) -> Vec<Number> {
    matrix.iter().map(|element| element.number()).collect()
}

fn powers(scales: &[ue8m0]) -> Vec<Number> {
    scales.iter().map(|&scale| power(scale)).collect()
}

/// Number of products whose sum is exact before it is scaled.
const GROUP: usize = 16;

/// Fraction bits that the sum of a group keeps, relative to the largest sum.
const GROUP_FRACTION_BITS: i32 = 35;

/// The sums of groups of products are exact. The scaled sums are added like products elsewhere.
/// Each has the exponent of its scales, also if it is zero.
fn sum_of_groups(
    (a, scales_a): Scaled<'_>,
    (b, scales_b): Scaled<'_>,
    c: f32,
    scale_fraction: i32,
) -> f32 {
    let per_scale = a.len() / scales_a.len();
    let mut terms = Vec::new();
    for (group, (a, b)) in a.chunks(GROUP).zip(b.chunks(GROUP)).enumerate() {
        let scale = group * GROUP / per_scale;
        let Number::Finite { significand: scale, exponent, .. } =
            product(scales_a[scale], scales_b[scale])
        else {
            return f32::nan();
        };
        if scale != 0 {
            let sum: i64 = a.iter().zip(b).map(|(&a, &b)| quarters(product(a, b))).sum();
            terms.push((sum * scale, exponent, 2 + 2 * scale_fraction));
        }
    }
    match c.number() {
        Number::Nan => return f32::nan(),
        Number::Infinite { .. } => return c,
        Number::Finite { significand: 0, .. } => {}
        Number::Finite { negative, significand, exponent } => {
            terms.push((
                if negative { -significand } else { significand },
                exponent,
                <f32 as Float>::FRACTION,
            ));
        }
    }
    let Some(largest) = terms.iter().map(|&(_, exponent, _)| exponent).max() else { return 0.0 };
    let sum = terms.iter().map(|&(significand, exponent, fraction)| {
        let by = GROUP_FRACTION_BITS - fraction - (largest - exponent);
        significand.signum() * shifted(significand.abs(), by)
    });
    <f32 as AccumulatorFloat>::round(sum.sum(), largest - GROUP_FRACTION_BITS)
}

/// The product of two e2m1 numbers, as an integer multiple of 1/4.
fn quarters(product: Number) -> i64 {
    match product {
        Number::Finite { negative, significand, exponent } => {
            let magnitude = significand << exponent;
            if negative { -magnitude } else { magnitude }
        }
        Number::Infinite { .. } | Number::Nan => unreachable!("e2m1 has only finite numbers"),
    }
}

macro_rules! groups {
    ($($kind:ty, $scale:ident $fraction:literal $to_numbers:ident;)*) => {$(
        impl ScaledMmaArithmetic<e2m1, $kind> for e2m1 {
            type Scale = $scale;

            fn multiply(
                a: &[e2m1],
                b: &[e2m1],
                c: &[f32],
                scales_a: &[$scale],
                scales_b: &[$scale],
                n: usize,
                k: usize,
            ) -> Vec<f32> {
                let (a, b) = (numbers(a), numbers(b));
                let (scales_a, scales_b) = ($to_numbers(scales_a), $to_numbers(scales_b));
                let sum: (Sum, _) = (sum_of_groups, $fraction);
                each_scaled((&a, &scales_a), (&b, &scales_b), c, n, k, sum)
            }
        }
    )*};
}
groups! {
    Mxf4, ue8m0 0 powers;
    Mxf4Nvf4<2, ue8m0>, ue8m0 0 powers;
    Mxf4Nvf4<4, ue8m0>, ue8m0 0 powers;
    Mxf4Nvf4<4, ue4m3>, ue4m3 3 numbers;
}
