//! Scaled blocks, as published of sm_120 (MMA-Sim, arXiv 2511.10909).

use super::number::{Rounding, exponent, round, sum_of_cut};
use super::tensor_core::{BLACKWELL_KINDS, Sum};
use crate::data::Float;
use ptx_matrix::element::{F8E4M3, F8E5M2, InByte, e2m1, e2m3, e3m2, ue4m3, ue8m0};
use ptx_matrix::fragment::{Mxf4, Mxf4Nvf4, Mxf8f6f4};

/// A scale: its value, and the exponent that its significand has.
pub trait Scale: bytemuck::Pod {
    fn value(self) -> f64;
    fn exponent(self) -> i64;
}

impl Scale for ue8m0 {
    fn value(self) -> f64 {
        if self.to_bits() == u8::MAX {
            f64::NAN
        } else {
            2f64.powi(i32::from(self.to_bits()) - 127)
        }
    }
    fn exponent(self) -> i64 {
        i64::from(self.to_bits()) - 127
    }
}

impl Scale for ue4m3 {
    fn value(self) -> f64 {
        F8E4M3::from_bits(self.to_bits()).to_f64()
    }
    fn exponent(self) -> i64 {
        exponent(F8E4M3::from_bits(self.to_bits()))
    }
}

/// Elements of A, whose products with those of B are scaled by a kind.
pub trait ScaledFactor<B, K>: Float {
    type Scale: Scale;
    fn dot(a: (&[Self], &[Self::Scale]), b: (&[B], &[Self::Scale]), c: f32) -> f32;
}

macro_rules! by {
    ($dot:ident $($kind:ty, $scale:ident, $($a:ty),* => $bs:tt;)*) => {$($(by! { @ $dot $kind, $scale, $a => $bs })*)*};
    (@ $dot:ident $kind:ty, $scale:ident, $a:ty => [$($b:ty),*]) => {$(
        impl ScaledFactor<$b, $kind> for $a {
            type Scale = $scale;
            fn dot(a: (&[$a], &[$scale]), b: (&[$b], &[$scale]), c: f32) -> f32 {
                $dot(a, b, c)
            }
        }
    )*};
}
by! { each_product
    Mxf8f6f4, ue8m0, F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1> => [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
}
by! { sixteen_products
    Mxf4, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<2, ue8m0>, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<4, ue8m0>, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<4, ue4m3>, ue4m3, e2m1 => [e2m1];
}

/// D of row-major matrices; the scales of A lie as it does, in rows, and those of B likewise, in
/// columns.
pub fn scaled<A: ScaledFactor<B, K>, B: Float, K>(
    (m, n, k): (usize, usize, usize),
    (a, scales_a): (&[A], &[A::Scale]),
    (b, scales_b): (&[B], &[A::Scale]),
    c: &[f32],
) -> Vec<f32> {
    let scales = scales_a.len() / m;
    let column = |col: usize| (0..k).map(|i| b[i * n + col]).collect::<Vec<B>>();
    let scales_of_column =
        |col: usize| (0..scales).map(|i| scales_b[i * n + col]).collect::<Vec<_>>();
    let element = |row: usize, col: usize| {
        let a = (&a[row * k..][..k], &scales_a[row * scales..][..scales]);
        A::dot(a, (&column(col), &scales_of_column(col)), c[row * n + col])
    };
    (0..m * n).map(|i| element(i / n, i % n)).collect()
}

/// One sum of all products, each scaled.
fn each_product<A: Float, B: Float, S: Scale>(
    (a, scale_a): (&[A], &[S]),
    (b, scale_b): (&[B], &[S]),
    c: f32,
) -> f32 {
    let scale =
        (scale_a[0].value() * scale_b[0].value(), scale_a[0].exponent() + scale_b[0].exponent());
    let products: Vec<f64> =
        a.iter().zip(b).map(|(&a, &b)| a.to_f64() * b.to_f64() * scale.0).collect();
    let special: f64 = products.iter().filter(|product| !product.is_finite()).sum::<f64>()
        + if c.is_finite() { 0.0 } else { f64::from(c) };
    if special.is_nan() {
        return f32::from_code(f32::NAN_CODE);
    }
    if special.is_infinite() {
        return special as f32;
    }
    let exponents = a.iter().zip(b).zip(&products).filter(|(_, product)| **product != 0.0);
    let exponents = exponents.map(|((&a, &b), _)| exponent(a) + exponent(b) + scale.1);
    let exponents = exponents.collect();
    sum(products, exponents, c, 25)
}

/// Products of sixteen each are summed, exactly, then scaled.
fn sixteen_products<S: Scale>(
    (a, scales_a): (&[e2m1], &[S]),
    (b, scales_b): (&[e2m1], &[S]),
    c: f32,
) -> f32 {
    let per_scale = a.len() / scales_a.len();
    let scale = |k: usize| (scales_a[k / per_scale], scales_b[k / per_scale]);
    let all = scales_a.iter().chain(scales_b).map(|scale| scale.value());
    if all.chain([c.into()]).any(f64::is_nan) {
        return f32::from_code(f32::NAN_CODE);
    }
    if c.is_infinite() {
        return c;
    }
    let sums = (0..a.len()).step_by(16).map(|first| {
        let exact: f64 =
            (first..first + 16).map(|k| f64::from(a[k].to_f32()) * f64::from(b[k].to_f32())).sum();
        let (scale_a, scale_b) = scale(first);
        let exponent = scale_a.exponent() + scale_b.exponent();
        (
            exact * scale_a.value() * scale_b.value(),
            scale_a.value() * scale_b.value() != 0.0,
            exponent,
        )
    });
    let sums: Vec<_> = sums.collect();
    let exponents =
        sums.iter().filter(|(_, counts, _)| *counts).map(|(.., exponent)| *exponent).collect();
    sum(sums.iter().map(|(sum, ..)| *sum).collect(), exponents, c, 35)
}

/// Terms and C, each cut so many bits below the largest exponent, summed, and cut to f32.
fn sum(mut terms: Vec<f64>, mut exponents: Vec<i64>, c: f32, bits: i64) -> f32 {
    if c != 0.0 {
        exponents.push(exponent(c));
    }
    let largest =
        exponents.into_iter().chain([BLACKWELL_KINDS.least::<f32>()]).max().expect("one at least");
    terms.push(c.into());
    let sum = sum_of_cut(&terms, largest - bits);
    round(&sum, Rounding::Cut)
}
