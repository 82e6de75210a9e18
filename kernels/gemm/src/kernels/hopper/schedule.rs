//! What a block goes through, one unit behind the other: the tiles of all products, or those of rows in groups.

use crate::kernels::by_maps::{Unit, Work};
use crate::kernels::groups::{Groups, Place};
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::{Global, Warp};

/// What there is to do.
pub trait Schedule {
    /// The beginning of it, in tiles of `M` x `N`, where clusters have so many blocks.
    fn begin<const M: usize, const N: usize, const BLOCKS: usize>(self, ended: AheadEnded<'_>) -> impl Walk;
}

/// Where a warp is of it. Units have indices, which it goes through in their order.
pub trait Walk: Copy {
    /// Whether the blocks of a cluster compute tiles beside each other, and not below.
    fn across(&self) -> bool;

    /// Goes on to a unit; says whether there is one.
    fn goes_to(&mut self, warp: Warp<'_>, index: u32) -> bool;

    /// What the block of this rank does of the unit that it went to.
    fn unit(&self, index: u32, rank: u32) -> Unit;
}

/// The units of all products.
#[derive(Clone, Copy)]
struct All<const M: usize, const N: usize, const BLOCKS: usize> {
    work: Work,
    units: u32,
}

impl Schedule for Work {
    #[inline(always)]
    fn begin<const M: usize, const N: usize, const BLOCKS: usize>(self, _: AheadEnded<'_>) -> impl Walk {
        // Which the compiler is to know of single blocks.
        let work = Work { across: BLOCKS > 1 && self.across, ..self };
        All::<M, N, BLOCKS> { work, units: work.units::<M, N, BLOCKS>() }
    }
}

impl<const M: usize, const N: usize, const BLOCKS: usize> Walk for All<M, N, BLOCKS> {
    #[inline(always)]
    fn across(&self) -> bool {
        self.work.across
    }

    #[inline(always)]
    fn goes_to(&mut self, _: Warp<'_>, index: u32) -> bool {
        index < self.units
    }

    #[inline(always)]
    fn unit(&self, index: u32, rank: u32) -> Unit {
        self.work.unit::<M, N, BLOCKS>(index, rank)
    }
}

/// The tiles of rows in groups, for single blocks.
pub struct InGroups<'k> {
    /// Rows, columns, and K.
    pub sides: (u32, u32, u32),
    /// Where groups end.
    pub ends: Early<Global<'k, u32>>,
}

/// The tiles of the groups.
#[derive(Clone, Copy)]
struct OfGroups<'k, const M: usize, const N: usize> {
    groups: Groups<'k>,
    cols: u32,
    inner: u32,
    place: Place,
}

impl<const M: usize, const N: usize> OfGroups<'_, M, N> {
    /// Tiles below each other, and beside each other, of so many rows.
    #[inline(always)]
    fn counts(&self, rows: u32) -> (u32, u32) {
        (rows.div_ceil(M as u32), self.cols.div_ceil(N as u32))
    }
}

impl Schedule for InGroups<'_> {
    #[inline(always)]
    fn begin<const M: usize, const N: usize, const BLOCKS: usize>(self, ended: AheadEnded<'_>) -> impl Walk {
        const { assert!(BLOCKS == 1, "tiles of groups are of single blocks") };
        let (rows, cols, inner) = self.sides;
        OfGroups::<M, N> { groups: Groups { ends: self.ends.get(ended), rows }, cols, inner, place: Place::FIRST }
    }
}

impl<const M: usize, const N: usize> Walk for OfGroups<'_, M, N> {
    #[inline(always)]
    fn across(&self) -> bool {
        false
    }

    #[inline(always)]
    fn goes_to(&mut self, warp: Warp<'_>, index: u32) -> bool {
        let tiles = |rows| {
            let (down, right) = self.counts(rows);
            down * right
        };
        let Some(place) = self.groups.find(warp, self.place, index, tiles) else { return false };
        self.place = place;
        true
    }

    #[inline(always)]
    fn unit(&self, index: u32, _: u32) -> Unit {
        let Place { group, before } = self.place;
        let (down, right) = self.counts(group.end - group.first);
        // As `raster`, whose divisors are none of memory's: a check of them would be a way out of the loop that the warpgroups multiply in.
        let (index, high) = (index - before, Work::TILES_DOWN);
        let top = index / (high * right).max(1) * high;
        let height = (down - top).min(high).max(1);
        let index = index % (high * right).max(1);
        let (row, col) = (top + index % height, index / height);
        let (row, col) = (group.first + row * M as u32, col * N as u32);
        // Rows behind a group's are another's, which take no longer than its own.
        let inside = (u32::MAX, u32::MAX);
        Unit { batch: 0, matrix: 0, start: (row, col, 0), inside, inner: self.inner, group: Some(group) }
    }
}
