//! The scheduler: resumes the warps of a cluster, which are coroutines, and completes their
//! barriers.

use crate::engine::Job;
use crate::engine::findings::{Found, Misuse, Place};
use crate::engine::memory::boxes::Boxes;
use crate::engine::memory::bulk;
use crate::engine::memory::global::GlobalAccesses;
use crate::engine::memory::launch_memory::{InLaunch, LaunchMemory};
use crate::engine::memory::peer;
use crate::engine::record::{Recorded, Recorder};
use crate::engine::warps::block::{BlockState, ClusterState, Waiting, WarpOfBlock, random_of};
use crate::engine::warps::context::{Failure, current_lane, in_block, take_panic, unwind};
use crate::engine::warps::deadlock::{self, deadlock};
use crate::engine::warps::polling::begin_turn;
use crate::engine::warps::registers;
use crate::engine::warps::stack::{self, StackOf};
use crate::engine::wgmma;
use crate::lane::Grid;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::format;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

/// The stack of a warp. Fragments hold the values of all 32 lanes, and unoptimised code copies
/// them. Only pages that are touched use memory.
const STACK_BYTES: usize = 16 << 20;

std::thread_local! {
    /// The stacks of ended warps, for the next ones. Each page of a new stack costs a page fault.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A simulated warp. It yields when it waits.
struct WarpCoroutine {
    warp: Coroutine<(), Waiting, ()>,
    stack: StackOf,
}

impl WarpCoroutine {
    /// Unwinds a warp that has not ended, or keeps the stack of one that has.
    fn end(self) {
        if self.warp.done() {
            STACKS.with_borrow_mut(|stacks| stacks.push(self.warp.into_stack()));
        }
    }
}

/// The state of a warp.
pub(super) enum Progress {
    Waiting(Waiting),
    Ended,
}

impl Progress {
    /// It can run.
    const READY: Self = Progress::Waiting(Waiting::Scheduler(Vec::new()));

    /// Whether the warp can run.
    fn is_ready(&self, cluster: &ClusterState, state: &BlockState) -> bool {
        match self {
            Progress::Waiting(Waiting::Scheduler(_) | Waiting::Launch) => true,
            Progress::Waiting(Waiting::Phases(waits)) => {
                let barriers = state.barriers.borrow();
                waits.iter().any(|wait| barriers.is_settled(wait))
            }
            Progress::Waiting(Waiting::Cluster { times, .. }) => {
                cluster.barrier.borrow().was_met(*times)
            }
            Progress::Waiting(Waiting::WarpGroup { group, groups, .. }) => {
                state.wgmma.borrow().have_committed(*group, *groups)
            }
            Progress::Waiting(Waiting::Registers { warp, count, .. }) => {
                state.registers.borrow().has(*warp, *count)
            }
            Progress::Waiting(Waiting::Named { barrier, phase, .. }) => {
                state.named.borrow().is_complete(*barrier, *phase)
            }
            Progress::Waiting(Waiting::Sync(_)) | Progress::Ended => false,
        }
    }

    /// Whether the warp tests mbarriers, perhaps again and again. (A wait that does not give up
    /// ends with its phase.)
    fn polls(&self) -> bool {
        match self {
            Progress::Waiting(Waiting::Scheduler(tested)) => !tested.is_empty(),
            Progress::Waiting(Waiting::Phases(waits)) => waits.iter().any(|wait| wait.gives_up),
            _ => false,
        }
    }

    /// Whether the warp has run up to an atomic operation in shared memory.
    fn is_before_fetch(&self) -> bool {
        matches!(self, Progress::Waiting(Waiting::Scheduler(tested)) if tested.is_empty())
    }

    /// Whether the warp can run because its wait may give up.
    fn may_give_up(&self, state: &BlockState) -> bool {
        let Progress::Waiting(Waiting::Phases(waits)) = self else { return false };
        let barriers = state.barriers.borrow();
        waits.iter().any(|wait| wait.gives_up && !barriers.is_settled(wait))
    }
}

/// The results of a cluster's run.
pub(crate) struct Ran {
    pub(crate) accesses: GlobalAccesses,
    pub(crate) found: Found,
    pub(crate) boxes: Boxes,
    pub(crate) recorder: Option<Recorder>,
}

/// Runs the blocks of the cluster at `first` to their end, or as far as possible.
pub(crate) fn run(job: &Job<'_>, first: Grid, seed: u64, patience: u64, recorded: Recorded) -> Ran {
    let mut run = ClusterRun::new(job, first, seed, recorded, None);
    let ended = run.take_turns(patience);
    run.end(job, ended.expect("no other cluster has to run"))
}

/// A cluster that runs.
pub(super) struct ClusterRun {
    warps: Vec<WarpCoroutine>,
    progress: Vec<Progress>,
    random: fastrand::Rng,
    /// The end of the run, if warps run on to show the cause of a finding.
    ended_by: Option<Box<Stopped>>,
    cluster: Rc<ClusterState>,
}

impl ClusterRun {
    /// The cluster at `first`. If the launch's clusters take turns, they share `memory`.
    pub(super) fn new(
        job: &Job<'_>,
        first: Grid,
        seed: u64,
        recorded: Recorded,
        memory: Option<&Rc<RefCell<LaunchMemory>>>,
    ) -> Self {
        let cluster = Rc::new(ClusterState::new(job, first, seed, recorded, memory));
        for block in &cluster.blocks {
            if let Some(recorder) = &block.recorder {
                recorder.borrow_mut().begin_block(block.index, block.warps());
            }
        }
        let warps = cluster
            .blocks
            .iter()
            .flat_map(|block| (0..block.warps()).map(move |warp| (block, warp)));
        let warps: Vec<WarpCoroutine> = warps
            .map(|(state, warp)| {
                let body = job.body;
                let stack = STACKS.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
                    DefaultStack::new(STACK_BYTES)
                        .expect("address space for the stacks of a block's warps")
                });
                let of = StackOf::warp(&stack);
                let work = move |yielder: &Yielder<(), Waiting>, ()| {
                    body(WarpOfBlock { state, warp, yielder });
                };
                // SAFETY: the borrowed values (the launch's body, the block's state) outlive
                // `warps`, which are dropped before the cluster.
                let warp = unsafe { Coroutine::with_stack_unchecked(stack, work) };
                WarpCoroutine { warp, stack: of }
            })
            .collect();
        ClusterRun {
            progress: warps.iter().map(|_| Progress::READY).collect(),
            warps,
            random: random_of(first, seed),
            ended_by: None,
            cluster,
        }
    }

    /// Lets the other clusters of the launch see its accesses.
    ///
    /// # Safety
    /// The kernel writes to buffers that the launch has borrowed mutably. Nothing else writes to
    /// them meanwhile.
    pub(super) unsafe fn publish(&self) {
        let block = &self.cluster.blocks[0];
        if let Some(in_launch) = &block.in_launch {
            // SAFETY: guaranteed by the caller.
            unsafe { block.global.borrow_mut().publish(in_launch) };
        }
    }

    /// Ends the run, with the result of its last turn.
    pub(super) fn end(self, job: &Job<'_>, ran: Result<(), Box<Stopped>>) -> Ran {
        let ClusterRun { warps, cluster, .. } = self;
        // Unwinds the other warps and drops their values, as a part of the block that
        // ended the run.
        let ended_by = ran.as_ref().err().map(|stopped| {
            let place =
                stopped.place.as_ref().map_or(String::new(), |place| format!("\n  --> {place}"));
            let block = cluster.blocks[stopped.rank].index;
            let Stopped { misuse, .. } = &**stopped;
            format!("error: {misuse}{place}\n   = in kernel `{}`, block {block}", job.name)
        });
        let rank = ran.as_ref().err().map_or(0, |stopped| stopped.rank);
        let cause = ran.as_ref().err().and_then(|stopped| {
            let Stopped { misuse, place, warp, .. } = &**stopped;
            deadlock::cause(&cluster, misuse, rank, *warp, place.as_ref())
        });
        in_block(&cluster, rank, || {
            unwind(ended_by, || warps.into_iter().for_each(WarpCoroutine::end));
        });
        let cluster = Rc::into_inner(cluster).expect("the warps have let go of it");
        let findings = Rc::clone(&cluster.blocks[0].findings);
        if let Err(stopped) = ran {
            let Stopped { misuse, place, rank, warp, lane } = *stopped;
            findings.add(findings.finding(misuse, cause, place, rank, warp, lane));
        }
        let (accesses, boxes) = (cluster.blocks[0].global.take(), cluster.boxes.take());
        let recorders = cluster.blocks.into_iter().filter_map(|block| {
            let mut recorder = block.recorder.map(RefCell::into_inner)?;
            recorder.end_block();
            Some(recorder)
        });
        let recorder = recorders.reduce(|mut all, later| {
            all.append(later);
            all
        });
        Ran { accesses, found: findings.take(), boxes, recorder }
    }

    /// Resumes the warps, one at a time and in random order, until all have ended. Returns `None`
    /// before an atomic operation: now another cluster of the launch may run.
    ///
    /// If a warp ends the run while a finding lacks its cause, the other warps run on. They only
    /// show the cause, and add no findings.
    pub(super) fn take_turns(&mut self, patience: u64) -> Option<Result<(), Box<Stopped>>> {
        let ClusterRun { warps, progress, random, ended_by, cluster } = self;
        let findings = &cluster.blocks[0].findings;
        loop {
            if !findings.lack_causes()
                && let Some(stopped) = ended_by.take()
            {
                return Some(Err(stopped));
            }
            let is_ready =
                |&agent: &usize| progress[agent].is_ready(cluster, cluster.warp(agent).0);
            let mut ready: Vec<usize> = (0..warps.len()).filter(is_ready).collect();
            let goes_on = |&agent: &usize| match &progress[agent] {
                Progress::Waiting(Waiting::Scheduler(tested)) => tested.is_empty(),
                Progress::Waiting(Waiting::Launch) => false,
                _ => true,
            };
            if !ready.iter().any(goes_on) {
                match land_awaited(cluster, progress, random) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(stopped) => return Some(Err(ended_by.take().unwrap_or(stopped))),
                }
                // If a loop around such waits counts as endless, none gives up: a deadlock.
                let may_give_up =
                    |&agent: &usize| progress[agent].may_give_up(cluster.warp(agent).0);
                if !cluster.polls_endlessly() {
                    ready.extend((0..warps.len()).filter(may_give_up));
                }
            }
            let Some(&agent) = random.choice(&ready) else {
                let have_ended =
                    progress.iter().all(|progress| matches!(progress, Progress::Ended));
                return Some(match ended_by.take() {
                    Some(stopped) => Err(stopped),
                    None if have_ended => Ok(()),
                    None => Err(Box::new(deadlock(progress, cluster))),
                });
            };
            let (state, warp) = cluster.warp(agent);
            state.run_warp(warp);
            begin_turn(patience);
            let resumed = in_block(cluster, state.rank, || {
                let WarpCoroutine { warp, stack } = &mut warps[agent];
                stack::run_on(*stack);
                catch_unwind(AssertUnwindSafe(|| warp.resume(())))
                    .map_err(|payload| (payload, current_lane()))
            });
            progress[agent] = match resumed {
                Ok(CoroutineResult::Yield(waiting)) => Progress::Waiting(waiting),
                Ok(CoroutineResult::Return(())) => Progress::Ended,
                Err((payload, lane)) => {
                    let (rank, warp) = (state.rank, Some(warp));
                    let stopped = match payload.downcast::<Failure>() {
                        Ok(failure) => {
                            let place = Some(failure.location.into());
                            Stopped {
                                misuse: failure.misuse,
                                place,
                                rank,
                                warp,
                                lane: failure.lane,
                            }
                        }
                        Err(payload) => {
                            // This crate's panic hook has kept the place, unless the program has
                            // set another hook since.
                            let (message, place) =
                                take_panic().unwrap_or_else(|| (message_of(&*payload), None));
                            Stopped { misuse: Misuse::Panic { message }, place, rank, warp, lane }
                        }
                    };
                    if !findings.lack_causes() {
                        let stopped = ended_by.take().unwrap_or(Box::new(stopped));
                        return Some(Err(stopped));
                    }
                    findings.derail();
                    ended_by.get_or_insert(Box::new(stopped));
                    progress[agent] = Progress::Ended;
                    continue;
                }
            };
            let events: u64 =
                cluster.blocks.iter().map(|block| block.barriers.borrow().events()).sum();
            cluster.vain_turns.set(cluster.vain_turns.get().and(progress[agent].polls(), events));
            let fetches = progress[agent].is_before_fetch();
            cluster.fetching_turns.set(cluster.fetching_turns.get().and(fetches));
            let of_block = state.agent_of(0)..state.agent_of(state.warps());
            let in_block = &mut progress[of_block];
            if matches!(in_block[warp], Progress::Ended) {
                cluster.barrier.borrow_mut().leave(agent);
                end_warp(
                    state,
                    in_block.iter().all(|progress| matches!(progress, Progress::Ended)),
                );
            } else if let Progress::Waiting(Waiting::Sync(location)) = in_block[warp]
                && in_block
                    .iter()
                    .all(|progress| matches!(progress, Progress::Waiting(Waiting::Sync(_))))
            {
                state.pass_sync(location);
                in_block.fill_with(|| Progress::READY);
            }
            if let Some(InLaunch { memory, cluster: number }) = &state.in_launch {
                let before_atomic = matches!(progress[agent], Progress::Waiting(Waiting::Launch));
                let has_ended = matches!(progress[agent], Progress::Ended);
                memory.borrow_mut().turns.end(*number, events, (before_atomic, has_ended));
                if before_atomic {
                    return None;
                }
            }
        }
    }
}

/// The reason why the warps of a cluster did not all end.
pub(super) struct Stopped {
    pub(super) misuse: Misuse,
    pub(super) place: Option<Place>,
    /// The rank of the block.
    pub(super) rank: usize,
    pub(super) warp: Option<usize>,
    pub(super) lane: Option<usize>,
}

/// The message of a panic.
fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)").into()
}

/// The running warp of a block has ended; with `is_last`, the block has ended too.
fn end_warp(state: &BlockState, is_last: bool) {
    peer::end_warp(state, is_last);
    registers::end_warp(state);
    if is_last {
        state.has_ended.set(true);
        bulk::end(state);
        wgmma::end(state);
    }
}

/// Lands a copy that a warp waits for, if there is one.
fn land_awaited(
    cluster: &ClusterState,
    progress: &[Progress],
    random: &mut fastrand::Rng,
) -> Result<bool, Box<Stopped>> {
    let awaited = progress.iter().enumerate().flat_map(|(agent, progress)| {
        let addresses: Vec<u32> = match progress {
            Progress::Waiting(Waiting::Phases(waits)) => {
                waits.iter().map(|wait| wait.address).collect()
            }
            Progress::Waiting(Waiting::Scheduler(tested)) => tested.clone(),
            Progress::Waiting(
                Waiting::Sync(_)
                | Waiting::Named { .. }
                | Waiting::Cluster { .. }
                | Waiting::WarpGroup { .. }
                | Waiting::Registers { .. }
                | Waiting::Launch,
            )
            | Progress::Ended => Vec::new(),
        };
        let rank = cluster.warp(agent).0.rank;
        addresses.into_iter().map(move |address| (rank, address))
    });
    let awaited: BTreeSet<(usize, u32)> = awaited.collect();
    bulk::land_one(cluster, &awaited, |count| random.usize(..count)).map_err(|wrong| {
        let (misuse, started) = *wrong;
        let (block, warp) = cluster.warp(started.agent);
        let (place, lane) = (Some(started.location.into()), started.lane());
        Box::new(Stopped { misuse, place, rank: block.rank, warp: Some(warp), lane })
    })
}
