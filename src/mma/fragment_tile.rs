//! Fragments from and to shared tiles.

use crate::element::{Bits16, Element, Width};
use crate::fragment::{Fragment, FragmentShape, Layout, Role, RowAddr, put, take};
use crate::lane::{PerLane, Site};
use crate::memory::{Coordinate, Order, SharedTile, Swizzle, Window, check_known};
use crate::mma::{B16, CountOf, LdMatrix, NoTrans, StMatrix, Trans};
use crate::scope::Warp;
use crate::target::{AtLeast, BuiltFor};
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
    const ROW_STEP: usize =
        if O::ROW_MAJOR { 1 } else { RowAddr::BYTES as usize / T::Width::BYTES };
    const COL_STEP: usize =
        if O::ROW_MAJOR { RowAddr::BYTES as usize / T::Width::BYTES } else { 1 };
}

/// The addresses that a fragment is loaded from or stored to, in a tile of order `O`: one matrix
/// row (column, if `ColMajor`) in each lane. Made once by [`Fragment::rows`], they serve any number
/// of loads and stores.
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

/// Fragments of 16-bit elements are made of 8x8 matrices, but for those of four multiplications at
/// once.
const fn check_8x8<R: Role>(layout: Layout) {
    assert!(
        layout.is_of_matrices(Bits16::PER_REGISTER, R::PACKS_ROWS),
        "the fragments of this shape are not made of the 8x8 matrices of `ldmatrix`: use `load_elements` and `store`"
    );
}

/// Each register of a fragment of 16-bit elements is an 8x8 matrix of `ldmatrix`: the first is that
/// of index 0, the second that of index 2, and so on.
impl<R, F, T> Fragment<R, F, T>
where
    R: Role,
    F: FragmentShape<R, Bits16>,
    T: Element<Width = Bits16>,
    F::Registers: CountOf,
{
    /// Loads the matrix at `at` of a tile, with one `ldmatrix` (PTX ISA 9.7.14.5.15).
    ///
    /// The form follows from the types: as many 8x8 matrices as the fragment has registers,
    /// `.trans` where the tile's order is across the registers' (A from a column-major tile, B
    /// from a row-major one).
    ///
    /// `at` is a `(row, col)`, or an [`At`](crate::memory::At), which is checked when it is
    /// compiled; along the tile's contiguous side it is a multiple of 8.
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

    /// Stores the matrix at `at` of a tile, with one `stmatrix` (PTX ISA 9.7.14.5.16; sm_90). `at`
    /// as for [`load`](Self::load).
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

    /// The addresses for [`load_rows`](Self::load_rows) and [`store_rows`](Self::store_rows), for
    /// kernels that keep them out of their main loop. `at` as for [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn rows<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> FragmentRows<Self, O> {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        const { check_8x8::<R>(F::LAYOUT) };
        let (row, col) = at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(Site::here());
        let tile = *tile;
        let rows = warp.each(|lane| {
            let (down, right) = Self::place::<O>(lane, 1);
            // SAFETY: within the window, which is within the tile, and a multiple of 8 along its
            // contiguous side.
            unsafe { tile.row_unchecked(row + down, col + right) }
        });
        FragmentRows { rows, _fragment: PhantomData }
    }

    /// Loads the matrix from where [`rows`](Self::rows) says, with one `ldmatrix`.
    #[inline(always)]
    #[track_caller]
    pub fn load_rows<O: Order>(warp: Warp<'_>, from: FragmentRows<Self, O>) -> Self {
        let site = Site::here();
        Self::from_registers(if const { O::ROW_MAJOR == R::PACKS_ROWS } {
            LdMatrix::<<F::Registers as CountOf>::Count, NoTrans, B16>::load_at(
                warp, from.rows, site,
            )
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
        if const { O::ROW_MAJOR == R::PACKS_ROWS } {
            StMatrix::<<F::Registers as CountOf>::Count, NoTrans, B16>::store_at(
                warp,
                to.rows,
                self.registers(),
                site,
            );
        } else {
            StMatrix::<<F::Registers as CountOf>::Count, Trans, B16>::store_at(
                warp,
                to.rows,
                self.registers(),
                site,
            );
        }
    }
}

impl<R: Role, F: FragmentShape<R, T::Width>, T: Element> Fragment<R, F, T> {
    /// Whether the elements of a register are neighbours in tiles of this order, as they are in the
    /// register.
    const fn registers_lie_whole<O: Order>() -> bool {
        T::Width::FILLS_BYTES && F::LAYOUT.groups(T::Width::PER_REGISTER, O::ROW_MAJOR)
    }

    /// Stores the matrix at `at` of a tile: for any element type, on any GPU. `at` as for `load`.
    ///
    /// Where the elements of a register are neighbours in the tile, it goes there whole, else
    /// element by element.
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
                    let (down, right) =
                        F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: within the window, which is within the tile; chunks of 16 bytes, and
                    // the registers in them, lie whole.
                    unsafe { tile.store_register(row + down, col + right, *register, site) };
                }
                return;
            }
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: within the window, which is within the tile.
                unsafe {
                    tile.store(row + down, col + right, take::<T>(registers.as_ref(), index), site)
                };
            }
        });
    }

    /// Loads the matrix at `at` of a tile: for any element type, on any GPU. `at` as for `load`.
    ///
    /// Where the elements of a register are neighbours in the tile, they come from there at once,
    /// else one by one.
    #[inline(always)]
    #[track_caller]
    pub fn load_elements<
        C: Coordinate,
        const ROWS: usize,
        const COLS: usize,
        S: Swizzle,
        O: Order,
    >(
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
                    let (down, right) =
                        F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: within the window, which is within the tile; chunks of 16 bytes, and
                    // the registers in them, lie whole.
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
