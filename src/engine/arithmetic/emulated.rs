//! fp8, and `m8n8k4` with f16.
//!
//! The tensor cores compute them if the GPU has such an instruction. Otherwise this is the
//! arithmetic of the instructions that ptxas generates.

use super::architecture::{Fp8, Fused, Quad as QuadOf, TensorCores};
use super::format::{AccumulatorFloat, Float, Number};
use super::{MmaArithmetic, each_element};
use crate::isa::{Plain, Quad, Widen};
use crate::target::Arch;
use core::ops::Add;
use float8::{F8E4M3, F8E5M2};
use half::f16;
use std::vec;
use std::vec::Vec;

/// The numbers as f16, reordered: the K indices with k mod 4 in {0, 1} come first, then the others.
/// Each K index has `line` consecutive elements: 1 in a row of A, a whole row in B.
fn halves_in_f16<T: Float>(matrix: &[T], k: usize, line: usize) -> Vec<Number> {
    let mut numbers = Vec::with_capacity(matrix.len());
    for lines in matrix.chunks(k * line) {
        for half in 0..2 {
            for four in lines.chunks(4 * line) {
                let chosen = &four[half * 2 * line..][..2 * line];
                numbers.extend(chosen.iter().map(|element| element.number().in_f16(T::FRACTION)));
            }
        }
    }
    numbers
}

/// Sums the first half of the products from zero, then adds the other half. Then adds C with an
/// ordinary addition, outside the tensor cores.
fn sums_of_halves<C: AccumulatorFloat + Add<Output = C>>(
    (a, b, c): (&[Number], &[Number], &[C]),
    n: usize,
    k: usize,
    fused: Fused,
) -> Vec<C> {
    let (zeros, fraction) = (vec![C::zeroed(); c.len()], 2 * <f16 as Float>::FRACTION);
    let sums = fused.sums_by_steps((a, b, &zeros), n, k, fraction, k / 2);
    sums.into_iter().zip(c).map(|(sum, &c)| canonical(sum + c)).collect()
}

/// fp8. For some GPUs ptxas generates two f16 instructions and an addition: one instruction for k
/// mod 4 in {0, 1}, and one for the other k.
macro_rules! fp8 {
    ($($a:ident $b:ident $c:ident;)*) => {$(
        impl MmaArithmetic<$b, $c, Plain> for $a {
            type D = $c;

            fn multiply(gpu: Arch, a: &[$a], b: &[$b], c: &[$c], n: usize, k: usize) -> Vec<$c> {
                let cores = TensorCores::of(gpu);
                match cores.fp8 {
                    Fp8::Fused(fused) => fused.multiply((a, b, c), n, k),
                    Fp8::InF16 => {
                        let operands = (&*halves_in_f16(a, k, 1), &*halves_in_f16(b, k, n));
                        sums_of_halves((operands.0, operands.1, c), n, k, cores.floats)
                    }
                }
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

fn canonical<C: AccumulatorFloat>(sum: C) -> C {
    if sum.number() == Number::Nan { C::nan() } else { sum }
}

/// A chain of fused multiply-adds in f32 that starts at zero, plus C.
fn chain_and_c(a: &[f16], b: &[f16], c: f32) -> f32 {
    let chain = a.iter().zip(b).fold(0.0f32, |sum, (a, b)| a.to_f32().mul_add(b.to_f32(), sum));
    canonical(c + chain)
}

/// C, plus the sum of the first two products, plus the sum of the other two. Each addition is in
/// f32; the result is rounded.
fn pairs_and_c(a: &[f16], b: &[f16], c: f16) -> f16 {
    let product = |k: usize| (a[k].to_f32(), b[k].to_f32());
    let pair = |first: usize| {
        let ((a, b), (x, y)) = (product(first), product(first + 1));
        x.mul_add(y, a * b)
    };
    canonical(f16::from_f32(c.to_f32() + pair(0) + pair(2)))
}

/// `m8n8k4` with f16. `in_f32` computes an element outside the tensor cores.
fn quad<C: AccumulatorFloat>(
    gpu: Arch,
    (a, b, c): (&[f16], &[f16], &[C]),
    n: usize,
    k: usize,
    in_f32: impl Fn(&[f16], &[f16], C) -> C,
) -> Vec<C> {
    let cores = TensorCores::of(gpu);
    match cores.quad {
        QuadOf::Fused => cores.floats.multiply((a, b, c), n, k),
        QuadOf::InF32 => each_element((a, b, c), n, k, in_f32),
    }
}

impl MmaArithmetic<f16, f32, Quad> for f16 {
    type D = f32;

    fn multiply(gpu: Arch, a: &[f16], b: &[f16], c: &[f32], n: usize, k: usize) -> Vec<f32> {
        quad(gpu, (a, b, c), n, k, chain_and_c)
    }
}

impl MmaArithmetic<f16, f16, Widen> for f16 {
    type D = f32;

    fn multiply(gpu: Arch, a: &[f16], b: &[f16], c: &[f16], n: usize, k: usize) -> Vec<f32> {
        let c: Vec<f32> = c.iter().map(|c| c.to_f32()).collect();
        quad(gpu, (a, b, &c), n, k, chain_and_c)
    }
}

impl MmaArithmetic<f16, f16, Quad> for f16 {
    type D = f16;

    fn multiply(gpu: Arch, a: &[f16], b: &[f16], c: &[f16], n: usize, k: usize) -> Vec<f16> {
        quad(gpu, (a, b, c), n, k, pairs_and_c)
    }
}
