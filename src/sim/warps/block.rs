//! One block: its warps as coroutines, and the barrier at which they wait for each other.

use crate::lane::LANES;
use crate::launch::Launch;
use crate::sim::arithmetic::operands::MmaResults;
use crate::sim::findings::{Awaited, Misuse, Place, WaitingWarp};
use crate::sim::findings::{Findings, Found};
use crate::sim::memory::bulk::{self, BulkCopies};
use crate::sim::memory::copies::WarpCopies;
use crate::sim::memory::global::GlobalAccesses;
use crate::sim::memory::order::Order;
use crate::sim::memory::race::{Access, Lanes};
use crate::sim::memory::shared::SharedMemory;
use crate::sim::memory::slices::Slices;
use crate::sim::record::{Recorder, note_sync};
use crate::sim::warps::context::{Failure, current_lane, in_block, take_panic, unwind};
use crate::sim::warps::mbarrier::{Barriers, PhaseWait};
use crate::sim::warps::polling::begin_turn;
use crate::sim::warps::registers::RegisterPool;
use crate::sim::wgmma::{self, WarpGroups};
use crate::site::Site;
use crate::{Block, Grid};
use core::panic::Location;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// A warp's stack. Fragments are held for all 32 lanes, and unoptimised code moves them about; only what is touched
/// takes memory.
const STACK_BYTES: usize = 16 << 20;

/// What the warps of a block have in common.
pub(in crate::sim) struct BlockState {
    pub(in crate::sim) shared: SharedMemory,
    pub(in crate::sim) global: RefCell<GlobalAccesses>,
    /// Each warp's copies that are in flight.
    pub(in crate::sim) copies: RefCell<Vec<WarpCopies>>,
    pub(in crate::sim) results: RefCell<MmaResults>,
    pub(in crate::sim) slices: RefCell<Slices>,
    pub(in crate::sim) findings: Rc<Findings>,
    pub(in crate::sim) order: Rc<Order>,
    pub(in crate::sim) barriers: RefCell<Barriers>,
    pub(in crate::sim) bulk: RefCell<BulkCopies>,
    pub(in crate::sim) wgmma: RefCell<WarpGroups>,
    pub(in crate::sim) registers: RefCell<RegisterPool>,
    /// Whether a `wgmma` is in flight: registers may hold its marks.
    pub(in crate::sim) is_multiplying: Cell<bool>,
    /// If the launch is recorded.
    pub(in crate::sim) recorder: Option<RefCell<Recorder>>,
    /// The warp that is running.
    running: Cell<usize>,
    /// Barriers that the block has passed.
    epoch: Cell<u32>,
    /// Barriers that each warp has passed by itself.
    warp_epochs: RefCell<Vec<u32>>,
    /// How often its clock was read.
    clock: Cell<u64>,
    pub(in crate::sim) index: Grid,
    pub(in crate::sim) grid: Grid,
    threads: usize,
}

impl BlockState {
    /// The warp that is running.
    pub(in crate::sim) fn running(&self) -> usize {
        self.running.get()
    }

    /// Reads the clock, which goes on with that.
    pub(in crate::sim) fn read_clock(&self) -> u64 {
        self.clock.replace(self.clock.get() + 1)
    }

    /// An access by the running lane, or, at warp scope, by each lane.
    pub(in crate::sim) fn access(&self, site: Site) -> Access {
        self.access_by(current_lane().map_or(Lanes::Each, Lanes::one), site)
    }

    /// An access by lanes of the running warp.
    pub(in crate::sim) fn access_by(&self, by: Lanes, site: Site) -> Access {
        let agent = self.running.get();
        let warp_epoch = self.warp_epochs.borrow()[agent];
        let tick = self.order.tick(agent);
        Access { agent, by, epoch: self.epoch.get(), warp_epoch, tick, location: site.location }
    }

    /// The lanes of the running warp wait for each other.
    pub(in crate::sim) fn sync_warp(&self) {
        self.warp_epochs.borrow_mut()[self.running.get()] += 1;
        self.order.sync_warp(self.running.get());
    }
}

/// A warp that is being simulated; it yields where it waits.
type WarpCoroutine = Coroutine<(), Waiting, ()>;

/// What a warp waits for.
pub(in crate::sim) enum Waiting {
    /// All warps, at a `sync` here.
    Sync(&'static Location<'static>),
    /// So many threads, at this barrier of the block's others.
    Named { barrier: u32, threads: u32, location: &'static Location<'static> },
    /// One of these phases.
    Phases(Vec<PhaseWait>),
    /// The four warps of this warpgroup, to have made so many groups of `wgmma`s.
    WarpGroup { group: usize, groups: u32, location: &'static Location<'static> },
    /// So many registers for each lane of this warp.
    Registers { warp: usize, count: u32, location: &'static Location<'static> },
    /// Its next turn, having tested these mbarriers in vain.
    Turn(Vec<u32>),
}

/// A warp of a block that is being simulated.
#[derive(Clone, Copy)]
pub struct WarpOfBlock<'k> {
    state: &'k BlockState,
    warp: usize,
    yielder: &'k Yielder<(), Waiting>,
}

impl WarpOfBlock<'_> {
    pub(crate) fn block_index(self) -> Grid {
        self.state.index
    }

    pub(crate) fn grid(self) -> Grid {
        self.state.grid
    }

    pub(crate) fn threads(self) -> usize {
        self.state.threads
    }

    pub(crate) fn warp(self) -> usize {
        self.warp
    }

    /// The lanes of the warp wait for each other.
    pub(crate) fn sync_warp(self) {
        self.state.sync_warp();
    }

    /// Waits until all warps of the block do.
    pub(crate) fn sync(self, site: Site) {
        // A destructor, while a run that failed is unwound: nobody will come.
        if std::thread::panicking() {
            return;
        }
        note_sync(site);
        self.yielder.suspend(Waiting::Sync(site.location));
    }

    /// Waits until so many threads of the block do, at the barrier of this number.
    pub(crate) fn sync_named(self, site: Site, barrier: u32, threads: u32) {
        if !std::thread::panicking() {
            self.state.order.make_partial();
            note_sync(site);
            self.yielder.suspend(Waiting::Named { barrier, threads, location: site.location });
        }
    }

    /// Lets others go on, until what it waits for has happened.
    pub(in crate::sim) fn suspend(self, waiting: Waiting) {
        self.yielder.suspend(waiting);
    }
}

/// How far a warp is.
enum Progress {
    Waiting(Waiting),
    Ended,
}

impl Progress {
    /// Whether the warp can go on.
    fn is_ready(&self, state: &BlockState) -> bool {
        match self {
            Progress::Waiting(Waiting::Turn(_)) => true,
            Progress::Waiting(Waiting::Phases(waits)) => {
                let barriers = state.barriers.borrow();
                waits.iter().any(|wait| barriers.is_settled(wait))
            }
            Progress::Waiting(Waiting::WarpGroup { group, groups, .. }) => {
                state.wgmma.borrow().have_committed(*group, *groups)
            }
            Progress::Waiting(Waiting::Registers { warp, count, .. }) => state.registers.borrow().has(*warp, *count),
            Progress::Waiting(Waiting::Sync(_) | Waiting::Named { .. }) | Progress::Ended => false,
        }
    }
}

/// The warps that wait at a barrier of which all have come that it is for, if there is one.
fn met(progress: &[Progress]) -> Option<Vec<usize>> {
    let named = |progress: &Progress| match progress {
        Progress::Waiting(Waiting::Named { barrier, threads, .. }) => Some((*barrier, *threads)),
        _ => None,
    };
    progress.iter().filter_map(named).find_map(|at| {
        let warps: Vec<usize> = (0..progress.len()).filter(|&warp| named(&progress[warp]) == Some(at)).collect();
        (warps.len() * LANES == at.1 as usize).then_some(warps)
    })
}

/// What is known of a block that has run.
pub(in crate::sim) struct Ran {
    pub(in crate::sim) accesses: GlobalAccesses,
    pub(in crate::sim) found: Found,
    pub(in crate::sim) recorder: Option<Recorder>,
}

/// Runs one block to its end, or as far as it can go.
pub(in crate::sim) fn run(
    launch: &Launch<'_>,
    index: Grid,
    seed: u64,
    patience: u64,
    recorder: Option<Recorder>,
) -> Ran {
    let threads = launch.kernel.threads as usize;
    let findings = Rc::new(Findings::new(launch.kernel.name, index, seed));
    let order = Rc::new(Order::new(threads / LANES));
    let state = Rc::new(BlockState {
        shared: SharedMemory::new(launch.kernel.shared_bytes as usize, findings.clone(), order.clone()),
        findings,
        order,
        barriers: RefCell::default(),
        bulk: RefCell::default(),
        wgmma: RefCell::default(),
        registers: RefCell::new(RegisterPool::new(launch.kernel)),
        is_multiplying: Cell::new(false),
        global: RefCell::default(),
        results: RefCell::default(),
        slices: RefCell::default(),
        copies: RefCell::new((0..threads / LANES).map(|_| WarpCopies::default()).collect()),
        recorder: recorder.map(RefCell::new),
        running: Cell::new(0),
        epoch: Cell::new(0),
        warp_epochs: RefCell::new(vec![0; threads / LANES]),
        clock: Cell::new(0),
        index,
        grid: launch.grid,
        threads,
    });
    if let Some(recorder) = &state.recorder {
        recorder.borrow_mut().begin_block(index, threads / LANES);
    }
    let mut warps: Vec<WarpCoroutine> = (0..threads / LANES)
        .map(|warp| {
            let (state, body) = (&*state, launch.body);
            let stack = DefaultStack::new(STACK_BYTES).expect("address space for the stacks of a block's warps");
            // SAFETY: what the coroutine borrows (the launch's body, the block's state) outlives `warps`.
            unsafe {
                Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<(), Waiting>, ()| {
                    body(&Block::simulated(WarpOfBlock { state, warp, yielder }));
                })
            }
        })
        .collect();
    let random =
        fastrand::Rng::with_seed(seed ^ (u64::from(index.x) << 32 | u64::from(index.y) << 16 | u64::from(index.z)));
    let ran = take_turns(&state, &mut warps, random, patience);
    if ran.is_ok() {
        bulk::end(&state);
        wgmma::end(&state);
    }
    // Warps that have not ended are unwound, and what they hold is dropped, as part of the block.
    let ended_by = ran.as_ref().err().map(|stopped| {
        let place = stopped.place.as_ref().map_or(String::new(), |place| format!("\n  --> {place}"));
        format!("error: {}{place}\n   = in kernel `{}`, block {index}", stopped.misuse, launch.kernel.name)
    });
    in_block(&state, || unwind(ended_by, || drop(warps)));
    let state = Rc::into_inner(state).expect("the warps have let go of it");
    if let Err(stopped) = ran {
        let Stopped { misuse, place, warp, lane } = *stopped;
        state.findings.add(misuse, place, warp, lane);
    }
    let mut recorder = state.recorder.map(RefCell::into_inner);
    if let Some(recorder) = &mut recorder {
        recorder.end_block();
    }
    Ran { accesses: state.global.into_inner(), found: state.findings.take(), recorder }
}

/// Why the warps of a block did not all end.
struct Stopped {
    misuse: Misuse,
    place: Option<Place>,
    warp: Option<usize>,
    lane: Option<usize>,
}

/// What a panic says.
fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)").into()
}

/// Resumes the warps, one at a time and in a random order, until all have ended.
fn take_turns(
    state: &Rc<BlockState>,
    warps: &mut [WarpCoroutine],
    mut random: fastrand::Rng,
    patience: u64,
) -> Result<(), Box<Stopped>> {
    let mut progress: Vec<_> = warps.iter().map(|_| Progress::Waiting(Waiting::Turn(Vec::new()))).collect();
    loop {
        let is_ready = |&warp: &usize| progress[warp].is_ready(state);
        let ready: Vec<usize> = (0..warps.len()).filter(is_ready).collect();
        let goes_on =
            |&warp: &usize| !matches!(&progress[warp], Progress::Waiting(Waiting::Turn(tested)) if !tested.is_empty());
        if !ready.iter().any(goes_on) && land_awaited(state, &progress, &mut random)? {
            continue;
        }
        if let Some(&warp) = random.choice(&ready) {
            state.running.set(warp);
            begin_turn(patience);
            let resumed = in_block(state, || {
                catch_unwind(AssertUnwindSafe(|| warps[warp].resume(()))).map_err(|payload| (payload, current_lane()))
            });
            progress[warp] = match resumed {
                Ok(CoroutineResult::Yield(waiting)) => Progress::Waiting(waiting),
                Ok(CoroutineResult::Return(())) => Progress::Ended,
                Err((payload, lane)) => {
                    return Err(Box::new(match payload.downcast::<Failure>() {
                        Ok(failure) => Stopped {
                            misuse: failure.misuse,
                            place: Some(failure.location.into()),
                            warp: Some(warp),
                            lane: failure.lane,
                        },
                        Err(payload) => {
                            // The hook that is told the place is this crate's, unless the program has set another since.
                            let (message, place) = take_panic().unwrap_or_else(|| (message_of(&*payload), None));
                            Stopped { misuse: Misuse::Panic { message }, place, warp: Some(warp), lane }
                        }
                    }));
                }
            };
            if let Some(warps) = met(&progress) {
                state.order.sync_warps(&warps);
                for warp in warps {
                    state.warp_epochs.borrow_mut()[warp] += 1;
                    progress[warp] = Progress::Waiting(Waiting::Turn(Vec::new()));
                }
            }
        } else {
            if progress.iter().all(|progress| matches!(progress, Progress::Ended)) {
                return Ok(());
            }
            if !progress.iter().all(|progress| matches!(progress, Progress::Waiting(Waiting::Sync(_)))) {
                return Err(Box::new(deadlock(&progress, state)));
            }
            state.epoch.update(|epoch| epoch + 1);
            if let Some(recorder) = &state.recorder {
                recorder.borrow_mut().pass_barrier();
            }
            state.order.sync_block();
            progress.fill_with(|| Progress::Waiting(Waiting::Turn(Vec::new())));
        }
    }
}

/// Lets a copy land that a warp waits for, if there is one.
fn land_awaited(state: &BlockState, progress: &[Progress], random: &mut fastrand::Rng) -> Result<bool, Box<Stopped>> {
    let awaited: Vec<u32> = progress
        .iter()
        .flat_map(|progress| match progress {
            Progress::Waiting(Waiting::Phases(waits)) => waits.iter().map(|wait| wait.address).collect(),
            Progress::Waiting(Waiting::Turn(tested)) => tested.clone(),
            Progress::Waiting(
                Waiting::Sync(_) | Waiting::Named { .. } | Waiting::WarpGroup { .. } | Waiting::Registers { .. },
            )
            | Progress::Ended => Vec::new(),
        })
        .collect();
    bulk::land_one(state, &awaited, |count| random.usize(..count)).map_err(|wrong| {
        let (misuse, started) = *wrong;
        let (warp, lane) = (Some(started.agent), started.lane());
        Box::new(Stopped { misuse, place: Some(started.location.into()), warp, lane })
    })
}

/// No warp can go on, and not all have ended.
fn deadlock(progress: &[Progress], state: &BlockState) -> Stopped {
    let barriers = state.barriers.borrow();
    let (mut waiting, mut ended) = (Vec::new(), Vec::new());
    for (warp, progress) in progress.iter().enumerate() {
        match progress {
            Progress::Waiting(Waiting::Sync(location)) => {
                waiting.push(WaitingWarp { warp, place: (*location).into(), awaited: Awaited::Sync });
            }
            Progress::Waiting(Waiting::Named { barrier, threads, location }) => {
                let awaited = Awaited::Named { barrier: *barrier, threads: *threads };
                waiting.push(WaitingWarp { warp, place: (*location).into(), awaited });
            }
            Progress::Waiting(Waiting::WarpGroup { group, location, .. }) => {
                let awaited = Awaited::WarpGroup { group: *group };
                waiting.push(WaitingWarp { warp, place: (*location).into(), awaited });
            }
            Progress::Waiting(Waiting::Registers { count, location, .. }) => {
                let awaited = Awaited::Registers { count: *count, free: state.registers.borrow().free() };
                waiting.push(WaitingWarp { warp, place: (*location).into(), awaited });
            }
            Progress::Waiting(Waiting::Phases(waits)) => waiting.extend(waits.iter().map(|wait| {
                let barrier = barriers.get(wait.address);
                let (phase, arrivals, bytes) = barrier.map_or((0, 0, 0), |barrier| barrier.missing());
                let awaited = Awaited::Barrier { address: wait.address, phase, arrivals, bytes };
                WaitingWarp { warp, place: wait.location.into(), awaited }
            })),
            Progress::Waiting(Waiting::Turn(_)) | Progress::Ended => ended.push(warp),
        }
    }
    let place = waiting.first().map(|waiting: &WaitingWarp| waiting.place.clone());
    Stopped { misuse: Misuse::Deadlock { waiting, ended }, place, warp: None, lane: None }
}
