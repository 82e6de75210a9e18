//! A softmax of rows whose elements come tile by tile: what was computed with the largest element so far is made right when a larger one comes.

use ptx_matrix::*;

/// Stands for the score of a key that a query does not see: the least number, which times zero is
/// zero. Its weight is zero.
pub const HIDDEN: f32 = f32::MIN;

/// What is known of the rows so far.
pub struct Softmax {
    /// The largest element of each.
    largest: RowValues<f32>,
    /// The sums of exp(element - largest), in each lane of its own elements.
    sums: RowParts<f32>,
}

impl Softmax {
    /// Of no elements.
    #[inline(always)]
    pub fn new() -> Self {
        Softmax { largest: RowValues::splat(HIDDEN), sums: RowParts::splat(0.0) }
    }

    /// Further elements, of which there are `scale_log2` times as many powers of two: what they are of the largest, as far as known, and what
    /// is to be made of what was computed before.
    ///
    /// Only if `MASKED`, an element may be `HIDDEN`, and its power is zero.
    #[inline(always)]
    pub fn add<const N: usize, const MASKED: bool>(
        &mut self,
        group: WarpGroup<'_>,
        scores: &GroupAccumulator<N, f32>,
        scale_log2: f32,
    ) -> (GroupAccumulator<N, f32>, RowValues<f32>)
    where
        M64<N>: WgmmaColumns<Bits32>,
    {
        let warp = group.warp();
        let own = scores.fold_rows(group, &RowParts::splat(HIDDEN), f32::max);
        let largest = own.combine(warp, f32::max).zip(warp, &self.largest, f32::max);
        // A row that sees nothing yet has no largest element to subtract.
        let offset = |largest: f32| if largest == HIDDEN { 0.0 } else { largest * scale_log2 };
        let offsets = largest.map(warp, offset);
        let factors = self.largest.zip(warp, &offsets, |before, offset| exp2(before * scale_log2 - offset));
        let powers = scores.map_rows(group, &offsets, |score, offset| {
            let power = exp2(multiply_add(score, scale_log2, -offset));
            // Exactly zero: with a small `scale_log2`, the power of the least number is not small.
            if MASKED && score == HIDDEN { 0.0 } else { power }
        });
        let before = self.sums.zip(warp, &factors, |sum, factor| sum * factor);
        // The power of what is no number is one: so that such scores are not lost, they are added as well, as zeros.
        let before = scores.fold_rows(group, &before, |sum, score| multiply_add(score, 0.0, sum));
        self.sums = powers.fold_rows(group, &before, |sum, power| sum + power);
        self.largest = largest;
        (powers, factors)
    }

    /// What the sums of values by their powers are to be multiplied by: zero for a row that sees nothing. Where a score is infinite, or is not a number, nor is
    /// that.
    #[inline(always)]
    pub fn finish(&self, warp: Warp<'_>) -> RowValues<f32> {
        let sums = self.sums.combine(warp, |sum, other| sum + other);
        self.largest.zip(warp, &sums, |largest, sum| if largest == HIDDEN { 0.0 * sum } else { 1.0 / sum })
    }
}

/// 2^x for an x of no more than 127, to 8e-5 of it, which is less than 16 bits are rounded by: 2^n times a polynomial on [-1/2, 1/2].
/// Below -126 it is less than 2^x, and from `LEAST` on it rounds to zero in 16 bits.
#[inline(always)]
fn exp2(x: f32) -> f32 {
    // As large as that, a float has no bits behind the point: n is in the last bits.
    const ROUND: f32 = 12_582_912.0;
    // With n = -127, a polynomial of 1 + 18 ulp becomes the bits 18: the subnormal 2.5e-44. Nearer
    // to -127 the polynomial is less than 1, and its exponent would wrap around.
    const LEAST: f32 = -127.0 + 14.0 / 131_072.0;
    let x = x.max(LEAST);
    let rounded = x + ROUND;
    let rest = x - (rounded - ROUND);
    let [a, b, c, d] = COEFFICIENTS;
    let power = multiply_add(multiply_add(multiply_add(d, rest, c), rest, b), rest, a);
    f32::from_bits(power.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// Of the polynomial that is nowhere on [-1/2, 1/2] further from 2^x, as a part of it, than any other of the third degree.
const COEFFICIENTS: [f32; 4] = [0.999_928_1, 0.693_261, 0.242_611_12, 0.055_171_664];

/// a x b + c, rounded once.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    core::f32::math::mul_add(a, b, c)
}
