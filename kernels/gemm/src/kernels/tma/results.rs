//! How a warp brings its sums away: by strips as high as a fragment, of which one is filled while the other is copied.

use super::consumer::Summed;
use crate::kernels::by_maps::{Results, Unit};
use crate::kernels::epilogue::{Number, Output};
use crate::kernels::product::{Product, Sum};
use ptx_matrix::*;

/// Rows of a strip: a fragment's.
pub const ROWS: usize = 16;

/// A strip of a warp's part of D: as wide as the swizzle.
pub type Strip<O, L, const COLS: usize> = SharedTile<O, ROWS, COLS, Swizzle128, L>;

/// The two of a warp.
pub type Strips<O, L, const COLS: usize> = SharedRing<Strip<O, L, COLS>, 2>;

/// Brings a warp's sums away, whose first element is at (row, column) `at` of the product; where they are not yet D's elements, `SUMS` columns at
/// a time.
#[inline(always)]
pub fn put<P: Product, L: Order, const COLS: usize, const SUMS: usize, const I: usize, const J: usize>(
    results: &Results<'_, P::Output, Swizzle128, L, ROWS, COLS>,
    warp: Warp<'_>,
    strips: Strips<P::Output, L, COLS>,
    unit: &Unit,
    at: (u32, u32),
    sums: &Summed<P, I, J>,
) {
    let wide = P::Shape::N;
    let cols = 2 * J * wide;
    assert!(P::Shape::M == ROWS && cols.is_multiple_of(COLS), "strips have rows of fragments, whole");
    let store = |strip: usize, to| {
        warp.fence_for_bulk();
        warp.sync();
        results.store(warp, strips, strip..strip + 1, to, unit.batch);
    };
    if results.is_a_factor() && results.d.is_some() {
        for (i, sums) in sums.iter().enumerate() {
            let sums = sums.as_flattened();
            for first in (0..cols).step_by(COLS) {
                let index = (i * (cols / COLS) + first / COLS) % 2;
                wait::<1>(warp);
                for right in (0..COLS).step_by(wide) {
                    let sum = sums[(first + right) / wide].map(warp, |_, _, sum| sum.times(results.alpha));
                    P::Output::narrow_all(warp, &sum).store(warp, &strips.part(index), (0, right));
                }
                store(index, (at.0 + (i * ROWS) as u32, at.1 + first as u32));
            }
        }
        return;
    }
    // What is rarely asked for is kept out of the way: asked for each element in its register, it would take longer than the rest, and
    // registers. A loop that is not unrolled has all sums pass through the one strip, to the other.
    let late = |number| warp.block().late(number);
    let part = strips.reuse::<SharedRing<SharedTile<Sum<P>, ROWS, SUMS, Swizzle128, L>, 2>>().part(0);
    let parts = cols / SUMS;
    let mut index = late(0);
    while index < (I * parts) as u32 {
        let (down, first) = (index as usize / parts * ROWS, index as usize % parts * SUMS);
        let before = first % COLS;
        if before == 0 {
            wait::<0>(warp);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sums) in sums.as_flattened().chunks_exact(SUMS / wide).enumerate() {
                // So that the compiler does not take the one for the other, which is no constant.
                if late((i * parts + j) as u32) == index {
                    for (j, sum) in sums.iter().enumerate() {
                        sum.store(warp, &part, (0, j * wide));
                    }
                }
            }
        }
        warp.sync();
        let to = (at.0 + down as u32, at.1 + first as u32);
        let set = |row, col, element| strips.part(1).set((row, before + col), element);
        // Of larger sums, a thread has registers for fewer.
        let to_d = if const { size_of::<Sum<P>>() > size_of::<u32>() } {
            results.pass::<1, _, _>(warp.block(), warp, part, unit, to, set)
        } else {
            results.pass::<4, _, _>(warp.block(), warp, part, unit, to, set)
        };
        if to_d && before + SUMS == COLS {
            store(1, (to.0, to.1 - before as u32));
        } else {
            warp.sync();
        }
        index += 1;
    }
}

/// Waits until all strips but the last so many that the warp stored have been read.
#[inline(always)]
pub fn wait<const BUT: u32>(warp: Warp<'_>) {
    warp.elect(|lane| BulkGroup::wait_read::<BUT>(lane));
    warp.sync();
}
