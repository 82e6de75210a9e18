//! The steps of channels and meetings.

use super::super::program::{Arrives, Shape, Step, Tile};
use super::{Channel, Count, Fill, Maker, Meeting, Part, Use};
use ptx_matrix_fuzz_kernels::pipeline::ARRIVALS;

impl Maker<'_> {
    pub(super) fn meet(&mut self, meeting: &mut Meeting) {
        let Meeting { number, rank, barrier, done: round, by_token, .. } = *meeting;
        let at = (number, round);
        let arrive = if by_token {
            Step::ArriveToken { barrier }
        } else {
            Step::Arrive { barrier, ranks: 0, times: 1, by: Arrives::Each }
        };
        let wait = |half: usize| {
            let phase = (2 * round + half) as u32 + 1;
            if by_token { Step::WaitToken } else { Step::Wait { barrier, phase, cluster: false } }
        };
        let tile = |index: usize| Tile { shape: Shape::Row, slot: meeting.slots[index % 3] };
        for (index, &warp) in meeting.warps.iter().enumerate() {
            let seed = self.seed();
            self.put(rank, warp, at, Step::Fill { tile: tile(index), seed });
            self.put(rank, warp, at, arrive);
        }
        for (index, &warp) in meeting.warps.iter().enumerate() {
            self.put(rank, warp, at, wait(0));
            self.put(rank, warp, at, Step::Read { tile: tile(index + 1) });
            self.put(rank, warp, at, arrive);
        }
        for &warp in &meeting.warps {
            self.put(rank, warp, at, wait(1));
        }
        meeting.done += 1;
    }

    /// Fills a stage.
    pub(super) fn fill(&mut self, channel: &mut Channel) {
        let round = channel.filled;
        channel.filled += 1;
        let at = (channel.number, round);
        let (stage, phase) = (round % channel.stages, (round / channel.stages) as u32);
        let (full, empty) = (channel.full[stage], channel.empty[stage]);
        let wait = Step::Wait { barrier: empty, phase, cluster: self.random.u8(..4) == 0 };
        if channel.fill == Fill::Load {
            for rank in channel.ranks.clone() {
                let own = channel.leader.is_some_and(|leader| leader != rank);
                let barrier = if own { channel.own_empty[stage] } else { empty };
                let cluster = self.random.u8(..4) == 0;
                self.load(channel, rank, round, Step::Wait { barrier, phase, cluster });
            }
            return;
        }
        let (home, warp) = (channel.ranks[0], channel.producers[0]);
        let rank = channel.filler.unwrap_or(home);
        let part = &channel.parts[0];
        let tile = Tile { shape: part.shape, slot: part.slots[stage] };
        // In the first rounds the stages are empty, so the wait is optional.
        if phase > 0 || self.random.bool() {
            self.put(rank, warp, at, wait);
        }
        let seed = self.seed();
        let Count { times, by, .. } = channel.committed;
        match channel.fill {
            Fill::Load => unreachable!("it is loaded above"),
            Fill::Lanes => {
                self.put(rank, warp, at, Step::Fill { tile, seed });
                if channel.uses == Use::Store {
                    self.put(rank, warp, at, Step::Fence);
                }
                if by == Arrives::Elected {
                    self.put(rank, warp, at, Step::WarpSync);
                }
                self.put(rank, warp, at, Step::Arrive { barrier: full, ranks: 0, times, by });
            }
            Fill::CopyAsync => {
                let from = self.random.usize(..Shape::Row.sources());
                self.put(rank, warp, at, Step::CopyAsync { slot: tile.slot, from });
                self.put(rank, warp, at, Step::ArriveWhenCopied { barrier: full });
                self.put(rank, warp, at, Step::Arrive { barrier: full, ranks: 0, times, by });
            }
            Fill::SetPeer => {
                self.put(rank, warp, at, Step::SetPeer { slot: tile.slot, seed, rank: home });
                self.put(rank, warp, at, Step::WarpSync);
                self.put(
                    rank,
                    warp,
                    at,
                    Step::Arrive { barrier: full, ranks: 1 << home, times, by },
                );
            }
            Fill::Send => {
                self.put(
                    rank,
                    warp,
                    at,
                    Step::Send { slot: tile.slot, seed, barrier: full, rank: home },
                );
                self.expect(channel, home, channel.consumers[0], at, full, tile.shape.bytes());
            }
            Fill::CopyToPeer => {
                let from = Tile { shape: Shape::Row, slot: channel.sources[stage] };
                self.put(rank, warp, at, Step::Fill { tile: from, seed });
                self.put(rank, warp, at, Step::Fence);
                self.put(rank, warp, at, Step::WarpSync);
                let copy =
                    Step::CopyToPeer { slot: from.slot, to: tile.slot, barrier: full, rank: home };
                self.put(rank, warp, at, copy);
                self.expect(channel, home, channel.consumers[0], at, full, tile.shape.bytes());
            }
        }
    }

    fn expect(
        &mut self,
        channel: &Channel,
        rank: usize,
        warp: usize,
        at: (usize, usize),
        barrier: usize,
        bytes: u32,
    ) {
        self.put(rank, warp, at, Step::Expect { barrier, bytes, in_two: channel.in_two });
    }

    /// The producers of a block load a stage.
    fn load(&mut self, channel: &Channel, rank: usize, round: usize, wait: Step) {
        let at = (channel.number, round);
        let stage = round % channel.stages;
        let full = channel.full[stage];
        let Channel { producers, parts, .. } = channel;
        let work: Vec<(usize, Vec<&Part>)> = if channel.round_robin || producers.len() == 1 {
            vec![(producers[round % producers.len()], parts.iter().collect())]
        } else {
            let of =
                |producer: usize| parts.iter().skip(producer).step_by(producers.len()).collect();
            producers.iter().enumerate().map(|(index, &warp)| (warp, of(index))).collect()
        };
        for (warp, parts) in work {
            if round >= channel.stages || self.random.bool() {
                self.put(rank, warp, at, wait);
            }
            let bytes = parts.iter().map(|part| part.shape.bytes()).sum();
            if !channel.expects_late {
                self.expect(channel, rank, warp, at, full, bytes);
            }
            for Part { shape, slots, shared_by } in parts {
                let (shape, from) = (*shape, self.random.usize(..shape.sources()));
                let tile = Tile { shape, slot: slots[stage] };
                let all = (1 << self.program.blocks) - 1;
                match *shared_by {
                    Some(by) if by != rank => {}
                    Some(_) => self.put(
                        rank,
                        warp,
                        at,
                        Step::Load { tile, from, barrier: full, ranks: all },
                    ),
                    None => {
                        self.put(rank, warp, at, Step::Load { tile, from, barrier: full, ranks: 0 })
                    }
                }
            }
            if channel.expects_late {
                self.expect(channel, rank, warp, at, full, bytes);
            }
        }
    }

    /// The consumers use a stage, and release one.
    pub(super) fn consume(&mut self, channel: &mut Channel) {
        let round = channel.used;
        channel.used += 1;
        channel.kept.push_back(round);
        let at = (channel.number, round);
        let (stage, phase) = (round % channel.stages, (round / channel.stages) as u32 + 1);
        let cluster = channel.fill == Fill::SetPeer || self.random.u8(..4) == 0;
        let wait = Step::Wait { barrier: channel.full[stage], phase, cluster };
        let tiles: Vec<Tile> = channel
            .parts
            .iter()
            .map(|part| Tile { shape: part.shape, slot: part.slots[stage] })
            .collect();
        let stored = channel.uses == Use::Store;
        let regions: Vec<usize> =
            tiles.iter().filter(|_| stored).map(|tile| self.region(tile.shape)).collect();
        let seed = self.seed();
        for (rank, &warp) in channel
            .ranks
            .iter()
            .flat_map(|rank| channel.consumers.iter().map(move |warp| (*rank, warp)))
        {
            match channel.uses {
                Use::Read => {
                    self.put(rank, warp, at, wait);
                    let mut tiles = tiles.clone();
                    self.random.shuffle(&mut tiles);
                    tiles
                        .into_iter()
                        .for_each(|tile| self.put(rank, warp, at, Step::Read { tile }));
                    if channel.released.by != Arrives::Each {
                        // The arriving lane speaks for all lanes.
                        self.put(rank, warp, at, Step::WarpSync);
                    }
                }
                Use::Store => {
                    self.put(rank, warp, at, wait);
                    if channel.fill == Fill::CopyAsync {
                        self.put(rank, warp, at, Step::Fence);
                    }
                    for (&tile, &to) in tiles.iter().zip(&regions) {
                        self.put(rank, warp, at, Step::Store { tile, to });
                    }
                    self.put(rank, warp, at, Step::Commit);
                }
                Use::Multiply => {
                    let (a, b) = match channel.a_by_group {
                        Some(a) => (a, tiles[0].slot),
                        None => (tiles[0].slot, tiles[1].slot),
                    };
                    if let Some(slot) = channel.a_by_group {
                        if round > 0 {
                            self.put(rank, warp, at, Step::WaitWgmmas { newest: 0 });
                            self.put(rank, warp, at, Step::GroupSync);
                        }
                        let tile = Tile { shape: Shape::A, slot };
                        self.put(rank, warp, at, Step::Fill { tile, seed });
                        self.put(rank, warp, at, Step::Fence);
                        self.put(rank, warp, at, Step::GroupSync);
                    }
                    self.put(rank, warp, at, wait);
                    self.put(rank, warp, at, Step::Multiply { a, b });
                }
            }
        }
        if channel.kept.len() > channel.lag {
            self.release(channel, channel.lag as u32);
        }
    }

    /// The next unused part of the output for a tile of this shape.
    fn region(&mut self, shape: Shape) -> usize {
        let left = &mut self.stored[usize::from(shape == Shape::Box)];
        *left -= 1;
        *left
    }

    /// The consumers release the stage that they have kept longest, after a wait for all but the
    /// `newest` groups.
    fn release(&mut self, channel: &mut Channel, newest: u32) {
        let Some(round) = channel.kept.pop_front() else { return };
        let at = (channel.number, round);
        let Count { times, by, .. } = channel.released;
        let all = channel.ranks.iter().fold(0, |all, rank| all | 1 << rank);
        let ranks = match (channel.filler.or(channel.leader), channel.ranks.len()) {
            (Some(one), _) => 1 << one,
            (None, 1) => 0,
            (None, _) => all,
        };
        let barrier = channel.empty[round % channel.stages];
        let mut arriving = channel.consumers.clone();
        let arrivals =
            ARRIVALS[channel.released.class] / times / if by == Arrives::Each { 32 } else { 1 };
        arriving.truncate(arrivals as usize / channel.ranks.len());
        for (rank, &warp) in channel
            .ranks
            .iter()
            .flat_map(|rank| channel.consumers.iter().map(move |warp| (*rank, warp)))
        {
            match channel.uses {
                Use::Read => {}
                Use::Store => {
                    self.put(rank, warp, at, Step::WaitStores { newest, written: newest == 1 })
                }
                Use::Multiply => self.put(rank, warp, at, Step::WaitWgmmas { newest }),
            }
            if arriving.contains(&warp) {
                self.put(rank, warp, at, Step::Arrive { barrier, ranks, times, by });
                if channel.leader.is_some_and(|leader| leader != rank) {
                    let Count { times, by, .. } = channel.own_released;
                    let barrier = channel.own_empty[round % channel.stages];
                    self.put(rank, warp, at, Step::Arrive { barrier, ranks: 0, times, by });
                }
            }
        }
    }

    /// Waits for all pending reads, and releases all kept stages.
    pub(super) fn finish(&mut self, channel: &mut Channel) {
        while !channel.kept.is_empty() {
            let newest = channel.kept.len() as u32 - 1;
            self.release(channel, newest);
        }
    }
}
