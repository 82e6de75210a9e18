//! Row reductions of a warpgroup's accumulators, and accumulators as the A operand of the next
//! `wgmma`.

use super::accumulator::{GroupAccumulator, M64, RegistersOf, WgmmaColumns, cast, cast_mut};
use crate::element::{Bits16, Element};
use crate::fragment::{FragmentA, FragmentShape, M16N8K16, RoleC, put, take};
use crate::lane::LaneCapture;
use crate::mma::{RowParts, RowValues, rows::row_of};
use crate::scope::WarpGroup;

impl<const N: usize, T: Element> GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
    M16N8K16: FragmentShape<RoleC, T::Width>,
{
    /// Folds each lane's own elements of each row with `fold`, from left to right, starting from
    /// the lane's `start`.
    ///
    /// [`RowParts::combine`] combines the lanes of a row.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, RowParts}, prelude::*};
    ///
    /// /// The largest element of each row of 64 x 24.
    /// #[kernel(threads = 128, target = "sm_80")]
    /// fn largest(block: &Block, a: Global<f32>, d: GlobalMut<f32>) {
    ///     let group = block.warp_group();
    ///     let numbers =
    ///         GroupAccumulator::<24, f32>::from_fn(group, |row, col| a.get(row * 24 + col));
    ///     let parts = numbers.fold_rows(group, &RowParts::splat(f32::NEG_INFINITY), f32::max);
    ///     parts.combine(group.warp(), f32::max).for_each(group, |row, number| d.set(row, number));
    /// }
    ///
    /// let a: Vec<f32> = (0..64 * 24).map(|i| (i * 7 % 131) as f32).collect();
    /// let mut d = [0.0; 64];
    /// largest::simulate(1, &a, &mut d).check();
    /// assert_eq!(d[37], a[37 * 24..38 * 24].iter().copied().fold(0.0, f32::max));
    /// ```
    #[inline]
    #[track_caller]
    pub fn fold_rows<P: Copy + LaneCapture>(
        &self,
        group: WarpGroup<'_>,
        start: &RowParts<P>,
        fold: impl Fn(P, T) -> P + LaneCapture,
    ) -> RowParts<P> {
        self.fold_rows_with_col(group, start, |part, _, element| fold(part, element))
    }

    /// The same by `fold(part, col, element)`, which gets the element's column, too.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, RowParts}, prelude::*};
    ///
    /// /// The column of the largest element of each row of 64 x 24.
    /// #[kernel(threads = 128, target = "sm_80")]
    /// fn column_of_largest(block: &Block, a: Global<f32>, d: GlobalMut<u32>) {
    ///     let group = block.warp_group();
    ///     let numbers =
    ///         GroupAccumulator::<24, f32>::from_fn(group, |row, col| a.get(row * 24 + col));
    ///     // An element's bits, which are in the order of positive numbers, and its column.
    ///     let start = RowParts::splat(0_u64);
    ///     let parts = numbers.fold_rows_with_col(group, &start, |largest, col, number| {
    ///         largest.max(u64::from(number.to_bits()) << 32 | col as u64)
    ///     });
    ///     let largest = parts.combine(group.warp(), u64::max);
    ///     largest.for_each(group, |row, largest| d.set(row, largest as u32));
    /// }
    ///
    /// let a: Vec<f32> = (0..64 * 24).map(|i| (i * 7 % 1537) as f32).collect();
    /// let mut d = [0; 64];
    /// column_of_largest::simulate(1, &a, &mut d).check();
    /// let row = &a[37 * 24..38 * 24];
    /// assert!(row.iter().all(|number| *number <= row[d[37] as usize]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn fold_rows_with_col<P: Copy + LaneCapture>(
        &self,
        group: WarpGroup<'_>,
        start: &RowParts<P>,
        fold: impl Fn(P, usize, T) -> P + LaneCapture,
    ) -> RowParts<P> {
        let (registers, start) = (&self.registers, &start.0);
        RowParts(group.warp().each(|lane| {
            let (registers, mut parts) = (lane.get(registers), lane.get(start));
            for index in 0..Self::ELEMENTS {
                let part = &mut parts[row_of(index)];
                let (_, col) = Self::position(lane.id(), index);
                *part = fold(*part, col, take::<T>(cast::<T>(registers.as_ref()), index));
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
        group: WarpGroup<'_>,
        rows: &RowValues<V>,
        value: impl Fn(T, V) -> U + LaneCapture,
    ) -> GroupAccumulator<N, U>
    where
        M64<N>: WgmmaColumns<U::Width>,
    {
        self.map_rows_with_col(group, rows, |_, element, of_row| value(element, of_row))
    }

    /// The same by `value(col, element, of_row)`, which gets the element's column, too.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, RowValues}, prelude::*};
    ///
    /// /// 64 x 24 elements, times a scale for each row and one for each column.
    /// #[kernel(threads = 128, target = "sm_80")]
    /// fn scale(block: &Block, rows: Global<f32>, cols: Global<f32>, d: GlobalMut<f32>) {
    ///     let group = block.warp_group();
    ///     let numbers = GroupAccumulator::<24, f32>::from_fn(group, |row, _| row as f32);
    ///     let of_rows = RowValues::from_fn(group, |row| rows.get(row));
    ///     let scaled = numbers.map_rows_with_col(group, &of_rows, |col, number, of_row| {
    ///         number * of_row * cols.get(col)
    ///     });
    ///     scaled.for_each(group, |row, col, number| d.set(row * 24 + col, number));
    /// }
    ///
    /// let mut d = [0.0; 64 * 24];
    /// let cols: Vec<f32> = (0..24).map(|col| col as f32).collect();
    /// scale::simulate(1, &[0.5; 64], &cols, &mut d).check();
    /// assert_eq!(d[40 * 24 + 3], 40.0 * 0.5 * 3.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn map_rows_with_col<V: Copy + LaneCapture, U: Element>(
        &self,
        group: WarpGroup<'_>,
        rows: &RowValues<V>,
        value: impl Fn(usize, T, V) -> U + LaneCapture,
    ) -> GroupAccumulator<N, U>
    where
        M64<N>: WgmmaColumns<U::Width>,
    {
        let (old, rows) = (&self.registers, &rows.0);
        let registers = group.warp().each(|lane| {
            let (old, rows) = (lane.get(old), lane.get(rows));
            let mut new: RegistersOf<N, U> = bytemuck::Zeroable::zeroed();
            for index in 0..Self::ELEMENTS {
                let element = take::<T>(cast::<T>(old.as_ref()), index);
                let (_, col) = Self::position(lane.id(), index);
                let value = value(col, element, rows[row_of(index)]);
                put::<U>(cast_mut::<U>(new.as_mut()), index, value);
            }
            new
        });
        GroupAccumulator { registers }
    }
}

impl<const N: usize, T: Element<Width = Bits16>> GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<Bits16>,
{
    /// Columns `16 * index` to `16 * index + 15` as the A operand of a `wgmma` with A in registers.
    ///
    /// The registers are the same in both layouts, so this moves no data. A GEMM can take the
    /// result of another one without a round trip through memory.
    ///
    /// # Panics
    /// If the columns are not in the matrix.
    #[inline]
    #[track_caller]
    pub fn operand_a(&self, index: usize) -> FragmentA<M16N8K16, T> {
        assert!(index < N / 16, "the operand has 16 columns of the matrix");
        FragmentA::from_registers(self.registers.map(|registers: RegistersOf<N, T>| {
            let mut fragment = [0; 4];
            fragment.copy_from_slice(&registers.as_ref()[4 * index..4 * index + 4]);
            fragment
        }))
    }
}
