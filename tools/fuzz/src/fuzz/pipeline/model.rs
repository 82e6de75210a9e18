//! A model of a pipeline. It runs the steps in one order, and knows for each access the events
//! before it.
//!
//! It follows the rules of PTX and shares no code with the simulator. Each access to a tile, each
//! arrival, each wait and each copy is an event.
//!
//! An agent is the elected lane of a warp, or its other 31 lanes together. It has a set of known
//! events. A `sync` adds the events of the other agents, and a wait for a phase adds those of the
//! arriving agents. The end of its phase makes a copy known; a wait makes a `wgmma` group known.
//!
//! Every lane writes a column of a tile and reads a row. So if the elected lane, or the others, do
//! not know the event of a write, some lane depends on it.

mod steps;

use super::barrier::{Barrier, Copy, Trouble};
use super::known::{Events, Known};
use super::program::{Arrives, Program, Shape, Step, Tile};
use super::values::Values;
use fastrand::Rng;
use ptx_matrix_fuzz_kernels::pipeline::{ARRIVALS, BARRIERS, LEFT, WARPS};
use std::collections::{BTreeSet, VecDeque};

/// A violation, named by its first effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Two unordered accesses to a tile.
    Unordered,
    /// A read of an unwritten tile.
    Unwritten,
    /// No proxy fence between a store and an asynchronous access.
    Fence,
    /// Wrong arrivals, bytes or phases of an mbarrier.
    Barrier,
    /// Warps that wait forever.
    Deadlock,
    /// An access to another block before it runs, or after it has ended.
    Peer,
    /// A block that ends before its copies or its `wgmma`s are complete.
    Unfinished,
    /// A read of accumulators that a `wgmma` in flight adds to.
    Accumulators,
    /// The warps of a warpgroup execute different `wgmma`s.
    Diverged,
}

/// A doubt: the lanes of one arrival arrive in several phases.
pub const SEVERAL_PHASES: &str = "lanes that arrive in several phases";

const EARLY_ARRIVAL: &str = "an arrival that may come in the phase before";

/// The time at which copies land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    Late,
    Early,
    Random,
}

/// The order of the warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// A random ready warp, for a few steps.
    Random,
    /// The ready warp with the highest rank. Ranks are random, and in one of sixteen turns the warp
    /// gets a new one.
    Ranked,
}

/// The pattern of an access. Two accesses of one warp with the same pattern need no `sync` between
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    /// Each lane accesses its column of the tile.
    Columns { warp: usize },
    /// Each lane accesses a row.
    Rows,
    /// Each thread of a warpgroup accesses its part.
    Slices { warp: usize },
    /// An asynchronous access through the async proxy.
    Proxy,
    /// An asynchronous store through the generic proxy.
    Late,
}

impl Lanes {
    fn stores_by_lanes(self) -> bool {
        !matches!(self, Lanes::Proxy)
    }
}

/// An earlier access.
#[derive(Debug, Clone, Copy)]
struct Past {
    event: usize,
    writes: bool,
    lanes: Lanes,
}

/// The state of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Step,
    Sync,
    Ended,
}

#[derive(Default)]
struct Agent {
    known: Known,
    /// The events of this agent itself.
    own: Events,
}

#[derive(Default)]
struct Stores {
    open: Vec<usize>,
    groups: VecDeque<Vec<usize>>,
}

/// A `wgmma` group of a warpgroup.
#[derive(Clone)]
struct WgmmaGroup {
    operands: (usize, usize),
    event: usize,
    /// The events before the warps issued it.
    order: Events,
}

struct Warp {
    at: At,
    next: usize,
    stores: Stores,
    /// `cp.async` copies without an arrival at an mbarrier yet.
    copies: Vec<usize>,
    token: Option<(usize, i64)>,
    /// `wgmma` groups that the warp has issued, and those that it has waited for.
    issued: usize,
    waited: usize,
}

/// A run of a program.
pub struct Model<'p> {
    program: &'p Program,
    warps: Vec<Warp>,
    /// Two agents for each warp: the elected lane, and the other lanes.
    agents: Vec<Agent>,
    barriers: Vec<Barrier>,
    cells: Vec<Vec<Past>>,
    /// The stores by lanes of each block.
    stores_of: Vec<Events>,
    /// Asynchronous stores through the generic proxy.
    late: Events,
    of_warp: Vec<Events>,
    events: usize,
    /// Copies that have not landed.
    flying: Vec<Copy>,
    /// The `wgmma` groups of each block.
    wgmma_groups: Vec<Vec<WgmmaGroup>>,
    /// Events that a block must know when it ends.
    to_know: Vec<(usize, usize, Wrong)>,
    values: Values,
    pub wrong: BTreeSet<Wrong>,
    /// Reasons why the program may be wrong in another order.
    pub doubts: BTreeSet<&'static str>,
}

impl<'p> Model<'p> {
    /// Runs a program in an order drawn from a seed.
    pub fn run(program: &'p Program, seed: u64, landing: Landing, schedule: Schedule) -> Self {
        let blocks = program.blocks;
        let warp = || Warp {
            at: At::Step,
            next: 0,
            stores: Stores::default(),
            copies: Vec::new(),
            token: None,
            issued: 0,
            waited: 0,
        };
        let barrier = |index: usize| Barrier::new(ARRIVALS[index / BARRIERS]);
        let slots: usize = Shape::ALL.map(Shape::slots).iter().sum();
        let mut model = Model {
            program,
            warps: (0..blocks * WARPS).map(|_| warp()).collect(),
            agents: (0..blocks * WARPS * 2).map(|_| Agent::default()).collect(),
            barriers: (0..blocks).flat_map(|_| (0..4 * BARRIERS).map(barrier)).collect(),
            cells: vec![Vec::new(); blocks * slots],
            stores_of: vec![Events::default(); blocks],
            late: Events::default(),
            of_warp: vec![Events::default(); blocks * WARPS],
            // The first events are the starts of the blocks.
            events: blocks,
            flying: Vec::new(),
            wgmma_groups: vec![Vec::new(); blocks],
            to_know: Vec::new(),
            values: Values::new(blocks),
            wrong: BTreeSet::new(),
            doubts: BTreeSet::new(),
        };
        for (agent, of) in model.agents.iter_mut().enumerate() {
            of.known.seen.insert(agent / 2 / WARPS);
        }
        match model.go(&mut Rng::with_seed(seed), landing, schedule) {
            Ok(()) => model.end(),
            Err(Trouble) => drop(model.wrong.insert(Wrong::Barrier)),
        }
        model
    }

    /// The output of a correct program.
    pub fn left(&self) -> (&[u32], &[u32]) {
        debug_assert_eq!(self.values.out.len(), self.program.blocks * LEFT);
        (&self.values.out, &self.values.stored)
    }

    /// Runs the warps until none can continue. Stops at a misuse that ends the run.
    fn go(
        &mut self,
        random: &mut Rng,
        landing: Landing,
        schedule: Schedule,
    ) -> Result<(), Trouble> {
        let mut ranks: Vec<u32> = self.warps.iter().map(|_| random.u32(..)).collect();
        loop {
            let ready: Vec<usize> =
                (0..self.warps.len()).filter(|&warp| self.is_ready(warp)).collect();
            let lands = match landing {
                _ if self.flying.is_empty() => false,
                Landing::Late => ready.is_empty(),
                Landing::Early => true,
                Landing::Random => ready.is_empty() || random.u8(..4) == 0,
            };
            if lands {
                let copy = self.flying.swap_remove(random.usize(..self.flying.len()));
                self.land(copy)?;
                continue;
            }
            let next = match schedule {
                Schedule::Random => random.choice(ready),
                Schedule::Ranked => ready.into_iter().max_by_key(|&warp| ranks[warp]),
            };
            let Some(warp) = next else { return Ok(()) };
            if random.u8(..16) == 0 {
                ranks[warp] = random.u32(..);
            }
            // Several steps in a row, so that warps are sometimes far apart.
            for _ in 0..random.usize(1..6) {
                if !self.is_ready(warp) {
                    break;
                }
                self.step(warp)?;
            }
        }
    }

    fn next(&self, warp: usize) -> Option<Step> {
        self.program.warps[warp].get(self.warps[warp].next).map(|entry| entry.step)
    }

    fn is_ready(&self, warp: usize) -> bool {
        let Warp { at, issued, token, .. } = &self.warps[warp];
        if *at != At::Step {
            return false;
        }
        match self.next(warp) {
            Some(Step::Wait { barrier, phase, .. }) => {
                self.barrier(warp, barrier).phase != i64::from(phase) - 1
            }
            Some(Step::WaitToken) => {
                token.is_none_or(|(barrier, phase)| self.barriers[barrier].phase > phase)
            }
            Some(Step::WaitWgmmas { newest } | Step::TakeAccumulators { newest, .. }) => {
                let needed = issued.saturating_sub(newest as usize);
                group_of(warp).all(|other| self.warps[other].issued >= needed)
            }
            _ => true,
        }
    }

    fn barrier(&self, warp: usize, barrier: usize) -> &Barrier {
        &self.barriers[warp / WARPS * 4 * BARRIERS + barrier]
    }

    fn cell(rank: usize, Tile { shape, slot }: Tile) -> usize {
        let before =
            Shape::ALL.iter().take_while(|other| **other != shape).map(|shape| shape.slots());
        let all: usize = Shape::ALL.map(Shape::slots).iter().sum();
        rank * all + before.sum::<usize>() + slot
    }

    fn event(&mut self) -> usize {
        self.events += 1;
        self.events - 1
    }

    /// A new event of an agent.
    fn own_event(&mut self, agent: usize) -> usize {
        let event = self.event();
        self.agents[agent].own.insert(event);
        self.of_warp[agent / 2].insert(event);
        event
    }

    fn knows(&self, agent: usize, event: usize) -> bool {
        let Agent { known, own } = &self.agents[agent];
        known.seen.has(event) || agent.is_multiple_of(2) && own.has(event)
    }

    /// Whether a warp knows that an event has happened. Its lanes execute each step together.
    fn has_happened(&self, warp: usize, event: usize) -> bool {
        let of = |Agent { known, own }: &Agent| known.has_happened(event) || own.has(event);
        self.agents[2 * warp..][..2].iter().any(of)
    }

    /// All events that have happened as far as a warp knows.
    fn before(&self, warp: usize) -> Events {
        let mut all = Events::default();
        for Agent { known, own } in &self.agents[2 * warp..][..2] {
            [&known.seen, &known.order, own].into_iter().for_each(|events| all.join(events));
        }
        all
    }

    /// Whether all of a tile is written.
    fn is_written(&self, cell: usize) -> bool {
        let mut slices = BTreeSet::new();
        self.cells[cell].iter().filter(|past| past.writes).any(|past| match past.lanes {
            Lanes::Slices { warp } => slices.insert(warp) && slices.len() == 4,
            _ => true,
        })
    }

    /// Compares an access of an agent with all earlier ones.
    fn check(&mut self, cell: usize, agent: usize, writes: bool, lanes: Lanes) {
        if !writes && !self.is_written(cell) {
            self.wrong.insert(Wrong::Unwritten);
        }
        for index in 0..self.cells[cell].len() {
            let past = self.cells[cell][index];
            let same_lanes = past.lanes == lanes
                && matches!(lanes, Lanes::Columns { .. } | Lanes::Slices { .. });
            let disjoint =
                matches!((past.lanes, lanes), (Lanes::Slices { .. }, Lanes::Slices { .. }));
            if !(past.writes || writes) || same_lanes || disjoint {
                continue;
            }
            if !self.knows(agent, past.event) {
                self.wrong.insert(Wrong::Unordered);
            } else if lanes == Lanes::Proxy && past.writes && past.lanes.stores_by_lanes() {
                let Known { fenced, fenced_by_others, .. } = &self.agents[agent].known;
                if fenced.has(past.event) {
                } else if fenced_by_others.has(past.event) {
                    self.doubts.insert("a fence of another warp than the one that stored");
                } else {
                    self.wrong.insert(Wrong::Fence);
                }
            }
        }
    }

    /// An access by all lanes of a warp.
    fn access(&mut self, cell: usize, warp: usize, writes: bool, lanes: Lanes) {
        for agent in [2 * warp, 2 * warp + 1] {
            self.check(cell, agent, writes, lanes);
        }
        for agent in [2 * warp, 2 * warp + 1] {
            let event = self.own_event(agent);
            self.cells[cell].push(Past { event, writes, lanes });
            if writes {
                self.stores_of[warp / WARPS].insert(event);
            }
        }
    }

    /// An agent accesses another block.
    fn visit(&mut self, agent: usize, rank: usize) {
        if agent / 2 / WARPS != rank && !self.agents[agent].known.seen.has(rank) {
            self.wrong.insert(Wrong::Peer);
        }
    }

    fn arrive(
        &mut self,
        agents: &[usize],
        rank: usize,
        barrier: usize,
        times: u32,
        by: Arrives,
    ) -> Result<(), Trouble> {
        let own_rank = agents[0] / 2 / WARPS;
        let mut released = Known::default();
        for &agent in agents {
            self.visit(agent, rank);
            let event = self.own_event(agent);
            if rank != own_rank {
                self.to_know.push((event, rank, Wrong::Peer));
            }
            released.join(&self.agents[agent].known);
            released.seen.join(&self.agents[agent].own);
        }
        released.order.join(&self.before(agents[0] / 2));
        let index = rank * 4 * BARRIERS + barrier;
        let begun = self.barriers[index].completions.last().copied();
        if begun.is_some_and(|event| !self.has_happened(agents[0] / 2, event)) {
            self.doubts.insert(EARLY_ARRIVAL);
        }
        if rank != own_rank && by == Arrives::HavingRead {
            released = self.without_stores(released, rank);
        }
        let lanes = if by == Arrives::Each { 32 } else { 1 };
        let of_peer = rank != own_rank && by != Arrives::HavingRead;
        let before = self.barriers[index].phase;
        for _ in 0..lanes {
            // The lanes that arrive in the next phase, and whether the count fits, depend on their
            // order among the lanes of other warps.
            if self.barriers[index].phase > before {
                self.doubts.insert(SEVERAL_PHASES);
            }
            self.barriers[index].arrive(&released, of_peer, times, &mut self.events)?;
        }
        Ok(())
    }

    /// The part of `known` that reaches block `rank` through an arrival or a wait in the scope of
    /// its own block.
    fn without_stores(&self, known: Known, rank: usize) -> Known {
        let mut others = Events::default();
        for (_, stores) in self.stores_of.iter().enumerate().filter(|(of, _)| *of != rank) {
            others.join(stores);
        }
        known.without(&others)
    }

    /// Starts a copy, which completes on a barrier when it lands.
    fn start(&mut self, agent: usize, rank: usize, barrier: usize, bytes: u32, event: usize) {
        self.visit(agent, rank);
        let index = rank * 4 * BARRIERS + barrier;
        let of = &self.barriers[index];
        let phase = of.phase;
        if of.completions.last().is_some_and(|&event| !self.has_happened(agent / 2, event)) {
            self.doubts.insert("a copy that may signal the phase before");
        }
        let order = self.before(agent / 2);
        self.flying.push(Copy {
            barrier: index,
            bytes,
            arrivals: 0,
            phase,
            events: vec![event],
            order,
        });
        self.to_know.push((event, rank, Wrong::Unfinished));
    }

    fn land(&mut self, copy: Copy) -> Result<(), Trouble> {
        self.barriers[copy.barrier].land(&copy, &mut self.events)
    }

    /// Checks the final state: no warp can continue, or all have ended.
    fn end(&mut self) {
        if self.warps.iter().any(|warp| warp.at != At::Ended) {
            self.wrong.insert(Wrong::Deadlock);
            return;
        }
        for &(event, rank, wrong) in &self.to_know {
            let mut agents = rank * WARPS * 2..(rank + 1) * WARPS * 2;
            if !agents.any(|agent| self.knows(agent, event) || self.agents[agent].own.has(event)) {
                self.wrong.insert(wrong);
            }
        }
        for (rank, wgmma_groups) in self.wgmma_groups.iter().enumerate() {
            for warp in &self.warps[rank * WARPS..][..4] {
                if warp.issued != wgmma_groups.len() {
                    self.wrong.insert(Wrong::Diverged);
                } else if warp.waited < warp.issued {
                    self.wrong.insert(Wrong::Unfinished);
                }
            }
        }
        if self.barriers.iter().any(Barrier::may_be_missed) {
            self.doubts.insert("a wait that may come when the next phase is over too");
        }
        if self.barriers.iter().any(|barrier| barrier.bytes != 0) {
            self.doubts.insert("bytes of a phase that nobody waits for");
        }
    }
}

/// The warps of a warp's warpgroup.
fn group_of(warp: usize) -> std::ops::Range<usize> {
    warp / 4 * 4..warp / 4 * 4 + 4
}
