//! The arithmetic of `mma` and `wgmma`, on whole matrices, and of pairs of 16-bit floats.
//!
//! | file | contents |
//! | --- | --- |
//! | `multiply.rs`, `sparse.rs` | `mma` and `mma.sp` of a warp |
//! | `fused.rs`, `format.rs` | the fused sum of the tensor cores, and its formats |
//! | `architecture.rs` | the parameters of each GPU |
//! | `emulated.rs` | fp8 and `m8n8k4`, which some GPUs emulate |
//! | `scaled.rs` | block scaling |
//! | `integer.rs`, `chain.rs` | integers and bits; f64 |
//! | `matrix.rs` | matrices and registers |
//! | `operands.rs` | registers that are used with a wrong layout |
//! | `pairs.rs` | pairs of 16-bit floats, and `prmt` |
//!
//! `machine/` and `raw` call it, and `wgmma/` for `wgmma`.

mod architecture;
mod chain;
mod emulated;
mod format;
mod fused;
mod integer;
mod matrix;
mod multiply;
pub(crate) mod operands;
pub(crate) mod pairs;
mod scaled;
mod sparse;

pub(crate) use matrix::{Offsets, gathered, scatter};
pub(crate) use multiply::{MmaDescription, MmaOperands, Words};
pub(crate) use scaled::ScaledMmaArithmetic;
pub(crate) use sparse::{MetadataOrder, check_codes, codes, sparse_mma};

use crate::target::Arch;
use std::vec::Vec;

/// The arithmetic of one combination of element types: `Self` for A, then B, C and the option `O`
/// of `mma` (or [`Quad`](crate::sim::Quad)).
pub trait MmaArithmetic<B, C, O>: Sized {
    /// The element type of D.
    type D;

    /// A x B + C as the tensor cores of a GPU compute it. Matrices are row-major; A has `k` columns
    /// and B has `n`.
    fn multiply(gpu: Arch, a: &[Self], b: &[B], c: &[C], n: usize, k: usize) -> Vec<Self::D>;
}

/// Computes each element of D by `element(row of A, column of B, element of C)`.
fn each_element<A: Copy, B: Copy, C: Copy, D>(
    (a, b, c): (&[A], &[B], &[C]),
    n: usize,
    k: usize,
    element: impl Fn(&[A], &[B], C) -> D,
) -> Vec<D> {
    let columns = columns(b, n);
    let mut d = Vec::with_capacity(c.len());
    for row in 0..c.len() / n {
        let (a, c) = (&a[row * k..][..k], &c[row * n..][..n]);
        for col in 0..n {
            d.push(element(a, &columns[col], c[col]));
        }
    }
    d
}

/// The columns of a matrix with `n` columns.
fn columns<T: Copy>(matrix: &[T], n: usize) -> Vec<Vec<T>> {
    (0..n).map(|col| matrix[col..].iter().step_by(n).copied().collect()).collect()
}

/// Rare cases, with the results of an H200.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{F8E4M3, F8E5M2, tf32};
    use crate::isa::Plain;
    use half::f16;

    fn element<A: MmaArithmetic<B, C, Plain>, B, C>(a: &[A], b: &[B], c: C) -> A::D {
        A::multiply(Arch::SM_90, a, b, &[c], 1, a.len()).remove(0)
    }

    #[test]
    fn products_below_the_least_exponent_are_cut_at_a_fixed_place() {
        let a = [0x9a96_4000, 0x1a00_0000, 0x9bac_0000, 0x9e1f_6000].map(tf32::from_bits);
        let b = [0x9a00_0000, 0x198f_a000, 0x9fba_c000, 0x1dec_e000].map(tf32::from_bits);
        assert_eq!(element(&a, &b, -0.0f32).to_bits(), 0x8000_54ba);

        // The exact sum is 2^-25 + 2^-48. Exact arithmetic would round it up.
        let a =
            [0x0617, 0x8037, 0x828f, 0x82e0, 0x0269, 0x8822, 0x825a, 0x84ec].map(f16::from_bits);
        let b =
            [0x08ed, 0x09f7, 0x0723, 0x816f, 0x036a, 0x017b, 0x8bcb, 0x894a].map(f16::from_bits);
        assert_eq!(element(&a, &b, f16::NEG_ZERO).to_bits(), 0);
    }

    #[test]
    fn nan_of_f64_goes_through_and_that_of_b_first() {
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
        // 2^-9 * 2^15 has the exponent 6, not -6 + 15. So 2^-6 * 2^-11 is not truncated next to it.
        let a = [0x01, 0x08, 0x00, 0x00].map(F8E4M3::from_bits);
        let b = [0x78, 0x10, 0x00, 0x00].map(F8E5M2::from_bits);
        assert_eq!(element(&a, &b, -64.0f32), 2.0f32.powi(-17));
    }
}
