//! Loads fragments from shared tiles and stores them there.

use crate::element::{Bits16, Element, Width};
use crate::fragment::{Fragment, FragmentShape, Layout, Role, RowAddr, put, take};
use crate::lane::{PerLane, Site};
use crate::memory::{Coordinate, Order, SharedTile, Swizzle, Window, check_known};
use crate::mma::{B16, CountOf, LdMatrix, NoTrans, StMatrix, Trans};
use crate::scope::Warp;
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;

/// The window of a fragment in a tile.
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

/// The row addresses of a fragment in a tile of order `O`, one in each lane, for `ldmatrix` and
/// `stmatrix`.
///
/// [`Fragment::rows`] computes them once, for any number of loads and stores. With `ColMajor`, they
/// are addresses of columns.
pub struct FragmentRows<Frag, O> {
    rows: PerLane<RowAddr>,
    _fragment: PhantomData<fn() -> (Frag, O)>,
}

impl<Frag, O> Clone for FragmentRows<Frag, O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<Frag, O> Copy for FragmentRows<Frag, O> {}

/// Checks that a fragment consists of the 8x8 matrices of `ldmatrix`. All fragments of 16-bit
/// elements do, except those of `M8N8K4Quad`.
const fn check_8x8<R: Role>(layout: Layout) {
    assert!(
        layout.is_of_matrices(Bits16::PER_REGISTER, R::PACKS_ROWS),
        "the fragments of this shape are not made of the 8x8 matrices of `ldmatrix`: use \
         `load_elements` and `store`"
    );
}

/// Loads and stores with `ldmatrix` and `stmatrix`, for 16-bit elements.
///
/// Each register of a fragment is one 8x8 matrix: the first holds the element of index 0, the
/// second that of index 2, and so on.
impl<R, F, T> Fragment<R, F, T>
where
    R: Role,
    F: FragmentShape<R, Bits16>,
    T: Element<Width = Bits16>,
    F::Registers: CountOf,
{
    /// Loads the fragment at `at` of a tile, with one `ldmatrix` (PTX ISA 9.7.14.5.15).
    ///
    /// The types select the form. The count is the number of the fragment's registers. `.trans` is
    /// used for A from a column-major tile and for B from a row-major tile.
    ///
    /// `at` is a `(row, col)`, or an [`At`](crate::memory::At), checked at compile time. Along the
    /// tile's contiguous side it is a multiple of 8.
    #[inline]
    #[track_caller]
    pub fn load<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> Self {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        Self::load_rows(warp, Self::rows(warp, tile, at))
    }

    /// Stores the fragment at `at` of a tile, with one `stmatrix` (PTX ISA 9.7.14.5.16). Needs
    /// sm_90.
    ///
    /// `at` is as for [`load`](Self::load).
    #[inline]
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

    /// Computes the addresses for [`load_rows`](Self::load_rows) and
    /// [`store_rows`](Self::store_rows), outside of a mainloop.
    ///
    /// `at` is as for [`load`](Self::load).
    #[inline]
    #[track_caller]
    pub fn rows<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) -> FragmentRows<Self, O> {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        const { check_8x8::<R>(F::LAYOUT) };
        let (row, col) =
            at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), Site::here());
        let tile = *tile;
        let rows = warp.each(|lane| {
            let (down, right) = Self::place::<O>(lane, 1);
            // SAFETY: the row is in the window, and the window is in the tile. Along the contiguous
            // side it starts at a multiple of 8 elements.
            unsafe { tile.row_unchecked(row + down, col + right) }
        });
        FragmentRows { rows, _fragment: PhantomData }
    }

    /// Loads the fragment from the addresses of [`rows`](Self::rows), with one `ldmatrix`.
    #[inline]
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

    /// Stores the fragment to the addresses of [`rows`](Self::rows), with one `stmatrix`. Needs
    /// sm_90.
    #[inline]
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
    /// Whether the elements of a register are neighbours in tiles of this order too.
    const fn registers_lie_whole<O: Order>() -> bool {
        T::Width::FILLS_BYTES && F::LAYOUT.groups(T::Width::PER_REGISTER, O::ROW_MAJOR)
    }

    /// Stores the fragment at `at` of a tile: for any element type, on any GPU.
    ///
    /// One store moves a whole register if its elements are neighbours in the tile. Otherwise each
    /// element has a store of its own. `at` is as for `load`.
    #[inline]
    #[track_caller]
    pub fn store<C: Coordinate, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        &self,
        warp: Warp<'_>,
        tile: &SharedTile<T, ROWS, COLS, S, O>,
        at: C,
    ) {
        const { check_known::<C, In<Self, SharedTile<T, ROWS, COLS, S, O>>>() };
        let site = Site::here();
        let (row, col) =
            at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), site);
        let (tile, registers) = (*tile, &self.registers);
        warp.each(|lane| {
            let registers = lane.get(registers);
            if Self::registers_lie_whole::<O>() {
                for (index, register) in registers.as_ref().iter().enumerate() {
                    let (down, right) =
                        F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: the register is in the window, and the window is in the tile. The
                    // swizzle moves whole chunks of 16 bytes, so it does not split a register.
                    unsafe { tile.store_register(row + down, col + right, *register, site) };
                }
                return;
            }
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: the element is in the window, and the window is in the tile.
                unsafe {
                    tile.store(row + down, col + right, take::<T>(registers.as_ref(), index), site)
                };
            }
        });
    }

    /// Loads the fragment at `at` of a tile: for any element type, on any GPU.
    ///
    /// One load fills a whole register if its elements are neighbours in the tile. Otherwise each
    /// element has a load of its own. `at` is as for `load`.
    #[inline]
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
        let (row, col) =
            at.resolve::<In<Self, SharedTile<T, ROWS, COLS, S, O>>>(tile.address(), site);
        let tile = *tile;
        Self::from_registers(warp.each(|lane| {
            let mut registers: F::Registers = bytemuck::Zeroable::zeroed();
            if Self::registers_lie_whole::<O>() {
                for (index, register) in registers.as_mut().iter_mut().enumerate() {
                    let (down, right) =
                        F::LAYOUT.position(lane.id(), index * T::Width::PER_REGISTER);
                    // SAFETY: the register is in the window, and the window is in the tile. The
                    // swizzle moves whole chunks of 16 bytes, so it does not split a register.
                    *register = unsafe { tile.load_register(lane, row + down, col + right, site) };
                }
                return registers;
            }
            for index in 0..F::LAYOUT.elements() {
                let (down, right) = F::LAYOUT.position(lane.id(), index);
                // SAFETY: the element is in the window, and the window is in the tile.
                let value = unsafe { tile.load(lane, row + down, col + right, site) };
                put::<T>(registers.as_mut(), index, value);
            }
            registers
        }))
    }
}
