//! Moves accumulators of `wgmma` between registers and tiles in shared memory.

use super::accumulator::{IN_PART, RegistersOf, cast, cast_mut};
use super::{GroupAccumulator, M64, WgmmaColumns};
use crate::element::Element;
use crate::fragment::{FragmentShape, M16N8K16, RoleC, RowAddr, put, take};
use crate::lane::{PerLane, Site, array};
use crate::machine::fixed;
use crate::memory::{Order, SharedTile, Swizzle};
use crate::mma::{B16, Count, LdMatrix, NoTrans, StMatrix, Trans, X2, X4};
use crate::scope::{Warp, WarpGroup};
use crate::target::{AtLeast, BuiltFor};

impl<const N: usize, T: Element> GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
    M16N8K16: FragmentShape<RoleC, T::Width>,
{
    /// Stores the columns from `first` on to a tile, as many as the tile has. Each warp stores its
    /// 16 rows. Needs sm_90.
    ///
    /// | elements | columns | instruction |
    /// | --- | --- | --- |
    /// | 16 bits | 16 at a time | `stmatrix.x4` |
    /// | 16 bits | the last 8, if 16 does not divide them | `stmatrix.x2` |
    /// | others | | ordinary stores |
    ///
    /// For a column-major tile, `stmatrix` has `.trans`. `first` is a multiple of 8, and the
    /// columns are in the matrix.
    ///
    /// ```
    /// use ptx_matrix::{mma::GroupAccumulator, prelude::*};
    ///
    /// #[kernel(threads = 128, target = "sm_90")]
    /// fn store(
    ///     block: &Block,
    ///     #[shared] tile: SharedTile<f16, 64, 32, Swizzle64>,
    ///     d: GlobalMut<f16>,
    /// ) {
    ///     let group = block.warp_group();
    ///     let numbers =
    ///         GroupAccumulator::<64, f32>::from_fn(group, |row, col| (row * 64 + col) as f32)
    ///             .round::<f16>(group);
    ///     numbers.store(group, &tile, 16);
    ///     group.sync();
    ///     tile.for_each(group, |row, col, value| d.set(row * 32 + col, value));
    /// }
    ///
    /// let mut d = [f16::ZERO; 64 * 32];
    /// store::simulate(1, &mut d).check();
    /// assert_eq!(d[17 * 32 + 5].to_f32(), (17 * 64 + 21) as f32);
    /// ```
    ///
    /// # Panics
    /// If the columns are not in the matrix, or `first` is no multiple of 8.
    #[inline]
    #[track_caller]
    pub fn store<const COLS: usize, S: Swizzle, O: Order>(
        &self,
        group: WarpGroup<'_>,
        tile: &SharedTile<T, 64, COLS, S, O>,
        first: usize,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        const { assert!(COLS.is_multiple_of(8) && COLS <= N, "multiples of 8 columns are stored") };
        assert!(
            first.is_multiple_of(8) && first <= N - COLS,
            "columns of the matrix from a multiple of 8 on"
        );
        // SAFETY: the columns are in the matrix, and the tile has as many.
        unsafe { self.store_some::<COLS, COLS, S, O>(group, tile, first, 0, Site::here()) }
    }

    /// Stores the matrix to the columns of a tile from `first` on. Otherwise like
    /// [`store`](Self::store).
    ///
    /// `first` is a multiple of 8. The columns are in the tile. See [`load`](Self::load) for an
    /// example.
    ///
    /// # Panics
    /// If the columns are not in the tile, or `first` is no multiple of 8.
    #[inline]
    #[track_caller]
    pub fn store_columns<const COLS: usize, S: Swizzle, O: Order>(
        &self,
        group: WarpGroup<'_>,
        tile: &SharedTile<T, 64, COLS, S, O>,
        first: usize,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        Self::check_columns::<COLS>(first);
        // SAFETY: the columns are in the tile, as checked.
        unsafe { self.store_some::<N, COLS, S, O>(group, tile, 0, first, Site::here()) }
    }

    /// Loads the columns of a tile from `first` on. Each warp loads its 16 rows.
    ///
    /// | elements | columns | instruction |
    /// | --- | --- | --- |
    /// | 16 bits | 16 at a time | `ldmatrix.x4` |
    /// | 16 bits | the last 8, if 16 does not divide them | `ldmatrix.x2` |
    /// | others | | ordinary loads |
    ///
    /// For a column-major tile, `ldmatrix` has `.trans`. `first` is a multiple of 8. The columns
    /// are in the tile.
    ///
    /// ```
    /// use ptx_matrix::{mma::GroupAccumulator, prelude::*};
    ///
    /// /// Adds one to some columns.
    /// #[kernel(threads = 128, target = "sm_90")]
    /// fn add(
    ///     block: &Block,
    ///     #[shared] tile: SharedTile<f16, 64, 32, Swizzle64>,
    ///     d: GlobalMut<f16>,
    /// ) {
    ///     let group = block.warp_group();
    ///     tile.fill(group, |row, col| f16::from_f32((row * 32 + col) as f32));
    ///     group.sync();
    ///     let numbers = GroupAccumulator::<16, f16>::load(group, &tile, 8);
    ///     let more = numbers.map(group, |_, _, number| number + f16::ONE);
    ///     // The lanes of a warp hold elements of each other's rows.
    ///     group.warp().sync();
    ///     more.store_columns(group, &tile, 8);
    ///     group.sync();
    ///     tile.for_each(group, |row, col, value| d.set(row * 32 + col, value));
    /// }
    ///
    /// let mut d = [f16::ZERO; 64 * 32];
    /// add::simulate(1, &mut d).check();
    /// assert_eq!([7, 8, 23, 24].map(|col| d[32 + col].to_f32()), [39.0, 41.0, 56.0, 56.0]);
    /// ```
    ///
    /// # Panics
    /// If the columns are not in the tile, or `first` is no multiple of 8.
    #[inline]
    #[track_caller]
    pub fn load<const COLS: usize, S: Swizzle, O: Order>(
        group: WarpGroup<'_>,
        tile: &SharedTile<T, 64, COLS, S, O>,
        first: usize,
    ) -> Self {
        Self::check_columns::<COLS>(first);
        let (warp, top, site) = (group.warp(), 16 * group.warp_rank(), Site::here());
        let tile = fixed_tile(tile);
        let mut registers = PerLane::splat(bytemuck::Zeroable::zeroed());
        if const { size_of::<T>() != 2 } {
            warp.update(&mut registers, |lane, registers: &mut RegistersOf<N, T>| {
                let id = fixed(lane.id() as u32) as usize;
                for index in 0..Self::ELEMENTS {
                    let (row, col) = Self::position(id, index);
                    // SAFETY: the element is in the warp's 16 rows and in the tile's columns.
                    let element = unsafe { tile.load(lane, top + row, first + col, site) };
                    put::<T>(cast_mut::<T>(registers.as_mut()), index, element);
                }
            });
            return GroupAccumulator { registers };
        }
        for right in (0..N).step_by(16) {
            let is_last_half = N - right == 8;
            // SAFETY: the columns are in the tile, as checked.
            let lines = unsafe { lines(warp, &tile, top, first + right, is_last_half) };
            let at = right / 4;
            if is_last_half {
                let loaded = load_matrices::<X2, O>(warp, lines, site);
                warp.update(&mut registers, |lane, registers: &mut RegistersOf<N, T>| {
                    registers.as_mut()[at..at + 2].copy_from_slice(&lane.get(&loaded));
                });
            } else {
                let loaded = load_matrices::<X4, O>(warp, lines, site);
                warp.update(&mut registers, |lane, registers: &mut RegistersOf<N, T>| {
                    registers.as_mut()[at..at + 4].copy_from_slice(&lane.get(&loaded));
                });
            }
        }
        GroupAccumulator { registers }
    }

    /// Checks that a tile has the matrix's columns from `first` on.
    #[inline]
    #[track_caller]
    fn check_columns<const COLS: usize>(first: usize) {
        const { assert!(N <= COLS, "a tile has the matrix's columns") };
        assert!(
            first.is_multiple_of(8) && first <= COLS - N,
            "columns of the tile from a multiple of 8 on"
        );
    }

    /// Stores `COUNT` columns from `from` on to those of a tile from `to` on.
    ///
    /// # Safety
    /// The columns are in the matrix and in the tile; `from` and `to` are multiples of 8.
    #[inline]
    unsafe fn store_some<const COUNT: usize, const COLS: usize, S: Swizzle, O: Order>(
        &self,
        group: WarpGroup<'_>,
        tile: &SharedTile<T, 64, COLS, S, O>,
        from: usize,
        to: usize,
        site: Site,
    ) {
        let (warp, top) = (group.warp(), 16 * group.warp_rank());
        let tile = fixed_tile(tile);
        if const { size_of::<T>() != 2 } {
            let registers = &self.registers;
            warp.each(|lane| {
                let registers = lane.get(registers);
                for part in 0..COUNT / 8 {
                    let id = fixed(lane.id() as u32) as usize;
                    for index in part * IN_PART..(part + 1) * IN_PART {
                        let (row, col) = Self::position(id, index);
                        let element = take::<T>(cast::<T>(registers.as_ref()), from / 2 + index);
                        // SAFETY: the element is in the warp's 16 rows and in the tile's columns.
                        unsafe { tile.store(top + row, to + col, element, site) };
                    }
                }
            });
            return;
        }
        for right in (0..COUNT).step_by(16) {
            let is_last_half = COUNT - right == 8;
            // SAFETY: the columns are in the tile, as the caller guarantees.
            let lines = unsafe { lines(warp, &tile, top, to + right, is_last_half) };
            // In 8 columns, a lane has two registers: one of rows 0 to 7, one of rows 8 to 15.
            let at = (from + right) / 4;
            if is_last_half {
                store_matrices::<X2, O>(warp, lines, self.taken(at), site);
            } else {
                store_matrices::<X4, O>(warp, lines, self.taken(at), site);
            }
        }
    }

    /// `COUNT` registers of each lane, from register `at` on.
    #[inline]
    fn taken<const COUNT: usize>(&self, at: usize) -> PerLane<[u32; COUNT]> {
        self.registers.map(|registers| array(|index| registers.as_ref()[at + index]))
    }
}

/// The same tile. In a loop, the addresses of its elements must not occupy registers during the
/// next mainloop: the compiler cannot compute them ahead.
#[inline]
fn fixed_tile<T: Element, const COLS: usize, S: Swizzle, O: Order>(
    tile: &SharedTile<T, 64, COLS, S, O>,
) -> SharedTile<T, 64, COLS, S, O> {
    // SAFETY: this is the tile's own address.
    unsafe { SharedTile::from_address(fixed(tile.address())) }
}

/// The addresses of 16 rows and 16 columns of a tile from (`top`, `left`) on, or of the first 8 of
/// these columns, for `ldmatrix` and `stmatrix`. Each lane has that of a row, or of a column if the
/// tile is column-major: always 16 bytes.
///
/// # Safety
/// These rows and columns are in the tile, and `top` and `left` are multiples of 8.
#[inline]
unsafe fn lines<T: Element, const COLS: usize, S: Swizzle, O: Order>(
    warp: Warp<'_>,
    tile: &SharedTile<T, 64, COLS, S, O>,
    top: usize,
    left: usize,
    is_half: bool,
) -> PerLane<RowAddr> {
    warp.each(|lane| {
        let id = fixed(lane.id() as u32) as usize % if is_half { 16 } else { 32 };
        let (row, col) = if O::ROW_MAJOR {
            (id % 16, id / 16 * 8)
        } else {
            (id / 8 % 2 * 8, id / 16 * 8 + id % 8)
        };
        // SAFETY: as the caller guarantees. Each address is that of a whole chunk of 16 bytes.
        unsafe { tile.row_unchecked(top + row, left + col) }
    })
}

/// Stores a warp's matrices to a tile of this order, at the addresses of [`lines`].
#[inline]
fn store_matrices<N: Count, O: Order>(
    warp: Warp<'_>,
    lines: PerLane<RowAddr>,
    registers: PerLane<N::Registers>,
    site: Site,
) {
    if O::ROW_MAJOR {
        StMatrix::<N, NoTrans, B16>::store_at(warp, lines, registers, site);
    } else {
        StMatrix::<N, Trans, B16>::store_at(warp, lines, registers, site);
    }
}

/// Loads a warp's matrices from a tile of this order, at the addresses of [`lines`].
#[inline]
fn load_matrices<N: Count, O: Order>(
    warp: Warp<'_>,
    lines: PerLane<RowAddr>,
    site: Site,
) -> PerLane<N::Registers> {
    if O::ROW_MAJOR {
        LdMatrix::<N, NoTrans, B16>::load_at(warp, lines, site)
    } else {
        LdMatrix::<N, Trans, B16>::load_at(warp, lines, site)
    }
}
