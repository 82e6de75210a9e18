//! Fragments from and to shared tiles.

use super::{Fragment, FragmentShape, Layout, Registers, Role, put, take};
use crate::element::{Bits16, Width};
use crate::ldmatrix::LdMatrix;
use crate::matrix::{B16, CountOf, NoTrans, PairOf, Trans};
use crate::shared::{Coordinate, Order, SharedTile, Swizzle, Window, check_known};
use crate::site::Site;
use crate::stmatrix::StMatrix;
use crate::target::{AtLeast, BuiltFor};
use crate::{Element, Lane, LaneCapture, PerLane, RowAddr, Warp};
use core::marker::PhantomData;

/// The window that a fragment takes in a tile.
struct In<F, Tile>(PhantomData<(F, Tile)>);

impl<R, F, T, const ROWS: usize, const COLS: usize, S, O> Window
    for In<Fragment<R, F, T>, SharedTile<T, ROWS, COLS, S, O>>
where
    R: Role,
    F: FragmentShape<R, T::Width>,
    T: Element,
    S: Swizzle,
    O: Order,
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = F::LAYOUT.rows();
    const COLS: usize = F::LAYOUT.cols();
    const ROW_STEP: usize = if O::ROW_MAJOR { 1 } else { RowAddr::BYTES as usize / T::Width::BYTES };
    const COL_STEP: usize = if O::ROW_MAJOR { RowAddr::BYTES as usize / T::Width::BYTES } else { 1 };
}

/// The window that `N` times `EACH` fragments take in a tile that lie beside each other, or, for A, below each other.
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
    const ROW_STEP: usize = if O::ROW_MAJOR { 1 } else { RowAddr::BYTES as usize / T::Width::BYTES };
    const COL_STEP: usize = if O::ROW_MAJOR { RowAddr::BYTES as usize / T::Width::BYTES } else { 1 };
}

/// The addresses that a fragment is loaded from or stored to, in a tile of order `O`: one matrix row (column, if
/// `ColMajor`) in each lane. Made once by [`Fragment::rows`], they serve any number of loads and stores.
pub struct FragmentRows<Frag, O> {
    rows: PerLane<RowAddr>,
    _fragment: PhantomData<fn() -> (Frag, O)>,
}

impl<Frag, O> Clone for FragmentRows<Frag, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<Frag, O> Copy for FragmentRows<Frag, O> {}

const fn check_8x8<R: Role>(layout: Layout) {
    assert!(
        layout.is_of_8x8(R::PACKS_ROWS),
        "the fragments of this shape are not made of the 8x8 matrices of `ldmatrix`: use `load_elements` and `store`"
    );
}

/// Each register of a fragment of 16-bit elements is an 8x8 matrix of `ldmatrix`: the first is that of index 0, the
/// second that of index 2, and so on.
impl<R, F, T> Fragment<R, F, T>
where
    R: Role,
    F: FragmentShape<R, Bits16>,
    T: Element<Width = Bits16>,
    F::Registers: CountOf,
{
    /// Loads the matrix at `at` of a tile, with one `ldmatrix` (PTX ISA 9.7.14.5.15).
    ///
    /// The form follows from the types: as many 8x8 matrices as the fragment has registers, `.trans` where the
    /// tile's order is across the registers' (A from a column-major tile, B from a row-major one).
    ///
    /// `at` is a `(row, col)`, or an [`At`](crate::At), which is checked when it is compiled; along the tile's
    /// contiguous side it is a multiple of 8.
    #[inline(always)]
    #[track_caller]
    pub fn load<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> Self {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        Self::load_rows(warp, Self::rows(warp, tile, at))
    }

    /// Loads `N` matrices that lie beside each other (for A: below each other), from `at` of a tile on, with one `ldmatrix`
    /// each. `at` as for [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn load_run<const N: usize, C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> [Self; N] {
        let site = Site::here();
        let (row, col) = at.resolve::<RunIn<N, 1, Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        let step = if R::RUNS_DOWN { (F::LAYOUT.rows(), 0) } else { (0, F::LAYOUT.cols()) };
        // SAFETY: within the window, which is within the tile, and multiples of 8 along its contiguous side.
        let run: [_; N] = unsafe { run_rows(warp, *tile, (row, col), step, Self::place::<O>) };
        run.map(|rows| Self::load_rows(warp, FragmentRows::<Self, O> { rows, _fragment: PhantomData }))
    }

    /// Where in the fragment the matrix row lies that a lane gives the address of.
    #[inline(always)]
    fn place<O: Order>(lane: Lane<'_>) -> (usize, usize) {
        const { check_8x8::<R>(F::LAYOUT) };
        // Eight lanes to a matrix. Where there are fewer than four, the other lanes repeat them: sm_75 wants a valid address in
        // every lane.
        let (matrix, line) = (lane.id() / 8 % F::Registers::COUNT, lane.id() % 8);
        let (down, right) = F::LAYOUT.position(0, matrix * T::Width::PER_REGISTER);
        if O::ROW_MAJOR { (down + line, right) } else { (down, right + line) }
    }

    /// Stores the matrix at `at` of a tile, with one `stmatrix` (PTX ISA 9.7.14.5.16; sm_90). `at` as for
    /// [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn store_matrix<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        &self,
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        self.store_rows(warp, Self::rows(warp, tile, at));
    }

    /// The addresses for [`load_rows`](Self::load_rows) and [`store_rows`](Self::store_rows), for kernels that keep
    /// them out of their main loop. `at` as for [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn rows<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> FragmentRows<Self, O> {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        let (row, col) = at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(Site::here());
        let tile = *tile;
        let rows = warp.each(|lane| {
            let (down, right) = Self::place::<O>(lane);
            // SAFETY: within the window, which is within the tile, and a multiple of 8 along its contiguous side.
            unsafe { tile.row_unchecked(row + down, col + right) }
        });
        FragmentRows { rows, _fragment: PhantomData }
    }

    /// Loads the matrix from where [`rows`](Self::rows) says, with one `ldmatrix`.
    #[inline(always)]
    #[track_caller]
    pub fn load_rows<O: Order>(warp: Warp<'_>, from: FragmentRows<Self, O>) -> Self {
        let site = Site::here();
        Self::from_registers(if O::ROW_MAJOR == R::PACKS_ROWS {
            LdMatrix::<<F::Registers as CountOf>::Count, NoTrans, B16>::load_at(warp, from.rows, site)
        } else {
            LdMatrix::<<F::Registers as CountOf>::Count, Trans, B16>::load_at(warp, from.rows, site)
        })
    }

    /// Stores the matrix to where [`rows`](Self::rows) says, with one `stmatrix` (sm_90).
    #[inline(always)]
    #[track_caller]
    pub fn store_rows<O: Order>(&self, warp: Warp<'_>, to: FragmentRows<Self, O>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let site = Site::here();
        if O::ROW_MAJOR == R::PACKS_ROWS {
            StMatrix::<<F::Registers as CountOf>::Count, NoTrans, B16>::store_at(warp, to.rows, self.registers(), site);
        } else {
            StMatrix::<<F::Registers as CountOf>::Count, Trans, B16>::store_at(warp, to.rows, self.registers(), site);
        }
    }
}

/// Two fragments by one instruction, where their registers are no more than four.
impl<R, F, T> Fragment<R, F, T>
where
    R: Role,
    F: FragmentShape<R, Bits16>,
    T: Element<Width = Bits16>,
    F::Registers: PairOf,
{
    /// Loads `N` pairs of matrices that lie beside each other (for A: below each other), from `at` of a tile on, with one
    /// `ldmatrix` a pair. `at` as for [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn load_pairs<const N: usize, C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> [[Self; 2]; N] {
        let site = Site::here();
        let (row, col) = at.resolve::<RunIn<N, 2, Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        let step = if R::RUNS_DOWN { (2 * F::LAYOUT.rows(), 0) } else { (0, 2 * F::LAYOUT.cols()) };
        // SAFETY: within the window, which is within the tile, and multiples of 8 along its contiguous side.
        let run: [_; N] = unsafe { run_rows(warp, *tile, (row, col), step, Self::place_in_pair::<O>) };
        run.map(|rows| {
            let pair = if O::ROW_MAJOR == R::PACKS_ROWS {
                LdMatrix::<PairCount<F::Registers>, NoTrans, B16>::load_at(warp, rows, site)
            } else {
                LdMatrix::<PairCount<F::Registers>, Trans, B16>::load_at(warp, rows, site)
            };
            [0, 1].map(|half| Self::from_registers(pair.map(|pair| F::Registers::split(pair)[half])))
        })
    }

    /// Where in a pair the matrix row lies that a lane gives the address of.
    #[inline(always)]
    fn place_in_pair<O: Order>(lane: Lane<'_>) -> (usize, usize) {
        const { check_8x8::<R>(F::LAYOUT) };
        let (matrix, line) = (lane.id() / 8 % (2 * F::Registers::COUNT), lane.id() % 8);
        let (second, matrix) = (matrix / F::Registers::COUNT, matrix % F::Registers::COUNT);
        let (down, right) = F::LAYOUT.position(0, matrix * T::Width::PER_REGISTER);
        let (down, right) = if R::RUNS_DOWN {
            (down + second * F::LAYOUT.rows(), right)
        } else {
            (down, right + second * F::LAYOUT.cols())
        };
        if O::ROW_MAJOR { (down + line, right) } else { (down, right + line) }
    }
}

/// The row addresses of `N` loads, each `step` from the one before, the first at `at` of the tile; `place` is where each lane's
/// row lies from there.
///
/// What differs by lane is added to the tile's address first, and what is constant last: the compiler, which would rather have
/// every sum ready before the loop, in a register each, is kept from it, and the constants become part of the instructions.
///
/// # Safety
/// All rows lie in the tile, and start at multiples of 16 bytes.
#[inline(always)]
unsafe fn run_rows<const N: usize, T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
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
        opaque_address(first.address())
    });
    core::array::from_fn(|index| {
        let (down, right) = (index * step.0, index * step.1);
        if across_lines {
            let further = SharedTile::<T, ROWS, COLS, S, O>::offset(down, right);
            // SAFETY: the caller's.
            return first.map(|first| unsafe { RowAddr::from_address(first + further) });
        }
        let lines = if O::ROW_MAJOR { (row / period * period, 0) } else { (0, col / period * period) };
        let further = SharedTile::<T, ROWS, COLS, S, O>::offset(lines.0, lines.1);
        warp.each(|lane| {
            let place = place(lane);
            // SAFETY: the caller's.
            unsafe {
                let first = tile.row_unchecked(row - lines.0 + down + place.0, col - lines.1 + right + place.1);
                RowAddr::from_address(opaque_address(first.address()) + further)
            }
        })
    })
}

/// The same address, which the compiler neither computes before a loop nor takes apart.
#[inline(always)]
fn opaque_address(address: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same;
        // SAFETY: it moves a number.
        unsafe {
            core::arch::asm!("mov.b32 {same}, {address};", same = lateout(reg32) same, address = in(reg32) address,
                options(nomem, nostack));
        }
        same
    };
    #[cfg(not(target_arch = "nvptx64"))]
    address
}

/// The count of a pair's matrices.
type PairCount<Registers> = <<Registers as PairOf>::Pair as CountOf>::Count;

impl<R: Role, F: FragmentShape<R, T::Width>, T: Element> Fragment<R, F, T> {
    /// Whether the elements of a register are neighbours in tiles of this order, as they are in the register.
    const fn registers_lie_whole<O: Order>() -> bool {
        T::Width::FILLS_BYTES && F::LAYOUT.groups(T::Width::PER_REGISTER, O::ROW_MAJOR)
    }

    /// Stores the matrix at `at` of a tile: for any element type, on any GPU. `at` as for `load`.
    ///
    /// Where the elements of a register are neighbours in the tile, it goes there whole, else element by element.
    #[inline(always)]
    #[track_caller]
    pub fn store<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        &self,
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        let site = Site::here();
        let (row, col) = at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        let (tile, registers) = (*tile, &self.registers);
        warp.each(|lane| {
            let registers = lane.get(registers);
            if Self::registers_lie_whole::<O>() {
                for (index, register) in registers.as_ref().iter().enumerate() {
                    let (down, right) = F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: within the window, which is within the tile; chunks of 16 bytes, and the registers in them, lie whole.
                    unsafe { tile.store_register(row + down, col + right, *register, site) };
                }
                return;
            }
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: within the window, which is within the tile.
                unsafe { tile.store(row + down, col + right, take::<T>(registers.as_ref(), index), site) };
            }
        });
    }

    /// Loads the matrix at `at` of a tile: for any element type, on any GPU. `at` as for `load`.
    ///
    /// Where the elements of a register are neighbours in the tile, they come from there at once, else one by one.
    #[inline(always)]
    #[track_caller]
    pub fn load_elements<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> Self {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        let site = Site::here();
        let (row, col) = at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(site);
        let tile = *tile;
        Self::from_registers(warp.each(|lane| {
            let mut registers: F::Registers = bytemuck::Zeroable::zeroed();
            if Self::registers_lie_whole::<O>() {
                for (index, register) in registers.as_mut().iter_mut().enumerate() {
                    let (down, right) = F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: within the window, which is within the tile; chunks of 16 bytes, and the registers in them, lie whole.
                    *register = unsafe { tile.load_register(lane, row + down, col + right, site) };
                }
                return registers;
            }
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: within the window, which is within the tile.
                let value = unsafe { tile.load(lane, row + down, col + right, site) };
                put::<T>(registers.as_mut(), index, value);
            }
            registers
        }))
    }
}
