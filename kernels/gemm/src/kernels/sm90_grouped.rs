//! The epilogue of a grouped GEMM on `wgmma`: threads store D.
//!
//! A group's last tile can be partial, and a TMA store would overwrite the first rows of the next
//! group. The rest of the kernel is [`sm90_wgmma`](super::sm90_wgmma), with [`GroupedTiles`] as the
//! tile scheduler.

use super::sm90_wgmma::{Accumulators, Config, EpilogueStore, Shared, gemm};
use crate::parts::tma::{WGMMA_M, place, store_by_threads, store_columns};
use crate::parts::{
    Epilogue, EpilogueArgs, GroupedTiles, Number, Output, TmaArgs, TmaOperands, Unroll, WorkTile,
};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::element::Bits32;
use ptx_matrix::fragment::{FragmentShape, RoleC};
use ptx_matrix::memory::TensorSwizzle;
use ptx_matrix::mma::{GroupAccumulator, M64, WgmmaColumns};
use ptx_matrix::prelude::*;

/// Computes a grouped GEMM, with the arguments of the table's kernels.
#[inline(always)]
pub fn grouped<
    C,
    Tile,
    const PART: usize,
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
    for<'k> GroupedStore<'k, Tile::Element, PART>: EpilogueStore<C::Staging, Accumulators<C>>,
{
    let TmaArgs { a, b, group_ends, epilogue, shape, .. } = args;
    let tiles = GroupedTiles { shape, ends: group_ends };
    gemm(block, shared, TmaOperands { a, b }, tiles, |ended| GroupedStore::<_, PART> {
        args: epilogue.get(ended).without_offset(),
        size: (shape.m as usize, shape.n as usize),
    });
}

/// Stores the rows of a group. An epilogue that does more than scale passes `PART` columns of
/// accumulators at a time through shared memory.
pub struct GroupedStore<'k, O: Output, const PART: usize> {
    /// The memory and the scalars. A bias per column has N elements for each group.
    pub args: EpilogueArgs<'k, O>,
    /// M and N.
    pub size: (usize, usize),
}

impl<
    O,
    S,
    const COLS: usize,
    const TILES: usize,
    const PART: usize,
    const N: usize,
    const M64_TILES: usize,
>
    EpilogueStore<
        SharedRing<SharedTile<O, WGMMA_M, COLS, S>, TILES>,
        [GroupAccumulator<N, O::Sum>; M64_TILES],
    > for GroupedStore<'_, O, PART>
where
    O: Output<Sum: Element<Width = Bits32>>,
    S: TensorSwizzle,
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
    M16N8K16: FragmentShape<RoleC, O::Width>,
    for<'a> [&'a GroupAccumulator<N, O::Sum>; M64_TILES]:
        Unroll<&'a GroupAccumulator<N, O::Sum>, M64_TILES>,
    for<'a> [&'a GroupAccumulator<N, O>; M64_TILES]: Unroll<&'a GroupAccumulator<N, O>, M64_TILES>,
{
    #[inline(always)]
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: SharedRing<SharedTile<O, WGMMA_M, COLS, S>, TILES>,
        tile: &WorkTile,
        at: (u32, u32),
        accumulators: &[GroupAccumulator<N, O::Sum>; M64_TILES],
    ) {
        const {
            assert!(
                N.is_multiple_of(TILES * COLS) && N.is_multiple_of(PART),
                "staging tiles do not go beyond the tile"
            )
        };
        let opaque = |number| group.block().opaque(number);
        let rows = tile.group.expect("a grouped GEMM's tile has a group").end;
        let (all_rows, cols) = self.size;
        let matrix = || self.args.matrix_d::<RowMajor>(0, (rows as usize).min(all_rows), cols);
        if self.args.only_scales() {
            if const { N > 2 * TILES * COLS } {
                let to = || (matrix(), (opaque(at.0) as usize, opaque(at.1) as usize));
                return store_by_threads(group, staging, accumulators, self.args.scalars.alpha, to);
            }
            // All staging tiles are written, then copied, without a loop: this is faster and takes
            // no more registers.
            accumulators.each_ref().map_each(
                #[inline(always)]
                |m64, accumulator| {
                    let scaled =
                        accumulator.map(group, |_, _, sum| sum.times(self.args.scalars.alpha));
                    let elements = O::narrow_group(group, &scaled);
                    for col in (0..N).step_by(TILES * COLS) {
                        for index in 0..TILES {
                            elements.store(group, &staging.part(index), col + index * COLS);
                        }
                        group.sync();
                        for index in 0..TILES {
                            let to =
                                (at.0 as usize + m64 * WGMMA_M, at.1 as usize + col + index * COLS);
                            staging.part(index).copy_to(group, matrix(), to);
                        }
                        group.sync();
                    }
                },
            );
            return;
        }
        let part = staging.reuse::<SharedRing<SharedTile<O::Sum, WGMMA_M, PART, S>, 2>>().part(0);
        let mut next = opaque(0);
        while next < (M64_TILES * N) as u32 {
            store_columns::<_, N, M64_TILES, PART>(
                group,
                accumulators,
                next,
                |accumulator, col| accumulator.store(group, &part, col),
            );
            group.sync();
            let d = matrix();
            let (row, col) = place::<N, M64_TILES>(next);
            let (row, col) = (opaque(at.0 + row) as usize, opaque(at.1 + col) as usize);
            let epilogue: Epilogue<'_, O> = self.args.epilogue(0, all_rows, cols);
            let index = opaque(tile.batch_of_b()) as usize;
            let is_per_column = !epilogue.bias.is_empty() && !epilogue.bias_per_row;
            let bias = if is_per_column { epilogue.bias.skip(index * cols) } else { epilogue.bias };
            let epilogue = Epilogue { bias, ..epilogue };
            epilogue.finish::<4, _, _, _>(
                group,
                part,
                (row, col),
                (d.rows(), d.cols()),
                |_, to, element| {
                    if let Some((row, col)) = to {
                        d.set(row, col, element);
                    }
                },
            );
            group.sync();
            next += PART as u32;
        }
    }
}
