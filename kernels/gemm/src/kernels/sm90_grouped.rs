//! The epilogue of a grouped GEMM on `wgmma`.
//!
//! A group's last tile can be partial, and must not overwrite the first rows of the next group. So
//! the tensor maps of C and D have a matrix for each row of D: 64 rows from this row on. The
//! matrices overlap. A consumer's tile is stored to the matrix that ends with the tile, or with the
//! group, and TMA cuts the tile off there.
//!
//! The rest of the kernel is [`sm90_wgmma`](super::sm90_wgmma), with [`GroupedTiles`] as the tile
//! scheduler.

use super::sm90_wgmma::{Accumulators, Config, Mainloop, Shared, gemm};
use crate::parts::tma::WGMMA_M;
use crate::parts::{
    EpilogueArgs, EpilogueStore, GroupedTiles, MatrixArgs, MatrixCoord, Output, Staging, TmaArgs,
    TmaStore, WorkTile,
};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::prelude::*;

/// Rows of the matrices in the tensor maps of C and D, and of a consumer's tile.
pub const GROUPED_ROWS: u32 = WGMMA_M as u32;

/// Computes a grouped GEMM, with the arguments of the table's kernels.
#[inline]
pub fn grouped<
    C,
    Tile,
    const EPI_N: usize,
    const STAGES: usize,
    const CONSUMERS: usize,
    const CLUSTER: usize,
>(
    block: &ClusterBlock<'_, CLUSTER>,
    shared: Shared<C, STAGES, CONSUMERS>,
    args: TmaArgs<'_, C::A, C::B, Tile>,
) where
    C: Config,
    Tile: BoxTile<Element: Output>,
    for<'k> TmaStore<'k, Tile, EPI_N>: EpilogueStore<C::Staging, Accumulators<C>>,
{
    const { assert!(C::Mainloop::ROWS == WGMMA_M, "a consumer has the rows of one matrix") }
    let ends = args.group_ends;
    let (operands, shape, store) = args.split::<EPI_N>();
    let tiles = GroupedTiles { shape, ends };
    gemm(block, shared, operands, tiles, |ended| GroupedStore(store(ended)));
}

/// Stores the rows of a group. In the epilogue of all groups, a bias per column has N elements for
/// each group.
pub struct GroupedStore<'k, Tile: BoxTile<Element: Output>, const EPI_N: usize>(
    pub TmaStore<'k, Tile, EPI_N>,
);

impl<'k, Tile: BoxTile<Element: Output>, const EPI_N: usize> GroupedStore<'k, Tile, EPI_N> {
    /// Calls `run` for a consumer's tile if it has rows of the group; its first element is at `at`
    /// of D. `run` gets the epilogue for the matrix that the tile is stored to, the tile, and its
    /// place in this matrix.
    ///
    /// No matrix ends before row 64. There, and without tensor maps, the matrix is all of D up to
    /// the group's end, and threads store the tile.
    #[inline]
    fn with_rows_of_group(
        &self,
        block: &Block<'_>,
        tile: &WorkTile,
        at: MatrixCoord,
        run: impl FnOnce(&TmaStore<'k, Tile, EPI_N>, &WorkTile, MatrixCoord),
    ) {
        let TmaStore { map, c, args, m, n } = self.0;
        let end = tile.group.expect("a grouped GEMM's tile has a group").end.min(m);
        if at.row >= end {
            return;
        }
        let stop = end.min(at.row + GROUPED_ROWS);
        let by_tma = map.is_some() && stop >= GROUPED_ROWS;
        let (first, m) = if by_tma { (stop - GROUPED_ROWS, GROUPED_ROWS) } else { (0, end) };
        let bias_from = match args.scalars.bias_per_row {
            0 => block.opaque(tile.batch_of_b()) as usize * n as usize,
            _ => first as usize,
        };
        let bias = if args.bias.is_empty() { args.bias } else { args.bias.skip(bias_from) };
        let d_layout = MatrixArgs { batch_stride: args.d_layout.ld as usize, ..args.d_layout };
        let args = EpilogueArgs { bias, d_layout, ..args };
        let (map, c) = (map.filter(|_| by_tma), c.filter(|_| by_tma));
        run(
            &TmaStore { map, c, args, m, n },
            &WorkTile { batch: first, ..*tile },
            MatrixCoord { row: at.row - first, ..at },
        );
    }
}

impl<Tile, Tiles, Accumulators, const EPI_N: usize> EpilogueStore<Tiles, Accumulators>
    for GroupedStore<'_, Tile, EPI_N>
where
    Tile: BoxTile<Element: Output>,
    for<'k> TmaStore<'k, Tile, EPI_N>: EpilogueStore<Tiles, Accumulators>,
{
    #[inline]
    fn begin(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<Tiles>,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        self.with_rows_of_group(group.block(), tile, at, |store, tile, at| {
            store.begin(group, staging, tile, at)
        });
    }

    #[inline]
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<Tiles>,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &Accumulators,
    ) {
        self.with_rows_of_group(group.block(), tile, at, |store, tile, at| {
            store.store(group, staging, tile, at, accumulators)
        });
    }
}
