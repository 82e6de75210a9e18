//! What the warps of a block have in common, what each of them waits for, and the cluster of blocks
//! that run together.

use crate::engine::{
    Job,
    arithmetic::operands::MmaResults,
    findings::{Findings, Misuse, Names},
    memory::{
        boxes::Boxes,
        bulk::BulkCopies,
        copies::WarpCopies,
        global::GlobalAccesses,
        order::{Order, asynchronous},
        peer::Visits,
        race::{Access, Lanes, NO_CLOSURE},
        shared::SharedMemory,
        slices::Slices,
    },
    record::{Recorded, Recorder, note_sync},
    warps::{
        cluster::ClusterBarrier,
        context::current_lane,
        mbarrier::{Barriers, PhaseWait},
        registers::RegisterPool,
        stack,
    },
    wgmma::WarpGroups,
};
use crate::lane::{Grid, LANES, Site};
use crate::target::Arch;
use core::panic::Location;
use corosensei::Yielder;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// What the warps of a block have in common.
pub(crate) struct BlockState {
    pub(crate) shared: SharedMemory,
    /// The whole cluster's.
    pub(crate) global: Rc<RefCell<GlobalAccesses>>,
    /// Each warp's copies that are in flight.
    pub(crate) copies: RefCell<Vec<WarpCopies>>,
    pub(crate) results: RefCell<MmaResults>,
    pub(crate) slices: RefCell<Slices>,
    pub(crate) findings: Rc<Findings>,
    pub(crate) order: Rc<Order>,
    pub(crate) barriers: RefCell<Barriers>,
    pub(crate) bulk: RefCell<BulkCopies>,
    pub(crate) wgmma: RefCell<WarpGroups>,
    pub(crate) registers: RefCell<RegisterPool>,
    /// Whether a `wgmma` is in flight: registers may hold its marks.
    pub(crate) is_multiplying: Cell<bool>,
    /// If the launch is recorded.
    pub(crate) recorder: Option<RefCell<Recorder>>,
    /// Whether all its warps have ended.
    pub(crate) has_ended: Cell<bool>,
    /// What other blocks did to its memory.
    pub(crate) visits: RefCell<Visits>,
    /// The warp that is running.
    running: Cell<usize>,
    /// Barriers that the block has passed.
    epoch: Cell<u32>,
    /// Barriers that each warp has passed by itself.
    warp_epochs: RefCell<Vec<u32>>,
    /// The part of a lane closure that each warp runs, or ran last: a collective ends one, and
    /// begins the next.
    closures: RefCell<Vec<u8>>,
    /// Accesses that the running lane has made in it, as far as they are counted.
    accesses: Cell<u8>,
    /// Whether a lane was found to have more local memory than there is: that is told once.
    is_deep: Cell<bool>,
    /// How often its clock was read.
    clock: Cell<u64>,
    /// The lane that each warp elects. Which one, PTX leaves open: the run's seed says it, so that
    /// who takes it for the first is found.
    elected: Vec<usize>,
    pub(crate) index: Grid,
    pub(crate) grid: Grid,
    /// The GPU that the launch named.
    pub(crate) gpu: Option<Arch>,
    /// The block's number in its cluster, and how many blocks that has.
    pub(crate) rank: usize,
    pub(crate) blocks: usize,
    threads: usize,
}

impl BlockState {
    /// The warp that is running.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// The warp that is running, counted through the blocks of the cluster: by which accesses name
    /// it.
    pub(crate) fn agent(&self) -> usize {
        self.agent_of(self.running.get())
    }

    /// A warp of the block, likewise.
    pub(crate) fn agent_of(&self, warp: usize) -> usize {
        self.rank * self.warps() + warp
    }

    /// An asynchronous agent of the block.
    pub(crate) fn asynchronous(&self, number: usize) -> usize {
        asynchronous(number * self.blocks + self.rank)
    }

    /// Warps of the block.
    pub(crate) fn warps(&self) -> usize {
        self.threads / LANES
    }

    /// Reads the clock, which goes on with that.
    pub(crate) fn read_clock(&self) -> u64 {
        self.clock.replace(self.clock.get() + 1)
    }

    /// An access by the running lane, or, at warp scope, by each lane.
    pub(crate) fn access(&self, site: Site) -> Access {
        self.access_by(current_lane().map_or(Lanes::Each, Lanes::one), site)
    }

    /// An access by lanes of the running warp.
    pub(crate) fn access_by(&self, by: Lanes, site: Site) -> Access {
        let agent = self.agent();
        let warp_epoch = self.warp_epochs.borrow()[self.running.get()];
        let closure = self.closures.borrow()[self.running.get()];
        let before = self.accesses.get();
        self.accesses.set(before.saturating_add(1));
        let tick = self.order.tick(agent);
        let access = Access {
            agent,
            by,
            closure,
            before,
            epoch: self.epoch.get(),
            warp_epoch,
            tick,
            location: site.location,
        };
        if let Some(bytes) = stack::local_memory().filter(|_| !self.is_deep.replace(true)) {
            self.findings.note(access, Misuse::LocalMemory { bytes });
        }
        access
    }

    /// The lanes of the running warp begin a lane closure, or go on with one behind a collective.
    pub(crate) fn begin_closure(&self) {
        let closure = &mut self.closures.borrow_mut()[self.running.get()];
        *closure = closure.checked_add(1).unwrap_or(NO_CLOSURE + 1);
    }

    /// A lane begins its part of the closure, or goes on with it.
    pub(crate) fn begin_lane(&self) {
        self.accesses.set(0);
    }

    /// The lanes of the running warp wait for each other.
    pub(crate) fn sync_warp(&self) {
        self.warp_epochs.borrow_mut()[self.running.get()] += 1;
        self.order.sync_warp(self.agent());
    }

    /// From now on this warp runs.
    pub(crate) fn run_warp(&self, warp: usize) {
        self.running.set(warp);
    }

    /// All its warps have come to a `sync`.
    pub(crate) fn pass_sync(&self) {
        self.epoch.update(|epoch| epoch + 1);
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().pass_barrier();
        }
        self.order.sync_block(self.agent_of(0)..self.agent_of(self.warps()));
    }

    /// These warps have come to a barrier of theirs.
    pub(crate) fn pass_named(&self, warps: &[usize]) {
        let agents: Vec<usize> = warps.iter().map(|&warp| self.agent_of(warp)).collect();
        self.order.sync_warps(&agents);
        warps.iter().for_each(|&warp| self.warp_epochs.borrow_mut()[warp] += 1);
    }
}

/// The blocks of a cluster, by rank; most have one.
pub(crate) struct ClusterState {
    pub(crate) blocks: Vec<BlockState>,
    pub(crate) barrier: RefCell<ClusterBarrier>,
    /// The boxes of tensors that the blocks copied.
    pub(crate) boxes: RefCell<Boxes>,
    /// Blocks along each dimension.
    pub(crate) shape: Grid,
}

impl ClusterState {
    /// The cluster whose first block is this one.
    pub(crate) fn new(job: &Job<'_>, first: Grid, seed: u64, recorded: Recorded) -> Self {
        let (threads, shape) = (job.threads as usize, job.cluster);
        let indices = blocks(first, shape);
        let (blocks, warps) = (indices.len(), threads / LANES);
        let names = Names::new(job.name_byte, job.shared_bytes, first, shape);
        let findings = Rc::new(Findings::new(job.name, indices.clone(), warps, seed, names));
        let order = Rc::new(Order::new(blocks, warps));
        let global = Rc::default();
        let block = |(rank, index): (usize, Grid)| BlockState {
            shared: SharedMemory::new(
                job.shared_bytes as usize,
                rank,
                findings.clone(),
                order.clone(),
            ),
            findings: findings.clone(),
            order: order.clone(),
            barriers: RefCell::new(Barriers::new(random_of(index, !seed))),
            bulk: RefCell::default(),
            wgmma: RefCell::default(),
            registers: RefCell::new(RegisterPool::new(job)),
            is_multiplying: Cell::new(false),
            global: Rc::clone(&global),
            results: RefCell::default(),
            slices: RefCell::default(),
            copies: RefCell::new((0..warps).map(|_| WarpCopies::default()).collect()),
            recorder: recorded.recorder().map(RefCell::new),
            has_ended: Cell::new(false),
            visits: RefCell::default(),
            running: Cell::new(0),
            epoch: Cell::new(0),
            warp_epochs: RefCell::new(vec![0; warps]),
            closures: RefCell::new(vec![NO_CLOSURE; warps]),
            accesses: Cell::new(0),
            is_deep: Cell::new(false),
            clock: Cell::new(0),
            elected: elected(index, seed, warps),
            index,
            grid: job.grid,
            gpu: job.gpu,
            rank,
            blocks,
            threads,
        };
        let blocks: Vec<BlockState> = indices.into_iter().enumerate().map(block).collect();
        let barrier = RefCell::new(ClusterBarrier::new(blocks.len() * warps));
        ClusterState { blocks, barrier, boxes: RefCell::default(), shape }
    }

    /// The block, and the warp in it, that an agent is.
    pub(crate) fn warp(&self, agent: usize) -> (&BlockState, usize) {
        let warps = self.blocks[0].warps();
        (&self.blocks[agent / warps], agent % warps)
    }
}

/// Random numbers that the run's seed gives a block.
pub(crate) fn random_of(block: Grid, seed: u64) -> fastrand::Rng {
    let number = u64::from(block.x) << 32 | u64::from(block.y) << 16 | u64::from(block.z);
    fastrand::Rng::with_seed(seed ^ number)
}

/// The lanes that the warps of a block elect.
fn elected(block: Grid, seed: u64, warps: usize) -> Vec<usize> {
    let mut random = random_of(block, !seed);
    (0..warps).map(|_| random.usize(..LANES)).collect()
}

/// The blocks of a cluster, by rank.
pub(crate) fn blocks(first: Grid, shape: Grid) -> Vec<Grid> {
    indices(shape)
        .map(|at| Grid { x: first.x + at.x, y: first.y + at.y, z: first.z + at.z })
        .collect()
}

/// The indices of a grid, in order.
pub(crate) fn indices(Grid { x, y, z }: Grid) -> impl Iterator<Item = Grid> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| Grid { x, y, z })))
}

/// What a warp waits for.
pub(crate) enum Waiting {
    /// All warps, at a `sync` here.
    Sync(&'static Location<'static>),
    /// So many threads, at this barrier of the block's others.
    Named { barrier: u32, threads: u32, location: &'static Location<'static> },
    /// One of these phases.
    Phases(Vec<PhaseWait>),
    /// All warps of the cluster, to have come to its barrier so often.
    Cluster { times: u32, location: &'static Location<'static> },
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
    pub(crate) state: &'k BlockState,
    pub(crate) warp: usize,
    pub(crate) yielder: &'k Yielder<(), Waiting>,
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

    /// How many blocks its cluster has.
    pub(crate) fn blocks_of_cluster(self) -> usize {
        self.state.blocks
    }

    /// The lane that the warp elects, each time the same.
    pub(crate) fn elected(self) -> usize {
        self.state.elected[self.warp]
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
    pub(crate) fn suspend(self, waiting: Waiting) {
        self.yielder.suspend(waiting);
    }
}
