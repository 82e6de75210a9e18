//! `cp.async`: every size, whole tiles, and a GEMM with a multistage pipeline.

use core::array::from_fn;
use ptx_matrix::copy::{CpAsync, CpAsyncForm};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{AtLeast, BuildTarget, Supports};

/// The destination tile.
pub type Tile = SharedTile<u16, 32, 64, Swizzle128>;

/// Each lane copies `BYTES` bytes of the source to the tile: from chunk `from[lane]` to chunk
/// `to[lane]`, with `counts[lane]` elements.
#[inline]
fn copy<const BYTES: usize, Target: Supports<AtLeast<80>>>(
    block: &Block,
    tile: Tile,
    source: Global<u16>,
    chunks: [Global<u32>; 2],
    counts: Global<u32>,
    out: GlobalMut<u16>,
) where
    CpAsync<BYTES, Target>: CpAsyncForm,
{
    let warp = block.warp();
    let per_chunk = BYTES / 2;
    let per_row = 64 / per_chunk;
    tile.fill(warp, |_, _| 0xffff);
    block.sync();
    let [from, to] = chunks;
    warp.each(|lane| {
        let (from, to) = (from.get(lane.id()) as usize, to.get(lane.id()) as usize);
        let at = (to / per_row, to % per_row * per_chunk);
        let count = counts.get(lane.id()) as usize;
        if count == per_chunk {
            CpAsync::<BYTES, Target>::copy(lane, &tile, at, source, from * per_chunk);
        } else {
            CpAsync::<BYTES, Target>::copy_some(lane, &tile, at, source, from * per_chunk, count);
        }
    });
    CpAsync::<BYTES, Target>::commit(warp);
    CpAsync::<BYTES, Target>::wait::<0>(warp);
    block.sync();
    tile.for_each(warp, |row, col, value| out.set(row * 64 + col, value));
}

/// One row per size.
macro_rules! copies {
    ($($kernel:ident $bytes:literal;)*) => {$(
        #[kernel(threads = 32, target = "sm_80")]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile,
            source: Global<u16>,
            from: Global<u32>,
            to: Global<u32>,
            counts: Global<u32>,
            out: GlobalMut<u16>,
        ) {
            copy::<$bytes, BuildTarget>(block, tile, source, [from, to], counts, out);
        }
    )*};
}
copies! {
    copy_4 4;
    copy_8 8;
    copy_16 16;
}

/// Copies a `rows` x `cols` matrix to a tile of either order, with zeros out of bounds, and writes
/// both tiles out.
#[kernel(threads = 64, target = "sm_80")]
pub fn copy_tiles(
    block: &Block,
    #[shared] by_row: SharedTile<u16, 32, 64, Swizzle128, RowMajor>,
    #[shared] by_col: SharedTile<u16, 64, 32, Swizzle64, ColMajor>,
    source: Global<u16>,
    rows: u32,
    cols: u32,
    out: GlobalMut<u16>,
) {
    let (rows, cols) = (rows as usize, cols as usize);
    // Rows of the source start at multiples of 64 elements, so each is aligned.
    let chunk = |row: usize, col: usize| {
        (row * 64 + col, if row < rows { cols.saturating_sub(col) } else { 0 })
    };
    by_row.copy_async_some(block, source, chunk);
    by_col.copy_async_some(block, source, |row, col| chunk(col, row));
    CpAsync::<16>::commit(block.warp());
    CpAsync::<16>::wait::<0>(block.warp());
    block.sync();
    by_row.for_each(block, |row, col, value| out.set(row * 64 + col, value));
    by_col.for_each(block, |row, col, value| out.set(2048 + col * 64 + row, value));
}

/// Pipeline stages: one to multiply, the others in flight.
const STAGES: usize = 3;
/// K of one stage.
const STEP: usize = 32;

type Stage = (SharedTile<bf16, 64, STEP, Swizzle64>, SharedTile<bf16, STEP, 64, Swizzle128>);

/// D = A x B for a 64 x k and a k x 64 matrix, k a multiple of 32.
#[kernel(threads = 128, target = "sm_80")]
pub fn product_in_stages(
    block: &Block,
    #[shared] stages: SharedRing<Stage, STAGES>,
    a: Global<bf16>,
    b: Global<bf16>,
    d: GlobalMut<f32>,
) {
    let warp = block.warp();
    let k = a.len() / 64;
    let steps = k / STEP;
    let start = |step: usize| {
        if step < steps {
            let (tile_a, tile_b) = stages.part(step % STAGES);
            tile_a.copy_async(block, a, |row, col| row * k + step * STEP + col);
            tile_b.copy_async(block, b, |row, col| (step * STEP + row) * 64 + col);
        }
        // Commit also where nothing is left: the newest groups are then empty, and the wait below
        // stays the same.
        CpAsync::<16>::commit(warp);
    };
    for step in 0..STAGES - 1 {
        start(step);
    }
    let (top, left) = (warp.index() / 2 * 32, warp.index() % 2 * 32);
    let mut acc: [[Accumulator<M16N8K16, f32>; 4]; 2] = Zeroable::zeroed();
    for step in 0..steps {
        CpAsync::<16>::wait::<{ STAGES as u32 - 2 }>(warp);
        // The copies of all threads have landed, and all warps have released the stage that is
        // filled next.
        block.sync();
        start(step + STAGES - 1);
        let (tile_a, tile_b) = stages.part(step % STAGES);
        for k in (0..STEP).step_by(16) {
            let a: [_; 2] =
                from_fn(|i| FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, (top + i * 16, k)));
            let b: [_; 4] =
                from_fn(|j| FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, (k, left + j * 8)));
            for (a, acc) in a.iter().zip(&mut acc) {
                for (b, acc) in b.iter().zip(acc) {
                    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, acc, a, b);
                }
            }
        }
    }
    for (i, acc) in acc.iter().enumerate() {
        for (j, acc) in acc.iter().enumerate() {
            acc.for_each(warp, |row, col, value| {
                d.set((top + i * 16 + row) * 64 + left + j * 8 + col, value)
            });
        }
    }
}
