//! Clusters: ranks and coordinates, distributed shared memory (DSMEM), remote barriers, and
//! multicast copies.

use crate::barriers::HINT;
use ptx_matrix::copy::{CachePolicy, TmaCoord, reduction};
use ptx_matrix::memory::{TensorSwizzle, Unswizzled128};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

/// Numbers that a block writes about its position.
pub const PLACES: usize = 10;

/// Each block writes its position in the cluster, and the cluster's in the grid.
#[kernel(threads = 32, cluster = (2, 1, 2), target = "sm_90")]
pub fn cluster_places(block: &ClusterBlock<4>, out: GlobalMut<u32>) {
    let (cluster, warp) = (block.cluster(), block.warp());
    let (index, grid) = (block.index(), block.grid());
    let first = ((index.z * grid.y + index.y) * grid.x + index.x) as usize * PLACES;
    let (within, of) = (cluster.block_index(), cluster.index());
    let (shape, clusters) = (raw::index::cluster_shape(), raw::index::clusters());
    let places = [
        cluster.rank() as u32,
        within.x,
        within.z,
        of.x,
        of.z,
        shape[0] * 100 + shape[1] * 10 + shape[2],
        clusters[0],
        clusters[2],
        raw::index::cluster_size(),
        u32::from(raw::index::is_explicit_cluster()),
    ];
    warp.each(|lane| {
        if lane.id() == 0 {
            (0..PLACES).for_each(|i| out.set(first + i, places[i]));
        }
    });
}

/// Elements per block, of each width.
pub const EXCHANGED: usize = 64;

/// Each of four blocks fills tiles, and writes marks to the next block. Then it reads the tiles of
/// the block after that.
#[inline]
fn exchange<T: Element>(
    block: &ClusterBlock<4>,
    (tile, marks): (SharedTile<T, 2, 32>, SharedTile<u32, 2, 32, Swizzle128>),
    a: Global<T>,
    out: GlobalMut<T>,
    marked: GlobalMut<u32>,
) {
    let (cluster, warp) = (block.cluster(), block.warp());
    let (rank, index) = (cluster.rank(), block.index().x as usize);
    tile.fill(block, |row, col| a.get(index * EXCHANGED + row * 32 + col));
    let relaxed = cluster.arrive_relaxed();
    cluster.wait(relaxed); // All run.
    let others = marks.of(cluster.peer((rank + 1) % 4));
    let (row, first) = (warp.index(), index * EXCHANGED + warp.index() * 32);
    warp.each(|lane| others.set(lane, (1 - row, lane.id() ^ 5), (first + lane.id()) as u32));
    let arrival = cluster.arrive();
    cluster.wait(arrival); // All have filled and written.
    let others = tile.of(cluster.peer((rank + 2) % 4));
    warp.each(|lane| {
        out.set(first + lane.id(), others.get(lane, (row, 31 - lane.id())));
        marked.set(first + lane.id(), marks.get(lane, (row, lane.id())));
    });
    cluster.sync(); // All have read.
}

/// Makes exchange kernels, from names and elements.
macro_rules! exchanges {
    ($($name:ident $element:ty;)*) => {$(
        /// Blocks write and read each other's tiles.
        #[kernel(threads = 64, cluster = 4, target = "sm_90")]
        pub fn $name(
            block: &ClusterBlock<4>,
            #[shared] tiles: (SharedTile<$element, 2, 32>, SharedTile<u32, 2, 32, Swizzle128>),
            a: Global<$element>,
            out: GlobalMut<$element>,
            marked: GlobalMut<u32>,
        ) {
            exchange(block, tiles, a, out, marked);
        }
    )*};
}

exchanges! {
    cluster_exchange_8 u8;
    cluster_exchange_16 u16;
    cluster_exchange_32 u32;
    cluster_exchange_64 u64;
}

/// A warp of block 0 passes rows to a warp of block 1, through a pipeline in block 1's shared
/// memory. Block 1 releases the stages.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
pub fn cluster_stages(
    block: &ClusterBlock<2>,
    #[shared] rows: SharedRing<SharedTile<u32, 1, 32>, 3>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, 3>, SharedRing<BarrierMemory, 3>),
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    let (full, empty) = (full.init(block, 32), empty.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    let (first, second) = (cluster.peer(0), cluster.peer(1));
    let (peer_rows, peer_full, peer_empty) = (rows.of(second), full.of(second), empty.of(first));
    // Of each cluster.
    let (count, from) =
        (a.len() / 32 / (block.grid().x as usize / 2), block.index().x as usize / 2);
    let mut pipeline = PipelineState::FIRST;
    for row in from * count..(from + 1) * count {
        if cluster.rank() == 0 {
            empty.stage(pipeline.index()).wait(warp, pipeline.prev_phase());
            let (to, full) = (peer_rows.stage(pipeline.index()), peer_full.stage(pipeline.index()));
            warp.each(|lane| {
                to.set(lane, (0, lane.id()), a.get(row * 32 + lane.id()));
                full.arrive(lane);
            });
        } else {
            full.stage(pipeline.index()).wait_for_cluster(warp, pipeline.phase());
            let stage = rows.stage(pipeline.index());
            warp.each(|lane| out.set(row * 32 + lane.id(), stage.get(lane, (0, lane.id() ^ 9))));
            warp.sync();
            let empty = peer_empty.stage(pipeline.index());
            warp.elect(|lane| empty.arrive_having_read(lane));
        }
        pipeline = pipeline.next();
    }
    cluster.sync();
}

/// A step of a script on a barrier of another block. Its operand is a count or a number of bytes.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerStep {
    /// `mbarrier.arrive`, in both scopes.
    Arrive,
    /// `mbarrier.arrive` with a count.
    ArriveTimes,
    /// `mbarrier.arrive.expect_tx`.
    ArriveExpecting,
    /// `mbarrier.arrive_drop`.
    Leave,
    /// `mbarrier.arrive_drop` with a count.
    LeaveTimes,
    /// `mbarrier.arrive_drop.expect_tx`.
    LeaveExpecting,
    /// `mbarrier.expect_tx`.
    Expect,
    /// `mbarrier.complete_tx`.
    Complete,
}

/// Block 1 executes a script on a barrier of block 0 that expects `count` arrivals: pairs of a step
/// and its operand. 8 added to the step's number selects cluster scope. For each step, block 0
/// writes whether the last even phase (bit 0) and the last odd phase (bit 1) are complete.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
pub fn cluster_barrier_script(
    block: &ClusterBlock<2>,
    #[shared] memory: BarrierMemory,
    script: Global<u32>,
    count: u32,
    out: GlobalMut<u32>,
) {
    let barrier = memory.init(block, count);
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    let (own, peer) = (barrier.address(), barrier.of(cluster.peer(0)));
    for step in 0..script.len() / 2 {
        let (code, operand) = (script.get(step * 2), script.get(step * 2 + 1));
        if cluster.rank() == 1 {
            warp.elect(|lane| {
                // SAFETY: the address of a barrier in a running block.
                unsafe {
                    let address = raw::mapa_shared_cluster_u32(own, 0);
                    match code {
                        0 => peer.arrive_having_read(lane),
                        1 => raw::mbarrier_arrive_shared_cluster_b64_count(address, operand),
                        2 => raw::mbarrier_arrive_expect_tx_shared_cluster_b64(address, operand),
                        3 => raw::mbarrier_arrive_drop_shared_cluster_b64(address),
                        4 => raw::mbarrier_arrive_drop_shared_cluster_b64_count(address, operand),
                        5 => {
                            raw::mbarrier_arrive_drop_expect_tx_shared_cluster_b64(address, operand)
                        }
                        6 | 14 => peer.expect(lane, operand),
                        7 | 15 => peer.complete(lane, operand),
                        8 => peer.arrive(lane),
                        9 => peer.arrive_times(lane, operand),
                        10 => peer.arrive_expecting(lane, operand),
                        11 => peer.arrive_drop(lane),
                        12 => peer.arrive_drop_times(lane, operand),
                        _ => peer.arrive_drop_expecting(lane, operand),
                    }
                }
            });
        }
        cluster.sync();
        if cluster.rank() == 0 {
            warp.elect(|_| {
                // SAFETY: it is an initialised barrier.
                let over = [0, 1].map(|parity| unsafe {
                    u32::from(raw::mbarrier_test_wait_parity_acquire_cluster_shared_cta_b64(
                        own, parity,
                    ))
                });
                out.set(step, over[0] | over[1] << 1);
            });
        }
        cluster.sync();
    }
}

/// Ways to wait in `cluster_waits`.
pub const WAYS: usize = 6;

/// Block 0 passes rows of 32 to block 1, which waits for each in another way.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
pub fn cluster_waits(
    block: &ClusterBlock<2>,
    #[shared] row: SharedTile<u32, 1, 32>,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    // The waiting block arrives too, and so has a state to wait with.
    let (full, empty) = (full.init(block, 64), empty.init(block, 32));
    let (warp, cluster, address) = (block.warp(), block.cluster(), full.address());
    cluster.sync();
    let (row_there, full_there) = (row.of(cluster.peer(1)), full.of(cluster.peer(1)));
    let empty_there = empty.of(cluster.peer(0));
    let (count, from) =
        (a.len() / 32 / (block.grid().x as usize / 2), block.index().x as usize / 2);
    let (mut written, mut read) = (Phase::FIRST, Phase::BEFORE_FIRST);
    for round in 0..count {
        let first = (from * count + round) * 32;
        if cluster.rank() == 0 {
            read = empty.wait_with_hint(warp, read, HINT);
            warp.each(|lane| {
                row_there.set(lane, (0, lane.id()), a.get(first + lane.id()));
                full_there.arrive(lane);
            });
        } else {
            let way = round % WAYS;
            if way == 0 {
                warp.each(|lane| {
                    full.arrive(lane);
                });
                full.wait_for_cluster_with_hint(warp, written, HINT);
            } else if way == 1 {
                let arrivals = warp.each(|lane| full.arrive(lane));
                full.wait_behind_for_cluster(warp, &arrivals);
            }
            warp.each(|lane| {
                // SAFETY: it is an initialised barrier.
                let state = if way > 1 {
                    unsafe { raw::mbarrier_arrive_shared_cta_b64(address) }
                } else {
                    0
                };
                // SAFETY: as above.
                let is_over = || unsafe {
                    match way {
                        0 | 1 => true,
                        2 => full.is_over_for_cluster(lane, written),
                        3 => full.try_wait_for_cluster(lane, written, HINT),
                        4 => raw::mbarrier_test_wait_acquire_cluster_shared_cta_b64(address, state),
                        _ => raw::mbarrier_try_wait_acquire_cluster_shared_cta_b64_hint(
                            address, state, HINT,
                        ),
                    }
                };
                while !is_over() {}
                out.set(first + lane.id(), row.get(lane, (0, lane.id() ^ 9)));
                empty_there.arrive_having_read(lane);
            });
            written = written.next();
        }
    }
    // SAFETY: all lanes call it together, and wait after their arrival.
    warp.each(|_| unsafe {
        raw::barrier_cluster_arrive_aligned();
        raw::barrier_cluster_wait_aligned();
    });
}

/// The forms without `.aligned`, and 64-bit addresses: each lane of block 0 writes 16 bytes to
/// block 1, which writes out their origin.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
pub fn cluster_raw(
    block: &ClusterBlock<2>,
    #[shared] tile: SharedTile<u32, 32, 4>,
    a: Global<u32>,
    out: GlobalMut<u32>,
) {
    let first = block.index().x as usize / 2 * 128;
    block.warp().each(|lane| {
        let at = tile.row((lane.id(), 0)).address();
        // SAFETY: all lanes reach each barrier, arrive once and wait once. The addresses are of
        // rows of the tile, in a running block.
        unsafe {
            raw::barrier_cluster_arrive();
            raw::barrier_cluster_wait();
            let there = raw::mapa_shared_cluster_u64(u64::from(at), 1);
            if raw::index::cluster_rank() == 0 {
                let row = core::array::from_fn(|i| a.get(first + lane.id() * 4 + i));
                raw::st_shared_cluster_v4_b32(there as u32, row);
            }
            raw::barrier_cluster_arrive_release();
            raw::barrier_cluster_wait_acquire();
            if raw::index::cluster_rank() == 1 {
                let rank = raw::getctarank_shared_cluster_u64(there);
                let [w, x, y, z] =
                    raw::ld_shared_cluster_v4_b32(raw::mapa_shared_cluster_u32(at, rank));
                let mine = raw::getctarank_shared_cluster_u32(at);
                for (i, word) in [x, w, z, y].into_iter().enumerate() {
                    out.set(first + lane.id() * 4 + i, word + rank + mine);
                }
            }
            raw::barrier_cluster_arrive_relaxed();
            raw::barrier_cluster_wait();
            raw::griddepcontrol_wait();
        }
        raw::griddepcontrol_launch_dependents();
    });
}

/// A tile that is copied between blocks.
pub type Sent = SharedTile<u16, 8, 32>;

/// Each of four blocks loads a tile, and copies it to the block `1 + by` further, which writes it
/// out.
#[kernel(threads = 32, cluster = 4, target = "sm_90")]
pub fn cluster_send(
    block: &ClusterBlock<4>,
    #[shared] (own, come): (Sent, Sent),
    #[shared] full: BarrierMemory,
    a: Global<u16>,
    by: u32,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, first) = (block.warp(), block.cluster(), block.index().x as usize * 256);
    own.fill(warp, |row, col| a.get(first + row * 32 + col));
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        full.arrive_expecting(lane, Sent::COPIED_BYTES);
    });
    cluster.sync();
    let to = cluster.peer((cluster.rank() + 1 + by as usize) % 4);
    warp.elect(|lane| own.copy_bulk_to(lane, to, come, full));
    full.wait(warp, Phase::FIRST);
    come.for_each(warp, |row, col, value| out.set(first + row * 32 + col, value));
    cluster.sync();
}

/// Elements of a block's tile.
pub const REDUCED: usize = 8 * 32;

/// The `count` blocks before each of four blocks reduce into its tile. It writes the tile out.
#[inline]
fn reduce<T: Element, R: reduction::SharedReduction<T> + LaneCapture>(
    block: &ClusterBlock<4>,
    ((own, reduced), full): ((SharedTile<T, 8, 32>, SharedTile<T, 8, 32>), Barrier),
    reduction: R,
    (by, before): (Global<T>, Global<T>),
    count: u32,
    out: GlobalMut<T>,
) {
    let (warp, cluster, first) =
        (block.warp(), block.cluster(), block.index().x as usize * REDUCED);
    own.fill(warp, |row, col| by.get(first + row * 32 + col));
    reduced.fill(warp, |row, col| before.get(first + row * 32 + col));
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        full.arrive_expecting(lane, count * SharedTile::<T, 8, 32>::COPIED_BYTES);
    });
    cluster.sync();
    let (rank, peers) = (cluster.rank(), cluster.peers());
    warp.elect(|lane| {
        for further in 1..=count as usize {
            own.reduce_bulk_to(lane, reduction, peers.get((rank + further) % 4), reduced, full);
        }
    });
    full.wait(warp, Phase::FIRST);
    reduced.for_each(warp, |row, col, value| out.set(first + row * 32 + col, value));
    cluster.sync();
}

/// Makes reduction kernels, from names, elements and reductions.
macro_rules! reductions {
    ($($name:ident $element:ty: $($reduction:ident)*;)*) => {$(
        /// The `count` blocks before each of four blocks reduce into its tile. It writes the tile
        /// out.
        #[kernel(threads = 32, cluster = 4, target = "sm_90")]
        pub fn $name(
            block: &ClusterBlock<4>,
            #[shared] (tiles, full): (
                (SharedTile<$element, 8, 32>, SharedTile<$element, 8, 32>),
                BarrierMemory,
            ),
            operation: u32,
            by: Global<$element>,
            before: Global<$element>,
            count: u32,
            out: GlobalMut<$element>,
        ) {
            let full = full.init(block, 1);
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce(block, (tiles, full), reduction::$reduction, (by, before), count, out);
            })*
        }
    )*};
}

reductions! {
    cluster_bulk_u32 u32: Add Min Max Inc Dec And Or Xor;
    cluster_bulk_s32 i32: Add Min Max;
    cluster_bulk_u64 u64: Add;
}

/// The block of rank 1 multicasts a tile to itself and to rank 2, or to all blocks if `all` is not
/// 0. Each block writes out its tile, or the number 1 where none arrives.
#[kernel(threads = 32, cluster = 4, target = "sm_90")]
pub fn cluster_multicast(
    block: &ClusterBlock<4>,
    #[shared] tile: Sent,
    #[shared] full: BarrierMemory,
    a: Global<u16>,
    all: u32,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, index) = (block.warp(), block.cluster(), block.index().x as usize);
    let rank = cluster.rank();
    let comes = all != 0 || rank == 1 || rank == 2;
    let blocks =
        if all != 0 { cluster.all() } else { cluster.peer(1).alone().and(cluster.peer(2)) };
    warp.elect(|lane| {
        full.arrive_expecting(lane, if comes { Sent::BULK_BYTES } else { 0 });
    });
    cluster.sync();
    if rank == 1 {
        warp.elect(|lane| tile.load_tma(lane, a.bulk(index / 4 * 256).multicast(blocks), full));
    }
    full.wait(warp, Phase::FIRST);
    if comes {
        tile.for_each(warp, |row, col, value| out.set(index * 256 + row * 32 + col, value));
    } else {
        warp.each(|lane| (0..8).for_each(|row| out.set(index * 256 + row * 32 + lane.id(), 1)));
    }
    cluster.sync();
}

/// Each of two blocks multicasts one half of the tile with the pair's number to both, with a cache
/// policy. Both write it out.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
pub fn cluster_multicast_cached(
    block: &ClusterBlock<2>,
    #[shared] halves: SharedRing<SharedTile<u16, 4, 32>, 2>,
    #[shared] full: BarrierMemory,
    a: Global<u16>,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, cluster, index) = (block.warp(), block.cluster(), block.index().x as usize);
    let (rank, all, keep) = (cluster.rank(), cluster.all(), CachePolicy::evict_last());
    warp.elect(|lane| {
        full.arrive_expecting(lane, 2 * SharedTile::<u16, 4, 32>::BULK_BYTES);
    });
    cluster.sync();
    warp.elect(|lane| {
        let first = index / 2 * 256 + rank * 128;
        a.bulk(first).cached(keep).prefetch(lane, 128);
        halves.part(rank).load_tma(lane, a.bulk(first).multicast(all).cached(keep), full);
    });
    full.wait(warp, Phase::FIRST);
    for part in 0..2 {
        let first = index * 256 + part * 128;
        halves.part(part).for_each(warp, |row, col, value| out.set(first + row * 32 + col, value));
    }
    cluster.sync();
}

/// A box that is multicast to both blocks.
pub type Both = SharedTile<u16, 16, 64, Swizzle128>;
/// A box of one row.
pub type BothLine = SharedTile<u16, 1, 64, Unswizzled128>;

/// Each of two blocks multicasts the box at its own coordinates to both, the second with a cache
/// policy. Each writes out both boxes.
#[inline]
fn multicast_boxes<const ROWS: usize, S: TensorSwizzle, const RANK: usize>(
    block: &ClusterBlock<2>,
    boxes: SharedRing<SharedTile<u16, ROWS, 64, S>, 2>,
    full: BarrierMemory,
    from: TensorMap<SharedTile<u16, ROWS, 64, S>, RANK>,
    at: Global<i32>,
    out: GlobalMut<u16>,
) where
    [i32; RANK]: TmaCoord,
{
    let full = full.init(block, 1);
    let (warp, cluster) = (block.warp(), block.cluster());
    warp.elect(|lane| {
        full.arrive_expecting(lane, 2 * SharedTile::<u16, ROWS, 64, S>::BOX_BYTES);
    });
    cluster.sync();
    let (rank, all, keep) = (cluster.rank(), cluster.all(), CachePolicy::evict_last());
    warp.elect(|lane| {
        let at = core::array::from_fn(|dimension| at.get(rank * RANK + dimension));
        if rank == 0 {
            boxes.part(0).load_tma(lane, from.at(at).multicast(all), full);
        } else {
            boxes.part(1).load_tma(lane, from.at(at).multicast(all).cached(keep), full);
        }
    });
    full.wait(warp, Phase::FIRST);
    for part in 0..2 {
        let first = (block.index().x as usize * 2 + part) * ROWS * 64;
        boxes.part(part).for_each(warp, |row, col, value| out.set(first + row * 64 + col, value));
    }
}

/// Makes kernels that multicast boxes to both blocks, from names, tiles and ranks.
macro_rules! multicasts {
    ($($name:ident $tile:ty, $rank:literal;)*) => {$(
        /// Each of two blocks multicasts a box to both. (For sm_120, ptxas makes a call of this,
        /// which uses local memory.)
        #[kernel(threads = 32, cluster = 2, target = "sm_90a")]
        pub fn $name(
            block: &ClusterBlock<2>,
            #[shared] boxes: SharedRing<$tile, 2>,
            #[shared] full: BarrierMemory,
            from: TensorMap<$tile, $rank>,
            at: Global<i32>,
            out: GlobalMut<u16>,
        ) {
            multicast_boxes(block, boxes, full, from, at, out);
        }
    )*};
}

multicasts! {
    cluster_multicast_1d BothLine, 1;
    cluster_multicast_2d Both, 2;
    cluster_multicast_3d Both, 3;
    cluster_multicast_4d Both, 4;
    cluster_multicast_5d Both, 5;
}
