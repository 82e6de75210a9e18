//! The happens-before order: which accesses of other lanes are ordered before a lane's next access.
//!
//! These are vector clocks. Each warp counts ticks. A tick ends at each release: a `sync`, or an
//! arrival at an mbarrier. A lane knows an access if it knows the access's tick. It learns ticks by
//! a common `sync`, and by waiting for the phase of an arrival. Knowledge is transitive: an arrival
//! passes on all that its lane knows. An agent is a warp, or a source of
//! asynchronous operations, such as the bulk copies that signal one mbarrier.
//!
//! Proxy fences are recorded in the same way: which ticks precede a fence that the lane knows.
//! Without a fence, the async proxy does not see the writes of ordinary stores.
//!
//! The warps of a cluster are numbered across its blocks, by rank. Between blocks, an arrival or a
//! wait of block scope orders only the progress of lanes. Their reads are over, but their writes
//! are not visible.

use crate::engine::memory::race::{Access, Lanes};
use crate::lane::LANES;
use core::panic::Location;
use rustc_hash::FxHashSet;
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::ops::Range;
use std::rc::Rc;
use std::vec::Vec;

/// The number of the first asynchronous agent. Lower numbers are warps.
const ASYNCHRONOUS: usize = 1 << 16;

/// The asynchronous agent of this number.
pub(crate) const fn asynchronous(number: usize) -> usize {
    ASYNCHRONOUS + number
}

/// The rank of an asynchronous agent's block, in a cluster of `blocks` blocks.
pub(crate) const fn rank_of_asynchronous(agent: usize, blocks: usize) -> usize {
    (agent - ASYNCHRONOUS) % blocks
}

/// The rank of any agent's block, in a cluster of `blocks` blocks with `warps` warps each.
pub(crate) const fn rank_of(agent: usize, blocks: usize, warps: usize) -> usize {
    if is_asynchronous(agent) { rank_of_asynchronous(agent, blocks) } else { agent / warps }
}

/// The most warpgroups of a block. The first asynchronous agents stand for the `wgmma`s of each
/// warpgroup.
pub(crate) const WARP_GROUPS: usize = 8;

/// Whether an agent stands for a warpgroup's `wgmma`s, in a cluster of `blocks` blocks.
pub(crate) const fn is_warp_group(agent: usize, blocks: usize) -> bool {
    ASYNCHRONOUS <= agent && agent < ASYNCHRONOUS + WARP_GROUPS * blocks
}

/// The warps of the warpgroup whose `wgmma`s an agent stands for, in a cluster of `blocks` blocks
/// with `warps` warps each.
pub(crate) const fn warps_of_group(agent: usize, blocks: usize, warps: usize) -> Range<usize> {
    let (group, rank) = ((agent - ASYNCHRONOUS) / blocks, (agent - ASYNCHRONOUS) % blocks);
    let first = rank * warps + group * 4;
    first..first + 4
}

/// The two asynchronous agents of a block's mbarrier, counted from 0.
///
/// The first stands for operations of the async proxy. The second stands for operations like
/// ordinary stores: `cp.async`, `st.async` and `red.async`. The async proxy needs a fence after
/// these.
pub(crate) const fn agents_of_barrier(barrier: usize) -> [usize; 2] {
    [WARP_GROUPS + 2 * barrier, WARP_GROUPS + 2 * barrier + 1]
}

/// Whether an agent writes through the async proxy, in a cluster of `blocks` blocks.
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

/// A vector clock: the last known tick of each lane of each warp, and of each asynchronous agent.
#[derive(Clone, Default)]
struct Ticks {
    warps: Vec<[u32; LANES]>,
    asynchronous: Vec<u32>,
}

/// The subject of a fence: the memory of a proxy fence, or the initialisation of mbarriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// The shared memory of the block of this rank.
    Shared(usize),
    Global,
    Barriers,
}

/// What the writes of an atomic element pass on: the knowledge of each cluster that released it, of
/// its own warps.
#[derive(Default)]
pub(crate) struct Released {
    clocks: BTreeMap<usize, Rc<Clock>>,
    /// The lane that released last, and what it passed on.
    last: Option<(LaneOfLaunch, BTreeMap<usize, Rc<Clock>>)>,
    /// Lanes that have acquired all of it.
    acquired: FxHashSet<LaneOfLaunch>,
}

/// A warp, its lane, and its cluster.
type LaneOfLaunch = (usize, usize, usize);

impl Released {
    /// A lane stores. If it was the last one to release, the element passes on what it released
    /// (the second kind of release pattern, PTX ISA 8.8). Else the element passes on nothing.
    pub(crate) fn store_by(&mut self, by: LaneOfLaunch) {
        let last = self.last.take().filter(|(lane, _)| *lane == by);
        self.clocks = last.as_ref().map_or_else(BTreeMap::new, |(_, clocks)| clocks.clone());
        self.last = last;
        self.acquired.clear();
    }
}

/// The vector clocks of a lane, as a release passes them on: what it knows of the others.
#[derive(Clone, Default)]
pub(crate) struct Clock {
    seen: Ticks,
    /// Ticks known to be over, but without their writes: their reads have ended.
    over: Ticks,
    /// Ticks that precede a fence, for each [`Space`] with fences.
    fenced: Vec<(Space, Ticks)>,
    /// For each warp, a tick that some lane of it has reached in every schedule. This orders no
    /// accesses to memory.
    progress: Vec<u32>,
    /// The blocks of the cluster that are known to run, one bit each.
    started: u16,
    /// What other clusters released, by their number within the launch. Only atomic operations
    /// tell of them.
    others: BTreeMap<usize, Rc<Clock>>,
}

/// Joins the knowledge of several clusters. What nobody changes is shared.
fn join_clusters(own: &mut BTreeMap<usize, Rc<Clock>>, other: &BTreeMap<usize, Rc<Clock>>) {
    for (&cluster, known) in other {
        match own.entry(cluster) {
            Entry::Vacant(first) => {
                first.insert(Rc::clone(known));
            }
            Entry::Occupied(own) if Rc::ptr_eq(own.get(), known) => {}
            Entry::Occupied(mut own) => Rc::make_mut(own.get_mut()).join(known),
        }
    }
}

/// Joins the ticks of several agents.
fn join_ticks(own: &mut Vec<u32>, other: &[u32]) {
    own.resize(own.len().max(other.len()), 0);
    own.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

/// Records that an agent has reached this tick.
fn pass_tick(ticks: &mut Vec<u32>, agent: usize, tick: u32) {
    ticks.resize(ticks.len().max(agent + 1), 0);
    ticks[agent] = ticks[agent].max(tick);
}

impl Ticks {
    fn join(&mut self, other: &Ticks) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), [0; LANES]);
        }
        for (own, other) in self.warps.as_flattened_mut().iter_mut().zip(other.warps.as_flattened())
        {
            *own = (*own).max(*other);
        }
        join_ticks(&mut self.asynchronous, &other.asynchronous);
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
            // An access by all lanes: each lane must have reached the tick.
            Lanes::Each | Lanes::Together(_) => lanes.iter().all(|&known| known >= tick),
        }
    }
}

impl Clock {
    pub(crate) fn join(&mut self, other: &Clock) {
        self.seen.join(&other.seen);
        self.over.join(&other.over);
        join_ticks(&mut self.progress, &other.progress);
        self.started |= other.started;
        other.fenced.iter().for_each(|(space, ticks)| self.fence(*space, ticks));
        join_clusters(&mut self.others, &other.others);
    }

    /// Records that these ticks precede a fence.
    fn fence(&mut self, space: Space, ticks: &Ticks) {
        match self.fenced.iter_mut().find(|(other, _)| *other == space) {
            Some((_, own)) => own.join(ticks),
            None => self.fenced.push((space, ticks.clone())),
        }
    }

    /// Whether a fence for this space follows an access.
    fn is_fenced(&self, space: Space, access: &Access) -> bool {
        self.fenced.iter().any(|(other, ticks)| *other == space && ticks.cover(access))
    }

    /// The part of the knowledge that passes between blocks at block scope: the progress of lanes,
    /// and asynchronous operations.
    pub(crate) fn without_writes(&self) -> Clock {
        let mut over = self.over.clone();
        over.join(&self.seen);
        let seen = Ticks { warps: Vec::new(), asynchronous: self.seen.asynchronous.clone() };
        let progress = self.progress.clone();
        Clock { seen, over, progress, started: self.started, ..Clock::default() }
    }

    /// The knowledge that a relaxed arrival passes on: the progress of warps, that its block runs,
    /// and fenced initialisations of mbarriers.
    pub(crate) fn relaxed(mut self) -> Clock {
        self.fenced.retain(|(space, _)| *space == Space::Barriers);
        let Clock { fenced, progress, started, .. } = self;
        Clock { fenced, progress, started, ..Clock::default() }
    }

    /// Records that an asynchronous agent has reached this tick.
    pub(crate) fn pass_asynchronously(&mut self, agent: usize, tick: u32) {
        pass_tick(&mut self.seen.asynchronous, agent - ASYNCHRONOUS, tick);
    }
}

/// Ticks that are remembered for [`Order::releases`]: more than a warp starts copies after a wait.
const MOST_OF_PROGRESS: usize = 256;

/// The knowledge of the lanes of one warp.
#[derive(Default)]
struct WarpOrder {
    /// The current tick.
    tick: u32,
    /// The first tick since the numbers of lane closures began anew.
    renumbered: u32,
    /// The last ticks that ended without a release of accesses.
    of_progress: VecDeque<u32>,
    /// The ticks that the warp's last `sync`, and the block's, ended. Only until the clocks start.
    synced: u32,
    block_synced: u32,
    /// The line of the block's last `sync`.
    synced_at: Option<&'static Location<'static>>,
    /// The knowledge that all lanes share.
    common: Clock,
    /// The additional knowledge of single lanes since the warp's last `sync`.
    own: Vec<(usize, Clock)>,
}

/// The knowledge of all warps of a cluster. In an empty `Order`, no warp knows anything.
#[derive(Default)]
pub(crate) struct Order {
    warps: RefCell<Vec<WarpOrder>>,
    /// Number of blocks.
    blocks: usize,
    /// Number of warps of a block, if there are several blocks.
    block_warps: Option<usize>,
    /// Whether the clocks have started: operations other than `sync`s order warps.
    uses_clocks: Cell<bool>,
}

impl Order {
    /// A cluster of `blocks` blocks with `warps` warps each.
    pub(crate) fn new(blocks: usize, warps: usize) -> Self {
        let new = |rank: usize| {
            let common = Clock { started: 1 << rank, ..Clock::default() };
            WarpOrder { tick: 1, common, ..WarpOrder::default() }
        };
        let all = (0..blocks * warps).map(|agent| new(agent / warps)).collect();
        let block_warps = (blocks > 1).then_some(warps);
        // A `sync` of one block does not order the other blocks.
        Order {
            warps: RefCell::new(all),
            blocks,
            block_warps,
            uses_clocks: Cell::new(block_warps.is_some()),
        }
    }

    /// Whether a `sync` of the block orders two agents. (`sync` does not count for asynchronous
    /// agents.)
    pub(crate) fn shares_syncs(&self, one: usize, other: usize) -> bool {
        self.block_warps.is_none_or(|warps| {
            is_asynchronous(one) || is_asynchronous(other) || one / warps == other / warps
        })
    }

    /// Whether both agents are known to be of one block.
    pub(crate) fn are_of_one_block(&self, one: usize, other: usize) -> bool {
        self.block_warps.is_none_or(|warps| {
            !is_asynchronous(one) && !is_asynchronous(other) && one / warps == other / warps
        })
    }

    /// Starts the clocks: from now on, some warps may be ordered and others not.
    ///
    /// Until now, all that a lane knows of others came by `sync`s, and their numbers suffice.
    pub(crate) fn start_clocks(&self) {
        if self.uses_clocks.replace(true) {
            return;
        }
        let mut warps = self.warps.borrow_mut();
        let mut of_block = Ticks::default();
        warps
            .iter()
            .enumerate()
            .for_each(|(warp, order)| of_block.pass(warp, 0..LANES, order.block_synced));
        let progress: Vec<u32> = warps.iter().map(|order| order.block_synced).collect();
        for (warp, order) in warps.iter_mut().enumerate() {
            order.common.progress = progress.clone();
            order.common.seen = of_block.clone();
            order.common.seen.pass(warp, 0..LANES, order.synced);
        }
    }

    /// Whether the clocks have started.
    pub(crate) fn uses_clocks(&self) -> bool {
        self.uses_clocks.get()
    }

    /// The tick of an access that a warp makes now.
    pub(crate) fn tick(&self, warp: usize) -> u32 {
        self.warps.borrow()[warp].tick
    }

    /// The warp's lane closures get numbers from the lowest one on, again.
    pub(crate) fn renumber_closures(&self, warp: usize) {
        let order = &mut self.warps.borrow_mut()[warp];
        order.tick += 1;
        order.renumbered = order.tick;
    }

    /// Whether the lane closure of an access in this tick was numbered as the warp's current one.
    pub(crate) fn has_numbers_of_now(&self, warp: usize, tick: u32) -> bool {
        self.warps.borrow().get(warp).is_none_or(|order| tick >= order.renumbered)
    }

    /// Whether the author of the later access, made now, knows the earlier access.
    pub(crate) fn knows(&self, later: &Access, earlier: &Access) -> bool {
        self.author_has(later, |known| known.seen.cover(earlier))
    }

    /// Whether the author of the later access, made now, knows that the earlier one, a read, is
    /// over. Only in a cluster: within a block, [`knows`](Self::knows) covers it.
    pub(crate) fn knows_over(&self, later: &Access, earlier: &Access) -> bool {
        self.block_warps.is_some() && self.author_has(later, |known| known.over.cover(earlier))
    }

    /// Whether the author of the access, made now, knows that the block of this rank runs.
    pub(crate) fn knows_started(&self, by: &Access, rank: usize) -> bool {
        self.warps.borrow().get(by.agent).is_none()
            || self.author_has(by, |known| known.started & 1 << rank != 0)
    }

    /// Whether the author of the later access, made now, knows that some lane of `warp` has reached
    /// this tick.
    pub(crate) fn knows_some_lane(&self, later: &Access, warp: usize, tick: u32) -> bool {
        let warps = self.warps.borrow();
        let Some(knower) = warps.get(later.agent) else { return false };
        let has_come = |of: &Ticks| {
            of.warps.get(warp).is_some_and(|lanes| lanes.iter().any(|&known| known >= tick))
        };
        let knows = |known: &Clock| has_come(&known.seen) || has_come(&known.over);
        let own = |(lane, known): &(usize, Clock)| {
            later.lane().is_none_or(|of| of == *lane) && knows(known)
        };
        knows(&knower.common) || knower.own.iter().any(own)
    }

    /// Whether some lane of a warp knows an access.
    pub(crate) fn is_known_in(&self, agent: usize, access: &Access) -> bool {
        let warp = &self.warps.borrow()[agent];
        warp.common.seen.cover(access) || warp.own.iter().any(|(_, known)| known.seen.cover(access))
    }

    /// Whether some lane of a warp knows that an access is over.
    pub(crate) fn is_known_over_in(&self, agent: usize, access: &Access) -> bool {
        let warp = &self.warps.borrow()[agent];
        let is_over = |known: &Clock| known.seen.cover(access) || known.over.cover(access);
        is_over(&warp.common) || warp.own.iter().any(|(_, known)| is_over(known))
    }

    /// Whether a proxy fence lies between the earlier access and the later one, which is made now.
    pub(crate) fn is_fenced(&self, of: Space, later: &Access, earlier: &Access) -> bool {
        is_of_async_proxy(earlier.agent, self.blocks)
            || self.author_has(later, |known| known.is_fenced(of, earlier))
    }

    /// Whether the author of an access that is made now has such knowledge: each of its lanes.
    fn author_has(&self, access: &Access, has: impl Fn(&Clock) -> bool) -> bool {
        let warps = self.warps.borrow();
        let Some(warp) = warps.get(access.agent) else { return false };
        let own = |lane| warp.own.iter().any(|(of_lane, known)| *of_lane == lane && has(known));
        has(&warp.common)
            || match access.by {
                Lanes::One(lane) => own(lane.into()),
                Lanes::Each | Lanes::Together(_) => warp.own.len() == LANES && (0..LANES).all(own),
            }
    }

    /// Returns the knowledge and the accesses of these lanes, for others to acquire. Ends the tick.
    pub(crate) fn release(&self, warp: usize, lanes: Range<usize>) -> Clock {
        let order = &mut self.warps.borrow_mut()[warp];
        let mut known = order.common.clone();
        order
            .own
            .iter()
            .filter(|(lane, _)| lanes.contains(lane))
            .for_each(|(_, own)| known.join(own));
        known.seen.pass(warp, lanes, order.tick);
        pass_tick(&mut known.progress, warp, order.tick);
        order.tick += 1;
        known
    }

    /// Returns the progress of warps that a warp knows, with its own, for others to acquire. Orders
    /// no accesses to memory. Ends the tick.
    pub(crate) fn release_progress(&self, warp: usize) -> Clock {
        let order = &mut self.warps.borrow_mut()[warp];
        let mut progress = order.common.progress.clone();
        order.own.iter().for_each(|(_, own)| join_ticks(&mut progress, &own.progress));
        pass_tick(&mut progress, warp, order.tick);
        if order.of_progress.len() == MOST_OF_PROGRESS {
            order.of_progress.pop_front();
        }
        order.of_progress.push_back(order.tick);
        order.tick += 1;
        Clock { progress, ..Clock::default() }
    }

    /// How many of these ticks of a warp ended with a release of its accesses.
    pub(crate) fn releases(&self, warp: usize, ticks: Range<u32>) -> usize {
        let warps = self.warps.borrow();
        let of_progress = warps.get(warp).map_or(0, |order| {
            order.of_progress.iter().filter(|tick| ticks.contains(tick)).count()
        });
        ticks.len() - of_progress
    }

    /// Lets a warp know the current progress of these. It may include more than the operation that
    /// the warp waited for, so that some mistakes stay unfound.
    pub(crate) fn acquire_progress(&self, warp: usize, of: Range<usize>) {
        let mut warps = self.warps.borrow_mut();
        for other in of {
            let tick = warps[other].tick;
            pass_tick(&mut warps[warp].common.progress, other, tick);
        }
    }

    /// Whether the warp of the earlier operation has reached it in every schedule in which the
    /// later one happens, which is made now.
    pub(crate) fn has_come(&self, later: &Access, earlier: &Access) -> bool {
        let warps = self.warps.borrow();
        let Some(warp) = warps.get(later.agent) else { return true };
        let has = |known: &Clock| {
            known.progress.get(earlier.agent).is_some_and(|&known| known >= earlier.tick)
        };
        later.agent == earlier.agent
            || has(&warp.common)
            || warp.own.iter().any(|(_, known)| has(known))
    }

    /// Adds knowledge that others released to these lanes of a warp.
    pub(crate) fn acquire(&self, warp: usize, lanes: Range<usize>, known: &Clock) {
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

    /// Adds these lanes' knowledge and accesses to what an atomic element passes on. `cluster` is
    /// their cluster's number within the launch.
    pub(crate) fn release_to_launch(
        &self,
        warp: usize,
        lanes: Range<usize>,
        cluster: usize,
        released: &mut Released,
    ) {
        let lane = lanes.start;
        let mut known = self.release(warp, lanes);
        let mut clocks = std::mem::take(&mut known.others);
        clocks.insert(cluster, Rc::new(known));
        join_clusters(&mut released.clocks, &clocks);
        released.last = Some(((warp, lane, cluster), clocks));
        released.acquired.clear();
    }

    /// Adds what an atomic element passes on to these lanes' knowledge.
    pub(crate) fn acquire_from_launch(
        &self,
        warp: usize,
        lanes: Range<usize>,
        cluster: usize,
        released: &mut Released,
    ) {
        if released.clocks.is_empty() || !released.acquired.insert((warp, lanes.start, cluster)) {
            return;
        }
        let mut others = released.clocks.clone();
        let own = others.remove(&cluster).map_or_else(Clock::default, |own| (*own).clone());
        self.acquire(warp, lanes, &Clock { others, ..own });
    }

    /// Whether the author of an access, made now, knows an earlier one of another cluster. For a
    /// read it suffices that it is over, if `by` writes.
    pub(crate) fn knows_of_cluster(
        &self,
        by: &Access,
        cluster: usize,
        earlier: &Access,
        is_over: bool,
    ) -> bool {
        let knows = |of: &Clock| of.seen.cover(earlier) || is_over && of.over.cover(earlier);
        self.author_has(by, |known| known.others.get(&cluster).is_some_and(|of| knows(of)))
    }

    /// Whether a proxy fence for global memory lies between an earlier access of another cluster
    /// and this one, which is made now.
    pub(crate) fn is_fenced_of_cluster(
        &self,
        by: &Access,
        cluster: usize,
        earlier: &Access,
    ) -> bool {
        let is_fenced = |of: &Clock| of.is_fenced(Space::Global, earlier);
        is_of_async_proxy(earlier.agent, self.blocks)
            || self
                .author_has(by, |known| known.others.get(&cluster).is_some_and(|of| is_fenced(of)))
    }

    /// Executes a proxy fence in these lanes of a warp. All accesses of this space that the lanes
    /// made or know precede the fence.
    pub(crate) fn fence(&self, warp: usize, lanes: Range<usize>, of: &[Space]) {
        self.start_clocks();
        let mut known = self.release(warp, lanes.clone());
        // A lane knows its own accesses anyway. The other lanes' accesses are known to the fence
        // only.
        let seen = std::mem::take(&mut known.seen);
        of.iter().for_each(|&of| known.fence(of, &seen));
        if of.contains(&Space::Global) {
            for other in known.others.values_mut() {
                let seen = other.seen.clone();
                Rc::make_mut(other).fence(Space::Global, &seen);
            }
        }
        self.acquire(warp, lanes, &known);
    }

    /// Synchronises the lanes of a warp.
    pub(crate) fn sync_warp(&self, warp: usize) {
        if !self.uses_clocks() {
            if let Some(order) = self.warps.borrow_mut().get_mut(warp) {
                order.synced = order.tick;
                order.tick += 1;
            }
            return;
        }
        let known = self.release(warp, 0..LANES);
        let order = &mut self.warps.borrow_mut()[warp];
        order.common = known;
        order.own.clear();
    }

    /// Synchronises all warps of a block, at this line.
    pub(crate) fn sync_block(&self, warps: Range<usize>, at: &'static Location<'static>) {
        if self.uses_clocks() {
            self.sync_warps(&Vec::from_iter(warps.clone()));
        } else {
            warps.clone().for_each(|warp| self.sync_warp(warp));
        }
        for order in &mut self.warps.borrow_mut()[warps] {
            order.block_synced = order.synced;
            order.synced_at = Some(at);
        }
    }

    /// The line of the last `sync` of the block before two accesses of different warps, if it is
    /// between their lines.
    pub(crate) fn sync_between(&self, one: &Access, other: &Access) -> Option<NonZero<u32>> {
        let sync = self.warps.borrow().get(one.agent)?.synced_at?;
        let [first, last] = match [one.location, other.location] {
            [one, other] if one.line() < other.line() => [one, other],
            [one, other] => [other, one],
        };
        let is_between = first.line() < sync.line() && sync.line() < last.line();
        let are_in_file = [first, last].iter().all(|access| access.file() == sync.file());
        let are_of_warps = one.agent != other.agent
            && one.epoch == other.epoch
            && self.are_of_one_block(one.agent, other.agent);
        NonZero::new(sync.line()).filter(|_| is_between && are_in_file && are_of_warps)
    }

    /// Synchronises these warps.
    pub(crate) fn sync_warps(&self, warps: &[usize]) {
        warps.iter().for_each(|&warp| self.sync_warp(warp));
        let mut order = self.warps.borrow_mut();
        let all = warps.iter().fold(Clock::default(), |mut all, &warp| {
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

    /// Two warps with a barrier.
    fn with_clocks() -> Order {
        let order = Order::new(1, 2);
        order.start_clocks();
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
    fn lane_tells_what_it_did_and_not_what_other_lanes_did() {
        let order = with_clocks();
        let [own, other] = [0, 1].map(|lane| access(&order, 0, Lanes::One(lane)));
        let released = order.release(0, 0..1);
        let later = access(&order, 0, Lanes::One(0));
        let reader = access(&order, 1, Lanes::One(7));
        assert!(!order.knows(&reader, &own), "nobody has told it yet");
        order.acquire(1, 0..LANES, &released);
        assert!(order.knows(&reader, &own));
        assert!(!order.knows(&reader, &other) && !order.knows(&reader, &later));
    }

    #[test]
    fn behind_a_sync_of_the_warp_one_lane_speaks_for_all() {
        let order = with_clocks();
        let writes =
            [Lanes::One(5), Lanes::Each, Lanes::Together(3)].map(|by| access(&order, 0, by));
        let hasty = order.release(0, 0..1);
        order.sync_warp(0);
        let released = order.release(0, 0..1);
        let reader = access(&order, 1, Lanes::Together(0));
        order.acquire(1, 0..LANES, &hasty);
        assert!(writes.iter().all(|write| !order.knows(&reader, write)));
        order.acquire(1, 0..LANES, &released);
        assert!(writes.iter().all(|write| order.knows(&reader, write)));
    }

    #[test]
    fn what_one_lane_learns_the_others_learn_by_a_sync() {
        let order = with_clocks();
        let write = access(&order, 0, Lanes::One(0));
        let released = order.release(0, 0..1);
        order.acquire(1, 4..5, &released);
        let [waited, other] = [4, 5].map(|lane| access(&order, 1, Lanes::One(lane)));
        assert!(order.knows(&waited, &write) && !order.knows(&other, &write));
        order.sync_warp(1);
        assert!(order.knows(&other, &write));
    }

    #[test]
    fn fence_is_known_to_those_who_are_told_of_it_later() {
        let order = with_clocks();
        let write = access(&order, 0, Lanes::One(0));
        let before = order.release(0, 0..1);
        order.fence(0, 0..1, &[Space::Shared(0)]);
        let behind = order.release(0, 0..1);
        let reader = access(&order, 1, Lanes::One(0));
        order.acquire(1, 0..LANES, &before);
        assert!(
            order.knows(&reader, &write) && !order.is_fenced(Space::Shared(0), &reader, &write)
        );
        order.acquire(1, 0..LANES, &behind);
        assert!(order.is_fenced(Space::Shared(0), &reader, &write));
        assert!(!order.is_fenced(Space::Global, &reader, &write), "a fence of other memory");
    }

    #[test]
    fn who_knows_of_a_write_can_fence_it_too() {
        let order = with_clocks();
        let write = access(&order, 0, Lanes::One(0));
        order.sync_block(0..2, Location::caller());
        let reader = access(&order, 1, Lanes::One(0));
        assert!(
            order.knows(&reader, &write) && !order.is_fenced(Space::Shared(0), &reader, &write)
        );
        order.fence(1, 0..1, &[Space::Shared(0)]);
        assert!(order.is_fenced(Space::Shared(0), &reader, &write));
        assert!(
            !order.is_fenced(Space::Shared(0), &access(&order, 1, Lanes::One(1)), &write),
            "another lane"
        );
    }

    #[test]
    fn another_block_may_learn_that_a_lane_has_read_and_not_what_it_wrote() {
        let order = Order::new(2, 1);
        let access_of_first = access(&order, 0, Lanes::One(0));
        let released = order.release(0, 0..1).without_writes();
        let later = access(&order, 1, Lanes::One(3));
        assert!(!order.knows_over(&later, &access_of_first) && !order.knows_started(&later, 0));
        order.acquire(1, 3..4, &released);
        assert!(order.knows_over(&later, &access_of_first) && order.knows_started(&later, 0));
        assert!(!order.knows(&later, &access_of_first));
        assert!(
            !order.knows_over(&access(&order, 1, Lanes::One(4)), &access_of_first),
            "another lane"
        );
    }

    #[test]
    fn relaxed_arrival_tells_of_progress_and_fenced_barriers_only() {
        let order = Order::new(2, 1);
        let made = access(&order, 0, Lanes::One(0));
        order.fence(0, 0..1, &[Space::Barriers]);
        let released = order.release(0, 0..LANES).relaxed();
        order.acquire(1, 0..LANES, &released);
        let user = access(&order, 1, Lanes::One(3));
        assert!(order.is_fenced(Space::Barriers, &user, &made) && order.knows_started(&user, 0));
        assert!(!order.knows(&user, &made) && !order.knows_over(&user, &made));
        let later = access(&order, 0, Lanes::Each);
        assert!(order.has_come(&user, &made) && !order.has_come(&user, &later));
    }

    #[test]
    fn progress_is_no_knowledge_of_memory() {
        let order = with_clocks();
        let write = access(&order, 0, Lanes::Each);
        let released = order.release_progress(0);
        let later = access(&order, 0, Lanes::Each);
        order.acquire(1, 3..4, &released);
        let reader = access(&order, 1, Lanes::One(3));
        assert!(order.has_come(&reader, &write) && !order.knows(&reader, &write));
        assert!(!order.has_come(&reader, &later));
        order.acquire_progress(1, 0..1);
        assert!(order.has_come(&reader, &later));
    }
}
