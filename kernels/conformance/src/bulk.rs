//! Bulk copies: a tile between arbitrary addresses, a matrix through a pipeline, and reductions.

use ptx_matrix::copy::{CachePolicy, reduction};
use ptx_matrix::prelude::*;

/// The tile of the copies.
pub type Tile = SharedTile<u16, 8, 64>;

/// Copies a tile from the source to element `to` of the output, and, by element with the rows in
/// reverse, to the output's beginning.
#[kernel(threads = 64, target = "sm_90")]
pub fn bulk_copy(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    source: Global<u16>,
    from: u32,
    to: u32,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    if warp.index() == 0 {
        warp.elect(|lane| {
            source.bulk(from as usize).prefetch(lane, 8 * 64);
            full.arrive_expecting(lane, Tile::BULK_BYTES);
            tile.load_tma(lane, source.bulk(from as usize), full);
        });
    }
    full.wait(warp, Phase::FIRST);
    tile.for_each(block, |row, col, value| out.set((7 - row) * 64 + col, value));
    if warp.index() == 1 {
        // One bulk copy sees the writes of another without a fence.
        warp.elect(|lane| {
            tile.store_tma(lane, out.bulk(to as usize));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    }
}

/// Pipeline stages of the input.
const STAGES: usize = 3;
/// Elements of a stage.
pub const STEP: usize = 16 * 32;

/// Squares numbers, `STEP` at a time. One warp issues the loads. Three warps each square every
/// third step and issue its store, while the next step is in flight.
#[kernel(threads = 128, target = "sm_90")]
pub fn bulk_stages(
    block: &Block,
    #[shared] stages: SharedRing<SharedTile<u32, 16, 32>, STAGES>,
    #[shared] results: SharedRing<SharedTile<u32, 16, 32>, 3>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, STAGES>, SharedRing<BarrierMemory, STAGES>),
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 32));
    let (warp, number) = (block.warp(), block.warp().index());
    let mut state = PipelineState::FIRST;
    for step in 0..a.len() / STEP {
        let (stage, full, empty) =
            (stages.stage(state.index()), full.stage(state.index()), empty.stage(state.index()));
        if number == 3 {
            empty.wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, SharedTile::<u32, 16, 32>::BULK_BYTES);
                stage.load_tma(lane, a.bulk(step * STEP), full);
            });
        } else if step % 3 == number {
            full.wait(warp, state.phase());
            let result = results.part(number);
            warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
            warp.sync();
            warp.each(|lane| {
                for row in 0..16 {
                    // Reads another lane's column.
                    let number = stage.get(lane, (row, lane.id() ^ 5));
                    result.set((row, lane.id()), number.wrapping_mul(number));
                }
                empty.arrive(lane);
            });
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                result.store_tma(lane, out.bulk(step * STEP));
                BulkGroup::commit(lane);
            });
        }
        state = state.next();
    }
    warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
}

/// Elements of a reduction.
pub const REDUCED: usize = 8 * 32;

/// Reduces elements of the output, from `to` on, by those of the source, optionally with a cache
/// policy.
#[inline]
fn reduce<T: Element, R: reduction::Reduction<T> + LaneCapture>(
    block: &Block,
    tile: SharedTile<T, 8, 32>,
    (reduction, policy): (R, Option<CachePolicy>),
    source: Global<T>,
    to: u32,
    out: GlobalMut<T>,
) {
    let warp = block.warp();
    tile.fill(warp, |row, col| source.get(row * 32 + col));
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        match policy {
            None => tile.reduce_tma(lane, reduction, out.bulk(to as usize)),
            Some(policy) => tile.reduce_tma(lane, reduction, out.bulk(to as usize).cached(policy)),
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

/// Makes the kernels: names, elements, and reductions.
macro_rules! reductions {
    ($($name:ident $element:ty: $($reduction:ident)*;)*) => {$(
        /// Reduces elements of the output, from `to` on, by those of the source, with a cache
        /// policy if `has_policy` is not zero.
        #[kernel(threads = 32, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: SharedTile<$element, 8, 32>,
            operation: u32,
            has_policy: u32,
            source: Global<$element>,
            to: u32,
            out: GlobalMut<$element>,
        ) {
            let policy = (has_policy != 0).then(CachePolicy::evict_first);
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce(block, tile, (reduction::$reduction, policy), source, to, out);
            })*
        }
    )*};
}

reductions! {
    bulk_u32 u32: Add Min Max Inc Dec And Or Xor;
    bulk_s32 i32: Add Min Max;
    bulk_u64 u64: Add Min Max And Or Xor;
    bulk_s64 i64: Min Max;
    bulk_f16 f16: Add Min Max;
    bulk_bf16 bf16: Add Min Max;
    bulk_f32 f32: Add;
    bulk_f64 f64: Add;
}
