//! How a consumer brings its sums away: by strips as wide as a line of the swizzle.

use super::heights::{Heights, High};
use crate::kernels::by_maps::{Results, Unit};
use crate::kernels::epilogue::{Number, Output};
use ptx_matrix::*;

/// Rows of a strip: a consumer's.
pub const ROWS: usize = 64;

/// A strip of a consumer's tile of D, whose lines are as long as the swizzle.
pub type Strip<O, S, L, const COLS: usize> = SharedTile<O, ROWS, COLS, S, L>;

/// Where a consumer's sums go, by strips of `COLS` columns, in the order `L`.
pub trait Sink<O: Output<Sum: Element<Width = Bits32>>, S: TensorSwizzle, L: Order, const COLS: usize> {
    /// Brings a consumer's sums away, each 64 rows below those before, whose first element is at (row, column) `at` of the product, through
    /// strips of up to 16 KiB together; where more is done with them, `SUMS` columns at a time.
    fn put<const N: usize, const HIGH: usize, const STRIPS: usize, const SUMS: usize>(
        &self,
        group: WarpGroup<'_>,
        strips: SharedRing<Strip<O, S, L, COLS>, STRIPS>,
        unit: &Unit,
        at: (u32, u32),
        sums: &[GroupAccumulator<N, O::Sum>; HIGH],
    ) where
        High<HIGH>: Heights<HIGH>,
        M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>;
}

impl<O: Output<Sum: Element<Width = Bits32>>, S: TensorSwizzle, L: Order, const COLS: usize> Sink<O, S, L, COLS>
    for Results<'_, O, S, L, ROWS, COLS>
{
    #[inline(always)]
    fn put<const N: usize, const HIGH: usize, const STRIPS: usize, const SUMS: usize>(
        &self,
        group: WarpGroup<'_>,
        strips: SharedRing<Strip<O, S, L, COLS>, STRIPS>,
        unit: &Unit,
        at: (u32, u32),
        sums: &[GroupAccumulator<N, O::Sum>; HIGH],
    ) where
        High<HIGH>: Heights<HIGH>,
        M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
    {
        const {
            assert!(N.is_multiple_of(COLS) && N.is_multiple_of(SUMS), "strips do not go beyond the tile");
            assert!((STRIPS / 2 * COLS).is_multiple_of(SUMS), "and half of the strips have whole ones");
            assert!(SUMS * size_of::<O::Sum>() <= 128, "they have room in half of the strips");
        }
        let store = |which, to| {
            group.warp().fence_for_bulk();
            group.sync();
            if group.warp_rank() == 0 {
                self.store(group.warp(), strips, which, to, unit.batch);
            }
        };
        if self.is_a_factor() && self.d.is_some() {
            let put = #[inline(always)]
            |block: usize, sums: &GroupAccumulator<N, O::Sum>| {
                let sums = sums.map(group, |_, _, sum| sum.times(self.alpha));
                let elements = O::narrow_group(group, &sums);
                for first in (0..N).step_by(STRIPS * COLS) {
                    let together = STRIPS.min((N - first) / COLS);
                    wait(group);
                    for strip in 0..together {
                        elements.store(group, &strips.part(strip), first + strip * COLS);
                    }
                    store(0..together, (at.0 + (block * ROWS) as u32, at.1 + first as u32));
                }
            };
            High::<HIGH>::map(sums.each_ref(), put);
            return;
        }
        // What is rarely asked for is kept out of the way: asked for each element in its register, it would take longer than the rest, and
        // registers. A loop that is not unrolled has all sums pass through half of the strips, to the other half.
        let late = |number| group.block().late(number);
        if self.is_a_factor() {
            let to = || (self.elements(late(unit.batch)), (late(at.0) as usize, late(at.1) as usize));
            return put_by_threads::<_, _, _, COLS, N, HIGH, STRIPS>(group, strips, sums, self.alpha, to);
        }
        let part = strips.reuse::<SharedRing<SharedTile<O::Sum, ROWS, SUMS, S, L>, 2>>().part(0);
        let (half, line) = (STRIPS / 2, STRIPS / 2 * COLS);
        let mut next = late(0);
        while next < (HIGH * N) as u32 {
            let (top, first) = place::<N, HIGH>(next);
            let before = first as usize % line;
            if before == 0 {
                wait(group);
            }
            store_at::<_, N, HIGH, SUMS>(group, sums, next, |sums, col| sums.store(group, &part, col));
            group.sync();
            let to = (at.0 + top, at.1 + first);
            let set = |row, col, element| {
                let tile = strips.part(half + (before + col) / COLS);
                tile.set((row, (before + col) % COLS), element);
            };
            // The more sums there are, the fewer registers are left beside them. (Of an `if const`, rustc compiles one way: here it would be all three.)
            let block = group.block();
            let to_d = if const { HIGH * N <= 264 } {
                self.pass::<4, _, _>(block, group, part, unit, to, set)
            } else if const { HIGH * N <= 288 } {
                self.pass::<2, _, _>(block, group, part, unit, to, set)
            } else {
                self.pass::<1, _, _>(block, group, part, unit, to, set)
            };
            let filled = before + SUMS;
            if to_d && (filled == line || first as usize + SUMS == N) {
                store(half..half + filled / COLS, (at.0 + top, at.1 + first - before as u32));
            } else {
                group.sync();
            }
            next += SUMS as u32;
        }
    }
}

/// The row and the column at which so many'th columns of a consumer's sums begin, all of each 64 rows behind those before.
#[inline(always)]
pub fn place<const N: usize, const HIGH: usize>(next: u32) -> (u32, u32) {
    if HIGH == 1 { (0, next) } else { (next / N as u32 * ROWS as u32, next % N as u32) }
}

/// Calls `store` with what a consumer has of `COLS` columns, and with the first of these: of those from `next` on, as `place` counts.
#[inline(always)]
pub fn store_at<T: Element, const N: usize, const HIGH: usize, const COLS: usize>(
    group: WarpGroup<'_>,
    all: &[GroupAccumulator<N, T>; HIGH],
    next: u32,
    store: impl Fn(&GroupAccumulator<N, T>, usize),
) where
    High<HIGH>: Heights<HIGH>,
    M64<N>: WgmmaColumns<T::Width>,
{
    let store = #[inline(always)]
    |block: usize, of_block: &GroupAccumulator<N, T>| {
        for col in (0..N).step_by(COLS) {
            // So that the compiler does not take the one for the other, which is no constant.
            if group.block().late((block * N + col) as u32) == next {
                store(of_block, col);
            }
        }
    };
    High::<HIGH>::map(all.each_ref(), store);
}

/// Brings alpha times a consumer's sums to a matrix, whose element `to` says is the first: by way of a strip, which threads copy.
#[inline(always)]
pub fn put_by_threads<
    'k,
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
    L: Order,
    const COLS: usize,
    const N: usize,
    const HIGH: usize,
    const STRIPS: usize,
>(
    group: WarpGroup<'_>,
    strips: SharedRing<Strip<O, S, L, COLS>, STRIPS>,
    sums: &[GroupAccumulator<N, O::Sum>; HIGH],
    alpha: O::Sum,
    to: impl Fn() -> (GlobalMatrixMut<'k, O, L>, (usize, usize)),
) where
    High<HIGH>: Heights<HIGH>,
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
{
    let narrow = #[inline(always)]
    |_, sums: &GroupAccumulator<N, O::Sum>| {
        let sums = sums.map(group, |_, _, sum| sum.times(alpha));
        O::narrow_group(group, &sums)
    };
    let elements = High::<HIGH>::map(sums.each_ref(), narrow);
    let strip = strips.part(0);
    let mut next = group.block().late(0);
    while next < (HIGH * N) as u32 {
        store_at::<_, N, HIGH, COLS>(group, &elements, next, |elements, col| elements.store(group, &strip, col));
        group.sync();
        let (matrix, (row, col)) = to();
        let (top, first) = place::<N, HIGH>(next);
        strip.copy_to(group, matrix, (row + top as usize, col + first as usize));
        group.sync();
        next += COLS as u32;
    }
}

/// Waits until shared memory is needed no more.
#[inline(always)]
pub fn finish(group: WarpGroup<'_>) {
    wait(group);
}

/// The warpgroup waits until the strips that it stored have been read.
#[inline(always)]
fn wait(group: WarpGroup<'_>) {
    if group.warp_rank() == 0 {
        group.warp().elect(|lane| BulkGroup::wait_read::<0>(lane));
    }
    group.sync();
}
