//! The epilogue by TMA: staging tiles in shared memory, and TMA stores that overlap the next tile.

use super::staging::Staging;
use super::unroll::Unroll;
use crate::parts::epilogue::{Epilogue, EpilogueArgs};
use crate::parts::number::{Activation, Output};
use crate::parts::scheduler::{MatrixCoord, WorkTile};
use core::ops::Range;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::element::Bits32;
use ptx_matrix::fragment::{FragmentShape, Order, RoleC};
use ptx_matrix::memory::{GlobalMatrixMut, TensorSwizzle};
use ptx_matrix::mma::{GroupAccumulator, M64, WgmmaColumns};
use ptx_matrix::prelude::*;

/// Rows of one `wgmma`: `m64`.
pub const WGMMA_M: usize = 64;

/// The epilogue with TMA store: D = f(alpha A x B + beta C + bias), through staging tiles `Tile` in
/// shared memory (CUTLASS's `CollectiveEpilogue`).
///
/// | case | path |
/// | --- | --- |
/// | D = alpha A x B | scaled in registers; staging tiles; TMA store |
/// | beta, a bias, an activation | TMA loads C; sub-tiles of `EPI_N` columns; TMA store |
/// | split-K in two launches | sub-tiles; threads store the partial accumulators, unscaled |
///
/// After `wgmma`, the sub-tiles are in registers. After `mma`, and with split-K, they are in shared
/// memory. If TMA cannot write D, threads store it in place of the TMA store, and load C.
///
/// After `wgmma`, C comes into the staging tiles, in rounds that fill them. The first round is
/// loaded while the tile is multiplied, and the rest of C then goes into the L2 cache. D replaces C
/// in the tiles.
///
/// With beta = 0, C is not read. With alpha = 0, accumulators are still multiplied by it: a NaN
/// among them stays a NaN. The host's `Gemm` launches no such kernel for alpha = 0: it computes
/// D = f(beta C + bias) without A and B.
///
/// An epilogue of your own can pass its results to this one, in place of accumulators. Then alpha,
/// beta, the bias and the activation apply to these results.
pub struct TmaStore<'k, Tile, const EPI_N: usize>
where
    Tile: BoxTile<Element: Output>,
{
    /// D of all GEMMs of the batch, if TMA can write it.
    pub map: Option<TensorMapMut<'k, Tile, 3>>,
    /// C of all GEMMs of the batch, if the epilogue reads it, and TMA can load it and store D.
    pub c: Option<TensorMap<'k, Tile, 3>>,
    /// The epilogue's arguments.
    pub args: EpilogueArgs<'k, Tile::Element>,
    /// Rows of D.
    pub m: u32,
    /// Columns of D.
    pub n: u32,
}

impl<O, S, L, const ROWS: usize, const COLS: usize, const EPI_N: usize>
    TmaStore<'_, SharedTile<O, ROWS, COLS, S, L>, EPI_N>
where
    O: Output,
    S: TensorSwizzle,
    L: Order,
{
    /// One D of the batch, which threads store.
    #[inline]
    pub fn matrix(&self, batch: u32) -> GlobalMatrixMut<'_, O, L> {
        self.args.matrix_d(batch as usize, self.m as usize, self.n as usize)
    }

    /// The epilogue of the tile's matrix, and the matrix's size.
    ///
    /// Sizes, the batch and the activation are opaque to the compiler here, so that it computes
    /// nothing in advance: registers are short in the mainloop.
    #[inline]
    fn epilogue(&self, block: &Block<'_>, tile: &WorkTile) -> (Epilogue<'_, O, L>, (u32, u32)) {
        let opaque = |number| block.opaque(number);
        let (rows, cols) = (self.m as usize, self.n as usize);
        let mut epilogue = self.args.epilogue::<L>(opaque(tile.batch) as usize, rows, cols);
        epilogue.bias_per_row = opaque(epilogue.bias_per_row.into()) != 0;
        epilogue.activation = Activation::of(opaque(epilogue.activation as u32));
        (epilogue, (opaque(self.m), opaque(self.n)))
    }

    /// Stores the partial accumulators of split-K in a sub-tile; its first element is at `at` of D.
    #[inline]
    fn store_partials<const SUB_ROWS: usize>(
        &self,
        block: &Block<'_>,
        threads: impl Threads,
        subtile: SharedTile<O::Acc, SUB_ROWS, EPI_N, S, L>,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        let opaque = |number| block.opaque(number);
        let (rows, cols) = (opaque(self.m) as usize, opaque(self.n) as usize);
        let (top, left) = (opaque(at.row) as usize, opaque(at.col) as usize);
        let partial = opaque(tile.partial) as usize;
        let ld = if L::ROW_MAJOR { cols } else { rows };
        let to = self.args.partials.skip(partial * rows * cols);
        let to = GlobalMatrixMut::<_, L>::new(to, rows, cols, ld);
        subtile.for_each(threads, |row, col, acc| {
            if top + row < rows && left + col < cols {
                to.set(top + row, left + col, acc);
            }
        });
    }

    /// Applies the epilogue to a sub-tile of accumulators in shared memory; its first element is at
    /// `at` of D.
    ///
    /// Threads store partial accumulators with split-K, or elements of D. If TMA stores D, `set`
    /// gets each element with its place in the tile, and the function returns true. A thread
    /// handles `BATCH` elements at a time.
    #[inline]
    pub fn apply_subtile<const BATCH: usize>(
        &self,
        block: &Block<'_>,
        threads: impl Threads,
        subtile: SharedTile<O::Acc, ROWS, EPI_N, S, L>,
        tile: &WorkTile,
        at: MatrixCoord,
        set: impl Fn(usize, usize, O) + LaneCapture,
    ) -> bool {
        if !self.args.partials.is_empty() {
            self.store_partials(block, threads, subtile, tile, at);
            return false;
        }
        let (epilogue, (rows, cols)) = self.epilogue(block, tile);
        let at = (block.opaque(at.row) as usize, block.opaque(at.col) as usize);
        let stores_by_tma = self.map.is_some();
        let d = (!stores_by_tma).then(|| self.matrix(block.opaque(tile.batch)));
        let put = |place: (usize, usize), to: Option<(usize, usize)>, element| match (d, to) {
            (Some(d), Some((row, col))) => d.set(row, col, element),
            (Some(_), None) => {}
            (None, _) => set(place.0, place.1, element),
        };
        epilogue.apply::<BATCH, _, _, _>(threads, subtile, at, (rows as usize, cols as usize), put);
        stores_by_tma
    }

    /// Starts TMA stores of staging tiles: the first to `to` in D, the others adjacent along N. The
    /// caller has put a proxy fence and a sync after the writes to the tiles.
    #[inline]
    pub fn store_tiles<const TILES: usize>(
        &self,
        warp: Warp<'_>,
        staging: SharedRing<SharedTile<O, ROWS, COLS, S, L>, TILES>,
        which: Range<usize>,
        to: MatrixCoord,
        batch: u32,
    ) {
        let Some(map) = self.map else { return };
        warp.elect(|lane| {
            for index in which.clone() {
                let to = to.offset(0, ((index - which.start) * COLS) as u32);
                staging.part(index).store_tma(lane, map.at(coordinates::<L>(to, batch)));
            }
            BulkGroup::commit(lane);
        });
    }
}

impl<O, S, L, const COLS: usize, const EPI_N: usize>
    TmaStore<'_, SharedTile<O, WGMMA_M, COLS, S, L>, EPI_N>
where
    O: Output<Acc: Element<Width = Bits32>>,
    S: TensorSwizzle,
    L: Order,
{
    /// Starts to load C before the tile is multiplied: a round into the staging tiles, and the rest
    /// into the L2 cache. The first element of C is at `at`.
    #[inline]
    pub fn begin_c<const TILES: usize, const N: usize, const M64_TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        const { assert!(N.is_multiple_of(COLS), "staging tiles do not go beyond the tile") }
        let Some(c) = self.c else { return };
        self.load_c(group, staging, TILES.min(N / COLS), tile, at);
        if const { TILES * COLS < M64_TILES * N } && group.warp_rank() == 0 {
            // Opaque to the compiler, which would unroll the loop.
            let first = group.block().opaque((TILES * COLS).min(N) as u32);
            group.warp().elect(|lane| {
                let mut next = first;
                while next < (M64_TILES * N) as u32 {
                    let MatrixCoord { row, col } = subtile_coord::<N, M64_TILES>(next);
                    c.at(coordinates::<L>(at.offset(row, col), tile.batch)).prefetch(lane);
                    next += COLS as u32;
                }
            });
        }
    }

    /// Starts to load C from `at` on into `count` staging tiles, adjacent along N, when earlier TMA
    /// stores have read them.
    #[inline]
    fn load_c<const TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        count: usize,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        let Some(c) = self.c else { return };
        let (tiles, full) = (staging.tiles, staging.begin_load());
        if group.warp_rank() == 0 {
            // Opaque to the compiler, which would unroll the loop.
            let count = group.block().opaque(count as u32);
            group.warp().elect(|lane| {
                BulkGroup::wait_read::<0>(lane);
                let bytes = SharedTile::<O, WGMMA_M, COLS, S, L>::BOX_BYTES;
                full.arrive_expecting(lane, count * bytes);
                for index in 0..count {
                    let from = coordinates::<L>(at.offset(0, index * COLS as u32), tile.batch);
                    tiles.part(index as usize).load_tma(lane, c.at(from), full);
                }
            });
        }
    }

    /// [`store_tiles`](Self::store_tiles) for staging tiles that a warpgroup has written.
    #[inline]
    pub fn store_group<const TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>,
        which: Range<usize>,
        to: MatrixCoord,
        batch: u32,
    ) {
        group.warp().fence_for_bulk();
        group.sync();
        if group.warp_rank() == 0 {
            self.store_tiles(group.warp(), staging, which, to, batch);
        }
    }

    /// Stores the first `count` staging tiles, which a warpgroup has written: to `to` in D,
    /// adjacent along N. If TMA cannot, the threads do.
    #[inline]
    fn store_round<const TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>,
        count: usize,
        to: MatrixCoord,
        batch: u32,
    ) {
        if self.map.is_some() {
            return self.store_group(group, staging, 0..count, to, batch);
        }
        group.sync();
        let opaque = |number| group.block().opaque(number);
        let matrix = self.matrix(opaque(batch));
        // The bounds are opaque to the compiler, which would unroll the loop.
        for index in 0..opaque(count as u32) {
            let to = to.offset(0, index * COLS as u32);
            let staged = staging.part(opaque(index) as usize);
            staged.copy_to(group, matrix, (to.row as usize, to.col as usize));
        }
        // TMA may load the C of another tile next.
        group.warp().fence_for_bulk();
        group.sync();
    }

    /// Waits until the staging tiles are free, or until TMA has loaded C into them. If TMA cannot,
    /// the threads load C from `at` on into `count` tiles, adjacent along N.
    #[inline]
    fn wait_for_tiles<const TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        phase: Phase,
        count: usize,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        if self.c.is_some() {
            return staging.wait(group, phase);
        }
        wait_for_stores(group);
        let opaque = |number| group.block().opaque(number);
        let (rows, cols) = (opaque(self.m) as usize, opaque(self.n) as usize);
        if let Some(c) = self.args.matrix_c::<L>(opaque(tile.batch) as usize, rows, cols) {
            // The bounds are opaque to the compiler, which would unroll the loop.
            for index in 0..opaque(count as u32) {
                let (top, left) = (at.row as usize, (at.col + index * COLS as u32) as usize);
                staging.tiles.part(opaque(index) as usize).fill(group, |row, col| {
                    let (row, col) = (top + row, left + col);
                    if row < rows && col < cols { c.get(row, col) } else { O::zeroed() }
                });
            }
            group.sync();
        }
    }

    /// Stores accumulators with an epilogue that does more than scale, or to a D that TMA cannot
    /// write.
    ///
    /// Sub-tiles of the accumulators are handled in a loop that is not unrolled. Handled all at
    /// once, these cases would cost the common case time and registers.
    ///
    /// In each round, C fills the staging tiles, then D in its place. `first_load` is the phase of
    /// the first round.
    #[inline]
    pub fn store_general<const TILES: usize, const N: usize, const M64_TILES: usize>(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<SharedRing<SharedTile<O, WGMMA_M, COLS, S, L>, TILES>>,
        first_load: Phase,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &[GroupAccumulator<N, O::Acc>; M64_TILES],
    ) where
        M64<N>: WgmmaColumns<Bits32>,
        M64<EPI_N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
        for<'a> [&'a GroupAccumulator<N, O::Acc>; M64_TILES]:
            Unroll<&'a GroupAccumulator<N, O::Acc>, M64_TILES>,
    {
        const {
            assert!(
                N.is_multiple_of(EPI_N) && COLS.is_multiple_of(EPI_N),
                "tiles and staging tiles have whole epilogue sub-tiles"
            );
        }
        let block = group.block();
        let opaque = |number| block.opaque(number);
        let tiles = staging.tiles;
        let rounds = const { N.div_ceil(TILES * COLS) as u32 };
        if self.c.is_some() && !staging.is_loading() {
            self.load_c(group, staging, TILES.min(N / COLS), tile, at);
        }
        let mut next = opaque(0);
        while next < (M64_TILES * N) as u32 {
            let MatrixCoord { row, col } = subtile_coord::<N, M64_TILES>(next);
            let to = at.offset(row, col);
            let place = MatrixCoord { row: opaque(to.row), col: opaque(to.col) };
            // Before the first use of accumulators, so that the loads end in the meantime.
            let size = (opaque(self.m), opaque(self.n));
            let bias = self.args.group_bias::<EPI_N>(group, place, size);
            let mut subtile = GroupAccumulator::<EPI_N, O::Acc>::zero();
            store_columns::<_, N, M64_TILES, EPI_N>(group, accumulators, next, |of, col| {
                // With a sync, ptxas branches. Without, it moves all registers, with predicates.
                group.warp().sync();
                subtile = of.columns(col)
            });
            next += EPI_N as u32;
            if !self.args.partials.is_empty() {
                let shared = tiles.reuse::<SharedTile<O::Acc, WGMMA_M, EPI_N, S, L>>();
                subtile.store_columns(group, &shared, 0);
                group.sync();
                self.store_partials(block, group, shared, tile, to);
                group.sync();
                continue;
            }
            let done = col as usize % (TILES * COLS);
            if done == 0 {
                let count = TILES.min((N - col as usize) / COLS);
                let round = row / WGMMA_M as u32 * rounds + col / (TILES * COLS) as u32;
                self.wait_for_tiles(group, staging, first_load.after(round), count, tile, to);
            }
            let (staged, first) = (tiles.part(done / COLS), done % COLS);
            let c = self.args.reads_c().then(|| {
                let c = GroupAccumulator::<EPI_N, O>::load(group, &staged, first);
                // The lanes of a warp hold elements of each other's rows.
                group.warp().sync();
                c
            });
            self.args.apply_group(group, subtile, c, bias).store_columns(group, &staged, first);
            let filled = done + EPI_N;
            if filled == TILES * COLS || col as usize + EPI_N == N {
                let to = MatrixCoord { col: to.col - done as u32, ..to };
                self.store_round(group, tiles, filled / COLS, to, tile.batch);
                if next < (M64_TILES * N) as u32 {
                    let MatrixCoord { row, col } = subtile_coord::<N, M64_TILES>(next);
                    let count = TILES.min((N - col as usize) / COLS);
                    self.load_c(group, staging, count, tile, at.offset(row, col));
                }
            }
        }
    }
}

/// The coordinates of a box in a tensor of rows or columns, by the place of its first element.
#[inline]
fn coordinates<L: Order>(at: MatrixCoord, batch: u32) -> [i32; 3] {
    let (along, across) = if L::ROW_MAJOR { (at.col, at.row) } else { (at.row, at.col) };
    [along as i32, across as i32, batch as i32]
}

/// Returns the first element of column `next`, counted through all `m64` sub-tiles of `N` columns.
#[inline]
fn subtile_coord<const N: usize, const M64_TILES: usize>(next: u32) -> MatrixCoord {
    if M64_TILES == 1 {
        MatrixCoord { row: 0, col: next }
    } else {
        MatrixCoord { row: next / N as u32 * WGMMA_M as u32, col: next % N as u32 }
    }
}

/// Calls `store` with the accumulator that contains column `next`, counted as in [`subtile_coord`],
/// and with the first of its `COLS` columns.
#[inline]
fn store_columns<T: Element, const N: usize, const M64_TILES: usize, const COLS: usize>(
    group: WarpGroup<'_>,
    accumulators: &[GroupAccumulator<N, T>; M64_TILES],
    next: u32,
    mut store: impl FnMut(&GroupAccumulator<N, T>, usize),
) where
    M64<N>: WgmmaColumns<T::Width>,
    for<'a> [&'a GroupAccumulator<N, T>; M64_TILES]: Unroll<&'a GroupAccumulator<N, T>, M64_TILES>,
{
    accumulators.each_ref().map_each(
        #[inline]
        |m64, accumulator| {
            for col in (0..N).step_by(COLS) {
                // Opaque to the compiler, so that it does not replace the constant `col` by `next`.
                if group.block().opaque((m64 * N + col) as u32) == next {
                    store(accumulator, col);
                }
            }
        },
    );
}

/// Waits until the warpgroup's TMA stores have read their staging tiles.
#[inline]
pub fn wait_for_stores(group: WarpGroup<'_>) {
    if group.warp_rank() == 0 {
        group.warp().elect(|lane| BulkGroup::wait_read::<0>(lane));
    }
    group.sync();
}
