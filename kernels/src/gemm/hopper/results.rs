//! What becomes of a consumer's sums: they go to D in strips, as wide as a line of the swizzle, by copies that go on while the next
//! tile is multiplied.

use super::work::Unit;
use crate::gemm::epilogue::{Activation, Epilogue, Number, Output};
use core::ops::Range;
use ptx_matrix::*;

/// A strip of a consumer's tile of D: as wide as the swizzle.
pub type Strip<O, S, const COLS: usize> = SharedTile<O, 64, COLS, S>;

/// The strips of a consumer: together, lines of 256 bytes.
pub type Strips<O, S, const COLS: usize, const STRIPS: usize> = SharedRing<Strip<O, S, COLS>, STRIPS>;

/// Where sums go, and what is done with them on the way.
pub struct Results<'k, O: Output, S: TensorSwizzle, const COLS: usize> {
    /// M x N, of each product.
    pub d: TensorMapMut<'k, Strip<O, S, COLS>, 3>,
    /// M x N, of each part of K, and in that of each product: where sums go as they are, instead of elements to D. Else it is empty.
    pub sums: GlobalMut<'k, O::Sum>,
    /// M and N.
    pub size: (u32, u32),
    /// The factor of the product.
    pub alpha: O::Sum,
    /// The factor of C.
    pub beta: O::Sum,
    /// C, row-major: where the first product's starts, and how far apart products and rows are.
    pub c: (Global<'k, O>, usize, usize, u32),
    /// One for each column, or row; without elements, none is added.
    pub bias: Global<'k, O>,
    /// Whether the bias has one for each row.
    pub bias_of_rows: bool,
    /// What is done last.
    pub activation: Activation,
}

impl<O: Output<Sum: Element<Width = Bits32>>, S: TensorSwizzle, const COLS: usize> Results<'_, O, S, COLS> {
    /// Brings a consumer's sums away, whose first element is at (row, column) `at` of the product; where more is done with them, `SUMS` columns
    /// at a time.
    #[inline(always)]
    pub fn put<const N: usize, const STRIPS: usize, const SUMS: usize>(
        &self,
        group: WarpGroup<'_>,
        strips: Strips<O, S, COLS, STRIPS>,
        unit: &Unit,
        at: (u32, u32),
        sums: &GroupAccumulator<N, O::Sum>,
    ) where
        M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
    {
        const {
            assert!(N.is_multiple_of(COLS) && N.is_multiple_of(SUMS), "strips do not go beyond the tile");
            assert!(SUMS * size_of::<O::Sum>() <= 128, "they have room in half of the strips");
        }
        let is_a_factor = self.beta == Number::ZERO && self.bias.is_empty() && self.activation == Activation::Identity;
        if self.sums.is_empty() && is_a_factor {
            let sums = sums.map(group, |_, _, sum| sum.times(self.alpha));
            let elements = O::narrow_group(group, &sums);
            for first in (0..N).step_by(STRIPS * COLS) {
                let together = STRIPS.min((N - first) / COLS);
                wait(group);
                for strip in 0..together {
                    elements.store(group, &strips.part(strip), first + strip * COLS);
                }
                self.store(group, strips, 0..together, (at.0, at.1 + first as u32), unit.batch);
            }
            return;
        }
        // What is rarely asked for is kept out of the way: asked for each element in its register, it would take longer than the rest, and
        // registers. A loop that is not unrolled has all sums pass through half of the strips, to the other half, and nothing is computed before it.
        let late = |number| group.block().late(number);
        let (rows, cols) = self.size;
        let part = strips.reuse::<SharedRing<SharedTile<O::Sum, 64, SUMS, S>, 2>>().part(0);
        let (half, line) = (STRIPS / 2, STRIPS / 2 * COLS);
        let mut first = late(0);
        while first < N as u32 {
            let before = first as usize % line;
            if before == 0 {
                wait(group);
            }
            for strip in (0..N).step_by(SUMS) {
                // So that the compiler does not take the one for the other, which is no constant.
                if late(strip as u32) == first {
                    sums.store(group, &part, strip);
                }
            }
            group.sync();
            let (top, left, matrix) = (late(at.0), late(at.1) + first, late(unit.matrix) as usize);
            let to_sums = (!self.sums.is_empty()).then(|| {
                let (rows, cols) = (rows as usize, cols as usize);
                GlobalMatrixMut::<_, RowMajor>::new(self.sums.skip(matrix * rows * cols), rows, cols, cols)
            });
            let epilogue = self.epilogue(late(unit.batch) as usize);
            part.for_each(group, |row, col, sum| {
                let (to_row, to_col) = (top + row as u32, left + col as u32);
                let is_inside = to_row < rows && to_col < cols;
                let (to_row, to_col) = (to_row as usize, to_col as usize);
                let tile = strips.part(half + (before + col) / COLS);
                let place = (row, (before + col) % COLS);
                match to_sums {
                    Some(to) if is_inside => to.set(to_row, to_col, sum),
                    Some(_) => {}
                    None if is_inside => tile.set(place, epilogue.finish(to_row, to_col, sum)),
                    None => tile.set(place, Zeroable::zeroed()),
                }
            });
            let filled = before + SUMS;
            if to_sums.is_none() && (filled == line || first as usize + SUMS == N) {
                let start = at.1 + first - before as u32;
                self.store(group, strips, half..half + filled / COLS, (at.0, start), unit.batch);
            } else {
                group.sync();
            }
            first += SUMS as u32;
        }
    }

    /// Waits until shared memory is needed no more.
    #[inline(always)]
    pub fn finish(&self, group: WarpGroup<'_>) {
        wait(group);
    }

    /// Has strips that the warpgroup has filled copied to D, the first to (row, column) of the product.
    #[inline(always)]
    fn store<const STRIPS: usize>(
        &self,
        group: WarpGroup<'_>,
        strips: Strips<O, S, COLS, STRIPS>,
        which: Range<usize>,
        (row, col): (u32, u32),
        batch: u32,
    ) {
        group.warp().fence_for_bulk();
        group.sync();
        if group.warp_rank() == 0 {
            let d = self.d;
            group.warp().elect(|lane| {
                for strip in which.clone() {
                    let col = col + ((strip - which.start) * COLS) as u32;
                    strips.part(strip).store_box(lane, d, [col as i32, row as i32, batch as i32]);
                }
                BulkGroup::commit(lane);
            });
        }
    }

    /// That of a product of the batch.
    #[inline(always)]
    fn epilogue(&self, batch: usize) -> Epilogue<'_, O> {
        let ((c, start, distance, stride), (rows, cols)) = (self.c, self.size);
        let c = || GlobalMatrix::new(c.skip(start + batch * distance), rows as usize, cols as usize, stride as usize);
        Epilogue {
            c: (self.beta != Number::ZERO).then(c),
            bias: self.bias,
            bias_of_rows: self.bias_of_rows,
            alpha: self.alpha,
            beta: self.beta,
            activation: self.activation,
        }
    }
}

/// The warpgroup waits until the strips that it stored have been read.
#[inline(always)]
fn wait(group: WarpGroup<'_>) {
    if group.warp_rank() == 0 {
        group.warp().elect(|lane| BulkGroup::wait_read::<0>(lane));
    }
    group.sync();
}
