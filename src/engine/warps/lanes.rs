//! The lanes of a lane closure, and the collectives that they execute together.
//!
//! Lanes run in order, as in a plain loop, but on a separate stack. A lane that reaches a raw
//! collective keeps its stack, and the following lanes continue on another one. A closure without
//! collectives uses one stack. When each lane has reached a collective or ended, the collective
//! runs for all lanes. Then the lanes continue in order.

use crate::engine::{
    findings::Misuse,
    record::{interrupt_closure, note_end_of_closure, resume_closure},
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

/// The stack of a lane: 512 KiB, the most that a GPU thread may have, and room for the moves of
/// unoptimised code. Only pages that are touched use memory.
const STACK_BYTES: usize = 2 << 20;

/// Stacks kept for later closures: enough for all lanes of a warp.
const STACKS_KEPT: usize = LANES;

/// One lane's operands or results of a collective.
pub(crate) type Registers = Box<dyn Any>;

/// Computes all lanes' results from all lanes' operands.
type Execute = Box<dyn FnOnce(WarpOfBlock<'_>, Site, Vec<Registers>) -> Vec<Registers>>;

/// Runs lanes in order until one waits. It is resumed with that lane's results.
struct Runner {
    lanes: Coroutine<Registers, Pause, ()>,
    stack: StackOf,
}

/// The reason why a lane pauses.
pub(crate) enum Pause {
    /// It has reached a collective.
    Collective(LaneAtCollective),
    /// It waits for a phase of an mbarrier. The wait may give up.
    Phase(PhaseWait),
    /// It has tested the mbarrier at this address, and yields.
    Test(u32),
    /// It is before an atomic operation in global memory: other clusters of the launch may run. The
    /// warp's other lanes wait.
    Atomic,
    /// It is before an atomic operation in shared memory: other warps of the cluster may run. The
    /// warp's other lanes wait.
    SharedAtomic,
}

/// A lane that has reached a collective.
pub(crate) struct LaneAtCollective {
    lane: usize,
    at: CollectiveAt,
    site: Site,
    operands: Registers,
    execute: Execute,
}

std::thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    /// The yielder of the running lane.
    static YIELDER: Cell<LaneYielder> = const { Cell::new(ptr::null()) };
}

/// The yielder by which a lane waits; null if no lane runs.
pub(crate) type LaneYielder = *const Yielder<Registers, Pause>;

/// The yielder of the running lane.
pub(crate) fn yielder() -> LaneYielder {
    YIELDER.get()
}

/// Restores the yielder of the interrupted lane.
pub(crate) fn set_yielder(yielder: LaneYielder) {
    YIELDER.set(yielder);
}

/// A lane closure.
///
/// The functions that take `&dyn LaneClosure<T>` are compiled once for all closures with the same
/// result. The table of a `dyn Fn` would contain each closure three times.
pub(crate) trait LaneClosure<T> {
    fn run(&self, lane: Lane<'_>) -> T;
}

impl<T, F: Fn(Lane<'_>) -> T> LaneClosure<T> for F {
    fn run(&self, lane: Lane<'_>) -> T {
        self(lane)
    }
}

/// The closure's result in each lane.
#[inline(never)]
pub(crate) fn each_lane<T>(warp: WarpOfBlock<'_>, closure: &dyn LaneClosure<T>) -> PerLane<T> {
    let values = [const { Cell::new(None) }; LANES];
    run_lanes(warp, &|lane| values[lane].set(Some(closure.run(Lane::simulated(lane)))));
    PerLane::from_array(values.map(|value| value.into_inner().expect("each lane has run")))
}

/// References to the values. Each lane takes its own.
#[inline(never)]
pub(crate) fn taken_in_turn<T>(values: &mut PerLane<T>) -> [Cell<Option<&mut T>>; LANES] {
    values.array_mut().each_mut().map(|value| Cell::new(Some(value)))
}

/// Runs `body(lane)` for each lane.
fn run_lanes(warp: WarpOfBlock<'_>, body: &dyn Fn(usize)) {
    // A destructor in the failed lane may come here while a failed run is unwound. That lane stays
    // the one in the report.
    let outside = current_lane();
    with_block(BlockState::begin_closure);
    let next = Cell::new(0);
    let mut waiting = Vec::new();
    while next.get() < LANES {
        waiting.extend(resume(warp, runner(&next, body), outside, Box::new(())));
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
            Pause::Phase(_) | Pause::Test(_) | Pause::Atomic | Pause::SharedAtomic => None,
        };
        let (runners, arrivals): (Vec<_>, Vec<_>) =
            waiting.into_iter().filter_map(collective).unzip();
        let lanes = runners.into_iter().zip(meet(warp, arrivals));
        with_block(BlockState::begin_closure);
        waiting =
            lanes.filter_map(|(runner, results)| resume(warp, runner, outside, results)).collect();
    }
}

/// A coroutine that runs the lanes from `next` on.
fn runner(next: &Cell<usize>, body: &dyn Fn(usize)) -> Runner {
    let stack = STACKS.with_borrow_mut(Vec::pop);
    let stack = stack.unwrap_or_else(|| {
        DefaultStack::new(STACK_BYTES).expect("address space for the stacks of lanes")
    });
    let of = StackOf::lane(&stack);
    // SAFETY: `run_lanes` keeps or drops its runners while `next` and `body` are alive.
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

/// Makes this lane the running one.
fn enter(lane: usize, yielder: &Yielder<Registers, Pause>) {
    set_lane(Some(lane));
    YIELDER.set(yielder);
    forget_reads();
    with_block(BlockState::begin_lane);
}

/// Suspends the warp for lanes that wait individually, and resumes those that can run.
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
            Pause::Atomic | Pause::SharedAtomic => unreachable!("`resume` waits for it"),
        }
    }
    warp.suspend(if tested.is_empty() {
        Waiting::Phases(phases)
    } else {
        Waiting::Scheduler(tested)
    });
    let is_settled =
        |wait: &PhaseWait| with_block(|block| block.barriers.borrow().is_settled(wait));
    // The warp was scheduled although none of its lanes' phases is over: these lanes give up.
    let give_up =
        !paused.iter().any(|(_, pause)| matches!(pause, Pause::Phase(wait) if is_settled(wait)));
    let goes_on = |pause: &Pause| match pause {
        Pause::Collective(_) => false,
        Pause::Phase(wait) => give_up || is_settled(wait),
        Pause::Test(_) => true,
        Pause::Atomic | Pause::SharedAtomic => unreachable!("`resume` waits for it"),
    };
    let step = |(runner, pause)| {
        if goes_on(&pause) {
            resume(warp, runner, outside, Box::new(()))
        } else {
            Some((runner, pause))
        }
    };
    paused.into_iter().filter_map(step).collect()
}

/// The yielder of the lane outside. It is the thread's again when the runner stops, also by a
/// panic: then the runner's stack is freed.
struct OuterYielder(LaneYielder);

impl Drop for OuterYielder {
    fn drop(&mut self) {
        YIELDER.set(self.0);
    }
}

/// Runs a runner until a lane waits or all have ended.
fn resume(
    warp: WarpOfBlock<'_>,
    mut runner: Runner,
    outside: Option<usize>,
    mut results: Registers,
) -> Option<(Runner, Pause)> {
    let _outer = OuterYielder(YIELDER.get());
    let resumed = loop {
        let stack_outside = stack::run_on(runner.stack);
        let resumed = runner.lanes.resume(results);
        stack::run_on(stack_outside);
        set_lane(outside);
        let until = match resumed {
            CoroutineResult::Yield(Pause::Atomic) => Waiting::Launch,
            CoroutineResult::Yield(Pause::SharedAtomic) => Waiting::Scheduler(Vec::new()),
            _ => break resumed,
        };
        let closure = interrupt_closure();
        warp.suspend(until);
        resume_closure(closure);
        results = Box::new(());
    };
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

/// All lanes have reached a collective or ended. Executes the collective if it is the same in all
/// lanes. Returns each lane's results.
fn meet(warp: WarpOfBlock<'_>, arrivals: Vec<LaneAtCollective>) -> Vec<Registers> {
    let site = arrivals[0].site;
    let lanes = arrivals.iter().map(|arrival| (arrival.lane, arrival.at));
    divergence::check(lanes).unwrap_or_else(|misuse| fail_in_lane(site, None, misuse));
    let (operands, mut executions): (_, Vec<Execute>) =
        arrivals.into_iter().map(|arrival| (arrival.operands, arrival.execute)).unzip();
    executions.swap_remove(0)(warp, site, operands)
}

/// Executes a collective in the running lane.
///
/// Waits for all lanes, and returns this lane's part of `execute`'s result.
///
/// There are hundreds of instances. Code that does not depend on the closure is compiled once, or
/// once for each type.
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

/// The same for registers as words. `execute` gets each lane's words, and returns each lane's
/// results. Returns no words while a failed run is unwound.
pub(crate) fn collective_of_words(
    site: Site,
    form: &'static str,
    operands: Vec<u32>,
    execute: impl FnOnce(Site, Vec<Vec<u32>>) -> Vec<Vec<u32>> + 'static,
) -> Vec<u32> {
    let execute = move |_: WarpOfBlock<'_>, site: Site, operands: Vec<Registers>| {
        let words = operands
            .into_iter()
            .map(|words| *words.downcast().expect("the operands of one form"))
            .collect();
        let results = execute(site, words).into_iter();
        results.map(|words| -> Registers { Box::new(words) }).collect()
    };
    let results = arrive(site, form, Box::new(operands), Box::new(execute));
    results.map_or_else(Vec::new, |words| *words.downcast().expect("the results of the form"))
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

/// The results, boxed for each lane.
#[inline(never)]
fn by_lane<O: Copy + 'static>(results: &PerLane<O>) -> Vec<Registers> {
    let mut by_lane: Vec<Registers> = Vec::with_capacity(LANES);
    for result in results.array() {
        by_lane.push(Box::new(*result));
    }
    by_lane
}

/// A lane's result; zeros if there is none.
#[inline(never)]
fn result<O: bytemuck::Zeroable + 'static>(result: Option<Registers>) -> O {
    result.map_or_else(O::zeroed, |result| *result.downcast().expect("the results of the form"))
}

/// Waits for all lanes, and returns the running lane's results. Returns `None` while a failed run
/// is unwound.
fn arrive(
    site: Site,
    form: &'static str,
    operands: Registers,
    execute: Execute,
) -> Option<Registers> {
    // A destructor while a failed run is unwound: the other lanes will not arrive.
    if std::thread::panicking() {
        return None;
    }
    let Some(lane) = current_lane() else { fail(site, Misuse::RawAtWarpScope { form }) };
    let at = CollectiveAt::new(form, site);
    let arrival = LaneAtCollective { lane, at, site, operands, execute };
    let yielder = running(site, form);
    let results = yielder.suspend(Pause::Collective(arrival));
    enter(lane, yielder);
    Some(results)
}

/// Suspends the running lane until its warp's next turn, or until its phase is over.
pub(crate) fn pause(site: Site, form: &'static str, pause: Pause) {
    let Some(lane) = current_lane() else { fail(site, Misuse::RawAtWarpScope { form }) };
    let yielder = running(site, form);
    yielder.suspend(pause);
    enter(lane, yielder);
}

/// The yielder of the running lane. A kernel that has caught a lane's panic has none.
fn running<'a>(site: Site, form: &'static str) -> &'a Yielder<Registers, Pause> {
    let yielder = YIELDER.get();
    if yielder.is_null() {
        fail(site, Misuse::RawAtWarpScope { form });
    }
    // SAFETY: `enter` stored its runner's yielder when the lane began or was resumed. `resume`
    // replaces it when the runner stops. The caller uses it while its lane runs.
    unsafe { &*yielder }
}
