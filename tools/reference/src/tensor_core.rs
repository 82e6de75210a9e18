//! Sums of the tensor cores.

use super::chain::{Additions, additions};
use super::number::{Exact, Rounding, exponent, round, sum_of_cut};
use crate::data::Float;
use half::f16;
use ptx_matrix::sim::Arch;

/// How a GPU sums products.
#[derive(Debug, Clone, Copy)]
pub struct Summing {
    /// Bits that are kept behind the point of a term with the largest exponent.
    bits: i64,
    /// The largest exponent is at least this, of sums in f32 and in f16.
    least: [i64; 2],
    /// Products that are summed at once, times the bytes of a factor.
    bytes: usize,
    /// Bits behind the point that a sum in f32 keeps.
    bits_of_f32: u32,
}

/// As published of GPUs that were not run here: C has an exponent of -126 also if it is zero.
const PUBLISHED: Summing = Summing { bits: 25, least: [-126; 2], bytes: 64, bits_of_f32: 23 };
/// sm_90.
const HOPPER: Summing = Summing { least: [-133, -21], ..PUBLISHED };
/// As published of sm_120: there is no least exponent.
pub const BLACKWELL_KINDS: Summing = Summing { least: [-2000; 2], ..PUBLISHED };
/// `wgmma` of fp8 on sm_90.
pub const HOPPER_WGMMA_FP8: Summing = Summing { bits: 13, bits_of_f32: 13, ..BLACKWELL_KINDS };
/// fp8 on sm_89: half of the K of `m16n8k32` at a time.
const ADA_FP8: Summing = Summing { bytes: 16, ..HOPPER_WGMMA_FP8 };

impl Summing {
    /// That of f16, bf16 and tf32.
    fn floats(gpu: Arch) -> Self {
        match gpu.architecture() {
            "Volta" => Summing { bits: 23, ..PUBLISHED },
            "Turing" => Summing { bits: 24, ..PUBLISHED },
            "Ampere" | "Ada Lovelace" => Summing { bits: 24, bytes: 16, ..PUBLISHED },
            "Hopper" => HOPPER,
            _ => PUBLISHED,
        }
    }

    /// That of fp8, where there is an instruction.
    fn fp8(gpu: Arch) -> Option<Self> {
        match gpu.architecture() {
            "Ada Lovelace" => Some(ADA_FP8),
            "RTX Blackwell" => Some(BLACKWELL_KINDS),
            _ => None,
        }
    }

    /// The least exponent of sums in a format.
    pub fn least<C: Float>(self) -> i64 {
        self.least[usize::from(C::EXPONENT < 8)]
    }
}

/// A format that products are summed in.
pub trait Sum: Float {
    /// How the tensor cores round.
    const ROUNDING: Rounding;
    /// What a sum that is not a number returns.
    const NAN_CODE: u64;
}

impl Sum for f16 {
    const ROUNDING: Rounding = Rounding::Nearest;
    const NAN_CODE: u64 = 0x7fff;
}

impl Sum for f32 {
    const ROUNDING: Rounding = Rounding::Cut;
    const NAN_CODE: u64 = 0x7fff_ffff;
}

/// One sum of the tensor cores of some GPU: every term cut toward zero some bits below the largest
/// exponent of all terms, which is not less than some least one, then summed, then rounded. (The
/// products of the formats that it takes are exact in f64.)
pub fn sum_of<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C, summing: Summing) -> C {
    let at_once = summing.bytes / size_of::<A>();
    a.chunks(at_once).zip(b.chunks(at_once)).fold(c, |c, (a, b)| one_sum(a, b, c, summing))
}

fn one_sum<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C, summing: Summing) -> C {
    let mut terms = Vec::with_capacity(a.len() + 1);
    let mut largest = summing.least::<C>();
    for (&a, &b) in a.iter().zip(b) {
        let product = a.to_f64() * b.to_f64();
        terms.push(product);
        if product != 0.0 {
            largest = largest.max(exponent(a) + exponent(b));
        }
    }
    terms.push(c.to_f64());
    if c.to_f64() != 0.0 {
        largest = largest.max(exponent(c));
    }
    let special: f64 = terms.iter().filter(|term| !term.is_finite()).sum();
    if special.is_nan() {
        return C::from_code(C::NAN_CODE);
    }
    if special.is_infinite() {
        return C::from_f64(special);
    }
    let sum: C = round(&sum_of_cut(&terms, largest - summing.bits), C::ROUNDING);
    let unused = C::FRACTION.saturating_sub(summing.bits_of_f32);
    if sum.to_f64().is_finite() && C::EXPONENT == 8 {
        C::from_code(sum.code() >> unused << unused)
    } else {
        sum
    }
}

/// f16, bf16 and tf32.
pub fn sum_of_floats<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    sum_of(a, b, c, Summing::floats(gpu))
}

/// `m8n8k4` of f16: sums of the tensor cores up to Turing, additions from Ampere on.
pub fn quad<C: Sum + Additions>(gpu: Arch, a: &[f16], b: &[f16], c: C) -> C {
    if gpu.sm() < 80 { sum_of_floats(gpu, a, b, c) } else { additions(a, b, c) }
}

/// fp8, by the instruction that the GPU has for it or by that of f16.
pub fn fp8<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    match Summing::fp8(gpu) {
        Some(summing) => sum_of(a, b, c, summing),
        None => two_tensor_cores(gpu, a, b, c),
    }
}

/// fp8 on sm_90 and sm_100: two sums of the tensor cores, in f16, and an addition. The first sum is
/// of every other pair of products; the other ones are added to it; then C, rounded to the nearest.
fn two_tensor_cores<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    let sum = [0, 2].into_iter().fold(C::from_code(0), |sum, first| {
        let chosen = || (first..a.len()).step_by(4).flat_map(|k| [k, k + 1]);
        let a: Vec<f16> = chosen().map(|k| f16::from_f64(a[k].to_f64())).collect();
        let b: Vec<f16> = chosen().map(|k| f16::from_f64(b[k].to_f64())).collect();
        sum_of_floats(gpu, &a, &b, sum)
    });
    let exact = sum.to_f64() + c.to_f64();
    if exact.is_nan() {
        C::from_code(C::NAN_CODE)
    } else if exact.is_infinite() {
        C::from_f64(exact)
    } else {
        round(&(Exact::from(sum.to_f64()) + c.to_f64().into()), Rounding::Nearest)
    }
}
