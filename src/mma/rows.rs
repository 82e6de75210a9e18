//! Row reductions of accumulators, such as the maxima and sums of a softmax.
//!
//! In an accumulator of a 16-row `mma` or of a `wgmma`, four lanes hold the elements of a row. Each
//! lane holds elements of two rows, 8 apart. A reduction has two steps: each lane folds its own
//! elements ([`RowParts`]), and then the four lanes exchange their results with `shfl.sync`
//! ([`RowValues`]).

use crate::lane::{Lane, LaneCapture, PerLane};
use crate::scope::{Threads, Warp};
use bytemuck::Pod;

/// A value for each row of an accumulator, in all lanes that hold elements of the row.
///
/// ```
/// use ptx_matrix::{mma::RowParts, prelude::*};
///
/// /// The rows of 16 x 8 numbers, each divided by its sum.
/// #[kernel(threads = 32)]
/// fn shares(block: &Block, a: Global<f32>, d: GlobalMut<f32>, sums: GlobalMut<f32>) {
///     let warp = block.warp();
///     let numbers = Accumulator::<M16N8K8, f32>::from_fn(warp, |row, col| a.get(row * 8 + col));
///     let parts = numbers.fold_rows(warp, &RowParts::splat(0.0), |sum, number| sum + number);
///     let of_rows = parts.combine(warp, |sum, other| sum + other);
///     let shares = numbers.map_rows(warp, &of_rows, |number, sum| number / sum);
///     shares.for_each(warp, |row, col, share| d.set(row * 8 + col, share));
///     of_rows.for_each(warp, |row, sum| sums.set(row, sum));
/// }
///
/// let a: Vec<f32> = (0..128).map(|i| (i % 8 + 1) as f32).collect();
/// let (mut d, mut sums) = ([0.0; 128], [0.0; 16]);
/// shares::simulate(1, &a, &mut d, &mut sums).check();
/// assert_eq!((sums, d[9 * 8 + 2]), ([36.0; 16], 3.0 / 36.0));
/// ```
#[derive(Clone, Copy)]
pub struct RowValues<T>(pub(crate) PerLane<[T; 2]>);

/// Partial results of a row reduction: in each lane, the fold of the lane's own elements of a row.
///
/// [`combine`](Self::combine) makes the results of whole rows. A reduction over several
/// accumulators combines once, at the end.
#[derive(Clone, Copy)]
pub struct RowParts<T>(pub(crate) PerLane<[T; 2]>);

/// Which of the lane's two rows holds element `index`.
#[inline]
pub(crate) const fn row_of(index: usize) -> usize {
    index / 2 % 2
}

/// The first of the two rows of a thread of a warp or of a warpgroup. The other is 8 rows further.
#[inline]
const fn first_row(thread: usize) -> usize {
    thread / 32 * 16 + thread % 32 / 4
}

impl<T: Copy + LaneCapture> RowParts<T> {
    /// The same value for each row, in each lane: the start of a fold.
    #[inline]
    pub const fn splat(value: T) -> Self {
        RowParts(PerLane::splat([value; 2]))
    }

    /// Replaces each part by `change(part, value)`, with the row's value.
    #[inline]
    #[track_caller]
    pub fn zip<U: Copy + LaneCapture, R: Copy>(
        &self,
        warp: Warp<'_>,
        values: &RowValues<U>,
        change: impl Fn(T, U) -> R + LaneCapture,
    ) -> RowParts<R> {
        RowParts(zipped(warp, &self.0, &values.0, change))
    }

    /// Combines the parts of the four lanes of each row (`shfl.sync.bfly`): first neighbours, then
    /// pairs.
    ///
    /// All four lanes have the same result if `both(x, y)` equals `both(y, x)`.
    #[inline]
    #[track_caller]
    pub fn combine(&self, warp: Warp<'_>, both: impl Fn(T, T) -> T + LaneCapture) -> RowValues<T>
    where
        [T; 2]: Pod,
    {
        let mut values = self.0;
        for mask in [1, 2] {
            let others = warp.shuffle_xor(&values, mask);
            values = zipped(warp, &values, &others, &both);
        }
        RowValues(values)
    }
}

impl<T: Copy + LaneCapture> RowValues<T> {
    /// The same value for each row.
    #[inline]
    pub const fn splat(value: T) -> Self {
        RowValues(PerLane::splat([value; 2]))
    }

    /// Makes the values `value(row)` for the rows of a warp's accumulator, or of a warpgroup's.
    #[inline]
    #[track_caller]
    pub fn from_fn(threads: impl Threads, value: impl Fn(usize) -> T + LaneCapture) -> Self {
        Self::from_fn_with_lane(threads, |_, row| value(row))
    }

    /// Makes the values `value(lane, row)` for the rows of a warp's accumulator, or of a
    /// warpgroup's, in each lane that holds elements of the row.
    ///
    /// ```
    /// use ptx_matrix::{mma::RowValues, prelude::*};
    ///
    /// /// 16 x 8 numbers, each row multiplied by its scale in shared memory.
    /// #[kernel(threads = 32)]
    /// fn scale(block: &Block, #[shared] scales: SharedTile<f32, 1, 16>, d: GlobalMut<f32>) {
    ///     let warp = block.warp();
    ///     scales.fill(warp, |_, row| row as f32);
    ///     warp.sync();
    ///     let of_rows =
    ///         RowValues::from_fn_with_lane(warp, |lane, row| scales.get(lane, (0, row)));
    ///     Accumulator::<M16N8K8, f32>::from_fn(warp, |_, col| col as f32)
    ///         .map_rows(warp, &of_rows, |number, scale| number * scale)
    ///         .for_each(warp, |row, col, number| d.set(row * 8 + col, number));
    /// }
    ///
    /// let mut d = [0.0; 128];
    /// scale::simulate(1, &mut d).check();
    /// assert_eq!(d[9 * 8 + 5], 45.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn from_fn_with_lane(
        threads: impl Threads,
        value: impl Fn(Lane<'_>, usize) -> T + LaneCapture,
    ) -> Self {
        RowValues(threads.each_thread(|lane, thread| {
            let row = first_row(thread);
            [value(lane, row), value(lane, row + 8)]
        }))
    }

    /// Replaces each value by `change(value)`.
    #[inline]
    #[track_caller]
    pub fn map<R: Copy>(
        &self,
        warp: Warp<'_>,
        change: impl Fn(T) -> R + LaneCapture,
    ) -> RowValues<R> {
        let values = &self.0;
        RowValues(warp.each(|lane| lane.get(values).map(&change)))
    }

    /// Replaces each value by `change(value, other)`, with the same row's value of `others`.
    #[inline]
    #[track_caller]
    pub fn zip<U: Copy + LaneCapture, R: Copy>(
        &self,
        warp: Warp<'_>,
        others: &RowValues<U>,
        change: impl Fn(T, U) -> R + LaneCapture,
    ) -> RowValues<R> {
        RowValues(zipped(warp, &self.0, &others.0, change))
    }

    /// Calls `read(row, value)` for each row of a warp's accumulator, or of a warpgroup's, in one
    /// of the row's four lanes.
    #[inline]
    #[track_caller]
    pub fn for_each(&self, threads: impl Threads, read: impl Fn(usize, T) + LaneCapture) {
        self.for_each_with_lane(threads, |_, row, value| read(row, value));
    }

    /// Calls `read(lane, row, value)` for each row of a warp's accumulator, or of a warpgroup's, in
    /// one of the row's four lanes.
    #[inline]
    #[track_caller]
    pub fn for_each_with_lane(
        &self,
        threads: impl Threads,
        read: impl Fn(Lane<'_>, usize, T) + LaneCapture,
    ) {
        let values = &self.0;
        threads.each_thread(|lane, thread| {
            if thread.is_multiple_of(4) {
                let ([first, second], row) = (lane.get(values), first_row(thread));
                read(lane, row, first);
                read(lane, row + 8, second);
            }
        });
    }
}

#[inline]
#[track_caller]
fn zipped<T: Copy + LaneCapture, U: Copy + LaneCapture, R>(
    warp: Warp<'_>,
    values: &PerLane<[T; 2]>,
    others: &PerLane<[U; 2]>,
    change: impl Fn(T, U) -> R + LaneCapture,
) -> PerLane<[R; 2]> {
    warp.each(|lane| {
        let ([first, second], [other, another]) = (lane.get(values), lane.get(others));
        [change(first, other), change(second, another)]
    })
}
