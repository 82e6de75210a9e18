//! Where a consumer's sums go: to D in strips, by copies that go on while the next tile is multiplied, or as they are to the sums of parts.

use super::work::Unit;
use crate::kernels::epilogue::{Activation, Epilogue, Number, Output};
use core::ops::Range;
use ptx_matrix::*;

/// Where sums go, by way of strips of `ROWS` x `COLS`, and what is done with them on the way. C, D and the sums of parts are in the order `L`.
pub struct Results<'k, O: Output, S: TensorSwizzle, L: Order, const ROWS: usize, const COLS: usize> {
    /// M x N, of each product, if there is a map of it; else it is in `elements`.
    pub d: Option<TensorMapMut<'k, SharedTile<O, ROWS, COLS, S, L>, 3>>,
    /// Where D is without a map.
    pub elements: GlobalMut<'k, O>,
    /// M x N, of each part of K, and in that of each product: where sums go as they are, instead of elements to D. Else it is empty.
    pub sums: GlobalMut<'k, O::Sum>,
    /// M and N.
    pub size: (u32, u32),
    /// The factor of the product.
    pub alpha: O::Sum,
    /// The factor of C.
    pub beta: O::Sum,
    /// C.
    pub c: Global<'k, O>,
    /// How C lies, and D in `elements`: where the first product's starts, and how far apart products and lines are.
    pub lies: (usize, usize, u32),
    /// One for each column, or row; without elements, none is added.
    pub bias: Global<'k, O>,
    /// Whether the bias has one for each row.
    pub bias_of_rows: bool,
    /// What is done last.
    pub activation: Activation,
}

impl<O: Output, S: TensorSwizzle, L: Order, const ROWS: usize, const COLS: usize> Results<'_, O, S, L, ROWS, COLS> {
    /// Whether D is alpha times the sums.
    #[inline(always)]
    pub fn is_a_factor(&self) -> bool {
        let is_a_factor = self.beta == Number::ZERO && self.bias.is_empty() && self.activation == Activation::Identity;
        self.sums.is_empty() && is_a_factor
    }

    /// D in `elements`, of a product of the batch.
    #[inline(always)]
    pub fn elements(&self, batch: u32) -> GlobalMatrixMut<'_, O, L> {
        let ((start, distance, stride), (rows, cols)) = (self.lies, self.size);
        let elements = self.elements.skip(start + batch as usize * distance);
        GlobalMatrixMut::new(elements, rows as usize, cols as usize, stride as usize)
    }

    /// Brings a part of a consumer's sums on their way, which a tile in shared memory has, and whose first is at (row, column) `at` of the
    /// product: as they are to the sums of parts; or as what they become in D to there; or, if there is a map of D, with their place in the part,
    /// to `set`. Says whether to `set`. A thread finishes `TOGETHER` elements at a time.
    ///
    /// Nothing is computed before it.
    #[inline(always)]
    pub fn pass<const TOGETHER: usize, const HEIGHT: usize, const WIDTH: usize>(
        &self,
        block: &Block<'_>,
        threads: impl Threads,
        part: SharedTile<O::Sum, HEIGHT, WIDTH, S, L>,
        unit: &Unit,
        at: (u32, u32),
        set: impl Fn(usize, usize, O) + LaneCapture,
    ) -> bool {
        let late = |number| block.late(number);
        let (rows, cols) = (late(self.size.0) as usize, late(self.size.1) as usize);
        let (top, left) = (late(at.0) as usize, late(at.1) as usize);
        if !self.sums.is_empty() {
            let matrix = late(unit.matrix) as usize;
            let line = if L::ROW_MAJOR { cols } else { rows };
            let to = GlobalMatrixMut::<_, L>::new(self.sums.skip(matrix * rows * cols), rows, cols, line);
            part.for_each(threads, |row, col, sum| {
                if top + row < rows && left + col < cols {
                    to.set(top + row, left + col, sum);
                }
            });
            return false;
        }
        let batch = late(unit.batch);
        let epilogue = Epilogue {
            bias_of_rows: late(self.bias_of_rows.into()) != 0,
            activation: Activation::of(late(self.activation as u32)),
            ..self.epilogue(batch as usize)
        };
        let has_map = self.d.is_some();
        let elements = (!has_map).then(|| self.elements(batch));
        epilogue.finish::<TOGETHER, _, _, _>(threads, part, (top, left), (rows, cols), |place, to, element| {
            match (elements, to) {
                (Some(elements), Some((row, col))) => elements.set(row, col, element),
                (Some(_), None) => {}
                (None, _) => set(place.0, place.1, element),
            }
        });
        has_map
    }

    /// Has strips copied to D, the first to (row, column) of the product, the others beside it. What a consumer's threads wrote to them is
    /// before a fence and a sync.
    #[inline(always)]
    pub fn store<const STRIPS: usize>(
        &self,
        warp: Warp<'_>,
        strips: SharedRing<SharedTile<O, ROWS, COLS, S, L>, STRIPS>,
        which: Range<usize>,
        (row, col): (u32, u32),
        batch: u32,
    ) {
        let Some(d) = self.d else { return };
        warp.elect(|lane| {
            for strip in which.clone() {
                let col = col + ((strip - which.start) * COLS) as u32;
                let (along, across) = if L::ROW_MAJOR { (col, row) } else { (row, col) };
                strips.part(strip).store_box(lane, d, [along as i32, across as i32, batch as i32]);
            }
            BulkGroup::commit(lane);
        });
    }

    /// That of a product of the batch.
    #[inline(always)]
    fn epilogue(&self, batch: usize) -> Epilogue<'_, O, L> {
        let ((start, distance, stride), (rows, cols)) = (self.lies, self.size);
        let c =
            || GlobalMatrix::new(self.c.skip(start + batch * distance), rows as usize, cols as usize, stride as usize);
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
