//! The epilogue of a grouped GEMM on `wgmma`: threads store D.
//!
//! A group's last tile can be partial, and a TMA store would overwrite the first rows of the next
//! group. The rest of the kernel is [`sm90_wgmma`](super::sm90_wgmma), with [`GroupedTiles`] as the
//! tile scheduler.

use super::sm90_wgmma::{Accumulators, Config, Shared, gemm};
use crate::parts::tma::{WGMMA_M, store_by_threads, store_columns, subtile_coord};
use crate::parts::{
    Epilogue, EpilogueArgs, EpilogueStore, GroupedTiles, MatrixCoord, Output, Staging, TmaArgs,
    TmaOperands, Unroll, WorkTile,
};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::element::Bits32;
use ptx_matrix::fragment::{FragmentShape, RoleC};
use ptx_matrix::memory::TensorSwizzle;
use ptx_matrix::mma::{GroupAccumulator, M64, WgmmaColumns};
use ptx_matrix::prelude::*;

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
    for<'k> GroupedStore<'k, Tile::Element, EPI_N>: EpilogueStore<C::Staging, Accumulators<C>>,
{
    let TmaArgs { a, b, group_ends, epilogue, shape, .. } = args;
    let tiles = GroupedTiles { shape, ends: group_ends };
    gemm(block, shared, TmaOperands { a, b }, tiles, |ended| GroupedStore::<_, EPI_N> {
        args: epilogue.get(ended).without_offset(),
        m: shape.m as usize,
        n: shape.n as usize,
    });
}

/// Stores the rows of a group. If the epilogue does more than scale, sub-tiles of `EPI_N` columns
/// pass through shared memory.
pub struct GroupedStore<'k, O: Output, const EPI_N: usize> {
    /// The memory and the scalars. A bias per column has N elements for each group.
    pub args: EpilogueArgs<'k, O>,
    /// Rows of D, of all groups.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
}

impl<
    O,
    S,
    const COLS: usize,
    const TILES: usize,
    const EPI_N: usize,
    const N: usize,
    const M64_TILES: usize,
>
    EpilogueStore<
        SharedRing<SharedTile<O, WGMMA_M, COLS, S>, TILES>,
        [GroupAccumulator<N, O::Acc>; M64_TILES],
    > for GroupedStore<'_, O, EPI_N>
where
    O: Output<Acc: Element<Width = Bits32>>,
    S: TensorSwizzle,
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    for<'a> [&'a GroupAccumulator<N, O::Acc>; M64_TILES]:
        Unroll<&'a GroupAccumulator<N, O::Acc>, M64_TILES>,
    for<'a> [&'a GroupAccumulator<N, O>; M64_TILES]: Unroll<&'a GroupAccumulator<N, O>, M64_TILES>,
{
    #[inline]
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S>, TILES>>,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &[GroupAccumulator<N, O::Acc>; M64_TILES],
    ) {
        const {
            assert!(
                N.is_multiple_of(TILES * COLS) && N.is_multiple_of(EPI_N),
                "staging tiles do not go beyond the tile"
            )
        };
        let staging = staging.tiles;
        let opaque = |number| group.block().opaque(number);
        let rows = tile.group.expect("a grouped GEMM's tile has a group").end;
        let (all_rows, cols) = (self.m, self.n);
        let matrix = || self.args.matrix_d::<RowMajor>(0, (rows as usize).min(all_rows), cols);
        if self.args.only_scales() {
            if const { N > 2 * TILES * COLS } {
                let to = || (matrix(), (opaque(at.row) as usize, opaque(at.col) as usize));
                return store_by_threads(group, staging, accumulators, self.args.scalars, to);
            }
            // All staging tiles are written, then copied, without a loop: this is faster and takes
            // no more registers.
            accumulators.each_ref().map_each(
                #[inline]
                |m64, accumulator| {
                    let scaled = accumulator.map(group, |_, _, acc| self.args.scalars.scaled(acc));
                    let elements = O::narrow_group(group, &scaled);
                    for col in (0..N).step_by(TILES * COLS) {
                        for index in 0..TILES {
                            elements.store(group, &staging.part(index), col + index * COLS);
                        }
                        group.sync();
                        for index in 0..TILES {
                            let to = (
                                at.row as usize + m64 * WGMMA_M,
                                at.col as usize + col + index * COLS,
                            );
                            staging.part(index).copy_to(group, matrix(), to);
                        }
                        group.sync();
                    }
                },
            );
            return;
        }
        let subtile =
            staging.reuse::<SharedRing<SharedTile<O::Acc, WGMMA_M, EPI_N, S>, 2>>().part(0);
        let mut next = opaque(0);
        while next < (M64_TILES * N) as u32 {
            store_columns::<_, N, M64_TILES, EPI_N>(
                group,
                accumulators,
                next,
                |accumulator, col| accumulator.store(group, &subtile, col),
            );
            group.sync();
            let d = matrix();
            let MatrixCoord { row, col } = subtile_coord::<N, M64_TILES>(next);
            let (row, col) = (opaque(at.row + row) as usize, opaque(at.col + col) as usize);
            let epilogue: Epilogue<'_, O> = self.args.epilogue(0, all_rows, cols);
            let index = opaque(tile.batch_of_b()) as usize;
            let is_per_column = !epilogue.bias.is_empty() && !epilogue.bias_per_row;
            let bias = if is_per_column { epilogue.bias.skip(index * cols) } else { epilogue.bias };
            let epilogue = Epilogue { bias, ..epilogue };
            epilogue.apply::<4, _, _, _>(
                group,
                subtile,
                (row, col),
                (d.rows(), d.cols()),
                |_, to, element| {
                    if let Some((row, col)) = to {
                        d.set(row, col, element);
                    }
                },
            );
            group.sync();
            next += EPI_N as u32;
        }
    }
}
