//! Loads runs of adjacent fragments from shared tiles, for mainloops.

use super::{B16, Count, LdMatrix, NoTrans, Trans, X1, X2, X4};
use crate::element::{Element, Width};
use crate::fragment::{Bit, Fragment, FragmentShape, Registers, Role, RowAddr, put};
use crate::lane::{Lane, LaneCapture, PerLane, Site, array, mapped};
use crate::machine::{cast, fixed};
use crate::memory::{Coordinate, Order, SharedTile, Swizzle, Window};
use crate::scope::Warp;
use core::marker::PhantomData;

/// The window of `N` times `EACH` adjacent fragments in a tile: adjacent along M for A, along the
/// columns for the others.
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
    /// The (row, column) step from one fragment of a run to the next.
    const STEP: (usize, usize) =
        if R::RUNS_DOWN { (F::LAYOUT.rows(), 0) } else { (0, F::LAYOUT.cols()) };

    /// Whether `ldmatrix` loads such a fragment from a tile of this order.
    ///
    /// A matrix row is 16 bytes of the tile: the elements of four registers. `.trans` transposes
    /// only 16-bit elements.
    const fn by_matrix<O: Order>() -> bool {
        T::Width::FILLS_BYTES
            && (T::Width::BYTES == 2 || T::Width::BYTES < 8 && O::ROW_MAJOR == R::PACKS_ROWS)
            && F::LAYOUT.is_of_matrices(T::Width::PER_REGISTER, R::PACKS_ROWS)
    }

    /// Loads `N` adjacent fragments of a tile, with one `ldmatrix` each where that is possible (PTX
    /// ISA 9.7.14.5.15).
    ///
    /// Fragments of A are adjacent along M, all others along the columns. The first one is at `at`.
    /// The instructions depend on the element size and on the tile's contiguous side:
    ///
    /// | elements | K-major tile | MN-major tile |
    /// | --- | --- | --- |
    /// | 16 bits | `ldmatrix` | `ldmatrix.trans` |
    /// | 8 and 32 bits | `ldmatrix` | loads of elements |
    /// | 64 bits, 4 bits and less, f16 of [`M8N8K4Quad`] | loads of elements | loads of elements |
    ///
    /// One load moves two 64-bit elements if they are neighbours in the tile and belong to the same
    /// lane ([`M16N8K8Pairs`](crate::fragment::M16N8K8Pairs)).
    ///
    /// Along the tile's contiguous side, `at` is a multiple of 16 bytes.
    ///
    /// [`M8N8K4Quad`]: crate::fragment::M8N8K4Quad
    #[inline]
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
        let (row, col) =
            at.resolve::<RunIn<N, 1, Self, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), site);
        if !Self::by_matrix::<O>() {
            let place = |index| (row + index * Self::STEP.0, col + index * Self::STEP.1);
            // SAFETY: the fragment is in the window, and the window is in the tile.
            return array(|index| unsafe { Self::gather(warp, *tile, place(index), site) });
        }
        // SAFETY: the fragments are in the window, and the window is in the tile. Along the
        // contiguous side they start at multiples of 16 bytes.
        let run: [_; N] = unsafe {
            run_rows(warp, *tile, (row, col), Self::STEP, |lane| Self::place::<O>(lane, 1))
        };
        let transposed = O::ROW_MAJOR != R::PACKS_ROWS;
        mapped(run, |rows| Self::from_registers(load_matrices(warp, rows, transposed, site)))
    }

    /// Loads `N` pairs of adjacent fragments of a tile, with one `ldmatrix` for each pair.
    ///
    /// A pair has at most four registers. All else is as for [`load_run`](Self::load_run).
    #[inline]
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
        let (row, col) =
            at.resolve::<RunIn<N, 2, Self, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), site);
        if !Self::by_matrix::<O>() {
            let place = |index| (row + index * Self::STEP.0, col + index * Self::STEP.1);
            return array(|pair| {
                // SAFETY: the fragment is in the window, and the window is in the tile.
                mapped([0, 1], |half| unsafe {
                    Self::gather(warp, *tile, place(2 * pair + half), site)
                })
            });
        }
        let step = (2 * Self::STEP.0, 2 * Self::STEP.1);
        // SAFETY: the fragments are in the window, and the window is in the tile. Along the
        // contiguous side they start at multiples of 16 bytes.
        let run: [_; N] =
            unsafe { run_rows(warp, *tile, (row, col), step, |lane| Self::place::<O>(lane, 2)) };
        let transposed = O::ROW_MAJOR != R::PACKS_ROWS;
        mapped(run, |rows| {
            let pair = load_pair(warp, rows, transposed, site);
            mapped([0, 1], |half| Self::from_registers(pair.map(|pair| pair[half])))
        })
    }

    /// The offset in a run of the matrix row whose address `lane` gives, if one `ldmatrix` loads
    /// `fragments` fragments.
    #[inline]
    pub(super) fn place<O: Order>(lane: Lane<'_>, fragments: usize) -> (usize, usize) {
        // Eight lanes for each matrix. With fewer than four matrices, the other lanes repeat these
        // addresses: sm_75 requires a valid address in every lane.
        let (matrix, line) = (lane.id() / 8 % (fragments * F::Registers::COUNT), lane.id() % 8);
        let (fragment, matrix) = (matrix / F::Registers::COUNT, matrix % F::Registers::COUNT);
        let (down, right) = F::LAYOUT.position(0, matrix * T::Width::PER_REGISTER);
        let (down, right) = (down + fragment * Self::STEP.0, right + fragment * Self::STEP.1);
        if O::ROW_MAJOR { (down + line, right) } else { (down, right + line) }
    }

    /// The bit of an element's index that selects one of two 8-byte neighbours in a tile of this
    /// order. `None` if no lane holds both.
    const fn neighbour<O: Order>() -> Option<u32> {
        if T::Width::BYTES != 8 {
            return None;
        }
        F::LAYOUT.index_bit(if O::ROW_MAJOR { Bit::Col(0) } else { Bit::Row(0) })
    }

    /// Loads the elements one by one, or in pairs where a lane holds neighbours.
    ///
    /// # Safety
    /// The fragment's window at (row, col) is in the tile.
    #[inline]
    unsafe fn gather<const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: SharedTile<T, ROWS, COLS, S, O>,
        (row, col): (usize, usize),
        site: Site,
    ) -> Self {
        if let Some(bit) = const { Self::neighbour::<O>() } {
            // SAFETY: the caller upholds the same contract.
            return unsafe { Self::gather_pairs(warp, tile, (row, col), bit, site) };
        }
        Self::from_registers(warp.each(|lane| {
            let mut registers: F::Registers = bytemuck::Zeroable::zeroed();
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: the caller keeps the window in the tile.
                let value = unsafe { tile.load(lane, row + down, col + right, site) };
                put::<T>(registers.as_mut(), index, value);
            }
            registers
        }))
    }

    /// Loads the elements in pairs of 16 bytes. `bit` of the index selects the element of a pair.
    ///
    /// As in `run_rows`, the lane's part of an address is added first, and the constant part last.
    ///
    /// # Safety
    /// As for `gather`. In addition, the window starts at a multiple of 16 bytes along the tile's
    /// contiguous side.
    #[inline]
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
                // The lane's part is the same for all fragments whose distance is a whole number of
                // swizzle patterns, also in other tiles.
                let of_lane = SharedTile::<T, ROWS, COLS, S, O>::offset(
                    row - before.0 + down - behind.0 + of_lane.0,
                    col - before.1 + right - behind.1 + of_lane.1,
                );
                let patterns = SharedTile::<T, ROWS, COLS, S, O>::offset(
                    before.0 + behind.0,
                    before.1 + behind.1,
                );
                // SAFETY: the caller upholds the contract. The lane and the index set different
                // bits of the coordinate, so their offsets add up.
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

/// The row addresses of `N` loads. The first is at `at` of the tile, and each is `step` after the
/// one before. `place` is the offset of a lane's row from there.
///
/// The lane's part is added to the tile's address first, and the constant part last. Otherwise the
/// compiler computes every sum before the loop and keeps each in a register. `fixed` prevents that,
/// and the constants become immediate offsets of the instructions.
///
/// # Safety
/// All rows are in the tile, and start at multiples of 16 bytes.
#[inline]
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
        // SAFETY: the caller keeps the rows in the tile.
        let first = unsafe { tile.row_unchecked(row + down, col + right) };
        fixed(first.address())
    });
    array(|index| {
        let (down, right) = (index * step.0, index * step.1);
        if across_lines {
            let further = SharedTile::<T, ROWS, COLS, S, O>::offset(down, right);
            // SAFETY: the caller keeps the rows in the tile.
            return first.map(|first| unsafe { RowAddr::from_address(first + further) });
        }
        let lines =
            if O::ROW_MAJOR { (row / period * period, 0) } else { (0, col / period * period) };
        let further = SharedTile::<T, ROWS, COLS, S, O>::offset(lines.0, lines.1);
        warp.each(|lane| {
            let place = place(lane);
            // SAFETY: the caller keeps the rows in the tile.
            unsafe {
                let first = tile
                    .row_unchecked(row - lines.0 + down + place.0, col - lines.1 + right + place.1);
                RowAddr::from_address(fixed(first.address()) + further)
            }
        })
    })
}
/// Loads one fragment's registers with one `ldmatrix`. Each lane gives the address of a row.
#[inline]
fn load_matrices<R: Registers>(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    transposed: bool,
    site: Site,
) -> PerLane<R> {
    // SAFETY: `R` has as many 32-bit registers as the loaded count.
    unsafe {
        match R::COUNT {
            1 => load::<X1>(warp, rows, transposed, site).map(|registers| cast(registers)),
            2 => load::<X2>(warp, rows, transposed, site).map(|registers| cast(registers)),
            4 => load::<X4>(warp, rows, transposed, site).map(|registers| cast(registers)),
            _ => unreachable!("fragments that `ldmatrix` loads have 1, 2 or 4 registers"),
        }
    }
}

/// Loads the registers of two fragments with one `ldmatrix`.
#[inline]
fn load_pair<R: Registers>(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    transposed: bool,
    site: Site,
) -> PerLane<[R; 2]> {
    // SAFETY: both `R` together have as many 32-bit registers as the loaded count.
    unsafe {
        match R::COUNT {
            1 => load::<X2>(warp, rows, transposed, site).map(|[a, b]| [cast([a]), cast([b])]),
            2 => load::<X4>(warp, rows, transposed, site)
                .map(|[a, b, c, d]| [cast([a, b]), cast([c, d])]),
            _ => unreachable!("fragments that `ldmatrix` loads as pairs have 1 or 2 registers"),
        }
    }
}

#[inline]
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
