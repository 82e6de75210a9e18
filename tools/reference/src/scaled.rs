//! Block scaling, as published for sm_120 (MMA-Sim, arXiv 2511.10909).

use super::columns;
use super::number::{Rounding, exponent, round, sum_of_cut};
use super::tensor_core::{BLACKWELL_KINDS, Sum};
use crate::data::Float;
use ptx_matrix::element::{F8E4M3, F8E5M2, InByte, e2m1, e2m3, e3m2, ue4m3, ue8m0};
use ptx_matrix::fragment::{Mxf4, Mxf4Nvf4, Mxf8f6f4};

/// A scale: its value, and the exponent of its significand.
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

/// An element of A. Its products with elements of B are scaled according to `K`.
pub trait ScaledOperand<B, K>: Float {
    type Scale: Scale;
    fn dot(a: (&[Self], &[Self::Scale]), b: (&[B], &[Self::Scale]), c: f32) -> f32;
}

macro_rules! by {
    ($dot:ident $($kind:ty, $scale:ident, $($a:ty),* => $bs:tt;)*) => {
        $($(by! { @ $dot $kind, $scale, $a => $bs })*)*
    };
    (@ $dot:ident $kind:ty, $scale:ident, $a:ty => [$($b:ty),*]) => {$(
        impl ScaledOperand<$b, $kind> for $a {
            type Scale = $scale;
            fn dot(a: (&[$a], &[$scale]), b: (&[$b], &[$scale]), c: f32) -> f32 {
                $dot(a, b, c)
            }
        }
    )*};
}
by! { each_element_type
    Mxf8f6f4, ue8m0, F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1> =>
        [F8E4M3, F8E5M2, e3m2, e2m3, InByte<e2m1>];
}
by! { sixteen_products
    Mxf4, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<2, ue8m0>, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<4, ue8m0>, ue8m0, e2m1 => [e2m1];
    Mxf4Nvf4<4, ue4m3>, ue4m3, e2m1 => [e2m1];
}

/// D of row-major matrices. The scales of A are in rows, as A is; those of B are in columns.
pub fn scaled<A: ScaledOperand<B, K>, B: Float, K>(
    (m, n, k): (usize, usize, usize),
    (a, scales_a): (&[A], &[A::Scale]),
    (b, scales_b): (&[B], &[A::Scale]),
    c: &[f32],
) -> Vec<f32> {
    let scales = scales_a.len() / m;
    assert_eq!(
        (scales_a.len(), scales_b.len()),
        (m * scales, n * scales),
        "as many scales to each row of A as to each column of B"
    );
    let (columns, scales_of_columns) = (columns(b, n), columns(scales_b, n));
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        let a = (&a[row * k..][..k], &scales_a[row * scales..][..scales]);
        for col in 0..n {
            d.push(A::dot(a, (&columns[col], &scales_of_columns[col]), c[row * n + col]));
        }
    }
    d
}

/// One sum of all products; each product is scaled.
fn each_element_type<A: Float, B: Float, S: Scale>(
    (a, scale_a): (&[A], &[S]),
    (b, scale_b): (&[B], &[S]),
    c: f32,
) -> f32 {
    let (&[scale_a], &[scale_b], 32) = (scale_a, scale_b, a.len()) else {
        panic!(
            "the reference knows the sum of 32 products with one scale of A and one of B, not of \
             {} with {} and {}: extend `each_element_type` (tools/reference/src/scaled.rs)",
            a.len(),
            scale_a.len(),
            scale_b.len()
        );
    };
    let scale = (scale_a.value() * scale_b.value(), scale_a.exponent() + scale_b.exponent());
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

/// Groups of sixteen products are summed exactly, then scaled.
fn sixteen_products<S: Scale>(
    (a, scales_a): (&[e2m1], &[S]),
    (b, scales_b): (&[e2m1], &[S]),
    c: f32,
) -> f32 {
    let (64, 2 | 4, true) = (a.len(), scales_a.len(), scales_a.len() == scales_b.len()) else {
        panic!(
            "the reference knows the sum of 64 products with 2 or 4 scales of A and of B, not of \
             {} with {} and {}: extend `sixteen_products` (tools/reference/src/scaled.rs)",
            a.len(),
            scales_a.len(),
            scales_b.len()
        );
    };
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

/// The sum of the terms and C, rounded to f32 by truncation. Each term is first truncated `bits`
/// bits below the largest exponent.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;

    /// D of zeros, of a row of A with `k` elements and `scales` scales.
    fn zero<A: ScaledOperand<A, K>, K>(k: usize, scales: usize, scale: A::Scale) -> Vec<f32> {
        let (row, scales) = (vec![A::from_code(0); k], vec![scale; scales]);
        super::scaled::<A, A, K>((1, 1, k), (&row, &scales), (&row, &scales), &[0.0])
    }

    /// The rows of all forms, with their scales, are those that the sums below know.
    #[test]
    fn rows_of_all_forms_are_known() {
        for form in forms::all().filter(|form| form.scales > 0) {
            let shape = form.ptx.split('.').find(|part| part.starts_with("m16n8k"));
            let k: usize = shape.expect("a shape")["m16n8k".len()..].parse().expect("K");
            let kept = if form.selectors > 0 { k / 2 } else { k };
            let is_known = matches!((kept, form.scales), (32, 1) | (64, 2 | 4));
            assert!(is_known, "{}", form.ptx);
        }
    }

    #[test]
    fn knows_scales_of_all_kinds() {
        assert_eq!(zero::<F8E4M3, Mxf8f6f4>(32, 1, ue8m0::from_bits(127)), [0.0]);
        assert_eq!(zero::<e2m1, Mxf4>(64, 2, ue8m0::from_bits(127)), [0.0]);
        assert_eq!(zero::<e2m1, Mxf4Nvf4<4, ue4m3>>(64, 4, ue4m3::ONE), [0.0]);
    }

    #[test]
    #[should_panic(expected = "not of 32 with 2 and 2: extend `each_element_type`")]
    fn second_scale_of_bytes_panics() {
        zero::<F8E4M3, Mxf8f6f4>(32, 2, ue8m0::from_bits(127));
    }

    #[test]
    #[should_panic(expected = "not of 64 with 8 and 8: extend `sixteen_products`")]
    fn scale_of_fewer_than_16_products_panics() {
        zero::<e2m1, Mxf4>(64, 8, ue8m0::from_bits(127));
    }

    #[test]
    #[should_panic(expected = "not of 128 with 4 and 4: extend `sixteen_products`")]
    fn row_of_unknown_length_panics() {
        zero::<e2m1, Mxf4>(128, 4, ue8m0::from_bits(127));
    }
}
