//! Generates correct pipelines.
//!
//! A program has channels: rings of stages that some warps fill and others use. The steps are
//! generated in one order in which all arrivals of a wait come before it. So the program ends in
//! every order.

mod steps;

use super::program::{Arrives, Entry, Program, Shape, Step};
use fastrand::Rng;
use ptx_matrix_fuzz_kernels::pipeline::{ARRIVALS, BARRIERS, STORED_BOXES, STORED_ROWS, WARPS};
use std::collections::VecDeque;

/// The way to fill a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// Bulk and TMA copies.
    Load,
    /// Stores by the lanes of a warp.
    Lanes,
    /// `cp.async`.
    CopyAsync,
    /// Stores to another block's tile: by the lanes, by `st.async`, or by a bulk copy from an own
    /// tile.
    SetPeer,
    Send,
    CopyToPeer,
}

/// The use of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Store,
    Multiply,
}

/// The arrivals at a barrier, distributed over several warps.
#[derive(Debug, Clone, Copy)]
struct Count {
    class: usize,
    times: u32,
    by: Arrives,
}

/// A tile in each stage. If one block loads it for all blocks (multicast), its rank.
#[derive(Debug, Clone)]
struct Part {
    shape: Shape,
    slots: Vec<usize>,
    shared_by: Option<usize>,
}

#[derive(Debug)]
struct Channel {
    number: usize,
    /// The blocks that use the stages, and the block that fills them, if it is another one.
    ranks: Vec<usize>,
    filler: Option<usize>,
    fill: Fill,
    uses: Use,
    parts: Vec<Part>,
    /// The source tiles of `CopyToPeer`.
    sources: Vec<usize>,
    full: Vec<usize>,
    empty: Vec<usize>,
    producers: Vec<usize>,
    /// Whether the producers alternate between rounds. Otherwise each producer does a part of each
    /// round.
    round_robin: bool,
    consumers: Vec<usize>,
    committed: Count,
    released: Count,
    /// The block that loads for all blocks, if it is one. The other blocks also have barriers for
    /// their own consumers.
    leader: Option<usize>,
    own_empty: Vec<usize>,
    own_released: Count,
    /// Rounds that a consumer keeps before it releases their stage.
    lag: usize,
    stages: usize,
    rounds: usize,
    /// Whether bytes are expected after the copies start, rather than before.
    expects_late: bool,
    in_two: bool,
    a_by_group: Option<usize>,
    filled: usize,
    used: usize,
    kept: VecDeque<usize>,
}

/// Three warps that each fill a tile, and read the tiles of the others.
#[derive(Debug)]
struct Meeting {
    number: usize,
    rank: usize,
    warps: Vec<usize>,
    slots: Vec<usize>,
    barrier: usize,
    rounds: usize,
    done: usize,
    by_token: bool,
}

struct Maker<'r> {
    random: &'r mut Rng,
    program: Program,
    slots: [Vec<usize>; 4],
    /// Tiles that other blocks wrote to through the generic proxy. The fence of such a block
    /// applies to that block only.
    retired: Vec<usize>,
    barriers: [Vec<usize>; 4],
    channels: usize,
    seeds: u32,
    stored: [usize; 2],
    /// The stored rows and boxes that no channel uses yet.
    unclaimed: [usize; 2],
    multiplies: Vec<bool>,
    reaches_others: bool,
}

/// Generates a correct program.
pub fn program(random: &mut Rng) -> Program {
    let blocks = [1, 1, 2, 2, 4][random.usize(..5)];
    let mut maker = Maker {
        program: Program::new(blocks),
        slots: Default::default(),
        retired: Vec::new(),
        barriers: std::array::from_fn(|class| (class * BARRIERS..(class + 1) * BARRIERS).collect()),
        channels: 0,
        seeds: 100,
        stored: [STORED_ROWS, STORED_BOXES],
        unclaimed: [STORED_ROWS, STORED_BOXES],
        multiplies: vec![false; blocks],
        reaches_others: false,
        random,
    };
    maker.episodes();
    maker.program
}

impl Maker<'_> {
    fn put(&mut self, rank: usize, warp: usize, channel: (usize, usize), step: Step) {
        let (channel, round) = channel;
        self.program.warps[rank * WARPS + warp].push(Entry { step, channel, round });
    }

    fn put_all(&mut self, steps: &[Step]) {
        for (rank, warp) in
            (0..self.program.blocks).flat_map(|rank| (0..WARPS).map(move |warp| (rank, warp)))
        {
            steps.iter().for_each(|&step| self.put(rank, warp, (0, 0), step));
        }
    }

    fn episodes(&mut self) {
        let sync = if self.program.blocks > 1 { Step::ClusterSync } else { Step::BlockSync };
        let episodes = self.random.usize(1..=2);
        for episode in 0..episodes {
            if episode > 0 {
                // From here on, tiles are filled in other ways.
                self.put_all(&[Step::Fence, sync]);
            } else if self.program.blocks > 1 {
                self.put_all(&[sync]);
            }
            self.slots = Shape::ALL.map(|shape| (0..shape.slots()).collect());
            self.slots[0].retain(|slot| !self.retired.contains(slot));
            let mut channels: Vec<Channel> = Vec::new();
            for _ in 0..self.random.usize(1..=3) {
                channels.extend(self.channel());
            }
            let meeting = if self.random.u8(..4) == 0 { self.meeting() } else { None };
            self.interleave(&mut channels, meeting);
        }
        if self.reaches_others {
            self.put_all(&[sync]);
        }
        for rank in
            (0..self.program.blocks).filter(|&rank| self.multiplies[rank]).collect::<Vec<_>>()
        {
            for warp in 0..4 {
                self.put(rank, warp, (0, 0), Step::TakeAccumulators { newest: 0, to: 0 });
            }
        }
    }

    fn interleave(&mut self, channels: &mut [Channel], mut meeting: Option<Meeting>) {
        loop {
            if let Some(meeting) = meeting.as_mut().filter(|meeting| meeting.done < meeting.rounds)
                && self.random.u8(..4) == 0
            {
                self.meet(meeting);
            }
            let ready = |channel: &&mut Channel| channel.used < channel.rounds;
            let mut left: Vec<&mut Channel> = channels.iter_mut().filter(ready).collect();
            if left.is_empty() {
                break;
            }
            let chosen = self.random.usize(..left.len());
            let channel = &mut *left[chosen];
            let in_use = channel.filled - channel.used + channel.kept.len();
            let can_fill = channel.filled < channel.rounds && in_use < channel.stages;
            let can_use = channel.used < channel.filled;
            if can_fill && (!can_use || self.random.bool()) {
                self.fill(channel);
            } else {
                self.consume(channel);
            }
        }
        for channel in channels {
            self.finish(channel);
        }
    }

    fn meeting(&mut self) -> Option<Meeting> {
        let slots = self.take_slots(Shape::Row, 3)?;
        let barrier = self.take_barriers(3, 1)?[0];
        self.channels += 1;
        Some(Meeting {
            number: self.channels,
            rank: self.random.usize(..self.program.blocks),
            warps: self.warps(0..WARPS, 3),
            slots,
            barrier,
            rounds: self.random.usize(1..4),
            done: 0,
            by_token: self.random.bool(),
        })
    }

    fn take_slots(&mut self, shape: Shape, count: usize) -> Option<Vec<usize>> {
        let free = &mut self.slots[shape as usize];
        if free.len() < count {
            return None;
        }
        self.random.shuffle(free);
        Some(free.split_off(free.len() - count))
    }

    fn take_barriers(&mut self, class: usize, count: usize) -> Option<Vec<usize>> {
        let free = &mut self.barriers[class];
        (free.len() >= count).then(|| free.split_off(free.len() - count))
    }

    fn warps(&mut self, among: std::ops::Range<usize>, count: usize) -> Vec<usize> {
        self.random.choose_multiple(among, count)
    }

    /// Distributes arrivals over `warps` warps: one each at a barrier with that many arrivals, or
    /// equal shares at the barrier with 96.
    fn count(&mut self, warps: usize, by_lanes: bool) -> Count {
        let class = ARRIVALS.iter().position(|&count| count as usize == warps);
        let many = ARRIVALS[3];
        let per_warp = many / warps as u32;
        match class {
            Some(class) if self.random.bool() => Count { class, times: 1, by: Arrives::Elected },
            _ if by_lanes && per_warp.is_multiple_of(32) && self.random.bool() => {
                Count { class: 3, times: per_warp / 32, by: Arrives::Each }
            }
            _ => Count { class: 3, times: per_warp, by: Arrives::Elected },
        }
    }

    fn channel(&mut self) -> Option<Channel> {
        let blocks = self.program.blocks;
        let fill = match self.random.u8(..12) {
            0 => Fill::Lanes,
            1 => Fill::CopyAsync,
            2 | 3 if blocks > 1 => Fill::SetPeer,
            4 if blocks > 1 => Fill::Send,
            5 if blocks > 1 => Fill::CopyToPeer,
            _ => Fill::Load,
        };
        let stages = self.random.usize(1..=3);
        let rounds = self.random.usize(1..=6);
        let home = self.random.usize(..blocks);
        let peers = matches!(fill, Fill::SetPeer | Fill::Send | Fill::CopyToPeer);
        let multicast = fill == Fill::Load && blocks > 1 && self.random.u8(..3) > 0;
        let ranks: Vec<usize> = if multicast { (0..blocks).collect() } else { vec![home] };
        let filler = peers.then(|| (home + self.random.usize(1..blocks)) % blocks);
        let free = ranks.iter().all(|&rank| !self.multiplies[rank]);
        let uses = match self.random.u8(..8) {
            0..4 if fill == Fill::Load && free => Use::Multiply,
            4 if fill != Fill::SetPeer && fill != Fill::Send => Use::Store,
            _ => Use::Read,
        };
        let shapes: &[Shape] = match (fill, uses) {
            (Fill::Load, Use::Multiply) => &[Shape::A, Shape::B],
            (Fill::Load, _) => {
                [&[Shape::Row][..], &[Shape::Box], &[Shape::Row, Shape::Box], &[Shape::Row; 2]]
                    [self.random.usize(..4)]
            }
            (Fill::Lanes, _) if self.random.bool() => &[Shape::Box],
            _ => &[Shape::Row],
        };
        let room = |shape: &Shape| {
            self.unclaimed[usize::from(*shape == Shape::Box)] >= shapes.len() * rounds
        };
        let uses = if uses == Use::Store && !shapes.iter().all(room) { Use::Read } else { uses };
        // Either each block loads a part for all blocks, or one block loads for all. In the second
        // case the others may load parts for themselves.
        let by_all = multicast && (uses != Use::Multiply || blocks == 2) && self.random.bool();
        let leader = (multicast && !by_all).then(|| self.random.usize(..blocks));
        let mut parts = Vec::new();
        for (index, &shape) in shapes.iter().enumerate() {
            let slots = self.take_slots(shape, stages)?;
            let shared_by = match leader {
                Some(leader) => (index == 0 || self.random.bool()).then_some(leader),
                None => by_all.then_some(index % blocks),
            };
            parts.push(Part { shape, slots, shared_by });
        }
        if by_all {
            for index in parts.len()..blocks {
                let slots = self.take_slots(Shape::Row, stages)?;
                parts.push(Part { shape: Shape::Row, slots, shared_by: Some(index) });
            }
        }
        let uses = if uses == Use::Store && multicast { Use::Read } else { uses };
        let by_group = uses == Use::Multiply && !multicast && self.random.u8(..4) == 0;
        let a_by_group = by_group.then(|| parts.remove(0).slots[0]);
        let sources = if fill == Fill::CopyToPeer {
            self.take_slots(Shape::Row, stages)?
        } else {
            Vec::new()
        };
        let producers = match (fill, multicast) {
            (Fill::Load, false) => self.random.usize(1..=2),
            _ => 1,
        };
        let mut producers =
            self.warps(if uses == Use::Multiply { 4..WARPS } else { 0..WARPS }, producers);
        // A producer that only comes to a stage every other time would not know whether its phase
        // has begun.
        let round_robin = producers.len() > 1
            && stages.is_multiple_of(2)
            && (parts.len() < 2 || self.random.bool());
        if !round_robin && parts.len() < 2 {
            producers.truncate(1);
        }
        let consumers = match uses {
            Use::Multiply => (0..4).collect(),
            Use::Store => self.warps(0..WARPS, 1),
            Use::Read => {
                let most = if blocks == 4 && multicast { 1 } else { 3 };
                let count = self.random.usize(1..=most);
                self.warps(0..WARPS, count)
            }
        };
        // The accumulators are stored by one of the four warps, which arrives for all, or each warp
        // arrives.
        let arriving =
            if uses == Use::Multiply && self.random.bool() { 1 } else { consumers.len() };
        let consumers = if uses == Use::Multiply && arriving == 1 {
            let mut all = consumers;
            self.random.shuffle(&mut all);
            all
        } else {
            consumers
        };
        let committed = match fill {
            Fill::Load => Count {
                class: usize::from(producers.len() > 1 && !round_robin),
                times: 1,
                by: Arrives::Elected,
            },
            Fill::Send | Fill::CopyToPeer => Count { class: 0, times: 1, by: Arrives::Elected },
            Fill::CopyAsync => Count { class: 3, times: 64, by: Arrives::Elected },
            Fill::SetPeer => self.count(1, false),
            Fill::Lanes => self.count(1, true),
        };
        let mut released =
            self.count(arriving * ranks.len(), !multicast && !peers && uses == Use::Read);
        if (multicast || peers) && released.times == 1 && self.random.bool() {
            released.by = Arrives::HavingRead;
        }
        let own_released = self.count(arriving, uses == Use::Read);
        let full = self.take_barriers(committed.class, stages)?;
        let empty = self.take_barriers(released.class, stages)?;
        let own_empty = match leader {
            Some(_) => self.take_barriers(own_released.class, stages)?,
            None => Vec::new(),
        };
        let lag = if uses == Use::Read { 0 } else { self.random.usize(..stages.min(3)) };
        if uses == Use::Multiply {
            ranks.iter().for_each(|&rank| self.multiplies[rank] = true);
        }
        if uses == Use::Store {
            shapes
                .iter()
                .for_each(|&shape| self.unclaimed[usize::from(shape == Shape::Box)] -= rounds);
        }
        if matches!(fill, Fill::SetPeer | Fill::Send) {
            self.retired.extend(&parts[0].slots);
        }
        self.reaches_others |= multicast || peers;
        self.channels += 1;
        Some(Channel {
            number: self.channels,
            ranks,
            filler,
            fill,
            uses,
            parts,
            sources,
            full,
            empty,
            producers,
            round_robin,
            consumers,
            committed,
            released,
            leader,
            own_empty,
            own_released,
            lag,
            stages,
            rounds,
            expects_late: self.random.u8(..4) == 0,
            in_two: self.random.u8(..4) == 0,
            a_by_group,
            filled: 0,
            used: 0,
            kept: VecDeque::new(),
        })
    }

    fn seed(&mut self) -> u32 {
        self.seeds += 1;
        self.seeds
    }
}
