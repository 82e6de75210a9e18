//! `st.async` and `red.async` from registers to other blocks of the cluster, and `cp.async` with
//! completion on an mbarrier.

use core::array::from_fn;
use ptx_matrix::copy::reduction;
use ptx_matrix::memory::RingIndex;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

/// The tile that registers are sent to.
pub type Tile = SharedTile<u16, 8, 64, Swizzle128>;

/// Elements of the tile.
pub const ELEMENTS: usize = 8 * 64;

/// Each block sends its matrix to the block `by` further in its cluster, `N` elements at a time.
/// The receiver writes it out.
#[inline]
fn send<const N: usize>(
    block: &ClusterBlock<4>,
    (tile, full): (Tile, BarrierMemory),
    a: Global<u16>,
    by: u32,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, first) =
        (block.warp(), block.cluster(), block.index().x as usize * ELEMENTS);
    if warp.index() == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 2 * ELEMENTS as u32);
        });
    }
    cluster.sync();
    let to = cluster.peer((cluster.rank() + by as usize) % 4);
    let (tile_there, full_there) = (tile.of(to), full.of(to));
    block.each_thread(|lane, rank| {
        for at in (rank * N..ELEMENTS).step_by(64 * N) {
            tile_there.send(
                lane,
                (at / 64, at % 64),
                from_fn::<u16, N, _>(|i| a.get(first + at + i)),
                full_there,
            );
        }
    });
    full.wait(warp, Phase::FIRST);
    tile.for_each(block, |row, col, value| out.set(first + row * 64 + col, value));
}

/// One row per number of elements.
macro_rules! sends {
    ($($name:ident $elements:literal;)*) => {$(
        /// Each of four blocks sends its matrix to the block `by` further, which writes it out.
        #[kernel(threads = 64, cluster = 4, target = "sm_90")]
        pub fn $name(
            block: &ClusterBlock<4>,
            #[shared] memory: (Tile, BarrierMemory),
            a: Global<u16>,
            by: u32,
            out: GlobalMut<u16>,
        ) {
            send::<$elements>(block, memory, a, by, out);
        }
    )*};
}

sends! {
    cluster_send_b32 2;
    cluster_send_v2_b32 4;
    cluster_send_v4_b32 8;
}

/// The 64-bit forms: each lane sends three words to the next block, which writes them out.
#[kernel(threads = 32, cluster = 4, target = "sm_90")]
pub fn cluster_send_b64(
    block: &ClusterBlock<4>,
    #[shared] tile: SharedTile<u64, 32, 4>,
    #[shared] full: BarrierMemory,
    a: Global<u64>,
    out: GlobalMut<u64>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, first) = (block.warp(), block.cluster(), block.index().x as usize * 96);
    warp.elect(|lane| {
        full.arrive_expecting(lane, 32 * 24);
    });
    cluster.sync();
    let full_there = full.of(cluster.peer((cluster.rank() + 1) % 4)).address();
    warp.each(|lane| {
        let [x, y, z] = from_fn(|i| a.get(first + lane.id() * 3 + i));
        // SAFETY: the row of a tile, and a barrier of the same block, which waits for the stores.
        unsafe {
            let row = raw::mapa_shared_cluster_u32(
                tile.row((lane.id(), 0)).address(),
                raw::getctarank_shared_cluster_u32(full_there),
            );
            raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b64(
                row,
                [x, y],
                full_there,
            );
            raw::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b64(
                row + 16,
                z,
                full_there,
            );
        }
    });
    full.wait(warp, Phase::FIRST);
    warp.each(|lane| {
        (0..3).for_each(|i| out.set(first + lane.id() * 3 + i, tile.get(lane, (lane.id(), i))))
    });
}

/// Elements of a block's tile.
pub const REDUCED: usize = 4 * 32;

/// The `count` blocks before each of four blocks reduce into its tile. It writes the tile out.
#[inline]
fn reduce<T: Element, R: reduction::SharedReduction<T> + LaneCapture>(
    block: &ClusterBlock<4>,
    (reduced, full): (SharedTile<T, 4, 32>, Barrier),
    reduction: R,
    (by, before): (Global<T>, Global<T>),
    count: u32,
    out: GlobalMut<T>,
) {
    let (warp, cluster, first) =
        (block.warp(), block.cluster(), block.index().x as usize * REDUCED);
    reduced.fill(warp, |row, col| before.get(first + row * 32 + col));
    warp.elect(|lane| {
        full.arrive_expecting(lane, count * (REDUCED * size_of::<T>()) as u32);
    });
    cluster.sync();
    for further in 1..=count as usize {
        let to = cluster.peer((cluster.rank() + further) % 4);
        let (reduced, full) = (reduced.of(to), full.of(to));
        warp.each(|lane| {
            for row in 0..4 {
                reduced.reduce(
                    lane,
                    reduction,
                    (row, lane.id()),
                    by.get(first + row * 32 + lane.id()),
                    full,
                );
            }
        });
    }
    full.wait(warp, Phase::FIRST);
    reduced.for_each(warp, |row, col, value| out.set(first + row * 32 + col, value));
}

/// Makes the reduction kernels, from names, elements and reductions.
macro_rules! reductions {
    ($($name:ident $element:ty: $($reduction:ident)*;)*) => {$(
        /// The `count` blocks before each of four blocks reduce into its tile. It writes the tile
        /// out.
        #[kernel(threads = 32, cluster = 4, target = "sm_90")]
        pub fn $name(
            block: &ClusterBlock<4>,
            #[shared] (tile, full): (SharedTile<$element, 4, 32>, BarrierMemory),
            operation: u32,
            by: Global<$element>,
            before: Global<$element>,
            count: u32,
            out: GlobalMut<$element>,
        ) {
            let full = full.init(block, 1);
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce(block, (tile, full), reduction::$reduction, (by, before), count, out);
            })*
        }
    )*};
}

reductions! {
    cluster_reduce_u32 u32: Add Min Max Inc Dec And Or Xor;
    cluster_reduce_s32 i32: Add Min Max;
    cluster_reduce_u64 u64: Add;
}

/// `red.async.add.s64`: each lane adds to an element of the next block, which writes it out.
#[kernel(threads = 32, cluster = 4, target = "sm_90")]
pub fn cluster_reduce_add_s64(
    block: &ClusterBlock<4>,
    #[shared] (sums, full): (SharedTile<u64, 1, 32>, BarrierMemory),
    by: Global<u64>,
    before: Global<u64>,
    out: GlobalMut<u64>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, first) = (block.warp(), block.cluster(), block.index().x as usize * 32);
    sums.fill(warp, |_, col| before.get(first + col));
    warp.elect(|lane| {
        full.arrive_expecting(lane, 32 * 8);
    });
    cluster.sync();
    let full_there = full.of(cluster.peer((cluster.rank() + 1) % 4)).address();
    let own = sums.row((0, 0)).address();
    warp.each(|lane| {
        let value = by.get(first + lane.id());
        // SAFETY: an element of a tile, and a barrier of the same block, which waits for the
        // reductions.
        unsafe {
            let there =
                raw::mapa_shared_cluster_u32(own, raw::getctarank_shared_cluster_u32(full_there));
            let to = there + 8 * lane.id() as u32;
            raw::red_async_relaxed_cluster_shared_cluster_mbarrier_complete_tx_bytes_add_s64(
                to, value, full_there,
            );
        }
    });
    full.wait(warp, Phase::FIRST);
    sums.for_each(warp, |_, col, sum| out.set(first + col, sum));
}

/// Elements of a `cp.async` stage.
pub const STAGE: usize = 4 * 64;

/// Warp 0 copies a matrix to two stages, round-robin. Warp 1 writes it out. The copies arrive on an
/// mbarrier: once per lane (`held` 0), or by an arrival that the phase does not count, before one
/// that it counts.
#[kernel(threads = 64, target = "sm_90")]
pub fn copy_to_barrier(
    block: &Block,
    #[shared] stages: SharedRing<SharedTile<u16, 4, 64, Swizzle128>, 2>,
    #[shared] (fulls, empties): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    a: Global<u16>,
    held: u32,
    out: GlobalMut<u16>,
) {
    let (fulls, empties) = (fulls.init(block, 32), empties.init(block, 32));
    let warp = block.warp();
    let mut stage = RingIndex::FIRST;
    let mut phase = if warp.index() == 0 { Phase::BEFORE_FIRST } else { Phase::FIRST };
    for step in 0..a.len() / STAGE {
        let (tile, full, empty) = (stages.stage(stage), fulls.stage(stage), empties.stage(stage));
        if warp.index() == 0 {
            empty.wait(warp, phase);
            tile.copy_async(warp, a, |row, col| step * STAGE + row * 64 + col);
            warp.each(|lane| {
                if held == 0 {
                    full.arrive_when_copied(lane);
                } else {
                    full.hold_until_copied(lane);
                    full.arrive(lane);
                }
            });
        } else {
            full.wait(warp, phase);
            tile.for_each(warp, |row, col, value| out.set(step * STAGE + row * 64 + col, value));
            warp.each(|lane| {
                empty.arrive(lane);
            });
        }
        stage = stage.next();
        if stage == RingIndex::FIRST {
            phase = phase.next();
        }
    }
}
