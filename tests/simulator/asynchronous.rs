//! The order between asynchronous operations and the accesses of warps: what a `wgmma` or a copy
//! reads or writes neither hides an access nor is taken for one that has ended.

use ptx_matrix::copy::reduction;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, Misuse, Simulator};

type Tile = SharedTile<u32, 4, 32>;
type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle128, ColMajor>;

/// Warp 4 reads elements of A. Warp 0 writes them, without an order, after a `wgmma` that reads
/// them.
#[kernel(threads = 256, target = "sm_90a")]
fn read_beside_wgmma(
    block: &Block,
    #[shared] tile_a: TileA,
    #[shared] tile_b: TileB,
    d: GlobalMut<f32>,
) {
    let group = block.warp_group();
    let warp = group.warp();
    tile_a.fill(block, |_, _| bf16::ONE);
    tile_b.fill(block, |_, _| bf16::ONE);
    warp.fence_for_bulk();
    block.sync();
    if group.index() == 1 {
        if group.warp_rank() == 0 {
            warp.each(|lane| {
                if lane.id() < 16 {
                    d.set(lane.id(), tile_a.get(lane, (0, lane.id())).to_f32());
                }
            });
        }
        return;
    }
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate(tile_a.matrix_a((0, 0)), tile_b.matrix_b((0, 0)));
    });
    let _ = acc.finish(group);
    group.sync();
    if group.warp_rank() == 0 {
        warp.each(|lane| {
            if lane.id() < 16 {
                tile_a.set((0, lane.id()), bf16::ZERO);
            }
        });
    }
}

#[test]
fn read_of_a_wgmma_does_not_hide_the_read_of_another_warp() {
    for seed in 0..16 {
        let report = read_beside_wgmma::launch(&Simulator::new(seed), 1, &mut [0.0; 32]);
        let error = report.and_then(|report| report.check()).unwrap_err();
        let Misuse::Race { other, .. } = error.misuse else { panic!("seed {seed}: {error}") };
        assert!(matches!(other, Agent::WarpOfBlock(0 | 4)), "seed {seed}: {error}");
    }
}

/// Warp 0 writes tiles and releases them. Warp 1 copies one to another, or reduces the other by it.
/// Warp 2 waits for the end of that only, and adds one to both. `how` selects a mistake.
#[kernel(threads = 96, cluster = 2, target = "sm_90")]
fn change_behind_a_copy(
    block: &ClusterBlock<2>,
    #[shared] [from, to, unused]: [Tile; 3],
    #[shared] (ready, done): (BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
    reduces: bool,
    how: u32,
) {
    let (ready, done) = (ready.init(block, 1), done.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    let (rank, own) = (cluster.rank(), cluster.peer(cluster.rank()));
    match warp.index() {
        0 => {
            for (tile, value) in [(from, 10), (to, 20), (unused, 30)] {
                tile.fill(warp, |_, _| value);
            }
            warp.fence_for_bulk();
            warp.sync();
            warp.elect(|lane| {
                ready.arrive(lane);
            });
            if how == 3 {
                done.wait(warp, Phase::FIRST);
                from.fill(warp, |_, _| 40);
            }
        }
        1 => {
            if how != 1 {
                ready.wait(warp, Phase::FIRST);
            }
            warp.elect(|lane| match how {
                // Warp 2 waits for a copy of another tile.
                4 => to.copy_bulk_to(lane, own, unused, done),
                _ if reduces => from.reduce_bulk_to(lane, reduction::Add, own, to, done),
                _ => from.copy_bulk_to(lane, own, to, done),
            });
        }
        _ => {
            warp.elect(|lane| {
                done.arrive_expecting(lane, Tile::COPIED_BYTES);
            });
            if how != 2 {
                done.wait(warp, Phase::FIRST);
            }
            warp.each(|lane| {
                for (number, tile) in [from, to].into_iter().enumerate() {
                    let value = tile.get(lane, (0, lane.id())) + 1;
                    tile.set((0, lane.id()), value);
                    d.set((2 * rank + number) * 32 + lane.id(), value);
                }
            });
        }
    }
    cluster.sync();
}

#[test]
fn wait_for_a_copy_covers_the_write_before_it() {
    for (seed, reduces) in (0..16).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut d = [0; 128];
        let mut run =
            |how| change_behind_a_copy::launch(&Simulator::new(seed), 2, &mut d, reduces, how);
        for how in 1..=4 {
            assert!(run(how).is_err(), "seed {seed}, mistake {how}");
        }
        run(0).check();
        let to = if reduces { 31 } else { 11 };
        assert_eq!(d, core::array::from_fn(|i| if i / 32 % 2 == 0 { 11 } else { to }));
    }
}

/// A warp writes a tile, and one lane stores it. Behind the wait for the store, that lane changes
/// an element of another lane.
#[kernel(threads = 32, target = "sm_90")]
fn change_behind_a_store(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, syncs: bool) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 10);
    warp.fence_for_bulk();
    if syncs {
        warp.sync();
    }
    warp.each(|lane| {
        if lane.id() == 0 {
            tile.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
            tile.set((0, 5), 20);
        }
    });
}

#[test]
fn copy_by_one_lane_does_not_order_the_writes_of_others() {
    let run = |syncs| {
        let mut d = [0; 128];
        change_behind_a_store::simulate(1, &mut d, syncs)?.check().map(|_| d)
    };
    assert_eq!(run(true).unwrap(), [10; 128]);
    assert!(matches!(run(false).unwrap_err().misuse, Misuse::Race { .. }));
}

/// Block 0 copies a row to block 1, from `offset` bytes after its start.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn copy_from_an_offset(
    block: &ClusterBlock<2>,
    #[shared] [from, to]: [Tile; 2],
    #[shared] full: BarrierMemory,
    offset: u32,
) {
    let (warp, cluster, full) = (block.warp(), block.cluster(), full.init(block, 1));
    from.fill(warp, |_, col| col as u32);
    warp.fence_for_bulk();
    cluster.sync();
    if cluster.rank() == 0 {
        // SAFETY: for offset 16; the simulator checks the others.
        warp.elect(|_| unsafe {
            raw::cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
                raw::mapa_shared_cluster_u32(to.address(), 1),
                from.address() + offset,
                128,
                raw::mapa_shared_cluster_u32(full.address(), 1),
            );
        });
    } else {
        warp.elect(|lane| {
            full.arrive_expecting(lane, 128);
        });
        full.wait_for_cluster(warp, Phase::FIRST);
    }
    cluster.sync();
}

#[test]
fn source_of_a_copy_between_blocks_is_aligned() {
    copy_from_an_offset::simulate(2, 16).check();
    let misuse = copy_from_an_offset::simulate(2, 4).unwrap_err().misuse.clone();
    assert!(matches!(misuse, Misuse::SharedMisaligned { access: AccessKind::Copy, bytes: 16, .. }));
}

/// Warp 0 reads a tile and releases it. Warp 1 refills it. Warp 2 waits for the copy, and changes
/// the tile in place.
#[kernel(threads = 96, target = "sm_90")]
fn refill(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    a: Global<u32>,
    d: GlobalMut<u32>,
    by_tma: bool,
) {
    let full = full.init(block, if by_tma { 1 } else { 32 });
    let empty = empty.init(block, 1);
    let warp = block.warp();
    tile.fill(block, |_, _| 0);
    warp.fence_for_bulk();
    block.sync();
    match warp.index() {
        0 => {
            tile.for_each(warp, |_, _, _| ());
            warp.sync();
            warp.elect(|lane| {
                empty.arrive(lane);
            });
        }
        1 => {
            if by_tma {
                warp.elect(|lane| {
                    full.arrive_expecting(lane, Tile::BULK_BYTES);
                });
            }
            empty.wait(warp, Phase::FIRST);
            if by_tma {
                warp.elect(|lane| tile.load_tma(lane, a.bulk(0), full));
            } else {
                tile.copy_async(warp, a, |row, col| row * 32 + col);
                warp.each(|lane| full.arrive_when_copied(lane));
            }
        }
        _ => {
            full.wait(warp, Phase::FIRST);
            warp.each(|lane| {
                for row in 0..4 {
                    let value = tile.get(lane, (row, lane.id())) + 1;
                    tile.set((row, lane.id()), value);
                    d.set(row * 32 + lane.id(), value);
                }
            });
        }
    }
}

#[test]
fn wait_for_a_copy_covers_the_reads_before_it() {
    for (seed, by_tma) in (0..8).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut d = [0; 128];
        refill::launch(&Simulator::new(seed), 1, &[3; 128], &mut d, by_tma).check();
        assert_eq!(d, [4; 128]);
    }
}

/// A fence after a `sync`, without mbarriers. `how` selects the synchronisation and the fence.
#[kernel(threads = 64, target = "sm_90")]
fn fence_late(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>, how: u32) {
    let warp = block.warp();
    if how < 2 {
        tile.fill(block, |row, col| (row * 32 + col) as u32);
        if how == 0 {
            block.sync();
        }
    } else if warp.index() == 0 {
        tile.fill(warp, |row, col| (row * 32 + col) as u32);
        warp.sync();
    }
    if warp.index() == 0 {
        if how < 3 {
            warp.fence_for_bulk();
        }
        warp.elect(|lane| {
            if how == 3 {
                raw::fence_proxy_async_shared_cta();
            }
            tile.store_tma(lane, d.bulk(0));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        });
    }
}

#[test]
fn fence_covers_the_writes_before_a_sync() {
    for seed in 0..4 {
        let run = |how| {
            let mut d = [0; 128];
            let report = fence_late::launch(&Simulator::new(seed), 1, &mut d, how);
            report.and_then(|report| report.check()).map(|_| d)
        };
        for how in [0, 2, 3] {
            assert_eq!(run(how).unwrap(), core::array::from_fn(|i| i as u32), "{how}");
        }
        run(1).unwrap_err();
    }
}

type Row = SharedTile<u32, 1, 32>;

/// A warp of block 1 reads a row and releases it to block 0, which sends values there. Another
/// warp of block 1 waits for them, and changes the row in place.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn send_in_place(
    block: &ClusterBlock<2>,
    #[shared] row: Row,
    #[shared] (full, empty): (BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
    reduces: bool,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    row.fill(&**block, |_, _| 5);
    cluster.sync();
    let other = cluster.peer(1 - cluster.rank());
    match (cluster.rank(), warp.index()) {
        (0, 0) => {
            empty.wait_for_cluster(warp, Phase::FIRST);
            let (to, signal) = (row.of(other), full.of(other));
            warp.each(|lane| {
                let value = lane.id() as u32;
                if reduces {
                    to.reduce(lane, reduction::Add, (0, lane.id()), value, signal);
                } else {
                    to.send(lane, (0, lane.id()), [value], signal);
                }
            });
        }
        (1, 0) => {
            row.for_each(warp, |_, _, _| ());
            warp.sync();
            let signal = empty.of(other);
            warp.elect(|lane| signal.arrive(lane));
        }
        (1, _) => {
            warp.elect(|lane| {
                full.arrive_expecting(lane, 128);
            });
            full.wait_for_cluster(warp, Phase::FIRST);
            warp.each(|lane| {
                let value = row.get(lane, (0, lane.id())) + 1;
                row.set((0, lane.id()), value);
                d.set(lane.id(), value);
            });
        }
        _ => {}
    }
    cluster.sync();
}

#[test]
fn wait_for_values_of_a_peer_covers_the_reads_before_them() {
    for (seed, reduces) in (0..8).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut d = [0; 32];
        send_in_place::launch(&Simulator::new(seed), 2, &mut d, reduces).check();
        let before = if reduces { 5 } else { 0 };
        assert_eq!(d, core::array::from_fn(|i| i as u32 + before + 1));
    }
}

/// Two warps of block 0 read a row, another one copies it to block 1. The fourth hears from block 1
/// that it has come, and writes the row.
#[kernel(threads = 128, cluster = 2, target = "sm_90")]
fn overwrite_behind_a_copy(
    block: &ClusterBlock<2>,
    #[shared] (from, to): (Row, Row),
    #[shared] (full, read, empty): (BarrierMemory, BarrierMemory, BarrierMemory),
    d: GlobalMut<u32>,
) {
    let full = full.init(block, 1);
    let (read, empty) = (read.init(block, 2), empty.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    from.fill(&**block, |_, col| col as u32);
    warp.fence_for_bulk();
    cluster.sync();
    let other = cluster.peer(1 - cluster.rank());
    match (cluster.rank(), warp.index()) {
        (0, 0) => {
            read.wait(warp, Phase::FIRST);
            warp.elect(|lane| from.copy_bulk_to(lane, other, to, full));
        }
        (0, 1 | 2) => {
            from.for_each(warp, |_, _, _| ());
            warp.sync();
            warp.elect(|lane| {
                read.arrive(lane);
            });
        }
        (0, _) => {
            empty.wait(warp, Phase::FIRST);
            from.fill(warp, |_, _| 0);
        }
        (_, 0) => {
            warp.elect(|lane| {
                full.arrive_expecting(lane, Row::COPIED_BYTES);
            });
            full.wait(warp, Phase::FIRST);
            to.for_each(warp, |_, col, value| d.set(col, value));
            let empty = empty.of(other);
            warp.elect(|lane| empty.arrive_having_read(lane));
        }
        _ => {}
    }
    cluster.sync();
}

#[test]
fn end_of_a_copy_from_memory_covers_the_reads_before_it() {
    for seed in 0..8 {
        let mut d = [0; 32];
        overwrite_behind_a_copy::launch(&Simulator::new(seed), 2, &mut d).check();
        assert_eq!(d, core::array::from_fn(|i| i as u32));
    }
}
