//! The data flow of a GEMM with clusters. Each block loads half of the shared operand to both
//! blocks, through a ring of stages. The readers of a stage arrive at the producers of both blocks.

use crate::line_of;
use ptx_matrix::launch::Tensor;
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;
use ptx_matrix::sim;
use ptx_matrix::sim::{AccessKind, Misuse, SimError, Simulator};
use std::ops::Range;

type Half = SharedTile<u32, 4, 32, Unswizzled128>;
type Own = SharedTile<u32, 8, 32, Swizzle128>;

const STAGES: usize = 3;

/// The mistake: a part that is left out.
const RIGHT: u32 = 0;
const NO_FIRST_SYNC: u32 = 1;
const NO_LAST_SYNC: u32 = 2;
const OWN_CONSUMERS_ONLY: u32 = 3;
const TOO_FEW_BYTES: u32 = 4;
/// A count of 1, 2 or 3 arrivals in place of 4.
const TOO_SMALL_COUNT: Range<u32> = 5..8;
const NOTHING_EXPECTED: u32 = 8;
const ARRIVES_TWICE: u32 = 9;

/// Sums over the rows of the products of A and B, for each column. The blocks of a pair share A;
/// each has its own B. One consumer takes rows `0..4` of each step, another rows `4..8`.
#[kernel(threads = 96, cluster = 2, target = "sm_90")]
fn multiply(
    block: &ClusterBlock<2>,
    #[shared] stages: SharedRing<(Own, SharedRing<Half, 2>), STAGES>,
    #[shared] (full, empty): (SharedRing<BarrierMemory, STAGES>, SharedRing<BarrierMemory, STAGES>),
    a: TensorMap<Half, 2>,
    b: TensorMap<Own, 3>,
    d: GlobalMut<u32>,
    steps: u32,
    how: u32,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    // Two consumers of each block read each stage.
    let readers = match how {
        OWN_CONSUMERS_ONLY => 2,
        _ if TOO_SMALL_COUNT.contains(&how) => how - 4,
        _ => 4,
    };
    let (full, empty) = (full.init(block, 1), empty.init(block, readers));
    if how != NO_FIRST_SYNC {
        cluster.sync();
    }
    let (rank, index) = (cluster.rank(), block.index().x);
    let mut state = PipelineState::FIRST;
    if warp.index() == 0 {
        let all = cluster.all();
        let expected = if how == TOO_FEW_BYTES { Half::BOX_BYTES } else { 2 * Half::BOX_BYTES }
            + Own::BOX_BYTES;
        for step in 0..steps as i32 {
            let ((own, halves), full) = (stages.stage(state.index()), full.stage(state.index()));
            empty.stage(state.index()).wait(warp, state.prev_phase());
            warp.elect(|lane| {
                match how {
                    NOTHING_EXPECTED => full.arrive(lane),
                    _ => full.arrive_expecting(lane, expected),
                };
                halves.part(rank).load_tma(
                    lane,
                    a.at([0, step * 8 + rank as i32 * 4]).multicast(all),
                    full,
                );
                own.load_tma(lane, b.at([0, step * 8, index as i32]), full);
            });
            state = state.next();
        }
    } else {
        let (consumer, peers) = (warp.index() - 1, cluster.peers());
        let mut acc = PerLane::splat(0);
        for _ in 0..steps {
            let (own, halves) = stages.stage(state.index());
            let (half, empty) = (halves.part(consumer), empty.stage(state.index()));
            full.stage(state.index()).wait(warp, state.phase());
            warp.update(&mut acc, |lane, sum| {
                for row in 0..4 {
                    *sum += half.get(lane, (row, lane.id()))
                        * own.get(lane, (consumer * 4 + row, lane.id()));
                }
            });
            warp.sync();
            if how == OWN_CONSUMERS_ONLY {
                warp.elect(|lane| {
                    empty.arrive(lane);
                });
            } else {
                warp.each(|lane| {
                    if lane.id() < 2 {
                        let empty = empty.of(peers.get(lane.id()));
                        empty.arrive_having_read(lane);
                        if how == ARRIVES_TWICE && consumer == 0 {
                            empty.arrive_having_read(lane); // <- cluster ring: again
                        }
                    }
                });
            }
            state = state.next();
        }
        let first = (index as usize * 2 + consumer) * 32;
        warp.each(|lane| d.set(first + lane.id(), lane.get(&acc)));
    }
    if how != NO_LAST_SYNC {
        // The consumers of the other block may still arrive at this block's producer.
        cluster.sync();
    }
}

/// Runs two pairs of blocks.
fn run(simulator: Simulator, steps: u32, how: u32) -> Result<Vec<u32>, SimError> {
    let rows = steps as usize * 8;
    let a: Vec<u32> = (0..rows * 32).map(|i| i as u32 % 97).collect();
    let b: Vec<u32> = (0..4 * rows * 32).map(|i| i as u32 % 89).collect();
    let map_a = Tensor::<Half, 2>::new([32, rows]).map(&simulator, &a[..]).unwrap();
    let map_b = Tensor::<Own, 3>::new([32, rows, 4]).map(&simulator, &b[..]).unwrap();
    let mut d = vec![0; 4 * 2 * 32];
    multiply::launch(&simulator, 4, &map_a, &map_b, &mut d, steps, how)?.check()?;
    let expected = (0..d.len()).map(|i| {
        let (block, consumer, col) = (i / 64, i / 32 % 2, i % 32);
        let rows = (0..rows).filter(|row| row / 4 % 2 == consumer);
        rows.map(|row| a[row * 32 + col] * b[(block * steps as usize * 8 + row) * 32 + col])
            .sum::<u32>()
    });
    assert_eq!(d, expected.collect::<Vec<_>>());
    Ok(d)
}

#[test]
fn ring_of_two_blocks_is_correct_in_all_schedules() {
    run(Simulator::new(0).strict().schedules(100), 7, RIGHT).unwrap();
}

#[test]
fn same_seed_repeats_the_run_of_a_cluster() {
    for seed in 0..3 {
        let [one, other] = [(); 2].map(|()| {
            let simulator = Simulator::new(seed).traced();
            let a = vec![1; 3 * 8 * 32];
            let map_a = Tensor::<Half, 2>::new([32, 24]).map(&simulator, &a[..]).unwrap();
            let map_b = Tensor::<Own, 3>::new([32, 24, 1]).map(&simulator, &a[..]).unwrap();
            multiply::launch(&simulator, 2, &map_a, &map_b, &mut vec![0; 128], 3, RIGHT)
                .unwrap()
                .trace
        });
        assert_eq!(one, other);
    }
}

/// The misuses of all findings.
fn found(how: u32, seed: u64) -> Vec<Misuse> {
    let error = run(Simulator::new(seed), 7, how).unwrap_err();
    error.findings().iter().map(|finding| finding.misuse.clone()).collect()
}

#[test]
fn access_before_the_peer_started_is_an_error() {
    for seed in 0..16 {
        let found = found(NO_FIRST_SYNC, seed);
        assert!(
            found.iter().any(|misuse| matches!(misuse, Misuse::PeerNotStarted { .. })),
            "{found:?}"
        );
    }
}

#[test]
fn arrival_at_an_ended_block_is_an_error() {
    for seed in 0..16 {
        let found = found(NO_LAST_SYNC, seed);
        assert!(
            found.iter().all(|misuse| matches!(
                misuse,
                Misuse::PeerEnded { access: AccessKind::Arrival, .. }
            )),
            "{found:?}"
        );
    }
}

#[test]
fn refill_before_both_blocks_have_read_is_an_error() {
    for seed in 0..16 {
        let found = found(OWN_CONSUMERS_ONLY, seed);
        let is_it = |misuse: &Misuse| match misuse {
            Misuse::Race { access: AccessKind::Write, other, .. } => {
                matches!(other, sim::Agent::WarpOfPeer { .. } | sim::Agent::Asynchronous)
            }
            Misuse::CopyInFlight { block: Some(_), .. }
            | Misuse::CopyInFlight { access: AccessKind::Copy, .. } => true,
            _ => false,
        };
        assert!(found.iter().any(is_it), "{found:?}");
    }
}

#[test]
fn barrier_that_expects_too_few_bytes_is_an_error() {
    for seed in 0..16 {
        let found = found(TOO_FEW_BYTES, seed);
        let is_it = |misuse: &Misuse| {
            matches!(misuse, Misuse::Barrier { .. } | Misuse::CopyInFlight { .. })
        };
        assert!(found.iter().any(is_it), "{found:?}");
    }
}

/// The report begins with the barrier whose phases end before all readers have released a stage,
/// and not with the copies and arrivals that then come too early.
#[test]
fn too_small_count_is_named_before_its_consequences() {
    for (how, seed) in TOO_SMALL_COUNT.flat_map(|how| (0..64).map(move |seed| (how, seed))) {
        let report = run(Simulator::new(seed), 7, how).unwrap_err().to_string();
        let (first, _) = report.split_once('\n').unwrap();
        let counts = ["is initialised for", "which is for"];
        let names_it = first.contains("`empty[") && counts.iter().any(|text| first.contains(text));
        assert!(names_it, "{how}, seed {seed}: {report}");
    }
}

/// The report begins with the phases that end before their copies, of either block, and not with
/// the stages that are then read and refilled too early.
#[test]
fn phase_that_expects_nothing_is_named_before_its_consequences() {
    for seed in 0..64 {
        let report = run(Simulator::new(seed), 7, NOTHING_EXPECTED).unwrap_err().to_string();
        let (first, _) = report.split_once('\n').unwrap();
        let names_it =
            first.starts_with("error: phase ") && first.contains("ended with 0 bytes expected");
        assert!(names_it, "seed {seed}: {report}");
    }
}

/// The report begins with the second arrival of a warp in a phase, and not with the copies that
/// then come too early.
#[test]
fn arrival_that_comes_twice_is_named_before_its_consequences() {
    for seed in 0..64 {
        let report = run(Simulator::new(seed), 7, ARRIVES_TWICE).unwrap_err().to_string();
        let (first, rest) = report.split_once('\n').unwrap();
        assert!(first.starts_with("error: `empty["), "seed {seed}: {report}");
        assert!(
            first.contains("gets too many arrivals: warp 1 of block")
                && first.contains(" arrives twice in phase "),
            "seed {seed}: {report}"
        );
        let (file, line) = line_of("cluster ring: again");
        assert!(rest.starts_with(&format!("  --> {file}:{line}:")), "seed {seed}: {report}");
    }
}
