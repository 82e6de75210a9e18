//! Runs of fragments from shared tiles: what a main loop loads.

use super::{B16, Count, LdMatrix, NoTrans, Trans, X1, X2, X4};
use crate::element::{Element, Width};
use crate::fragment::{Bit, Fragment, FragmentShape, Registers, Role, RowAddr, put};
use crate::lane::{Lane, LaneCapture, PerLane, Site, array, mapped};
use crate::machine::{cast, fixed};
use crate::memory::{Coordinate, Order, SharedTile, Swizzle, Window};
use crate::scope::Warp;
use core::marker::PhantomData;

/// The window that `N` times `EACH` fragments take in a tile that lie beside each other, or, for A,
/// below each other.
struct RunIn<const N: usize, const EACH: usize, F, Tile>(PhantomData<(F, Tile)>);

impl<const N: usize, const EACH: usize, R, F, T, const ROWS: usize, const COLS: usize, S, O> Window
    for RunIn<N, EACH, Fragment<R, F, T>, SharedTile<T, ROWS, COLS, S, O>>
where
    R: Role,
    F: FragmentShape<R, T::Width>,
    T: Element,
    S: Swizzle,
    O: Order,
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = F::LAYOUT.rows() * if R::RUNS_DOWN { N * EACH } else { 1 };
    const COLS: usize = F::LAYOUT.cols() * if R::RUNS_DOWN { 1 } else { N * EACH };
    const ROW_STEP: usize =
        if O::ROW_MAJOR { 1 } else { RowAddr::BYTES as usize / T::Width::BYTES };
    const COL_STEP: usize =
        if O::ROW_MAJOR { RowAddr::BYTES as usize / T::Width::BYTES } else { 1 };
}

impl<R: Role, F: FragmentShape<R, T::Width>, T: Element> Fragment<R, F, T> {
    /// From one fragment of a run to the next.
    const STEP: (usize, usize) =
        if R::RUNS_DOWN { (F::LAYOUT.rows(), 0) } else { (0, F::LAYOUT.cols()) };

    /// Whether `ldmatrix` makes the fragment's registers from a tile of this order: rows of eight
    /// 16-bit pieces, each a register's elements. Across a register, it can transpose 16-bit
    /// elements only.
    const fn by_matrix<O: Order>() -> bool {
        T::Width::FILLS_BYTES
            && (T::Width::BYTES == 2 || T::Width::BYTES < 8 && O::ROW_MAJOR == R::PACKS_ROWS)
            && F::LAYOUT.is_of_matrices(T::Width::PER_REGISTER, R::PACKS_ROWS)
    }

    /// Loads `N` matrices that lie beside each other (for A: below each other), from `at` of a tile
    /// on: with one `ldmatrix` each (PTX ISA 9.7.14.5.15), where it makes such fragments from a
    /// tile of this order, else element by element.
    ///
    /// | elements | along K | across K |
    /// | --- | --- | --- |
    /// | 16 bits | `ldmatrix` | `ldmatrix.trans` |
    /// | 8 and 32 bits | `ldmatrix` | loads of elements |
    /// | 64 bits, 4 bits and less, and the f16 of [`M8N8K4Quad`](crate::fragment::M8N8K4Quad) | loads of elements | loads of elements |
    ///
    /// Two elements of 64 bits that are neighbours in the tile, and both the same lane's, come by
    /// one load ([`M16N8K8Pairs`](crate::fragment::M16N8K8Pairs)).
    ///
    /// Along the tile's contiguous side, `at` is a multiple of 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn load_run<
        const N: usize,
        C: Coordinate,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> [Self; N] {
        let site = Site::here();
        let (row, col) = at.resolve::<RunIn<N, 1, Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        if !Self::by_matrix::<O>() {
            let place = |index| (row + index * Self::STEP.0, col + index * Self::STEP.1);
            // SAFETY: within the window, which is within the tile.
            return array(|index| unsafe { Self::gather(warp, *tile, place(index), site) });
        }
        // SAFETY: within the window, which is within the tile, and multiples of 16 bytes along its
        // contiguous side.
        let run: [_; N] = unsafe {
            run_rows(warp, *tile, (row, col), Self::STEP, |lane| Self::place::<O>(lane, 1))
        };
        let transposed = O::ROW_MAJOR != R::PACKS_ROWS;
        mapped(run, |rows| Self::from_registers(load_matrices(warp, rows, transposed, site)))
    }

    /// Loads `N` pairs of matrices that lie beside each other (for A: below each other), from `at`
    /// of a tile on: as [`load_run`](Self::load_run), with one `ldmatrix` for both of a pair,
    /// if their registers are no more than four.
    #[inline(always)]
    #[track_caller]
    pub fn load_pairs<
        const N: usize,
        C: Coordinate,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> [[Self; 2]; N] {
        let site = Site::here();
        let (row, col) = at.resolve::<RunIn<N, 2, Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        if !Self::by_matrix::<O>() {
            let place = |index| (row + index * Self::STEP.0, col + index * Self::STEP.1);
            return array(|pair| {
                // SAFETY: within the window, which is within the tile.
                mapped([0, 1], |half| unsafe {
                    Self::gather(warp, *tile, place(2 * pair + half), site)
                })
            });
        }
        let step = (2 * Self::STEP.0, 2 * Self::STEP.1);
        // SAFETY: within the window, which is within the tile, and multiples of 16 bytes along its
        // contiguous side.
        let run: [_; N] =
            unsafe { run_rows(warp, *tile, (row, col), step, |lane| Self::place::<O>(lane, 2)) };
        let transposed = O::ROW_MAJOR != R::PACKS_ROWS;
        mapped(run, |rows| {
            let pair = load_pair(warp, rows, transposed, site);
            mapped([0, 1], |half| Self::from_registers(pair.map(|pair| pair[half])))
        })
    }

    /// Where in a run the matrix row lies that a lane gives the address of, to load so many
    /// fragments at once.
    #[inline(always)]
    pub(super) fn place<O: Order>(lane: Lane<'_>, fragments: usize) -> (usize, usize) {
        // Eight lanes to a matrix. Where there are fewer than four, the other lanes repeat them:
        // sm_75 wants a valid address in every lane.
        let (matrix, line) = (lane.id() / 8 % (fragments * F::Registers::COUNT), lane.id() % 8);
        let (fragment, matrix) = (matrix / F::Registers::COUNT, matrix % F::Registers::COUNT);
        let (down, right) = F::LAYOUT.position(0, matrix * T::Width::PER_REGISTER);
        let (down, right) = (down + fragment * Self::STEP.0, right + fragment * Self::STEP.1);
        if O::ROW_MAJOR { (down + line, right) } else { (down, right + line) }
    }

    /// The bit of an element's index that says which of two neighbours in a tile of this order it
    /// is, where a lane holds both, and they are 16 bytes.
    const fn neighbour<O: Order>() -> Option<u32> {
        if T::Width::BYTES != 8 {
            return None;
        }
        F::LAYOUT.index_bit(if O::ROW_MAJOR { Bit::Col(0) } else { Bit::Row(0) })
    }

    /// Loads the elements one by one, or by pairs, if a lane holds such.
    ///
    /// # Safety
    /// The fragment's window at (row, col) is in the tile.
    #[inline(always)]
    unsafe fn gather<const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: SharedTile<T, ROWS, COLS, S, O>,
        (row, col): (usize, usize),
        site: Site,
    ) -> Self {
        if let Some(bit) = const { Self::neighbour::<O>() } {
            // SAFETY: the caller's.
            return unsafe { Self::gather_pairs(warp, tile, (row, col), bit, site) };
        }
        Self::from_registers(warp.each(|lane| {
            let mut registers: F::Registers = bytemuck::Zeroable::zeroed();
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: by the caller.
                let value = unsafe { tile.load(lane, row + down, col + right, site) };
                put::<T>(registers.as_mut(), index, value);
            }
            registers
        }))
    }

    /// Loads the elements by pairs of 16 bytes, of which this bit of the index says which it is.
    ///
    /// What differs by lane is added first, and what is constant last, as in `run_rows`.
    ///
    /// # Safety
    /// As for `gather`; and the window starts at a multiple of 16 bytes along the tile's contiguous
    /// side.
    #[inline(always)]
    unsafe fn gather_pairs<const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: SharedTile<T, ROWS, COLS, S, O>,
        (row, col): (usize, usize),
        bit: u32,
        site: Site,
    ) -> Self {
        let period = SharedTile::<T, ROWS, COLS, S, O>::PERIOD;
        let whole = |(row, col): (usize, usize)| {
            if O::ROW_MAJOR { (row / period * period, 0) } else { (0, col / period * period) }
        };
        let before = whole((row, col));
        Self::from_registers(warp.each(|lane| {
            let mut registers: F::Registers = bytemuck::Zeroable::zeroed();
            for index in (0..F::LAYOUT.elements()).filter(|index| index >> bit & 1 == 0) {
                let ((down, right), of_lane) =
                    (F::LAYOUT.position(0, index), F::LAYOUT.position(lane.id(), 0));
                let behind = whole((down, right));
                // The same for fragments that lie whole patterns from each other, in other tiles
                // too.
                let of_lane = SharedTile::<T, ROWS, COLS, S, O>::offset(
                    row - before.0 + down - behind.0 + of_lane.0,
                    col - before.1 + right - behind.1 + of_lane.1,
                );
                let patterns = SharedTile::<T, ROWS, COLS, S, O>::offset(
                    before.0 + behind.0,
                    before.1 + behind.1,
                );
                // SAFETY: the caller's; no bit of a place is both the lane's and the index's, so
                // that their places add up to one.
                let pair = unsafe {
                    let address = fixed(of_lane) + (tile.address() + patterns);
                    tile.load_pair(lane, RowAddr::from_address(address), site)
                };
                put::<T>(registers.as_mut(), index, pair[0]);
                put::<T>(registers.as_mut(), index | 1 << bit, pair[1]);
            }
            registers
        }))
    }
}

/// The row addresses of `N` loads, each `step` from the one before, the first at `at` of the tile;
/// `place` is where each lane's row lies from there.
///
/// What differs by lane is added to the tile's address first, and what is constant last: the
/// compiler, which would rather have every sum ready before the loop, in a register each, is kept
/// from it, and the constants become part of the instructions.
///
/// # Safety
/// All rows lie in the tile, and start at multiples of 16 bytes.
#[inline(always)]
unsafe fn run_rows<
    const N: usize,
    T: Element,
    const ROWS: usize,
    const COLS: usize,
    S: Swizzle,
    O: Order,
>(
    warp: Warp<'_>,
    tile: SharedTile<T, ROWS, COLS, S, O>,
    (row, col): (usize, usize),
    step: (usize, usize),
    place: impl Fn(Lane<'_>) -> (usize, usize) + LaneCapture,
) -> [PerLane<RowAddr>; N] {
    let period = SharedTile::<T, ROWS, COLS, S, O>::PERIOD;
    let across_lines = if O::ROW_MAJOR {
        step.1 == 0 && step.0.is_multiple_of(period)
    } else {
        step.0 == 0 && step.1.is_multiple_of(period)
    };
    let first = warp.each(|lane| {
        let (down, right) = place(lane);
        // SAFETY: the caller's.
        let first = unsafe { tile.row_unchecked(row + down, col + right) };
        fixed(first.address())
    });
    array(|index| {
        let (down, right) = (index * step.0, index * step.1);
        if across_lines {
            let further = SharedTile::<T, ROWS, COLS, S, O>::offset(down, right);
            // SAFETY: the caller's.
            return first.map(|first| unsafe { RowAddr::from_address(first + further) });
        }
        let lines =
            if O::ROW_MAJOR { (row / period * period, 0) } else { (0, col / period * period) };
        let further = SharedTile::<T, ROWS, COLS, S, O>::offset(lines.0, lines.1);
        warp.each(|lane| {
            let place = place(lane);
            // SAFETY: the caller's.
            unsafe {
                let first = tile
                    .row_unchecked(row - lines.0 + down + place.0, col - lines.1 + right + place.1);
                RowAddr::from_address(fixed(first.address()) + further)
            }
        })
    })
}
/// The registers of the matrices whose rows the lanes name, by `ldmatrix`.
#[inline(always)]
fn load_matrices<R: Registers>(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    transposed: bool,
    site: Site,
) -> PerLane<R> {
    // SAFETY: as many registers, of 32 bits.
    unsafe {
        match R::COUNT {
            1 => load::<X1>(warp, rows, transposed, site).map(|registers| cast(registers)),
            2 => load::<X2>(warp, rows, transposed, site).map(|registers| cast(registers)),
            4 => load::<X4>(warp, rows, transposed, site).map(|registers| cast(registers)),
            _ => unreachable!("fragments that `ldmatrix` loads have 1, 2 or 4 registers"),
        }
    }
}

/// The same for two fragments, whose matrices one `ldmatrix` loads.
#[inline(always)]
fn load_pair<R: Registers>(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    transposed: bool,
    site: Site,
) -> PerLane<[R; 2]> {
    // SAFETY: as above.
    unsafe {
        match R::COUNT {
            1 => load::<X2>(warp, rows, transposed, site).map(|[a, b]| [cast([a]), cast([b])]),
            2 => load::<X4>(warp, rows, transposed, site)
                .map(|[a, b, c, d]| [cast([a, b]), cast([c, d])]),
            _ => unreachable!("fragments that `ldmatrix` loads as pairs have 1 or 2 registers"),
        }
    }
}

#[inline(always)]
fn load<N: Count>(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    transposed: bool,
    site: Site,
) -> PerLane<N::Registers> {
    if transposed {
        LdMatrix::<N, Trans, B16>::load_at(warp, rows, site)
    } else {
        LdMatrix::<N, NoTrans, B16>::load_at(warp, rows, site)
    }
}
