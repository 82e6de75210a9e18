//! The lanes of a lane closure, and the collectives at which they wait for each other.
//!
//! Lanes run one after the other, as in a plain loop, but on a stack of their own. A lane that
//! comes to a raw collective stays there with its stack, and the lanes behind it go on on another
//! one; a closure without collectives takes one stack. Once each lane has come to a collective or
//! ended the closure, the collective is executed for all, and they go on in order.

use crate::engine::{
    findings::Misuse,
    record::note_end_of_closure,
    warps::{
        block::{BlockState, Waiting, WarpOfBlock},
        context::{current_lane, fail, fail_in_lane, set_lane, with_block},
        divergence::{self, CollectiveAt},
        mbarrier::PhaseWait,
        polling::forget_reads,
        stack::{self, StackOf},
    },
};
use crate::lane::{LANES, Lane, PerLane, Site};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::vec::Vec;

/// A lane's stack: what a thread of a GPU may have (512 KiB), and room for unoptimised code to move
/// it about. Only what is touched takes memory.
const STACK_BYTES: usize = 2 << 20;

/// Stacks that are kept for the closures to come: those of all lanes of a warp.
const STACKS_KEPT: usize = LANES;

/// One lane's operands of a collective, or its results.
pub(crate) type Registers = Box<dyn Any>;

/// Computes all lanes' results from all lanes' operands.
type Execute = Box<dyn FnOnce(WarpOfBlock<'_>, Site, Vec<Registers>) -> Vec<Registers>>;

/// Runs lanes, one after the other, until one waits; it is resumed with that lane's results.
struct Runner {
    lanes: Coroutine<Registers, Pause, ()>,
    stack: StackOf,
}

/// Why a lane does not go on.
pub(crate) enum Pause {
    /// It has come to a collective.
    Collective(Arrival),
    /// It waits for a phase of an mbarrier, or to give up.
    Phase(PhaseWait),
    /// It has tested the mbarrier here, and lets others go on.
    Test(u32),
}

/// A lane has come to a collective.
pub(crate) struct Arrival {
    lane: usize,
    at: CollectiveAt,
    site: Site,
    operands: Registers,
    execute: Execute,
}

std::thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    /// What the running lane waits by.
    static YIELDER: Cell<LaneYielder> = const { Cell::new(ptr::null()) };
}

/// What a lane waits by, if one is running.
pub(crate) type LaneYielder = *const Yielder<Registers, Pause>;

/// What the running lane waits by.
pub(crate) fn yielder() -> LaneYielder {
    YIELDER.get()
}

/// The same lane goes on.
pub(crate) fn set_yielder(yielder: LaneYielder) {
    YIELDER.set(yielder);
}

/// A lane closure, for functions that are compiled once for all of those with the same result. (The
/// table of a `dyn Fn` would have each closure three times.)
pub(crate) trait LaneClosure<T> {
    fn run(&self, lane: Lane<'_>) -> T;
}

impl<T, F: Fn(Lane<'_>) -> T> LaneClosure<T> for F {
    fn run(&self, lane: Lane<'_>) -> T {
        self(lane)
    }
}

/// What the closure returns in each lane.
#[inline(never)]
pub(crate) fn each_lane<T>(warp: WarpOfBlock<'_>, closure: &dyn LaneClosure<T>) -> PerLane<T> {
    let values = [const { Cell::new(None) }; LANES];
    run_lanes(warp, &|lane| values[lane].set(Some(closure.run(Lane::simulated(lane)))));
    PerLane::from_array(values.map(|value| value.into_inner().expect("each lane has run")))
}

/// References to the values, each to be taken by its lane.
#[inline(never)]
pub(crate) fn taken_in_turn<T>(values: &mut PerLane<T>) -> [Cell<Option<&mut T>>; LANES] {
    values.array_mut().each_mut().map(|value| Cell::new(Some(value)))
}

/// Runs `body(lane)` for each lane.
fn run_lanes(warp: WarpOfBlock<'_>, body: &dyn Fn(usize)) {
    // A destructor, while a run that failed is unwound, may come here with the lane that failed: it
    // stays the one to blame.
    let outside = current_lane();
    with_block(BlockState::begin_closure);
    let next = Cell::new(0);
    let mut waiting = Vec::new();
    while next.get() < LANES {
        waiting.extend(resume(runner(&next, body), outside, Box::new(())));
    }
    loop {
        note_end_of_closure();
        if waiting.is_empty() {
            return;
        }
        if waiting.iter().any(|(_, pause)| !matches!(pause, Pause::Collective(_))) {
            waiting = wait_in_lanes(warp, waiting, outside);
            continue;
        }
        let collective = |(runner, pause)| match pause {
            Pause::Collective(arrival) => Some((runner, arrival)),
            Pause::Phase(_) | Pause::Test(_) => None,
        };
        let (runners, arrivals): (Vec<_>, Vec<_>) =
            waiting.into_iter().filter_map(collective).unzip();
        let lanes = runners.into_iter().zip(meet(warp, arrivals));
        with_block(BlockState::begin_closure);
        waiting = lanes.filter_map(|(runner, results)| resume(runner, outside, results)).collect();
    }
}

/// A runner of the lanes from `next` on.
fn runner(next: &Cell<usize>, body: &dyn Fn(usize)) -> Runner {
    let stack = STACKS.with_borrow_mut(Vec::pop);
    let stack = stack.unwrap_or_else(|| {
        DefaultStack::new(STACK_BYTES).expect("address space for the stacks of lanes")
    });
    let of = StackOf::lane(&stack);
    // SAFETY: `run_lanes` keeps or drops its runners while `next` and `body` are there.
    let lanes = unsafe {
        Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<Registers, Pause>, _| {
            while next.get() < LANES {
                let lane = next.replace(next.get() + 1);
                enter(lane, yielder);
                body(lane);
            }
        })
    };
    Runner { lanes, stack: of }
}

/// From now on this lane runs.
fn enter(lane: usize, yielder: &Yielder<Registers, Pause>) {
    set_lane(Some(lane));
    YIELDER.set(yielder);
    forget_reads();
    with_block(BlockState::begin_lane);
}

/// Waits with the lanes that wait by themselves, and lets those go on that can.
fn wait_in_lanes(
    warp: WarpOfBlock<'_>,
    paused: Vec<(Runner, Pause)>,
    outside: Option<usize>,
) -> Vec<(Runner, Pause)> {
    let (mut phases, mut tested) = (Vec::new(), Vec::new());
    for (_, pause) in &paused {
        match pause {
            Pause::Collective(_) => {}
            Pause::Phase(wait) => phases.push(*wait),
            Pause::Test(address) => tested.push(*address),
        }
    }
    warp.suspend(if tested.is_empty() { Waiting::Phases(phases) } else { Waiting::Turn(tested) });
    let is_settled =
        |wait: &PhaseWait| with_block(|block| block.barriers.borrow().is_settled(wait));
    // The warp's turn has come with no phase over that its lanes wait for: they give up.
    let give_up =
        !paused.iter().any(|(_, pause)| matches!(pause, Pause::Phase(wait) if is_settled(wait)));
    let goes_on = |pause: &Pause| match pause {
        Pause::Collective(_) => false,
        Pause::Phase(wait) => give_up || is_settled(wait),
        Pause::Test(_) => true,
    };
    let step = |(runner, pause)| {
        if goes_on(&pause) { resume(runner, outside, Box::new(())) } else { Some((runner, pause)) }
    };
    paused.into_iter().filter_map(step).collect()
}

/// Lets a runner run until a lane waits, if one does.
fn resume(
    mut runner: Runner,
    outside: Option<usize>,
    results: Registers,
) -> Option<(Runner, Pause)> {
    let stack_outside = stack::run_on(runner.stack);
    let resumed = runner.lanes.resume(results);
    stack::run_on(stack_outside);
    set_lane(outside);
    match resumed {
        CoroutineResult::Yield(pause) => Some((runner, pause)),
        CoroutineResult::Return(()) => {
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < STACKS_KEPT {
                    stacks.push(runner.lanes.into_stack());
                }
            });
            None
        }
    }
}

/// All lanes have arrived or ended: executes what they arrived at, if it is the same in all.
/// Returns each lane's results.
fn meet(warp: WarpOfBlock<'_>, arrivals: Vec<Arrival>) -> Vec<Registers> {
    let site = arrivals[0].site;
    let lanes = arrivals.iter().map(|arrival| (arrival.lane, arrival.at));
    divergence::check(lanes).unwrap_or_else(|misuse| fail_in_lane(site, None, misuse));
    let (operands, mut executions): (_, Vec<Execute>) =
        arrivals.into_iter().map(|arrival| (arrival.operands, arrival.execute)).unzip();
    executions.swap_remove(0)(warp, site, operands)
}

/// The running lane comes to a collective: waits for all others, and returns what `execute` makes
/// of all lanes' operands.
///
/// There are hundreds of these: what is not the closure's own is compiled once, or once for each
/// type.
pub(crate) fn collective<I: 'static, O: bytemuck::Zeroable + Copy + 'static>(
    site: Site,
    form: &'static str,
    operands: I,
    execute: impl FnOnce(WarpOfBlock<'_>, Site, PerLane<I>) -> PerLane<O> + 'static,
) -> O {
    let execute = move |warp: WarpOfBlock<'_>, site: Site, operands: Vec<Registers>| {
        by_lane(&execute(warp, site, of_lanes(operands)))
    };
    result(arrive(site, form, Box::new(operands), Box::new(execute)))
}

/// The operands of all lanes.
#[inline(never)]
fn of_lanes<I: 'static>(operands: Vec<Registers>) -> PerLane<I> {
    let mut of_lanes = Vec::with_capacity(LANES);
    for operands in operands {
        of_lanes.push(*operands.downcast::<I>().expect("the operands of one form"));
    }
    PerLane::from_array(
        of_lanes.try_into().unwrap_or_else(|_| unreachable!("a collective of some lanes")),
    )
}

/// The results, each for its lane.
#[inline(never)]
fn by_lane<O: Copy + 'static>(results: &PerLane<O>) -> Vec<Registers> {
    let mut by_lane: Vec<Registers> = Vec::with_capacity(LANES);
    for result in results.array() {
        by_lane.push(Box::new(*result));
    }
    by_lane
}

/// A lane's result; zeros where there is none.
#[inline(never)]
fn result<O: bytemuck::Zeroable + 'static>(result: Option<Registers>) -> O {
    result.map_or_else(O::zeroed, |result| *result.downcast().expect("the results of the form"))
}

/// The running lane waits for all others, and gets its results; none while a run that failed is
/// unwound.
fn arrive(
    site: Site,
    form: &'static str,
    operands: Registers,
    execute: Execute,
) -> Option<Registers> {
    // A destructor, while a run that failed is unwound: nobody will come.
    if std::thread::panicking() {
        return None;
    }
    let Some(lane) = current_lane() else { fail(site, Misuse::RawAtWarpScope { form }) };
    let at = CollectiveAt::new(form, site);
    let arrival = Arrival { lane, at, site, operands, execute };
    let yielder = YIELDER.get();
    // SAFETY: a lane is running, in the runner whose yielder it is, as `enter` said when the lane
    // began or went on.
    let yielder = unsafe { &*yielder };
    let results = yielder.suspend(Pause::Collective(arrival));
    enter(lane, yielder);
    Some(results)
}

/// The running lane does not go on before its warp's next turn, or before the phase that it waits
/// for is over.
pub(crate) fn pause(site: Site, form: &'static str, pause: Pause) {
    let Some(lane) = current_lane() else { fail(site, Misuse::RawAtWarpScope { form }) };
    // SAFETY: as in `arrive`.
    let yielder = unsafe { &*YIELDER.get() };
    yielder.suspend(pause);
    enter(lane, yielder);
}
