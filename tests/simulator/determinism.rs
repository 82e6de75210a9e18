//! The order in which the warps of a block take turns is that of the seed.

use ptx_matrix::sim::Simulator;
use ptx_matrix::*;
use std::collections::HashSet;

const WARPS: usize = 8;
const ROUNDS: usize = 4;
/// The log of a block: a counter, and the index of the warp at each turn.
const LOG: usize = 1 + WARPS * ROUNDS;

#[kernel(threads = 256)]
fn take_turns(block: &Block, log: GlobalMut<u32>) {
    let warp = block.warp();
    let (start, index) = (block.index().x as usize * LOG, warp.index() as u32);
    for _ in 0..ROUNDS {
        warp.each(|lane| {
            if lane.id() == 0 {
                let turn = log.get(lane, start) + 1;
                log.set(start + turn as usize, index);
                log.set(start, turn);
            }
        });
        block.sync();
    }
}

fn turns(seed: u64, blocks: usize) -> Vec<u32> {
    let mut log = vec![0; blocks * LOG];
    take_turns::launch(&Simulator::new(seed), blocks as u32, &mut log).unwrap();
    log
}

#[test]
fn each_warp_has_its_turn_between_syncs() {
    let log = turns(3, 1);
    assert_eq!(log[0] as usize, WARPS * ROUNDS);
    for round in log[1..].chunks(WARPS) {
        assert_eq!(round.iter().copied().collect::<HashSet<u32>>(), (0..WARPS as u32).collect());
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    for seed in [0, 1, u64::MAX] {
        assert_eq!(turns(seed, 3), turns(seed, 3));
    }
}

#[test]
fn different_seeds_give_different_orders() {
    let orders: HashSet<Vec<u32>> = (0..16).map(|seed| turns(seed, 1)).collect();
    assert_eq!(orders.len(), 16);
}

#[test]
fn the_order_changes_from_round_to_round_and_from_block_to_block() {
    let log = turns(0, 2);
    let (first, second) = log.split_at(LOG);
    assert_ne!(first, second);
    assert_ne!(first[1..][..WARPS], first[1 + WARPS..][..WARPS]);
}

#[test]
fn an_error_names_the_seed_that_shows_it_again() {
    let error = take_turns::launch(&Simulator::new(11), 1, &mut []).unwrap_err();
    assert_eq!(error.seed, 11);
    assert_eq!(take_turns::launch(&Simulator::new(error.seed), 1, &mut []).unwrap_err(), error);
}
