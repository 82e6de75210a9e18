//! Row reductions of a warp's accumulators, and accumulators as the A operand of the next `mma`.

use crate::element::{Bits16, Element};
use crate::fragment::{
    Accumulator, Fragment, FragmentA, FragmentShape, M16N8K16, RoleC, put, take,
};
use crate::lane::LaneCapture;
use crate::mma::{RowParts, RowValues, rows::row_of};
use crate::scope::Warp;

impl<S: FragmentShape<RoleC, T::Width>, T: Element> Accumulator<S, T> {
    /// Checks the layout: four lanes hold a row, and each lane holds two elements of each of two
    /// rows.
    const HAS_ROWS_OF_FOUR_LANES: () = {
        let mut index = 0;
        while index < S::LAYOUT.elements() {
            let (row, _) = S::LAYOUT.position(5, index);
            assert!(
                S::LAYOUT.elements() == 4 && row == 1 + 8 * row_of(index),
                "only of accumulators of 16 x 8 are rows folded, of which a lane has two elements \
                 of two rows"
            );
            index += 1;
        }
    };

    /// Folds each lane's own elements of each row with `fold`, starting from the lane's `start`.
    ///
    /// [`RowParts::combine`] combines the lanes of a row.
    #[inline]
    #[track_caller]
    pub fn fold_rows<P: Copy + LaneCapture>(
        &self,
        warp: Warp<'_>,
        start: &RowParts<P>,
        fold: impl Fn(P, T) -> P + LaneCapture,
    ) -> RowParts<P> {
        self.fold_rows_with_col(warp, start, |part, _, element| fold(part, element))
    }

    /// The same by `fold(part, col, element)`, which gets the element's column, too.
    #[inline]
    #[track_caller]
    pub fn fold_rows_with_col<P: Copy + LaneCapture>(
        &self,
        warp: Warp<'_>,
        start: &RowParts<P>,
        fold: impl Fn(P, usize, T) -> P + LaneCapture,
    ) -> RowParts<P> {
        let () = Self::HAS_ROWS_OF_FOUR_LANES;
        let (registers, start) = (&self.registers, &start.0);
        RowParts(warp.each(|lane| {
            let (registers, mut parts) = (lane.get(registers), lane.get(start));
            for index in 0..S::LAYOUT.elements() {
                let part = &mut parts[row_of(index)];
                let (_, col) = S::LAYOUT.position(lane.id(), index);
                *part = fold(*part, col, take::<T>(registers.as_ref(), index));
            }
            parts
        }))
    }

    /// Makes the matrix with the elements `value(element, of_row)`. `of_row` is the row's value in
    /// `rows`.
    #[inline]
    #[track_caller]
    pub fn map_rows<V: Copy + LaneCapture, U: Element>(
        &self,
        warp: Warp<'_>,
        rows: &RowValues<V>,
        value: impl Fn(T, V) -> U + LaneCapture,
    ) -> Accumulator<S, U>
    where
        S: FragmentShape<RoleC, U::Width>,
    {
        self.map_rows_with_col(warp, rows, |_, element, of_row| value(element, of_row))
    }

    /// The same by `value(col, element, of_row)`, which gets the element's column, too.
    ///
    /// ```
    /// use ptx_matrix::{mma::RowValues, prelude::*};
    ///
    /// /// 16 x 8 elements, times a scale for each row and one for each column.
    /// #[kernel(threads = 32)]
    /// fn scale(block: &Block, rows: Global<f32>, cols: Global<f32>, d: GlobalMut<f32>) {
    ///     let warp = block.warp();
    ///     let of_rows = RowValues::from_fn(warp, |row| rows.get(row));
    ///     Accumulator::<M16N8K8, f32>::from_fn(warp, |row, _| row as f32)
    ///         .map_rows_with_col(warp, &of_rows, |col, number, of_row| {
    ///             number * of_row * cols.get(col)
    ///         })
    ///         .for_each(warp, |row, col, number| d.set(row * 8 + col, number));
    /// }
    ///
    /// let (mut d, cols) = ([0.0; 128], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    /// scale::simulate(1, &[0.5; 16], &cols, &mut d).check();
    /// assert_eq!(d[9 * 8 + 3], 9.0 * 0.5 * 3.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn map_rows_with_col<V: Copy + LaneCapture, U: Element>(
        &self,
        warp: Warp<'_>,
        rows: &RowValues<V>,
        value: impl Fn(usize, T, V) -> U + LaneCapture,
    ) -> Accumulator<S, U>
    where
        S: FragmentShape<RoleC, U::Width>,
    {
        let () = Self::HAS_ROWS_OF_FOUR_LANES;
        let (registers, rows) = (&self.registers, &rows.0);
        Fragment::from_registers(warp.each(|lane| {
            let (old, rows) = (lane.get(registers), lane.get(rows));
            let mut new: <S as FragmentShape<RoleC, U::Width>>::Registers =
                bytemuck::Zeroable::zeroed();
            for index in 0..Self::LAYOUT.elements() {
                let (_, col) = Self::LAYOUT.position(lane.id(), index);
                let value = value(col, take::<T>(old.as_ref(), index), rows[row_of(index)]);
                put::<U>(new.as_mut(), index, value);
            }
            new
        }))
    }
}

impl<T: Element<Width = Bits16>> FragmentA<M16N8K16, T> {
    /// Makes an A operand (16 x 16) of two accumulators (16 x 8 each), the left and the right half.
    ///
    /// The registers are the same in both layouts, so this moves no data.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// D = (A x B) x C, 16 x 16, row-major, small integers. A x B stays in registers.
    /// #[kernel(threads = 32, target = "sm_80")]
    /// fn multiply_twice(
    ///     block: &Block,
    ///     #[shared] tiles: SharedRing<SharedTile<bf16, 16, 16>, 3>,
    ///     a: Global<bf16>,
    ///     b: Global<bf16>,
    ///     c: Global<bf16>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let warp = block.warp();
    ///     let [tile_a, tile_b, tile_c] = [0, 1, 2].map(|index| tiles.part(index));
    ///     tile_a.fill(warp, |row, col| a.get(row * 16 + col));
    ///     tile_b.fill(warp, |row, col| b.get(row * 16 + col));
    ///     tile_c.fill(warp, |row, col| c.get(row * 16 + col));
    ///     block.sync();
    ///     let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, (0, 0));
    ///     let [left, right] = [0, 8].map(|col| {
    ///         let mut acc = Accumulator::<M16N8K16, f32>::zero();
    ///         let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, (0, col));
    ///         Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
    ///         acc.round::<bf16>(warp)
    ///     });
    ///     let product = FragmentA::beside(&left, &right);
    ///     for col in [0, 8] {
    ///         let mut acc = Accumulator::<M16N8K16, f32>::zero();
    ///         let c = FragmentB::<M16N8K16, bf16>::load(warp, &tile_c, (0, col));
    ///         Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &product, &c);
    ///         acc.for_each(warp, |row, at, value| d.set(row * 16 + col + at, value));
    ///     }
    /// }
    ///
    /// let matrix = |step: usize| {
    ///     (0..256).map(|i| bf16::from_f32((i * step % 3) as f32)).collect::<Vec<_>>()
    /// };
    /// let (a, b, c) = (matrix(5), matrix(7), matrix(11));
    /// let mut d = [0.0; 256];
    /// multiply_twice::simulate(1, &a, &b, &c, &mut d).check();
    /// let at = |matrix: &[bf16], row: usize, col: usize| matrix[row * 16 + col].to_f32();
    /// let of_product = |row, col| (0..16).map(|k| at(&a, row, k) * at(&b, k, col)).sum::<f32>();
    /// assert_eq!(d[3 * 16 + 9], (0..16).map(|k| of_product(3, k) * at(&c, k, 9)).sum::<f32>());
    /// ```
    #[inline]
    pub fn beside(left: &Accumulator<M16N8K16, T>, right: &Accumulator<M16N8K16, T>) -> Self {
        Fragment::from_registers(left.registers.zip(right.registers, |[a, b], [c, d]| [a, b, c, d]))
    }
}
