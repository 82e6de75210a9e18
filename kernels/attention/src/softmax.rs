//! Online softmax of rows whose scores arrive tile by tile: when a larger maximum arrives, the row
//! sums are rescaled.

use ptx_matrix::element::Bits32;
use ptx_matrix::math::{ex2_approx_ftz, fma};
use ptx_matrix::mma::{GroupAccumulator, M64, RowParts, RowValues, WgmmaColumns};
use ptx_matrix::prelude::*;

/// The score of a masked key: the least finite number, which times zero is zero. Its weight is
/// zero.
pub const MASKED_SCORE: f32 = f32::MIN;

/// The state of the rows so far.
pub struct Softmax {
    /// The maximum of each row.
    row_max: RowValues<f32>,
    /// The row sums of exp(score - maximum): each lane has the sum of its own elements.
    row_sum: RowParts<f32>,
}

impl Softmax {
    /// The state before any score.
    #[inline]
    pub fn new() -> Self {
        Softmax { row_max: RowValues::splat(MASKED_SCORE), row_sum: RowParts::splat(0.0) }
    }

    /// Adds a tile of scores, which `scale_log2` converts to exponents of two. Returns the powers
    /// relative to the new maximum, and the scales of earlier results.
    ///
    /// Only if `MASKED`, a score may be `MASKED_SCORE`; its power is zero.
    #[inline]
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
        let own = scores.fold_rows(group, &RowParts::splat(MASKED_SCORE), f32::max);
        let row_max = own.combine(warp, f32::max).zip(warp, &self.row_max, f32::max);
        // A row that sees no key yet has no maximum to subtract.
        let offset =
            |row_max: f32| if row_max == MASKED_SCORE { 0.0 } else { row_max * scale_log2 };
        let offsets = row_max.map(warp, offset);
        let scales = self
            .row_max
            .zip(warp, &offsets, |before, offset| ex2_approx_ftz(before * scale_log2 - offset));
        let powers = scores.map_rows(group, &offsets, |score, offset| {
            let power = ex2_approx_ftz(fma(score, scale_log2, -offset));
            // Exactly zero: with a small `scale_log2`, the power of the least number is not small.
            if MASKED && score == MASKED_SCORE { 0.0 } else { power }
        });
        let before = self.row_sum.zip(warp, &scales, |sum, scale| sum * scale);
        self.row_sum = powers.fold_rows(group, &before, |sum, power| sum + power);
        self.row_max = row_max;
        (powers, scales)
    }

    /// The scales that normalize P x V: zero for a row that sees no key. With a score of NaN or
    /// positive infinity, the scale is NaN.
    #[inline]
    pub fn finish(&self, warp: Warp<'_>) -> RowValues<f32> {
        let row_sum = self.row_sum.combine(warp, |sum, other| sum + other);
        self.row_max.zip(warp, &row_sum, |row_max, sum| {
            if row_max == MASKED_SCORE { 0.0 * sum } else { 1.0 / sum }
        })
    }
}
