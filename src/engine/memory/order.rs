//! What comes before what: how much of each other lane's doings a lane knows to be behind it.
//!
//! Each warp counts ticks: at each point at which others can learn of what its lanes did (a `sync`,
//! an arrival at an mbarrier), one ends. An access is known to a lane if the tick that it was made
//! in is: by a `sync` that both came to, or by an arrival behind the access at a phase that the
//! lane, or who told it, has waited for. What arrives asynchronously (a bulk copy) counts as done
//! by a lane of its own.
//!
//! The same is kept of proxy fences: which ticks lie before a fence that the lane knows of. Without
//! one, what an ordinary store wrote is not there yet for what goes to memory asynchronously.
//!
//! The warps of a cluster's blocks are counted together: those of the block of rank 1 behind those
//! of rank 0. Between blocks, an arrival or a wait that is for its block only hands on that a lane
//! has come so far (what it read, it has read), and not what it wrote.

use crate::engine::memory::race::{Access, Lanes};
use crate::lane::LANES;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::vec::Vec;

/// Who is no warp: asynchronous agents count from here.
const ASYNCHRONOUS: usize = 1 << 16;

/// The asynchronous agent of this number.
pub(crate) const fn asynchronous(number: usize) -> usize {
    ASYNCHRONOUS + number
}

/// The rank of the block, of so many, that an asynchronous agent is of.
pub(crate) const fn rank_of_asynchronous(agent: usize, blocks: usize) -> usize {
    (agent - ASYNCHRONOUS) % blocks
}

/// The most warpgroups that a block can have. What their `wgmma`s do counts as done by the first
/// asynchronous agents.
pub(crate) const WARP_GROUPS: usize = 8;

/// Whether an agent, in a cluster of so many blocks, is a warpgroup's `wgmma`s.
pub(crate) const fn is_warp_group(agent: usize, blocks: usize) -> bool {
    ASYNCHRONOUS <= agent && agent < ASYNCHRONOUS + WARP_GROUPS * blocks
}

/// The warps of the warpgroup, in a cluster of so many blocks of so many warps, whose `wgmma`s an
/// agent is.
pub(crate) const fn warps_of_group(agent: usize, blocks: usize, warps: usize) -> Range<usize> {
    let (group, rank) = ((agent - ASYNCHRONOUS) / blocks, (agent - ASYNCHRONOUS) % blocks);
    let first = rank * warps + group * 4;
    first..first + 4
}

/// The asynchronous agents of a block's mbarrier, counted from 0: of what comes to it by the async
/// proxy, and of what comes as ordinary stores do, by `cp.async`, `st.async` and `red.async`,
/// between which and the async proxy is to be a fence.
pub(crate) const fn agents_of_barrier(barrier: usize) -> [usize; 2] {
    [WARP_GROUPS + 2 * barrier, WARP_GROUPS + 2 * barrier + 1]
}

/// Whether an agent, in a cluster of so many blocks, writes by the async proxy.
const fn is_of_async_proxy(agent: usize, blocks: usize) -> bool {
    if !is_asynchronous(agent) {
        return false;
    }
    let number = (agent - ASYNCHRONOUS) / blocks;
    number < WARP_GROUPS || (number - WARP_GROUPS).is_multiple_of(2)
}

/// Whether an agent is an asynchronous one.
pub(crate) const fn is_asynchronous(agent: usize) -> bool {
    agent >= ASYNCHRONOUS
}

/// Ticks that lie behind: up to which, of each lane of each warp, and of each asynchronous agent.
#[derive(Clone, Default)]
struct Ticks {
    warps: Vec<[u32; LANES]>,
    asynchronous: Vec<u32>,
}

/// What a fence is for: memory, of a proxy fence, or that mbarriers were initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Shared,
    Global,
    Barriers,
}

/// What a lane knows, to hand on.
#[derive(Clone, Default)]
pub(crate) struct Known {
    seen: Ticks,
    /// Ticks of which it is known that they are over, and no more: what was read in them, has been
    /// read.
    over: Ticks,
    /// What lies before a fence, of each [`Space`].
    fenced: [Ticks; 3],
    /// The blocks of the cluster that run, a bit for each.
    started: u16,
}

impl Ticks {
    fn join(&mut self, other: &Ticks) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), [0; LANES]);
        }
        if self.asynchronous.len() < other.asynchronous.len() {
            self.asynchronous.resize(other.asynchronous.len(), 0);
        }
        for (own, other) in self.warps.as_flattened_mut().iter_mut().zip(other.warps.as_flattened())
        {
            *own = (*own).max(*other);
        }
        for (own, other) in self.asynchronous.iter_mut().zip(&other.asynchronous) {
            *own = (*own).max(*other);
        }
    }

    fn pass(&mut self, warp: usize, lanes: Range<usize>, tick: u32) {
        if self.warps.len() <= warp {
            self.warps.resize(warp + 1, [0; LANES]);
        }
        self.warps[warp][lanes].fill(tick);
    }

    fn cover(&self, access: &Access) -> bool {
        let tick = access.tick;
        if is_asynchronous(access.agent) {
            return self
                .asynchronous
                .get(access.agent - ASYNCHRONOUS)
                .is_some_and(|&known| known >= tick);
        }
        let Some(lanes) = self.warps.get(access.agent) else { return false };
        match access.by {
            Lanes::One(lane) => lanes[usize::from(lane)] >= tick,
            // Done by all lanes: all must have gone on.
            Lanes::Each | Lanes::Together(_) => lanes.iter().all(|&known| known >= tick),
        }
    }
}

impl Known {
    pub(crate) fn join(&mut self, other: &Known) {
        self.seen.join(&other.seen);
        self.over.join(&other.over);
        self.started |= other.started;
        self.fenced.iter_mut().zip(&other.fenced).for_each(|(own, other)| own.join(other));
    }

    /// What another block learns that is told, or listens, for its own block only: how far lanes
    /// have come, and what has arrived asynchronously.
    pub(crate) fn without_writes(&self) -> Known {
        let mut over = self.over.clone();
        over.join(&self.seen);
        let seen = Ticks { warps: Vec::new(), asynchronous: self.seen.asynchronous.clone() };
        Known { seen, over, fenced: Default::default(), started: self.started }
    }

    /// What a relaxed arrival tells: that its block runs, and of the mbarriers that were
    /// initialised before a fence of theirs.
    pub(crate) fn relaxed(mut self) -> Known {
        let made = std::mem::take(&mut self.fenced[Space::Barriers as usize]);
        let mut known = Known { started: self.started, ..Known::default() };
        known.fenced[Space::Barriers as usize] = made;
        known
    }

    /// An asynchronous agent has come to this tick.
    pub(crate) fn pass_asynchronously(&mut self, agent: usize, tick: u32) {
        let number = agent - ASYNCHRONOUS;
        let seen = &mut self.seen.asynchronous;
        seen.resize(seen.len().max(number + 1), 0);
        seen[number] = seen[number].max(tick);
    }
}

/// What the lanes of one warp know.
#[derive(Default)]
struct WarpOrder {
    /// The tick that is running.
    tick: u32,
    /// What all lanes know.
    common: Known,
    /// What some lane has learned since the warp's last `sync`.
    own: Vec<(usize, Known)>,
}

/// What the warps of a cluster's blocks know. Of an empty one, nobody knows anything.
#[derive(Default)]
pub(crate) struct Order {
    warps: RefCell<Vec<WarpOrder>>,
    /// The blocks.
    blocks: usize,
    /// The warps of a block, if there are several blocks.
    block_warps: Option<usize>,
    /// Whether something but `sync`s orders warps.
    is_partial: Cell<bool>,
}

impl Order {
    /// Of so many blocks of so many warps.
    pub(crate) fn new(blocks: usize, warps: usize) -> Self {
        let new = |rank: usize| {
            let common = Known { started: 1 << rank, ..Known::default() };
            WarpOrder { tick: 1, common, ..WarpOrder::default() }
        };
        let all = (0..blocks * warps).map(|agent| new(agent / warps)).collect();
        let block_warps = (blocks > 1).then_some(warps);
        // A `sync` of one block does not order the others.
        Order {
            warps: RefCell::new(all),
            blocks,
            block_warps,
            is_partial: Cell::new(block_warps.is_some()),
        }
    }

    /// Whether it is a `sync` of their block that orders two agents, if one is between. (What is
    /// asynchronous counts none.)
    pub(crate) fn shares_syncs(&self, one: usize, other: usize) -> bool {
        self.block_warps.is_none_or(|warps| {
            is_asynchronous(one) || is_asynchronous(other) || one / warps == other / warps
        })
    }

    /// From now on, some warps may be ordered and others not.
    pub(crate) fn make_partial(&self) {
        self.is_partial.set(true);
    }

    /// Whether some warps may be ordered and others not.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial.get()
    }

    /// The tick of an access that a warp makes now.
    pub(crate) fn tick(&self, warp: usize) -> u32 {
        self.warps.borrow()[warp].tick
    }

    /// Whether the earlier access is known to whoever makes the later one, now.
    pub(crate) fn knows(&self, later: &Access, earlier: &Access) -> bool {
        self.covers(later, earlier, |known| &known.seen)
    }

    /// Whether who makes the later access, now, knows that the earlier one, a read, is over.
    pub(crate) fn knows_over(&self, later: &Access, earlier: &Access) -> bool {
        self.block_warps.is_some() && self.covers(later, earlier, |known| &known.over)
    }

    /// Whether who makes the access, now, knows that the block of this rank runs.
    pub(crate) fn knows_started(&self, by: &Access, rank: usize) -> bool {
        let warps = self.warps.borrow();
        let Some(warp) = warps.get(by.agent) else { return true };
        let runs = |known: &Known| known.started & 1 << rank != 0;
        let own = |lane| warp.own.iter().any(|(of_lane, known)| *of_lane == lane && runs(known));
        runs(&warp.common)
            || match by.by {
                Lanes::One(lane) => own(lane.into()),
                Lanes::Each | Lanes::Together(_) => (0..LANES).all(own),
            }
    }

    /// Whether who makes the later access, now, knows that some lane of a warp has come to the end
    /// of this tick.
    pub(crate) fn knows_some_lane(&self, later: &Access, warp: usize, tick: u32) -> bool {
        let warps = self.warps.borrow();
        let Some(knower) = warps.get(later.agent) else { return false };
        let has_come = |of: &Ticks| {
            of.warps.get(warp).is_some_and(|lanes| lanes.iter().any(|&known| known >= tick))
        };
        let knows = |known: &Known| has_come(&known.seen) || has_come(&known.over);
        let own = |(lane, known): &(usize, Known)| {
            later.lane().is_none_or(|of| of == *lane) && knows(known)
        };
        knows(&knower.common) || knower.own.iter().any(own)
    }

    /// Whether some lane of a warp knows of an access.
    pub(crate) fn is_known_in(&self, agent: usize, access: &Access) -> bool {
        let warp = &self.warps.borrow()[agent];
        warp.common.seen.cover(access) || warp.own.iter().any(|(_, known)| known.seen.cover(access))
    }

    /// Whether some lane of a warp knows that an access is over.
    pub(crate) fn is_known_over_in(&self, agent: usize, access: &Access) -> bool {
        let warp = &self.warps.borrow()[agent];
        let is_over = |known: &Known| known.seen.cover(access) || known.over.cover(access);
        is_over(&warp.common) || warp.own.iter().any(|(_, known)| is_over(known))
    }

    /// Whether there is a proxy fence between the earlier access and the later one, which is made
    /// now.
    pub(crate) fn is_fenced(&self, of: Space, later: &Access, earlier: &Access) -> bool {
        is_of_async_proxy(earlier.agent, self.blocks)
            || self.covers(later, earlier, |known| &known.fenced[of as usize])
    }

    fn covers(&self, later: &Access, earlier: &Access, of: impl Fn(&Known) -> &Ticks) -> bool {
        let warps = self.warps.borrow();
        let Some(warp) = warps.get(later.agent) else { return false };
        let own = |lane| {
            warp.own.iter().any(|(of_lane, known)| *of_lane == lane && of(known).cover(earlier))
        };
        of(&warp.common).cover(earlier)
            || match later.by {
                Lanes::One(lane) => own(lane.into()),
                Lanes::Each | Lanes::Together(_) => warp.own.len() == LANES && (0..LANES).all(own),
            }
    }

    /// What these lanes of a warp tell others: what they know, and what they did. A tick ends.
    pub(crate) fn release(&self, warp: usize, lanes: Range<usize>) -> Known {
        let order = &mut self.warps.borrow_mut()[warp];
        let mut known = order.common.clone();
        order
            .own
            .iter()
            .filter(|(lane, _)| lanes.contains(lane))
            .for_each(|(_, own)| known.join(own));
        known.seen.pass(warp, lanes, order.tick);
        order.tick += 1;
        known
    }

    /// These lanes of a warp learn of what others told.
    pub(crate) fn acquire(&self, warp: usize, lanes: Range<usize>, known: &Known) {
        let order = &mut self.warps.borrow_mut()[warp];
        if lanes.len() == LANES {
            order.common.join(known);
        } else {
            for lane in lanes {
                match order.own.iter_mut().find(|(of_lane, _)| *of_lane == lane) {
                    Some((_, own)) => own.join(known),
                    None => order.own.push((lane, known.clone())),
                }
            }
        }
    }

    /// These lanes of a warp execute a proxy fence: all that they know, and did, of such memory is
    /// before it.
    pub(crate) fn fence(&self, warp: usize, lanes: Range<usize>, of: &[Space]) {
        self.make_partial();
        let mut known = self.release(warp, lanes.clone());
        of.iter().for_each(|&of| known.fenced[of as usize].join(&known.seen));
        // What a lane did itself, it knows; what the others did, only the fence is told of.
        known.seen = Ticks::default();
        self.acquire(warp, lanes, &known);
    }

    /// The lanes of a warp wait for each other. (Where only `sync`s order, accesses are compared by
    /// those.)
    pub(crate) fn sync_warp(&self, warp: usize) {
        if !self.is_partial() {
            return;
        }
        let known = self.release(warp, 0..LANES);
        let order = &mut self.warps.borrow_mut()[warp];
        order.common = known;
        order.own.clear();
    }

    /// All warps of a block wait for each other.
    pub(crate) fn sync_block(&self, warps: Range<usize>) {
        if self.is_partial() {
            self.sync_warps(&Vec::from_iter(warps));
        }
    }

    /// These warps wait for each other.
    pub(crate) fn sync_warps(&self, warps: &[usize]) {
        warps.iter().for_each(|&warp| self.sync_warp(warp));
        let mut order = self.warps.borrow_mut();
        let all = warps.iter().fold(Known::default(), |mut all, &warp| {
            all.join(&order[warp].common);
            all
        });
        warps.iter().for_each(|&warp| order[warp].common = all.clone());
    }
}

/// The lanes of an access.
pub(crate) fn executing(lane: Option<usize>) -> Range<usize> {
    lane.map_or(0..LANES, |lane| lane..lane + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    /// Of two warps that have a barrier.
    fn partial() -> Order {
        let order = Order::new(1, 2);
        order.make_partial();
        order
    }

    #[track_caller]
    fn access(order: &Order, agent: usize, by: Lanes) -> Access {
        let tick = order.tick(agent);
        Access {
            agent,
            by,
            closure: 0,
            before: 0,
            epoch: 0,
            warp_epoch: 0,
            tick,
            location: Location::caller(),
        }
    }

    #[test]
    fn a_lane_tells_what_it_did_and_not_what_other_lanes_did() {
        let order = partial();
        let [own, other] = [0, 1].map(|lane| access(&order, 0, Lanes::One(lane)));
        let told = order.release(0, 0..1);
        let later = access(&order, 0, Lanes::One(0));
        let reader = access(&order, 1, Lanes::One(7));
        assert!(!order.knows(&reader, &own), "nobody has told it yet");
        order.acquire(1, 0..LANES, &told);
        assert!(order.knows(&reader, &own));
        assert!(!order.knows(&reader, &other) && !order.knows(&reader, &later));
    }

    #[test]
    fn behind_a_sync_of_the_warp_one_lane_speaks_for_all() {
        let order = partial();
        let writes =
            [Lanes::One(5), Lanes::Each, Lanes::Together(3)].map(|by| access(&order, 0, by));
        let hasty = order.release(0, 0..1);
        order.sync_warp(0);
        let told = order.release(0, 0..1);
        let reader = access(&order, 1, Lanes::Together(0));
        order.acquire(1, 0..LANES, &hasty);
        assert!(writes.iter().all(|write| !order.knows(&reader, write)));
        order.acquire(1, 0..LANES, &told);
        assert!(writes.iter().all(|write| order.knows(&reader, write)));
    }

    #[test]
    fn what_one_lane_learns_the_others_learn_by_a_sync() {
        let order = partial();
        let write = access(&order, 0, Lanes::One(0));
        let told = order.release(0, 0..1);
        order.acquire(1, 4..5, &told);
        let [waited, other] = [4, 5].map(|lane| access(&order, 1, Lanes::One(lane)));
        assert!(order.knows(&waited, &write) && !order.knows(&other, &write));
        order.sync_warp(1);
        assert!(order.knows(&other, &write));
    }

    #[test]
    fn a_fence_is_known_to_those_who_are_told_of_it_later() {
        let order = partial();
        let write = access(&order, 0, Lanes::One(0));
        let before = order.release(0, 0..1);
        order.fence(0, 0..1, &[Space::Shared]);
        let behind = order.release(0, 0..1);
        let reader = access(&order, 1, Lanes::One(0));
        order.acquire(1, 0..LANES, &before);
        assert!(order.knows(&reader, &write) && !order.is_fenced(Space::Shared, &reader, &write));
        order.acquire(1, 0..LANES, &behind);
        assert!(order.is_fenced(Space::Shared, &reader, &write));
        assert!(!order.is_fenced(Space::Global, &reader, &write), "a fence of other memory");
    }

    #[test]
    fn who_knows_of_a_write_can_fence_it_too() {
        let order = partial();
        let write = access(&order, 0, Lanes::One(0));
        order.sync_block(0..2);
        let reader = access(&order, 1, Lanes::One(0));
        assert!(order.knows(&reader, &write) && !order.is_fenced(Space::Shared, &reader, &write));
        order.fence(1, 0..1, &[Space::Shared]);
        assert!(order.is_fenced(Space::Shared, &reader, &write));
        assert!(
            !order.is_fenced(Space::Shared, &access(&order, 1, Lanes::One(1)), &write),
            "another lane"
        );
    }

    #[test]
    fn another_block_may_learn_that_a_lane_has_read_and_not_what_it_wrote() {
        let order = Order::new(2, 1);
        let access_of_first = access(&order, 0, Lanes::One(0));
        let told = order.release(0, 0..1).without_writes();
        let later = access(&order, 1, Lanes::One(3));
        assert!(!order.knows_over(&later, &access_of_first) && !order.knows_started(&later, 0));
        order.acquire(1, 3..4, &told);
        assert!(order.knows_over(&later, &access_of_first) && order.knows_started(&later, 0));
        assert!(!order.knows(&later, &access_of_first));
        assert!(
            !order.knows_over(&access(&order, 1, Lanes::One(4)), &access_of_first),
            "another lane"
        );
    }

    #[test]
    fn a_relaxed_arrival_tells_of_fenced_barriers_only() {
        let order = Order::new(2, 1);
        let made = access(&order, 0, Lanes::One(0));
        order.fence(0, 0..1, &[Space::Barriers]);
        let told = order.release(0, 0..LANES).relaxed();
        order.acquire(1, 0..LANES, &told);
        let user = access(&order, 1, Lanes::One(3));
        assert!(order.is_fenced(Space::Barriers, &user, &made) && order.knows_started(&user, 0));
        assert!(!order.knows(&user, &made) && !order.knows_over(&user, &made));
    }
}
