//! Bulk copies: a tile from anywhere to anywhere, and a matrix through stages.

use ptx_matrix::*;

/// The tile that is copied.
pub type Tile = SharedTile<u16, 8, 64>;

/// Copies a tile from the source to element `to` of the output, and, element by element and the lines in reverse, to its beginning.
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
            source.prefetch_bulk(lane, from as usize, 8 * 64);
            full.arrive_expecting(lane, Tile::BULK_BYTES);
            tile.load_bulk(lane, source, from as usize, full);
        });
    }
    full.wait(warp, Phase::FIRST);
    tile.for_each(block, |row, col, value| out.set((7 - row) * 64 + col, value));
    if warp.index() == 1 {
        // What a bulk copy wrote, another sees without a fence.
        warp.elect(|lane| {
            tile.store_bulk(lane, out, to as usize);
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    }
}

/// Stages of the way in.
const STAGES: usize = 3;
/// Elements of a stage.
pub const STEP: usize = 16 * 32;

/// Squares numbers, `STEP` at a time: one warp has them loaded, three warps square every third step, and have it stored, while the next is on
/// its way.
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
    let mut turn = Turn::FIRST;
    for step in 0..a.len() / STEP {
        let (stage, full, empty) = (stages.stage(turn.index()), full.stage(turn.index()), empty.stage(turn.index()));
        if number == 3 {
            empty.wait(warp, turn.phase_before());
            warp.elect(|lane| {
                full.arrive_expecting(lane, SharedTile::<u32, 16, 32>::BULK_BYTES);
                stage.load_bulk(lane, a, step * STEP, full);
            });
        } else if step % 3 == number {
            full.wait(warp, turn.phase());
            let result = results.part(number);
            warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
            warp.sync();
            warp.each(|lane| {
                for row in 0..16 {
                    // From another lane's column to this lane's.
                    let number = stage.get(lane, (row, lane.id() ^ 5));
                    result.set((row, lane.id()), number.wrapping_mul(number));
                }
                empty.arrive(lane);
            });
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                result.store_bulk(lane, out, step * STEP);
                BulkGroup::commit(lane);
            });
        }
        turn = turn.next();
    }
    warp.elect(|lane| BulkGroup::wait_read::<0>(lane));
}
