//! A model of a pipeline: it runs the steps in one order and knows, of each access, which events
//! lie behind it.
//!
//! It is written from PTX's rules and shares nothing with the simulator. Each access to a tile is
//! an event, and so are each arrival, each wait and each copy. An agent, which is the elected lane
//! of a warp or
//! the other 31, has a set of events that it knows to be done: it gets them by a `sync`, or by a
//! wait for a phase from those who arrived. A copy is known by the end of its phase, and a group by
//! a wait for it.
//!
//! In a tile every lane writes a column and reads a row: if the elected lane, or all others, do not
//! know an event, then some lane depends on it.

mod steps;

use super::barrier::{Barrier, Copy, Trouble};
use super::known::{Events, Known};
use super::program::{Arrives, Program, Shape, Step, Tile};
use super::values::Values;
use fastrand::Rng;
use ptx_matrix_fuzz_kernels::pipeline::{ARRIVALS, BARRIERS, LEFT, WARPS};
use std::collections::{BTreeSet, VecDeque};

/// A mistake of a program, by its first effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Two accesses to a tile that nothing orders.
    Unordered,
    /// A tile is read before anything is written to it.
    Unwritten,
    /// No proxy fence between a store and an asynchronous access.
    Fence,
    /// Arrivals, bytes or phases of an mbarrier.
    Barrier,
    /// Warps that wait for ever.
    Deadlock,
    /// Another block is reached before it runs, or after it has ended.
    Peer,
    /// A block ends before its copies or its products have.
    Unfinished,
    /// Sums that a product in flight adds to.
    Sums,
    /// The warps of a warpgroup come to different products.
    Apart,
}

/// A doubt: the lanes of one arrival come in several phases.
pub const SEVERAL_PHASES: &str = "lanes that arrive in several phases";

const EARLY_ARRIVAL: &str = "an arrival that may come in the phase before";

/// When copies land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    Late,
    Early,
    Random,
}

/// Which warp goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Any that is ready, for a few steps.
    Random,
    /// The ready warp of the highest rank. Ranks are random, and one warp in sixteen steps gets a
    /// new one.
    Ranked,
}

/// The lanes of an access, by which two of one warp are in order without a `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    /// Each lane its column of the tile.
    Columns { warp: usize },
    /// Each lane a row.
    Rows,
    /// Each thread of a warpgroup its share.
    Share { warp: usize },
    /// An asynchronous access by the async proxy.
    Proxy,
    /// An asynchronous store by the generic proxy.
    Late,
}

impl Lanes {
    fn stores_by_lanes(self) -> bool {
        !matches!(self, Lanes::Proxy)
    }
}

/// An access that was made.
#[derive(Debug, Clone, Copy)]
struct Past {
    event: usize,
    writes: bool,
    lanes: Lanes,
}

/// The place of a warp in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Step,
    Sync,
    Ended,
}

#[derive(Default)]
struct Agent {
    known: Known,
    /// Its own events.
    own: Events,
}

#[derive(Default)]
struct Stores {
    open: Vec<usize>,
    groups: VecDeque<Vec<usize>>,
}

/// A group of a warpgroup's products.
#[derive(Clone)]
struct Product {
    operands: (usize, usize),
    event: usize,
    /// Events before a warp issued it.
    order: Events,
}

struct Warp {
    at: At,
    next: usize,
    stores: Stores,
    /// Asynchronous copies of which no mbarrier is told yet.
    copies: Vec<usize>,
    token: Option<(usize, i64)>,
    /// Groups of products that the warp has issued, and those that it has waited for.
    issued: usize,
    waited: usize,
}

/// A run of a program.
pub struct Model<'p> {
    program: &'p Program,
    warps: Vec<Warp>,
    /// Two of each warp: the elected lane, and the others.
    agents: Vec<Agent>,
    barriers: Vec<Barrier>,
    cells: Vec<Vec<Past>>,
    /// Stores by lanes of each block.
    stores_of: Vec<Events>,
    /// Events that came asynchronously, as ordinary stores do.
    late: Events,
    of_warp: Vec<Events>,
    events: usize,
    /// Copies that have not landed.
    flying: Vec<Copy>,
    /// The products of each block, a group each.
    products: Vec<Vec<Product>>,
    /// Events that a block is to know of when it ends.
    to_know: Vec<(usize, usize, Wrong)>,
    values: Values,
    pub wrong: BTreeSet<Wrong>,
    /// Reasons for which something might be wrong in another order.
    pub doubts: BTreeSet<&'static str>,
}

impl<'p> Model<'p> {
    /// Runs a program, in an order drawn from a seed.
    pub fn run(program: &'p Program, seed: u64, landing: Landing, turns: Turns) -> Self {
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
            // The first events are the beginnings of the blocks.
            events: blocks,
            flying: Vec::new(),
            products: vec![Vec::new(); blocks],
            to_know: Vec::new(),
            values: Values::new(blocks),
            wrong: BTreeSet::new(),
            doubts: BTreeSet::new(),
        };
        for (agent, of) in model.agents.iter_mut().enumerate() {
            of.known.seen.insert(agent / 2 / WARPS);
        }
        match model.go(&mut Rng::with_seed(seed), landing, turns) {
            Ok(()) => model.end(),
            Err(Trouble) => drop(model.wrong.insert(Wrong::Barrier)),
        }
        model
    }

    /// Everything that the program leaves, of a program that is right.
    pub fn left(&self) -> (&[u32], &[u32]) {
        debug_assert_eq!(self.values.out.len(), self.program.blocks * LEFT);
        (&self.values.out, &self.values.stored)
    }

    /// Takes turns until nobody can go on. Stops at a misuse that ends the run.
    fn go(&mut self, random: &mut Rng, landing: Landing, turns: Turns) -> Result<(), Trouble> {
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
            let next = match turns {
                Turns::Random => random.choice(ready),
                Turns::Ranked => ready.into_iter().max_by_key(|&warp| ranks[warp]),
            };
            let Some(warp) = next else { return Ok(()) };
            if random.u8(..16) == 0 {
                ranks[warp] = random.u32(..);
            }
            // A few steps at once, so that warps are far apart at times.
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
            Some(Step::WaitProducts { newest } | Step::TakeSums { newest, .. }) => {
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

    /// An event of the warp's elected lane, or of the others.
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

    /// Whether a warp, whose lanes take each step together, knows that an event has happened.
    fn has_happened(&self, warp: usize, event: usize) -> bool {
        let of = |Agent { known, own }: &Agent| known.has_happened(event) || own.has(event);
        self.agents[2 * warp..][..2].iter().any(of)
    }

    /// All that has happened before, as far as a warp knows.
    fn before(&self, warp: usize) -> Events {
        let mut all = Events::default();
        for Agent { known, own } in &self.agents[2 * warp..][..2] {
            [&known.seen, &known.order, own].into_iter().for_each(|events| all.join(events));
        }
        all
    }

    /// Whether something has written all of a tile.
    fn is_written(&self, cell: usize) -> bool {
        let mut shares = BTreeSet::new();
        self.cells[cell].iter().filter(|past| past.writes).any(|past| match past.lanes {
            Lanes::Share { warp } => shares.insert(warp) && shares.len() == 4,
            _ => true,
        })
    }

    /// Compares an access by an agent with those before it.
    fn judge(&mut self, cell: usize, agent: usize, writes: bool, lanes: Lanes) {
        if !writes && !self.is_written(cell) {
            self.wrong.insert(Wrong::Unwritten);
        }
        for index in 0..self.cells[cell].len() {
            let past = self.cells[cell][index];
            let same_lanes =
                past.lanes == lanes && matches!(lanes, Lanes::Columns { .. } | Lanes::Share { .. });
            let disjoint =
                matches!((past.lanes, lanes), (Lanes::Share { .. }, Lanes::Share { .. }));
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

    /// All lanes of a warp access a tile.
    fn access(&mut self, cell: usize, warp: usize, writes: bool, lanes: Lanes) {
        for agent in [2 * warp, 2 * warp + 1] {
            self.judge(cell, agent, writes, lanes);
        }
        for agent in [2 * warp, 2 * warp + 1] {
            let event = self.own_event(agent);
            self.cells[cell].push(Past { event, writes, lanes });
            if writes {
                self.stores_of[warp / WARPS].insert(event);
            }
        }
    }

    /// A warp reaches another block.
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
        let mut told = Known::default();
        for &agent in agents {
            self.visit(agent, rank);
            let event = self.own_event(agent);
            if rank != own_rank {
                self.to_know.push((event, rank, Wrong::Peer));
            }
            told.join(&self.agents[agent].known);
            told.seen.join(&self.agents[agent].own);
        }
        told.order.join(&self.before(agents[0] / 2));
        let index = rank * 4 * BARRIERS + barrier;
        let begun = self.barriers[index].completions.last().copied();
        if begun.is_some_and(|event| !self.has_happened(agents[0] / 2, event)) {
            self.doubts.insert(EARLY_ARRIVAL);
        }
        if rank != own_rank && by == Arrives::HavingRead {
            told = self.without_stores(told, rank);
        }
        let lanes = if by == Arrives::Each { 32 } else { 1 };
        let of_peer = rank != own_rank && by != Arrives::HavingRead;
        let before = self.barriers[index].phase;
        for _ in 0..lanes {
            // Which lanes come in the next phase, and whether the count fits, is a matter of their
            // order among the lanes of other warps.
            if self.barriers[index].phase > before {
                self.doubts.insert(SEVERAL_PHASES);
            }
            self.barriers[index].arrive(&told, of_peer, times, &mut self.events)?;
        }
        Ok(())
    }

    /// What a block learns of others that is told, or listens, for itself only.
    fn without_stores(&self, known: Known, rank: usize) -> Known {
        let mut others = Events::default();
        for (_, stores) in self.stores_of.iter().enumerate().filter(|(of, _)| *of != rank) {
            others.join(stores);
        }
        known.without(&others)
    }

    /// A copy is started; it is told to a barrier when it lands.
    fn start(&mut self, agent: usize, rank: usize, barrier: usize, bytes: u32, event: usize) {
        self.visit(agent, rank);
        let index = rank * 4 * BARRIERS + barrier;
        let of = &self.barriers[index];
        let phase = of.phase;
        if of.completions.last().is_some_and(|&event| !self.has_happened(agent / 2, event)) {
            self.doubts.insert("a copy that may tell the phase before");
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

    /// Nobody can go on, or all have ended.
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
        for (rank, products) in self.products.iter().enumerate() {
            for warp in &self.warps[rank * WARPS..][..4] {
                if warp.issued != products.len() {
                    self.wrong.insert(Wrong::Apart);
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
