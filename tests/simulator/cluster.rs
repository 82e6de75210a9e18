//! Clusters: the places of their blocks, and their barrier.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::lane::Grid;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Awaited, ClusterMisuse, EndedWarp, Misuse, SimError, Simulator};
use ptx_matrix::{raw, sim};

#[kernel(threads = 32, cluster = (2, 2), target = "sm_90")]
fn places(block: &ClusterBlock<4>, d: GlobalMut<u32>) {
    let (cluster, warp) = (block.cluster(), block.warp());
    let (index, grid) = (block.index(), block.grid());
    let number = (index.y * grid.x + index.x) as usize * 8;
    let (within, of) = (cluster.block_index(), cluster.index());
    let places = [cluster.rank() as u32, within.x, within.y, of.x, of.y];
    warp.elect(|_| {
        places.iter().enumerate().for_each(|(i, &place)| d.set(number + i, place));
        let [x, y, z] = raw::index::cluster_shape();
        let [clusters, ..] = raw::index::clusters();
        d.set(number + 5, x * 100 + y * 10 + z);
        d.set(number + 6, clusters);
        d.set(
            number + 7,
            raw::index::cluster_size() + u32::from(raw::index::is_explicit_cluster()),
        );
    });
}

#[test]
fn block_has_its_position_in_the_cluster() {
    let mut d = [0; 8 * 8];
    places::simulate((4, 2), &mut d).check();
    let block = |number: usize| &d[number * 8..][..8];
    assert_eq!(block(0), [0, 0, 0, 0, 0, 221, 2, 5]);
    assert_eq!(block(3), [1, 1, 0, 1, 0, 221, 2, 5]);
    assert_eq!(block(4), [2, 0, 1, 0, 0, 221, 2, 5]);
    assert_eq!(block(7), [3, 1, 1, 1, 0, 221, 2, 5]);
    assert_eq!(places::INFO.cluster, Grid { x: 2, y: 2, z: 1 });
}

#[test]
fn grid_with_a_partial_cluster_is_an_error() {
    for grid in [(3, 2), (4, 1)] {
        let error = places::simulate(grid, &mut [0; 64]).unwrap_err();
        let Misuse::Launch { message } = &error.misuse else { panic!("{error}") };
        assert!(
            message.ends_with("each dimension is a multiple of the cluster's, (2, 2, 1)"),
            "{message}"
        );
    }
}

/// A kernel with clusters that takes a plain `Block`.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn plain(block: &Block, d: GlobalMut<u32>) {
    let index = block.index().x;
    block.warp().elect(|_| d.set(index as usize, index));
}

#[test]
fn kernel_may_leave_its_cluster_unused() {
    let mut d = [9; 4];
    plain::simulate(4, &mut d).check();
    assert_eq!(d, [0, 1, 2, 3]);
}

/// Each block writes an element, and reads that of the other. `how` selects the synchronisation in
/// between.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn exchange(block: &ClusterBlock<2>, d: GlobalMut<u32>, how: u32) {
    let (cluster, warp) = (block.cluster(), block.warp());
    let rank = cluster.rank();
    if warp.index() == 1 {
        warp.elect(|_| d.set(rank, rank as u32 + 5)); // <- written
        warp.sync();
    }
    match how {
        0 => cluster.sync(),
        1 => {
            let arrival = cluster.arrive();
            cluster.wait(arrival);
        }
        2 => {
            let arrival = cluster.arrive_relaxed();
            cluster.wait(arrival);
        }
        // SAFETY: All lanes reach this.
        3 => drop(warp.each(|_| unsafe {
            raw::barrier_cluster_arrive_aligned();
            raw::barrier_cluster_wait_aligned();
        })),
        // SAFETY: Each lane executes one of each.
        4 => drop(warp.each(|lane| unsafe {
            if lane.id() < 7 {
                raw::barrier_cluster_arrive();
                raw::barrier_cluster_wait();
            } else {
                raw::barrier_cluster_arrive_release();
                raw::barrier_cluster_wait();
            }
        })),
        // SAFETY: All lanes reach this.
        5 => drop(warp.each(|_| unsafe {
            raw::barrier_cluster_arrive_relaxed();
            raw::barrier_cluster_wait_acquire();
        })),
        // SAFETY: All lanes reach this.
        6 => drop(warp.each(|_| unsafe {
            raw::barrier_cluster_arrive_release_aligned();
            raw::barrier_cluster_wait_acquire_aligned();
            raw::barrier_cluster_arrive_relaxed_aligned();
            raw::barrier_cluster_wait();
        })),
        _ => block.sync(),
    }
    if warp.index() == 0 {
        warp.elect(|lane| d.set(2 + rank, d.get(lane, 1 - rank))); // <- read
    }
}

#[test]
fn cluster_barrier_orders_global_accesses() {
    for how in [0, 1, 3, 4, 6] {
        let mut d = [0; 4];
        exchange::launch(&Simulator::new(0).schedules(16), 2, &mut d, how).check();
        assert_eq!(d, [5, 6, 6, 5], "{how}");
    }
}

#[test]
fn global_accesses_without_a_cluster_barrier_race() {
    for how in [2, 5, 7] {
        for seed in 0..8 {
            let error = exchange::launch(&Simulator::new(seed), 2, &mut [0; 4], how).unwrap_err();
            let Misuse::Race { other, .. } = &error.misuse else { panic!("{error}") };
            let sim::Agent::WarpOfPeer { block, .. } = other else { panic!("{error}") };
            assert_ne!(Some(*block), error.block);
            let text = error.to_string();
            assert!(
                text.contains(&format!(" of block {block} and nothing to order them")),
                "{text}"
            );
            assert!(text.contains("put a `sync` of the cluster between the two"), "{text}");
        }
    }
}

/// Clusters are ordered no more than blocks.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn all_write(block: &ClusterBlock<2>, d: GlobalMut<u32>) {
    let cluster = block.cluster();
    if cluster.rank() == 1 {
        block.warp().elect(|_| d.set(0, 3)); // <- by each cluster
    }
}

#[test]
fn accesses_of_two_clusters_race() {
    all_write::simulate(2, &mut [0]).check();
    let error = all_write::simulate(6, &mut [0]).unwrap_err();
    let Misuse::Race { other: sim::Agent::OtherBlock(other), .. } = error.misuse else {
        panic!("{error}")
    };
    assert_eq!(other, Grid { x: 1, y: 0, z: 0 });
    assert_elected_at(&error, "by each cluster", (3, 0, 0), 0);
}

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn misused(block: &ClusterBlock<2>, how: u32) {
    let (cluster, warp) = (block.cluster(), block.warp());
    match how {
        0 => {
            let first = cluster.arrive();
            let second = cluster.arrive(); // <- again
            cluster.wait(first);
            cluster.wait(second);
        }
        // SAFETY: None. This is the bug under test.
        1 => drop(warp.each(|_| unsafe { raw::barrier_cluster_wait_aligned() })), // <- not arrived
        2 => drop(warp.each(|lane| {
            if lane.id() == 3 {
                // SAFETY: None. This is the bug under test.
                unsafe {
                    raw::barrier_cluster_arrive();
                    raw::barrier_cluster_arrive_relaxed(); // <- lane again
                }
            }
        })),
        3 => drop(warp.each(|lane| {
            if lane.id() != 3 {
                // SAFETY: None. This is the bug under test: lane 3 is missing.
                unsafe { raw::barrier_cluster_arrive_aligned() } // <- some lanes
            }
        })),
        // An arrival without a wait, at the end of the kernel.
        _ => drop(cluster.arrive()),
    }
}

#[test]
fn rejects_second_arrival_and_wait_without_arrival() {
    let run = |how| misused::simulate(2, how).unwrap_err();
    for (how, marker, expected, lane) in [
        (0, "again", ClusterMisuse::ArrivedAgain, None),
        (1, "not arrived", ClusterMisuse::NotArrived, None),
        (2, "lane again", ClusterMisuse::ArrivedAgain, Some(3)),
    ] {
        let error = run(how);
        let Misuse::ClusterBarrier { misuse } = error.misuse else { panic!("{error}") };
        assert_eq!((misuse, error.lane), (expected, lane));
        assert_eq!(error.place.as_ref().map(|place| place.line), Some(line_of(marker).1));
    }
    assert!(matches!(run(3).misuse, Misuse::Divergence { .. }));
    misused::simulate(2, 4).check();
}

/// Some warps of block 1 do not reach the barrier of the cluster: they wait elsewhere, or end.
#[kernel(threads = 64, cluster = 2, target = "sm_90")]
fn some_come(block: &ClusterBlock<2>, ends: u32) {
    let cluster = block.cluster();
    if cluster.rank() == 1 && block.warp().index() == 1 {
        if ends == 0 {
            block.sync(); // <- elsewhere
        }
        return;
    }
    cluster.sync(); // <- cluster
}

/// The block of a warp, the warp, and the event that it waits for.
type Waits = (Option<Grid>, usize, Awaited);

fn deadlock(error: &SimError) -> (Vec<Waits>, Vec<EndedWarp>) {
    let Misuse::Deadlock { waiting, ended, .. } = &error.misuse else { panic!("{error}") };
    (
        waiting.iter().map(|waiting| (waiting.block, waiting.warp, waiting.awaited)).collect(),
        ended.clone(),
    )
}

#[test]
fn warp_at_another_barrier_is_a_deadlock() {
    let [first, second] = [0, 1].map(|x| Some(Grid { x, y: 0, z: 0 }));
    for seed in 0..8 {
        let error = some_come::launch(&Simulator::new(seed), 2, 0).unwrap_err();
        let all = Awaited::Cluster { lacking: 1 };
        let waiting =
            vec![(first, 0, all), (first, 1, all), (second, 0, all), (second, 1, Awaited::Sync)];
        assert_eq!(deadlock(&error), (waiting, vec![]));
        assert_at(&error, "cluster", (0, 0, 0), None, None);
    }
    let text = some_come::simulate(2, 0).unwrap_err().to_string();
    let first = "error: deadlock: warps 0 and 1 of block (0, 0, 0) and warp 0 of block (1, 0, 0) \
                 wait at a `sync` of the cluster, to which 1 warp does not come\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains(": 1 warp of the cluster has not come to its barrier\n"), "{text}");
    assert!(text.contains(&format!(
        "warp 1 of block (1, 0, 0) waits at {}:{}",
        line_of("elsewhere").0,
        line_of("elsewhere").1
    )));
}

/// The PTX ISA says so; at a `sync` of the block it differs.
#[test]
fn ended_warp_counts_as_arrived() {
    some_come::launch(&Simulator::new(0).schedules(16), 2, 1).check();
}

/// A kernel without clusters is a cluster of one block.
#[kernel(threads = 64)]
fn alone(block: &Block, #[shared] tile: SharedTile<u32, 1, 4>, d: GlobalMut<u32>) {
    let warp = block.warp();
    if warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 0 {
                tile.set((0, 0), 3)
            }
        });
    }
    warp.each(|lane| {
        // SAFETY: All lanes of the block reach this. The address is that of the tile.
        unsafe {
            raw::barrier_cluster_arrive_aligned();
            raw::barrier_cluster_wait_aligned();
            raw::griddepcontrol_wait();
            let address = raw::mapa_shared_cluster_u32(tile.address(), 0);
            if lane.id() == 0 && raw::index::thread() >= 32 {
                d.set(
                    0,
                    raw::ld_shared_cluster_b32(address)
                        + raw::getctarank_shared_cluster_u32(address),
                );
            }
        }
        raw::griddepcontrol_launch_dependents();
    });
}

#[test]
fn single_block_is_a_cluster() {
    let mut d = [0; 2];
    alone::simulate(3, &mut d[..1]).unwrap_err(); // Three blocks write the same element.
    alone::launch(&Simulator::new(0).schedules(8), 1, &mut d[..1]).check();
    assert_eq!(d, [3, 0]);
}

/// Treats its block as one of a cluster that does not exist.
#[kernel(threads = 32, target = "sm_90")]
fn of_no_cluster(block: &Block, blocks: u32, d: GlobalMut<u32>) {
    let rank = match blocks {
        0 => ClusterBlock::<0>::simulated(block).cluster().rank(),
        1 => ClusterBlock::<1>::simulated(block).cluster().rank(),
        _ => ClusterBlock::<2>::simulated(block).cluster().rank(),
    };
    block.warp().each(|lane| d.set(lane.id(), rank as u32));
}

#[test]
fn block_of_another_cluster_size_is_an_error() {
    of_no_cluster::simulate(1, 1, &mut [1; 32]).check();
    for blocks in [0, 2] {
        let error = of_no_cluster::simulate(1, blocks, &mut [1; 32]).unwrap_err();
        let message = format!(
            "the launch has clusters of 1 blocks, but this `ClusterBlock` is for clusters of \
             {blocks}"
        );
        assert_eq!(error.misuse, Misuse::Panic { message });
    }
}
