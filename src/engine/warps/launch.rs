//! Launches whose clusters take turns, because they share atomic elements.

use crate::engine::Job;
use crate::engine::memory::launch_memory::LaunchMemory;
use crate::engine::record::Recorded;
use crate::engine::warps::schedule::{ClusterRun, Ran};
use crate::lane::{Grid, LANES};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

/// The clusters that begin together. The others begin, in order, when these have ended, or wait.
const FIRST_CLUSTERS: usize = 32;

/// Runs the clusters that begin at these blocks, until all have ended or one has failed. Their
/// turns are in random order. Returns their results, and the values that they wrote.
///
/// # Safety
/// The kernel writes to buffers that the launch has borrowed mutably. Nothing else writes to them
/// meanwhile.
pub(crate) unsafe fn run(
    job: &Job<'_>,
    mut clusters: impl Iterator<Item = Grid>,
    seed: u64,
    patience: u64,
    recorded: Recorded,
) -> (Vec<Ran>, LaunchMemory) {
    let memory = Rc::new(RefCell::new(LaunchMemory::new(job.threads as usize / LANES)));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut running: Vec<(usize, ClusterRun)> = Vec::new();
    let mut ran: Vec<(usize, Ran)> = Vec::new();
    loop {
        let free = match memory.borrow().turns.need_others() {
            true => running.len(),
            false => FIRST_CLUSTERS.saturating_sub(running.len()),
        };
        let begun = running.len() + ran.len();
        running.extend(clusters.by_ref().take(free).enumerate().map(|(further, first)| {
            (begun + further, ClusterRun::new(job, first, seed, recorded, Some(&memory)))
        }));
        if running.is_empty() {
            break;
        }
        let next = random.usize(..running.len());
        let (number, cluster) = &mut running[next];
        let number = *number;
        let ended = cluster.take_turns(patience);
        // SAFETY: guaranteed by the caller.
        unsafe { cluster.publish() };
        let Some(result) = ended else { continue };
        let has_failed = result.is_err();
        let (_, cluster) = running.swap_remove(next);
        ran.push((number, cluster.end(job, result)));
        if has_failed {
            // What the others wait for may no longer come.
            ran.extend(running.drain(..).map(|(number, other)| (number, other.end(job, Ok(())))));
            break;
        }
    }
    ran.sort_unstable_by_key(|(number, _)| *number);
    let ran = ran.into_iter().map(|(_, ran)| ran).collect();
    (ran, Rc::into_inner(memory).expect("all clusters have ended").into_inner())
}
