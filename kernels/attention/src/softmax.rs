//! A softmax of rows whose elements come tile by tile: what was computed with the largest element
//! so far is made right when a larger one comes.

use ptx_matrix::element::Bits32;
use ptx_matrix::math::ex2_approx_ftz;
use ptx_matrix::mma::{GroupAccumulator, M64, RowParts, RowValues, WgmmaColumns};
use ptx_matrix::prelude::*;

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

    /// Further elements, of which there are `scale_log2` times as many powers of two: what they are
    /// of the largest, as far as known, and what is to be made of what was computed before.
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
        let factors = self
            .largest
            .zip(warp, &offsets, |before, offset| ex2_approx_ftz(before * scale_log2 - offset));
        let powers = scores.map_rows(group, &offsets, |score, offset| {
            let power = ex2_approx_ftz(multiply_add(score, scale_log2, -offset));
            // Exactly zero: with a small `scale_log2`, the power of the least number is not small.
            if MASKED && score == HIDDEN { 0.0 } else { power }
        });
        let before = self.sums.zip(warp, &factors, |sum, factor| sum * factor);
        // The power of a score of negative infinity is zero: such a score is added as well, times
        // zero, and so is not lost.
        let before = scores.fold_rows(group, &before, |sum, score| multiply_add(score, 0.0, sum));
        self.sums = powers.fold_rows(group, &before, |sum, power| sum + power);
        self.largest = largest;
        (powers, factors)
    }

    /// What the sums of values by their powers are to be multiplied by: zero for a row that sees
    /// nothing. Where a score is infinite, or is not a number, nor is that.
    #[inline(always)]
    pub fn finish(&self, warp: Warp<'_>) -> RowValues<f32> {
        let sums = self.sums.combine(warp, |sum, other| sum + other);
        self.largest.zip(
            warp,
            &sums,
            |largest, sum| if largest == HIDDEN { 0.0 * sum } else { 1.0 / sum },
        )
    }
}

/// a x b + c, rounded once.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    core::f32::math::mul_add(a, b, c)
}
