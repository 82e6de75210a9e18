//! The steps of the model's warps.

use super::super::barrier::{Barrier, Copy, Trouble};
use super::super::known::Known;
use super::super::program::{Arrives, Shape, Step, Tile};
use super::{
    Agent, At, EARLY_ARRIVAL, Lanes, Model, Past, Stores, Warp, WgmmaGroup, Wrong, group_of,
};
use ptx_matrix_fuzz_kernels::pipeline::{BARRIERS, WARPS};

impl Model<'_> {
    pub(super) fn step(&mut self, warp: usize) -> Result<(), Trouble> {
        let Some(step) = self.next(warp) else {
            self.warps[warp].at = At::Ended;
            self.sync(warp, Step::ClusterSync);
            return Ok(());
        };
        let (rank, elected, others) = (warp / WARPS, 2 * warp, 2 * warp + 1);
        self.warps[warp].next += 1;
        match step {
            Step::WarpSync => self.merge(&[elected, others]),
            Step::GroupSync | Step::BlockSync | Step::ClusterSync => {
                self.warps[warp].at = At::Sync;
                self.sync(warp, step);
            }
            Step::Fence => {
                for agent in [elected, others] {
                    let Agent { known, own } = &mut self.agents[agent];
                    known.fenced.join(own);
                    known.fenced.join(&known.seen.clone().both(&self.of_warp[warp]));
                    known.fenced.join(&known.seen.clone().both(&self.late));
                    known.fenced_by_others.join(&known.seen.clone());
                }
            }
            Step::Wait { barrier, phase, cluster } => {
                self.wait(warp, barrier, i64::from(phase) - 1, cluster)?
            }
            Step::Arrive { barrier, ranks, times, by } => {
                let both = [elected, others];
                let agents = if by == Arrives::Each { &both[..] } else { &both[..1] };
                if ranks == 0 {
                    self.arrive(agents, rank, barrier, times, by)?;
                }
                for to in (0..self.program.blocks).filter(|to| ranks >> to & 1 == 1) {
                    let times = if by == Arrives::HavingRead { 1 } else { times };
                    self.arrive(agents, to, barrier, times, by)?;
                }
            }
            Step::Expect { barrier, bytes, .. } => {
                self.barriers[rank * 4 * BARRIERS + barrier].bytes += i64::from(bytes);
                self.arrive(&[elected], rank, barrier, 1, Arrives::Elected)?;
            }
            Step::ArriveToken { barrier } => {
                let index = rank * 4 * BARRIERS + barrier;
                let phase = self.barriers[index].phase;
                self.arrive(&[elected, others], rank, barrier, 1, Arrives::Each)?;
                self.warps[warp].token = Some((index, phase));
            }
            Step::WaitToken => {
                if let Some((index, phase)) = self.warps[warp].token {
                    self.wait(warp, index % (4 * BARRIERS), phase, false)?;
                }
            }
            Step::Fill { tile, seed } if tile.shape == Shape::A => {
                self.access(Self::cell(rank, tile), warp, true, Lanes::Slices { warp });
                self.values.fill_slices(rank, tile, seed, warp % 4);
            }
            Step::Fill { tile, seed } => {
                self.access(Self::cell(rank, tile), warp, true, Lanes::Columns { warp });
                self.values.fill(rank, tile, seed);
            }
            Step::Read { tile } => {
                self.access(Self::cell(rank, tile), warp, false, Lanes::Rows);
                self.values.read(rank, tile, warp);
            }
            Step::Load { tile, from, barrier, ranks } => {
                let to = if ranks == 0 { 1 << rank } else { ranks };
                for to in (0..self.program.blocks).filter(|rank| to >> rank & 1 == 1) {
                    let cell = Self::cell(to, tile);
                    self.check(cell, elected, true, Lanes::Proxy);
                    let event = self.event();
                    self.cells[cell].push(Past { event, writes: true, lanes: Lanes::Proxy });
                    self.start(elected, to, barrier, tile.shape.bytes(), event);
                    self.values.load(to, tile, from);
                }
            }
            Step::Store { tile, to } => {
                let cell = Self::cell(rank, tile);
                let event = self.read_by_copy(cell, elected, rank);
                self.warps[warp].stores.open.push(event);
                self.values.store(rank, tile, to);
            }
            Step::Commit => {
                let Stores { open, groups } = &mut self.warps[warp].stores;
                groups.push_back(std::mem::take(open));
            }
            Step::WaitStores { newest, .. } => {
                let groups = &mut self.warps[warp].stores.groups;
                let done = groups.len().saturating_sub(newest as usize);
                let events: Vec<usize> = groups.drain(..done).flatten().collect();
                events.into_iter().for_each(|event| self.agents[elected].known.seen.insert(event));
            }
            Step::CopyAsync { slot, from } => {
                let tile = Tile { shape: Shape::Row, slot };
                let cell = Self::cell(rank, tile);
                let event = self.write_async(cell, warp);
                self.warps[warp].copies.push(event);
                self.values.load(rank, tile, from);
            }
            Step::ArriveWhenCopied { barrier } => {
                let index = rank * 4 * BARRIERS + barrier;
                let Barrier { phase, completions, .. } = &self.barriers[index];
                let (phase, begun) = (*phase, completions.last().copied());
                if begun.is_some_and(|event| !self.has_happened(warp, event)) {
                    self.doubts.insert(EARLY_ARRIVAL);
                }
                let (events, order) = (self.warps[warp].copies.clone(), self.before(warp));
                self.flying.push(Copy {
                    barrier: index,
                    bytes: 0,
                    arrivals: 32,
                    phase,
                    events,
                    order,
                });
            }
            Step::SetPeer { slot, seed, rank: to } => {
                let tile = Tile { shape: Shape::Row, slot };
                [elected, others].into_iter().for_each(|agent| self.visit(agent, to));
                let first = self.events;
                self.access(Self::cell(to, tile), warp, true, Lanes::Columns { warp });
                if to != rank {
                    self.to_know.extend((first..self.events).map(|event| (event, to, Wrong::Peer)));
                }
                self.values.fill(to, tile, seed);
            }
            Step::Send { slot, seed, barrier, rank: to } => {
                let tile = Tile { shape: Shape::Row, slot };
                self.visit(others, to);
                let event = self.write_async(Self::cell(to, tile), warp);
                self.start(elected, to, barrier, tile.shape.bytes(), event);
                self.values.fill(to, tile, seed);
            }
            Step::CopyToPeer { slot, to: other, barrier, rank: to } => {
                let (from, tile) =
                    (Tile { shape: Shape::Row, slot }, Tile { shape: Shape::Row, slot: other });
                let event = self.read_by_copy(Self::cell(rank, from), elected, rank);
                let cell = Self::cell(to, tile);
                self.check(cell, elected, true, Lanes::Proxy);
                self.cells[cell].push(Past { event, writes: true, lanes: Lanes::Proxy });
                self.start(elected, to, barrier, tile.shape.bytes(), event);
                self.values.copy((rank, from), (to, tile));
            }
            Step::Multiply { a, b } => self.multiply(warp, a, b),
            Step::WaitWgmmas { newest } => self.wait_wgmmas(warp, newest),
            Step::TakeAccumulators { newest, to } => {
                self.wait_wgmmas(warp, newest);
                let Warp { issued, waited, .. } = self.warps[warp];
                if waited < issued {
                    self.wrong.insert(Wrong::Accumulators);
                }
                self.values.take_acc(rank, to, warp % 4);
            }
        }
        Ok(())
    }

    /// A copy that the elected lane starts reads a tile asynchronously.
    fn read_by_copy(&mut self, cell: usize, elected: usize, rank: usize) -> usize {
        self.check(cell, elected, false, Lanes::Proxy);
        let event = self.event();
        self.cells[cell].push(Past { event, writes: false, lanes: Lanes::Proxy });
        self.to_know.push((event, rank, Wrong::Unfinished));
        event
    }

    /// An asynchronous store by all lanes of a warp.
    fn write_async(&mut self, cell: usize, warp: usize) -> usize {
        for agent in [2 * warp, 2 * warp + 1] {
            self.check(cell, agent, true, Lanes::Late);
        }
        let event = self.event();
        self.late.insert(event);
        self.cells[cell].push(Past { event, writes: true, lanes: Lanes::Late });
        event
    }

    fn multiply(&mut self, warp: usize, a: usize, b: usize) {
        let (rank, group) = (warp / WARPS, self.warps[warp].issued);
        self.warps[warp].issued += 1;
        let cells = [Tile { shape: Shape::A, slot: a }, Tile { shape: Shape::B, slot: b }]
            .map(|t| Self::cell(rank, t));
        for (cell, agent) in
            cells.into_iter().flat_map(|cell| [(cell, 2 * warp), (cell, 2 * warp + 1)])
        {
            self.check(cell, agent, false, Lanes::Proxy);
        }
        let order = self.before(warp);
        if let Some(group) = self.wgmma_groups[rank].get_mut(group) {
            group.order.join(&order);
            if group.operands != (a, b) {
                self.wrong.insert(Wrong::Diverged);
            }
            return;
        }
        let event = self.event();
        self.wgmma_groups[rank].push(WgmmaGroup { operands: (a, b), event, order });
        cells.into_iter().for_each(|cell| {
            self.cells[cell].push(Past { event, writes: false, lanes: Lanes::Proxy })
        });
        self.values.multiply(rank, a, b);
    }

    /// After a wait for `wgmma` groups, the warp knows that the whole warpgroup has read their
    /// operands.
    fn wait_wgmmas(&mut self, warp: usize, newest: u32) {
        let Warp { issued, waited, .. } = &mut self.warps[warp];
        *waited = (*waited).max(issued.saturating_sub(newest as usize));
        for group in &self.wgmma_groups[warp / WARPS][..*waited] {
            for Agent { known, .. } in &mut self.agents[2 * warp..][..2] {
                known.seen.insert(group.event);
                known.order.join(&group.order);
            }
        }
    }

    fn wait(
        &mut self,
        warp: usize,
        barrier: usize,
        phase: i64,
        cluster: bool,
    ) -> Result<(), Trouble> {
        let (rank, agents) = (warp / WARPS, [2 * warp, 2 * warp + 1]);
        let index = rank * 4 * BARRIERS + barrier;
        let of = &self.barriers[index];
        if of.phase != phase + 1 {
            return Err(Trouble);
        }
        if phase > 0 {
            let before = of.completions[phase as usize - 1];
            if !self.has_happened(warp, before) {
                self.doubts.insert("a wait for a phase that may not have begun");
            }
        }
        let mut learned = self.barriers[index].over.clone();
        let of_peers = self.barriers[index].over_of_peers.clone();
        learned.join(&if cluster { of_peers } else { self.without_stores(of_peers, rank) });
        for agent in agents {
            self.agents[agent].known.join(&learned);
            let event = self.own_event(agent);
            self.barriers[index].waits.push((phase, event));
        }
        Ok(())
    }

    /// Synchronises agents: each learns the events of all others.
    fn merge(&mut self, agents: &[usize]) {
        let mut all = Known::default();
        for &agent in agents {
            all.join(&self.agents[agent].known);
            all.seen.join(&self.agents[agent].own);
        }
        agents.iter().for_each(|&agent| self.agents[agent].known.clone_from(&all));
    }

    /// A warp has reached a barrier, or has ended. If no warp is missing, all continue.
    fn sync(&mut self, warp: usize, step: Step) {
        let first = warp / WARPS * WARPS;
        let warps: Vec<usize> = match step {
            Step::GroupSync => group_of(warp).collect(),
            Step::BlockSync => (first..first + WARPS).collect(),
            _ => (0..self.warps.len()).filter(|&warp| self.warps[warp].at != At::Ended).collect(),
        };
        let waits = |&warp: &usize| {
            let Warp { at, next, .. } = self.warps[warp];
            at == At::Sync && self.program.warps[warp][next - 1].step == step
        };
        if warps.iter().all(waits) {
            let agents: Vec<usize> =
                warps.iter().flat_map(|warp| [2 * warp, 2 * warp + 1]).collect();
            self.merge(&agents);
            warps.into_iter().for_each(|warp| self.warps[warp].at = At::Step);
        }
    }
}
