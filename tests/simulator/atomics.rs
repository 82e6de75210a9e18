//! Atomic operations with a result, and orders between the blocks of a launch.

use crate::line_of;
use ptx_matrix::copy::reduction::{Add, And, Dec, Inc, Max, Min, Or, Xor};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{AccessKind, Agent, Memory, Misuse, SimError, Simulator, mark_unwritten};
use ptx_matrix::sync::{Acquire, AcquireRelease, Relaxed, Release};

/// Asserts that the error is on the marked line. The seed decides in which block.
#[track_caller]
fn assert_line(error: &SimError, marker: &str) {
    let line = error.place.as_ref().map(|place| place.line);
    assert_eq!(line, Some(line_of(marker).1), "{error}");
}

/// The last block adds what all threads of all blocks wrote. `how` is the mistake.
#[kernel(threads = 64)]
fn total(
    block: &Block,
    #[shared] is_last: SharedTile<u32, 1, 4>,
    done: GlobalAtomic<u32>,
    parts: GlobalMut<u32>,
    total: GlobalMut<u32>,
    how: u32,
) {
    let (index, blocks) = (block.index().x as usize, block.grid().x);
    block.each_thread(|_, rank| {
        parts.set(index * 64 + rank, (index * 64 + rank) as u32); // <- parts are written
    });
    if how != 1 {
        block.sync();
    }
    if block.warp().index() == 0 {
        block.warp().each(|lane| {
            if lane.id() == 0 {
                let before = match how {
                    2 => done.fetch(lane, Add, 0, 1, Relaxed),
                    3 => done.fetch(lane, Add, 0, 1, Release),
                    4 => done.fetch(lane, Add, 0, 1, Acquire),
                    _ => done.fetch(lane, Add, 0, 1, AcquireRelease),
                };
                is_last.set((0, 0), u32::from(before == blocks - 1));
            }
        });
    }
    block.sync();
    let warp = block.warp();
    let is_last = warp.broadcast(&warp.each(|lane| is_last.get(lane, (0, 0))));
    if is_last == 1 && warp.index() == 1 {
        warp.each(|lane| {
            if lane.id() == 7 {
                let sum = (0..parts.len()).map(|i| parts.get(lane, i)).sum(); // <- parts are read
                total.set(0, sum);
            }
        });
    }
}

fn total_of(simulator: Simulator, blocks: u32, how: u32) -> Result<u32, SimError> {
    let (mut parts, mut sum) = (vec![0; 64 * blocks as usize], [0]);
    mark_unwritten(&mut parts);
    let done = &mut [0];
    total::launch(&simulator, blocks, done, &mut parts, &mut sum, how)?;
    assert_eq!(*done, [blocks]);
    Ok(sum[0])
}

#[test]
fn last_block_sees_what_all_blocks_wrote() {
    for blocks in [1, 2, 7] {
        let count = 64 * blocks;
        let simulator = Simulator::new(5).schedules(20).strict();
        assert_eq!(total_of(simulator, blocks, 0).unwrap(), count * (count - 1) / 2);
    }
}

#[test]
fn missing_order_between_blocks_is_a_race() {
    for how in 1..=4 {
        let error = total_of(Simulator::new(0), 3, how).unwrap_err();
        let Misuse::Race { access, memory, other_access, other_place, other, .. } = &error.misuse
        else {
            panic!("{how}: {error}");
        };
        assert_eq!(
            (*access, *other_access),
            (AccessKind::Read, AccessKind::Write),
            "{how}: {error}"
        );
        assert!(matches!(memory, Memory::Global { name: "parts", .. }), "{how}: {error}");
        assert_eq!(other_place.line, line_of("parts are written").1, "{how}");
        assert_line(&error, "parts are read");
        // A missing `sync` lets the block's own warps race, too.
        let is_of_other_block = matches!(other, Agent::OtherBlock(_));
        assert!(is_of_other_block || how == 1, "{how}: {error}");
    }
}

/// Takes numbers from a counter, up to `limit`.
#[kernel(threads = 64)]
fn take(block: &Block, next: GlobalAtomic<u32>, by: GlobalMut<u32>, limit: u32) {
    let (warp, index) = (block.warp(), block.index().x);
    loop {
        let taken = warp.each(|lane| match lane.id() {
            0 => next.fetch(lane, Add, 0, 1, Relaxed),
            _ => 0,
        });
        let taken = warp.broadcast(&taken);
        if taken >= limit {
            break;
        }
        let warp_of_all = index * 2 + warp.index() as u32;
        warp.each(|lane| {
            if lane.id() == 0 {
                by.set(taken as usize, 1 + warp_of_all);
            }
        });
    }
}

#[test]
fn each_number_is_taken_once_and_by_whom_depends_on_the_seed() {
    let taken = |seed| {
        let (mut next, mut by) = ([0], [0; 60]);
        take::launch(&Simulator::new(seed), 3, &mut next, &mut by, 60).check();
        assert_eq!(next, [66], "each of six warps ends with a number beyond the limit");
        assert!(by.iter().all(|&by| by != 0));
        by
    };
    let [first, again, other] = [3, 3, 4].map(taken);
    assert_eq!(first, again);
    assert_ne!(first, other);
    for warp in 1..=6 {
        assert!(first.contains(&warp), "all warps take some: {first:?}");
    }
}

/// Each block waits for its predecessor, and hands on the sum so far.
#[kernel(threads = 32)]
fn chain(block: &Block, flags: GlobalAtomic<u32>, sums: GlobalMut<u32>, how: u32) {
    let (warp, index) = (block.warp(), block.index().x as usize);
    warp.each(|lane| {
        if lane.id() == 0 {
            let mut sum = 0;
            if index > 0 {
                if how == 1 {
                    while flags.load(lane, index - 1, Relaxed) == 0 {}
                } else {
                    let expected = 1 + u32::from(how == 3);
                    flags.wait_until(lane, index - 1, |flag| flag == expected); // <- waits
                }
                sum = sums.get(lane, index - 1); // <- predecessor is read
            }
            sums.set(index, sum + index as u32); // <- sum is written
            if how == 2 {
                flags.store(lane, index, 1, Relaxed);
            } else {
                flags.store(lane, index, 1, Release);
            }
        }
    });
}

#[test]
fn blocks_wait_for_each_other() {
    let run = |how| {
        let mut sums = [0; 9];
        let simulator = Simulator::new(1).schedules(10);
        chain::launch(&simulator, 9, &mut [0; 9], &mut sums, how).map(|_| sums)
    };
    assert_eq!(run(0).unwrap(), [0, 1, 3, 6, 10, 15, 21, 28, 36]);
    for how in [1, 2] {
        let error = run(how).unwrap_err();
        assert_line(&error, "predecessor is read");
        assert!(matches!(error.misuse, Misuse::Race { .. }), "{error}");
    }
    let error = run(3).unwrap_err();
    assert_eq!(error.misuse, Misuse::AtomicPolling { name: "flags", index: 0 });
    assert_line(&error, "waits");
}

/// All blocks wait at a barrier of the grid, several times, between which they read what the other
/// blocks wrote.
#[kernel(threads = 64)]
fn rounds(block: &Block, count: GlobalAtomic<u32>, d: GlobalMut<u32>, syncs: bool) {
    let (index, blocks) = (block.index().x as usize, block.grid().x);
    for round in 0..4 {
        let at = |block: usize, rank: usize| (block * 64 + rank) * 4 + round;
        block.each_thread(|lane, rank| {
            let before = match round {
                0 => 1,
                _ => d.get(lane, ((index + 1) % blocks as usize * 64 + 63 - rank) * 4 + round - 1),
            };
            d.set(at(index, rank), before + 1);
        });
        block.sync();
        if block.warp().index() == 0 {
            block.warp().each(|lane| {
                if lane.id() == 0 {
                    count.fetch(lane, Add, 0, 1, Release);
                    let all = (round as u32 + 1) * blocks;
                    count.wait_until(lane, 0, |count| count >= all);
                }
            });
        }
        if syncs {
            block.sync();
        }
    }
}

#[test]
fn barrier_of_the_grid() {
    let mut d = vec![0; 5 * 64 * 4];
    mark_unwritten(&mut d);
    let run = |d: &mut [u32], syncs| {
        rounds::launch(&Simulator::new(2).schedules(3).strict(), 5, &mut [0], d, syncs)
    };
    run(&mut d, true).unwrap();
    assert!(d.chunks(4).all(|of_thread| of_thread == [2, 3, 4, 5]), "{d:?}");
    let error = run(&mut d, false).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Race { .. }), "{error}");
}

/// Each warp adds to a number that a lock guards.
#[kernel(threads = 64)]
fn locked(block: &Block, lock: GlobalAtomic<u32>, sum: GlobalMut<u64>, how: u32) {
    block.warp().each(|lane| {
        if lane.id() == 0 {
            while lock.compare_exchange(lane, 0, (0, 1), Acquire).is_err() {} // <- lock is taken
            sum.set(0, sum.get(lane, 0) + 1); // <- sum is guarded
            if how == 1 {
                lock.store(lane, 0, 0, Relaxed);
            } else if how == 0 {
                assert_eq!(lock.exchange(lane, 0, 0, Release), 1);
            }
        }
    });
}

#[test]
fn lock_guards_a_number() {
    let run = |how| {
        let mut sum = [0];
        locked::launch(&Simulator::new(9).schedules(5), 6, &mut [0], &mut sum, how).map(|_| sum)
    };
    assert_eq!(run(0).unwrap(), [12]);
    let error = run(1).unwrap_err();
    assert_line(&error, "sum is guarded");
    let error = run(2).unwrap_err();
    assert_eq!(error.misuse, Misuse::AtomicPolling { name: "lock", index: 0 });
    assert_line(&error, "lock is taken");
}

/// A relaxed read-modify-write operation of another block passes on what was released before; a
/// relaxed store does not.
#[kernel(threads = 32)]
fn passed_on(block: &Block, flag: GlobalAtomic<u32>, data: GlobalMut<u32>, stores: bool) {
    let index = block.index().x;
    block.warp().each(|lane| {
        if lane.id() == 0 {
            match index {
                0 => {
                    data.set(0, 5);
                    flag.store(lane, 0, 1, Release);
                }
                1 => {
                    flag.wait_until(lane, 0, |flag| flag == 1);
                    if stores {
                        flag.store(lane, 0, 2, Relaxed);
                    } else {
                        flag.fetch(lane, Add, 0, 1, Relaxed);
                    }
                }
                _ => {
                    while flag.load(lane, 0, Relaxed) != 2 {}
                    assert_eq!(flag.load(lane, 0, Acquire), 2);
                    data.set(1, data.get(lane, 0) + 1); // <- passed on
                }
            }
        }
    });
}

#[test]
fn read_modify_write_passes_on_and_a_store_does_not() {
    let mut data = [0; 2];
    passed_on::simulate(3, &mut [0], &mut data, false).check();
    assert_eq!(data, [5, 6]);
    let error = passed_on::simulate(3, &mut [0], &mut data, true).unwrap_err();
    assert_line(&error, "passed on");
}

/// Two writes of blocks without an order, and a write of what another block reads.
#[kernel(threads = 32)]
fn unordered(block: &Block, count: GlobalAtomic<u32>, d: GlobalMut<u32>, how: u32) {
    let index = block.index().x as usize;
    block.warp().each(|lane| {
        if lane.id() == 0 {
            match how {
                0 => d.set(0, index as u32),                  // <- is written
                1 if index == 0 => d.set(0, 1),               // <- one writes
                1 => d.set(1, d.get(lane, 0)),                // <- another reads
                2 if index == 0 => d.reduce(lane, Add, 0, 1), // <- one adds
                2 => d.reduce(lane, Max, 0, 1),               // <- another maximises
                _ => d.reduce(lane, Add, 0, 1),
            }
            count.fetch(lane, Add, 0, 1, Relaxed);
        }
    });
}

#[test]
fn blocks_race_as_in_other_launches() {
    for how in 0..3 {
        let error = unordered::simulate(2, &mut [0], &mut [0; 2], how).unwrap_err();
        assert!(
            matches!(error.misuse, Misuse::Race { other: Agent::OtherBlock(_), .. }),
            "{error}"
        );
    }
    let mut d = [0; 2];
    unordered::simulate(4, &mut [0], &mut d, 3).check();
    assert_eq!(d, [4, 0]);
}

/// Each operation on its own element.
#[kernel(threads = 32)]
fn operations(
    block: &Block,
    words: GlobalAtomic<u32>,
    signed: GlobalAtomic<i64>,
    halves: GlobalAtomic<f16>,
    floats: GlobalAtomic<f32>,
    d: GlobalMut<i64>,
) {
    block.warp().each(|lane| {
        if lane.id() == 0 {
            let of = |i: usize, before: u32| d.set(i, i64::from(before));
            of(0, words.fetch(lane, Add, 0, 3, Relaxed));
            of(1, words.fetch(lane, Min, 1, 3, Relaxed));
            of(2, words.fetch(lane, Max, 2, 30, Relaxed));
            of(3, words.fetch(lane, Inc, 3, 13, Relaxed));
            of(4, words.fetch(lane, Dec, 4, 20, Relaxed));
            of(5, words.fetch(lane, And, 5, 9, Relaxed));
            of(6, words.fetch(lane, Or, 6, 16, Relaxed));
            of(7, words.fetch(lane, Xor, 7, 1, Relaxed));
            of(8, words.exchange(lane, 8, 77, Relaxed));
            of(9, words.compare_exchange(lane, 9, (19, 5), Relaxed).unwrap());
            of(10, words.compare_exchange(lane, 10, (19, 5), Relaxed).unwrap_err());
            d.set(11, signed.fetch(lane, Min, 0, -4, Relaxed));
            d.set(12, signed.exchange(lane, 1, -9, Relaxed));
            d.set(13, halves.fetch(lane, Add, 0, f16::ONE, Relaxed).to_f32() as i64);
            d.set(14, floats.exchange(lane, 0, 2.5, Relaxed) as i64);
            d.set(15, floats.fetch(lane, Add, 0, 1.0, AcquireRelease) as i64);
        }
    });
}

#[test]
fn operations_return_the_value_before() {
    let mut words: [u32; 11] = std::array::from_fn(|i| 10 + i as u32);
    let (mut signed, mut halves, mut floats) = ([3, 4], [f16::ONE], [7.0]);
    let mut d = [0; 16];
    operations::simulate(1, &mut words, &mut signed, &mut halves, &mut floats, &mut d).check();
    assert_eq!(d[..11], std::array::from_fn::<i64, 11, _>(|i| 10 + i as i64));
    assert_eq!(words, [13, 3, 30, 0, 13, 9, 16, 16, 77, 5, 20]);
    assert_eq!((d[11], d[12], signed), (3, 4, [-4, -9]));
    assert_eq!((d[13], halves[0].to_f32()), (1, 2.0));
    assert_eq!((d[14], d[15], floats), (7, 2, [3.5]));
}

/// Clusters of two blocks take tiles; the first block of a cluster hands them to the second.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn by_clusters(
    block: &ClusterBlock<2>,
    #[shared] taken: SharedTile<u32, 1, 4>,
    next: GlobalAtomic<u32>,
    d: GlobalMut<u32>,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    loop {
        if cluster.rank() == 0 {
            warp.each(|lane| {
                if lane.id() < 2 {
                    let tile =
                        if lane.id() == 0 { next.fetch(lane, Add, 0, 1, Relaxed) } else { 0 };
                    taken.set((0, lane.id()), tile);
                }
            });
        }
        cluster.sync();
        let first = cluster.peer(0);
        let tile = warp.each(|lane| taken.of(first).get(lane, (0, 0)));
        let tile = warp.broadcast(&tile) as usize;
        cluster.sync();
        if tile >= d.len() / 64 {
            break;
        }
        let to = tile * 64 + cluster.rank() * 32;
        warp.each(|lane| d.set(to + lane.id(), tile as u32));
    }
}

#[test]
fn clusters_take_turns() {
    let (mut next, mut d) = ([0], vec![99; 64 * 7]);
    by_clusters::launch(&Simulator::new(3).schedules(4).strict(), 6, &mut next, &mut d).unwrap();
    assert_eq!(next, [7 + 3]);
    assert!(d.iter().enumerate().all(|(i, &tile)| tile as usize == i / 64));
}

/// A bulk copy to global memory, and a read by another block after it (`how` below 10) or before
/// it.
#[kernel(threads = 32, target = "sm_90")]
fn copied(
    block: &Block,
    #[shared] tile: SharedTile<u32, 1, 32>,
    flag: GlobalAtomic<u32>,
    data: GlobalMut<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let warp = block.warp();
    if block.index().x == 0 {
        tile.fill(warp, |_, col| col as u32);
        warp.fence_for_bulk();
        warp.sync();
        warp.elect(|lane| {
            if how == 10 {
                flag.wait_until(lane, 0, |flag| flag == 1);
            }
            tile.store_tma(lane, data.bulk(0)); // <- is copied
            BulkGroup::commit(lane);
            match how {
                0 => BulkGroup::wait::<0>(lane),
                2 => BulkGroup::wait_read::<0>(lane),
                11 => drop(flag.wait_until(lane, 0, |flag| flag == 1)),
                _ => {}
            }
            if how < 10 {
                flag.store(lane, 0, 1, Release);
            }
            if how != 2 {
                BulkGroup::wait::<0>(lane);
            }
        });
    } else {
        warp.elect(|lane| {
            if how < 10 {
                flag.wait_until(lane, 0, |flag| flag == 1);
            }
        });
        warp.sync();
        warp.each(|lane| d.set(lane.id(), data.get(lane, lane.id()))); // <- copy is read
        warp.sync();
        warp.elect(|lane| {
            if how >= 10 {
                flag.store(lane, 0, 1, Release);
            }
        });
    }
}

#[test]
fn bulk_copy_is_over_before_the_release() {
    let run = |seed, how| {
        let mut d = [0; 32];
        let (flag, data) = (&mut [0], &mut [7; 32]);
        copied::launch(&Simulator::new(seed), 2, flag, data, &mut d, how).map(|_| d)
    };
    for seed in 0..6 {
        assert_eq!(run(seed, 0).unwrap(), std::array::from_fn(|i| i as u32));
        assert_eq!(run(seed, 10).unwrap(), [7; 32]);
        // No wait, a wait for the copy's reads only, and a copy that is started too early.
        for how in [1, 2, 11] {
            let error = run(seed, how).unwrap_err();
            let is_found =
                matches!(error.misuse, Misuse::Race { .. } | Misuse::StoreInFlight { .. });
            assert!(is_found, "{how}: {error}");
        }
    }
}

/// A block writes data by ordinary stores, and another loads it by TMA. `how` is the mistake.
#[kernel(threads = 32, target = "sm_90")]
fn loaded(
    block: &Block,
    #[shared] tile: SharedTile<u32, 1, 32>,
    #[shared] full: BarrierMemory,
    flags: GlobalAtomic<u32>,
    data: GlobalMut<u32>,
    d: GlobalMut<u32>,
    how: u32,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    if block.index().x == 0 {
        warp.each(|lane| data.set(lane.id(), lane.id() as u32)); // <- ordinary store
        if how != 1 {
            warp.fence_global_for_bulk();
        }
        warp.sync();
        warp.elect(|lane| {
            flags.store(lane, 0, 1, Release);
            if how != 4 {
                flags.wait_until(lane, 1, |flag| flag == 1);
            }
        });
        warp.sync();
        warp.each(|lane| data.set(lane.id(), 99)); // <- second store
    } else {
        warp.elect(|lane| {
            if how != 2 {
                flags.wait_until(lane, 0, |flag| flag == 1);
            }
            full.arrive_expecting(lane, SharedTile::<u32, 1, 32>::BULK_BYTES);
            tile.load_tma(lane, data.bulk_source(0), full); // <- is loaded
            if how == 3 {
                flags.store(lane, 1, 1, Release);
            }
        });
        full.wait(warp, Phase::FIRST);
        warp.each(|lane| d.set(lane.id(), tile.get(lane, (0, lane.id()))));
        warp.sync();
        warp.elect(|lane| flags.store(lane, 1, 1, Release));
    }
}

#[test]
fn copy_of_what_another_block_wrote() {
    let run = |seed, how| {
        let mut d = [0; 32];
        let (flags, data) = (&mut [0; 2], &mut [7; 32]);
        loaded::launch(&Simulator::new(seed).schedules(4), 2, flags, data, &mut d, how).map(|_| d)
    };
    for seed in 0..4 {
        assert_eq!(run(seed, 0).unwrap(), std::array::from_fn(|i| i as u32));
        let error = run(seed, 1).unwrap_err();
        assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
        let Misuse::ProxyFence { place, .. } = &error.misuse else { unreachable!() };
        assert_eq!(place.line, line_of("ordinary store").1);
        assert_line(&error, "is loaded");
        for how in 2..=4 {
            let error = run(seed, how).unwrap_err();
            assert!(matches!(error.misuse, Misuse::Race { .. }), "{how}: {error}");
        }
    }
}

/// Operations on elements that do not exist, or are not atomic.
#[kernel(threads = 32)]
fn misused(block: &Block, count: GlobalAtomic<u32>, other: GlobalMut<u32>, how: u32) {
    block.warp().each(|lane| match how {
        0 if lane.id() == 0 => {
            count.fetch(lane, Add, 7, 1, Relaxed); // <- beyond
        }
        1 if lane.id() == 0 => {
            let at = other.as_ptr().cast();
            // SAFETY: an aligned, valid element.
            unsafe { raw::atom_relaxed_gpu_global_add_u32(at, 1) }; // <- not atomic
        }
        _ => {}
    });
}

#[test]
fn misuses_of_atomic_elements() {
    let error = |how| misused::simulate(1, &mut [0], &mut [0], how).unwrap_err();
    let beyond = error(0);
    assert_line(&beyond, "beyond");
    let of_bounds = matches!(beyond.misuse, Misuse::GlobalOutOfBounds { index: 7, len: 1, .. });
    assert!(of_bounds, "{beyond}");
    let not_atomic = error(1);
    assert_line(&not_atomic, "not atomic");
    let form = "atom.relaxed.gpu.global.add.u32";
    assert_eq!(not_atomic.misuse, Misuse::NotAtomic { name: "other", form });
}

/// Waits for a value that nobody stores, with a `sync` in each round; or takes a maximum that
/// seldom changes.
#[kernel(threads = 64)]
fn repeated(
    block: &Block,
    #[shared] seen: SharedTile<u32, 1, 4>,
    value: GlobalAtomic<u32>,
    a: Global<u32>,
    waits: bool,
) {
    let warp = block.warp();
    if !waits {
        block.each_thread(|lane, rank| {
            for i in (rank..a.len()).step_by(64) {
                value.fetch(lane, Max, 0, a.get(i), Relaxed);
            }
        });
        return;
    }
    loop {
        if warp.index() == 0 {
            warp.each(|lane| {
                if lane.id() == 0 {
                    seen.set((0, 0), value.load(lane, 0, Acquire)); // <- is polled
                }
            });
        }
        block.sync();
        let now = warp.broadcast(&warp.each(|lane| seen.get(lane, (0, 0))));
        block.sync();
        if now == 1 {
            break;
        }
    }
}

#[test]
fn wait_with_syncs_is_a_deadlock_and_operations_without_effect_are_none() {
    let mut largest = [0];
    let a: Vec<u32> = (0..100_000).map(|i| i % 7).collect();
    repeated::simulate(1, &mut largest, &a, false).check();
    assert_eq!(largest, [6]);
    let error = repeated::simulate(2, &mut [0], &a, true).unwrap_err();
    assert_eq!(error.misuse, Misuse::AtomicPolling { name: "value", index: 0 });
    assert_line(&error, "is polled");
}

/// All threads of all blocks wait for each other.
#[kernel(threads = 64)]
fn gather(block: &Block, count: GlobalAtomic<u32>) {
    let all = block.grid().x * 64;
    block.each_thread(|lane, _| {
        count.fetch(lane, Add, 0, 1, Relaxed);
    });
    block.each_thread(|lane, _| {
        count.wait_until(lane, 0, |count| count == all);
    });
}

#[test]
fn many_blocks_wait_for_each_other() {
    let mut count = [0];
    gather::simulate(300, &mut count).check();
    assert_eq!(count, [300 * 64]);
}

/// A struct with atomic elements, some of which nothing has written.
#[derive(Clone, Copy, KernelArgs)]
struct Counters<'k> {
    written: GlobalAtomic<'k, u32>,
    unwritten: GlobalAtomic<'k, u64>,
}

#[kernel(threads = 32)]
fn counters(block: &Block, of: Counters, d: GlobalMut<u64>, how: u32) {
    block.warp().each(|lane| {
        if lane.id() == 0 {
            let before = of.written.fetch(lane, Add, 0, 1, Relaxed);
            match how {
                0 => of.unwritten.store(lane, 0, 5, Relaxed),
                1 => drop(of.unwritten.load(lane, 0, Relaxed)), // <- unwritten
                _ => {}
            }
            d.set(0, u64::from(before));
        }
    });
}

#[test]
fn atomic_elements_of_a_struct_are_written_before_they_are_read() {
    let run = |how| {
        let (mut written, mut unwritten, mut d) = ([3], [0], [0]);
        mark_unwritten(&mut unwritten);
        let of = CountersHost { written: &mut written[..], unwritten: &mut unwritten[..] };
        let ran = counters::launch(&Simulator::default(), 1, of, &mut d, how);
        let left = ptx_matrix::sim::unwritten(&unwritten);
        ran.map(|_| (written[0], d[0], left.len()))
    };
    assert_eq!(run(0).unwrap(), (4, 3, 0));
    let error = run(1).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "unwritten", index: 0 });
    assert_line(&error, "unwritten");
    assert_eq!(run(2).unwrap(), (4, 3, 1));
}

/// One lane releases, and then stores without order; another acquires.
#[kernel(threads = 32)]
fn released_before(block: &Block, flag: GlobalAtomic<u32>, data: GlobalMut<u32>) {
    let index = block.index().x;
    block.warp().each(|lane| {
        if lane.id() == 0 && index == 0 {
            data.set(0, 8);
            flag.store(lane, 0, 1, Release);
            flag.store(lane, 0, 2, Relaxed);
        } else if lane.id() == 0 {
            flag.wait_until(lane, 0, |flag| flag == 2);
            data.set(1, data.get(lane, 0));
        }
    });
}

#[test]
fn lane_that_released_passes_it_on_by_its_later_stores() {
    for seed in 0..6 {
        let mut data = [0; 2];
        released_before::launch(&Simulator::new(seed), 2, &mut [0], &mut data).check();
        assert_eq!(data, [8; 2]);
    }
}

#[test]
fn profile_counts_each_instruction_of_a_warp_once() {
    let simulator = Simulator::default().profiled();
    let report = gather::launch(&simulator, 2, &mut [0]).unwrap();
    let profile = report.profile.unwrap();
    assert_eq!(profile.warps("atom.relaxed.gpu.global.add.u32"), 4);
    assert_eq!(profile.bytes.global_written, 2 * 64 * 4);
}

/// A lane of each block counts under a lock, and waits until all have.
#[kernel(threads = 32)]
fn counted(block: &Block, lock: GlobalAtomic<u32>, count: GlobalMut<u32>) {
    let all = block.grid().x;
    block.warp().each(|lane| {
        let mut is_first = true;
        while lane.id() == 0 {
            while lock.compare_exchange(lane, 0, (0, 1), Acquire).is_err() {}
            let now = count.get(lane, 0) + u32::from(is_first);
            count.set(0, now);
            lock.store(lane, 0, 0, Release);
            is_first = false;
            if now == all {
                break;
            }
        }
    });
}

#[test]
fn blocks_begin_while_others_are_busy() {
    let mut count = [0];
    counted::simulate(50, &mut [0], &mut count).check();
    assert_eq!(count, [50]);
}

/// Counts without end, with a `sync` in each round.
#[kernel(threads = 64)]
fn endless(block: &Block, count: GlobalAtomic<u32>) {
    loop {
        block.each_thread(|lane, rank| {
            if rank == 0 {
                count.fetch(lane, Add, 0, 1, Relaxed); // <- without end
            }
        });
        block.sync();
    }
}

#[test]
fn atomics_without_end_are_an_error() {
    let simulator = Simulator::default().patience(1 << 16);
    let error = endless::launch(&simulator, 2, &mut [0]).unwrap_err();
    assert!(matches!(error.misuse, Misuse::EndlessAtomics { .. }), "{error}");
    assert_line(&error, "without end");
}
