//! The seed determines the order in which the warps of a block run.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

const WARPS: usize = 8;
const ROUNDS: usize = 4;

/// The warps in the order of their turns, by launch and block. (It is in memory of the host; on a
/// GPU, or in simulated memory, it would be a race.)
static ORDERS: LazyLock<Mutex<Orders>> = LazyLock::new(Mutex::default);
type Orders = HashMap<(u32, u32), Vec<usize>>;

#[kernel(threads = 256)]
fn record_order(block: &Block, launch: u32) {
    for _ in 0..ROUNDS {
        let key = (launch, block.index().x);
        ORDERS.lock().unwrap().entry(key).or_default().push(block.warp().index());
        block.sync();
    }
}

fn order(seed: u64, blocks: u32) -> Vec<usize> {
    static LAUNCHES: AtomicU32 = AtomicU32::new(0);
    let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
    record_order::launch(&Simulator::new(seed), blocks, launch).unwrap();
    let mut order = ORDERS.lock().unwrap();
    (0..blocks).flat_map(|block| order.remove(&(launch, block)).unwrap()).collect()
}

#[test]
fn each_warp_runs_once_between_syncs() {
    let order = order(3, 1);
    assert_eq!(order.len(), WARPS * ROUNDS);
    for round in order.chunks(WARPS) {
        assert_eq!(round.iter().copied().collect::<HashSet<usize>>(), (0..WARPS).collect());
    }
}

#[test]
fn same_seed_same_order() {
    for seed in [0, 1, u64::MAX] {
        assert_eq!(order(seed, 3), order(seed, 3));
    }
}

#[test]
fn different_seeds_give_different_orders() {
    let orders: HashSet<Vec<usize>> = (0..16).map(|seed| order(seed, 1)).collect();
    assert_eq!(orders.len(), 16);
}

#[test]
fn order_varies_by_round_and_block() {
    let order = order(0, 2);
    assert_eq!(order.len(), 2 * WARPS * ROUNDS);
    let (first, second) = order.split_at(WARPS * ROUNDS);
    assert_ne!(first, second);
    assert_ne!(first[..WARPS], first[WARPS..][..WARPS]);
}

#[kernel(threads = 256)]
fn write_beyond(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|_| d.set(0, 0));
}

#[test]
fn error_has_reproducing_seed() {
    let error = write_beyond::launch(&Simulator::new(11), 1, &mut []).unwrap_err();
    assert_eq!(error.seed, 11);
    assert_eq!(write_beyond::launch(&Simulator::new(error.seed), 1, &mut []).unwrap_err(), error);
}

thread_local! {
    /// The warps that have had a turn. (A launch of one block stays on its thread.)
    static STARTED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Fails in the orders in which warp 2 runs first.
#[kernel(threads = 128)]
fn first_warp(block: &Block) {
    let first = STARTED.with_borrow_mut(|order| {
        order.push(block.warp().index());
        order.len() == 1
    });
    assert!(!(first && block.warp().index() == 2), "warp 2 is first");
}

#[test]
fn sweep_finds_smallest_failing_seed() {
    let run = |simulator: &Simulator| {
        STARTED.take();
        first_warp::launch(simulator, 1)
    };
    let least = (0..100).find(|&seed| run(&Simulator::new(seed)).is_err()).unwrap();
    let error = Simulator::sweep(0..100, run).unwrap_err();
    assert_eq!(error.seed, least);
    if least > 0 {
        assert!(
            error.to_string().contains(&format!("with seed {least}, which shows it again")),
            "{error}"
        );
        Simulator::sweep(0..least, run).unwrap();
    }
}
