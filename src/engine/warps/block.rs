//! The state of a block and of a cluster, and the events that warps wait for.

use crate::engine::{
    Job, LaunchId,
    arithmetic::operands::MmaResults,
    findings::{Findings, Misuse, Names},
    memory::{
        boxes::Boxes,
        bulk::BulkCopies,
        copies::WarpCopies,
        global::GlobalAccesses,
        launch_memory::{InLaunch, LaunchMemory},
        order::{Order, asynchronous},
        peer::Visits,
        race::{Access, Lanes, NO_CLOSURE},
        shared::SharedMemory,
        slices::Slices,
    },
    record::{Recorded, Recorder, note_collective, note_sync},
    warps::{
        cluster::ClusterBarrier,
        context::{current_lane, fail},
        handover::CopyWaits,
        mbarrier::{Barriers, PhaseWait},
        named_barrier::{self, NamedBarriers},
        polling::{FetchingTurns, VainTurns},
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

/// The state that the warps of a block share.
pub(crate) struct BlockState {
    pub(crate) shared: SharedMemory,
    /// Shared by the whole cluster.
    pub(crate) global: Rc<RefCell<GlobalAccesses>>,
    /// The cluster's part in a launch whose clusters take turns.
    pub(crate) in_launch: Option<InLaunch>,
    /// Copies in flight, for each warp.
    pub(crate) copies: RefCell<Vec<WarpCopies>>,
    pub(crate) results: RefCell<MmaResults>,
    pub(crate) slices: RefCell<Slices>,
    pub(crate) findings: Rc<Findings>,
    pub(crate) order: Rc<Order>,
    pub(crate) barriers: RefCell<Barriers>,
    pub(crate) bulk: RefCell<BulkCopies>,
    pub(crate) wgmma: RefCell<WarpGroups>,
    pub(crate) registers: RefCell<RegisterPool>,
    /// Whether a `wgmma` is in flight, so that registers may hold its marks.
    pub(crate) is_multiplying: Cell<bool>,
    /// The recorder, if the launch is recorded.
    pub(crate) recorder: Option<RefCell<Recorder>>,
    /// Whether all warps of the block have ended.
    pub(crate) has_ended: Cell<bool>,
    /// Accesses of other blocks to this block's shared memory.
    pub(crate) visits: RefCell<Visits>,
    /// The warp that is running.
    running: Cell<usize>,
    /// Number of `sync`s that the block has passed.
    epoch: Cell<u32>,
    /// Number of synchronisations of each warp: `bar.warp.sync` and named barriers.
    warp_epochs: RefCell<Vec<u32>>,
    /// The number of the lane-closure section that each warp runs or ran last. A collective ends
    /// one section and begins the next.
    closures: RefCell<Vec<u8>>,
    /// Accesses of the running lane in its section; the count saturates.
    accesses: Cell<u8>,
    pub(crate) named: RefCell<NamedBarriers>,
    pub(crate) copy_waits: RefCell<CopyWaits>,
    /// Whether a lane was found to exceed local memory. This is reported once.
    is_deep: Cell<bool>,
    /// Number of reads of the clock.
    clock: Cell<u64>,
    /// The lane that each warp elects. PTX leaves the choice open, so the seed determines it. This
    /// finds kernels that assume the first lane.
    elected: Vec<usize>,
    pub(crate) index: Grid,
    pub(crate) grid: Grid,
    /// The launch that its handles belong to.
    pub(crate) launch: LaunchId,
    /// The GPU that the launch names.
    pub(crate) gpu: Option<Arch>,
    /// The block's rank in its cluster, and the cluster's number of blocks.
    pub(crate) rank: usize,
    pub(crate) blocks: usize,
    threads: usize,
}

impl BlockState {
    /// The warp that is running.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// The running warp's number within the cluster. Accesses name the warp by it.
    pub(crate) fn agent(&self) -> usize {
        self.agent_of(self.running.get())
    }

    /// The number of a warp of this block within the cluster.
    pub(crate) fn agent_of(&self, warp: usize) -> usize {
        self.rank * self.warps() + warp
    }

    /// The agent number of an asynchronous unit of the block.
    pub(crate) fn asynchronous(&self, number: usize) -> usize {
        asynchronous(number * self.blocks + self.rank)
    }

    /// Number of warps of the block.
    pub(crate) fn warps(&self) -> usize {
        self.threads / LANES
    }

    /// Reads the clock. Each read advances it by one.
    pub(crate) fn read_clock(&self) -> u64 {
        self.clock.replace(self.clock.get() + 1)
    }

    /// Describes an access by the running lane, or, at warp scope, by each lane.
    pub(crate) fn access(&self, site: Site) -> Access {
        self.access_by(current_lane().map_or(Lanes::Each, Lanes::one), site)
    }

    /// Describes an access by lanes of the running warp.
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

    /// Begins a section of a lane closure in the running warp: at its start, and after a
    /// collective.
    pub(crate) fn begin_closure(&self) {
        let closure = &mut self.closures.borrow_mut()[self.running.get()];
        *closure = closure.checked_add(1).unwrap_or_else(|| {
            self.order.renumber_closures(self.agent());
            NO_CLOSURE + 1
        });
    }

    /// Begins a lane's part of a section.
    pub(crate) fn begin_lane(&self) {
        self.accesses.set(0);
    }

    /// Synchronises the lanes of the running warp.
    pub(crate) fn sync_warp(&self) {
        self.warp_epochs.borrow_mut()[self.running.get()] += 1;
        self.order.sync_warp(self.agent());
    }

    /// Makes this warp the running one.
    pub(crate) fn run_warp(&self, warp: usize) {
        self.running.set(warp);
    }

    /// All warps of the block have reached a `sync`.
    pub(crate) fn pass_sync(&self, location: &'static Location<'static>) {
        self.epoch.update(|epoch| epoch + 1);
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().pass_barrier();
        }
        self.order.sync_block(self.agent_of(0)..self.agent_of(self.warps()), location);
    }

    /// These agents, warps of the block, have synchronised with each other.
    pub(crate) fn pass_warp_syncs(&self, agents: Vec<usize>) {
        let first = self.agent_of(0);
        let mut epochs = self.warp_epochs.borrow_mut();
        agents.into_iter().for_each(|agent| epochs[agent - first] += 1);
    }
}

/// The blocks of a cluster, by rank; most have one.
pub(crate) struct ClusterState {
    pub(crate) blocks: Vec<BlockState>,
    pub(crate) barrier: RefCell<ClusterBarrier>,
    /// The tensor boxes that the blocks copied.
    pub(crate) boxes: RefCell<Boxes>,
    /// Number of blocks along each dimension.
    pub(crate) shape: Grid,
    /// The turns of warps that only test barriers.
    pub(crate) vain_turns: Cell<VainTurns>,
    /// The turns of warps up to atomic operations in shared memory.
    pub(crate) fetching_turns: Cell<FetchingTurns>,
}

impl ClusterState {
    /// The cluster that begins at block `first`.
    pub(crate) fn new(
        job: &Job<'_>,
        first: Grid,
        seed: u64,
        recorded: Recorded,
        memory: Option<&Rc<RefCell<LaunchMemory>>>,
    ) -> Self {
        let (threads, shape) = (job.threads as usize, job.cluster);
        let indices = blocks(first, shape);
        let in_launch = memory.map(|memory| InLaunch {
            cluster: memory.borrow_mut().begin_cluster(indices.clone()),
            memory: Rc::clone(memory),
        });
        let (blocks, warps) = (indices.len(), threads / LANES);
        let names = Names::new(job.name_byte, job.shared_bytes, first, shape);
        let findings = Rc::new(Findings::new(job.name, indices.clone(), warps, seed, names));
        let order = Rc::new(Order::new(blocks, warps));
        if in_launch.is_some() {
            order.start_clocks();
        }
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
            in_launch: in_launch.clone(),
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
            named: RefCell::default(),
            copy_waits: RefCell::default(),
            is_deep: Cell::new(false),
            clock: Cell::new(0),
            elected: elected(index, seed, warps),
            index,
            grid: job.grid,
            launch: job.launch,
            gpu: job.gpu,
            rank,
            blocks,
            threads,
        };
        let blocks: Vec<BlockState> = indices.into_iter().enumerate().map(block).collect();
        let barrier = RefCell::new(ClusterBarrier::new(blocks.len() * warps));
        ClusterState {
            blocks,
            barrier,
            boxes: RefCell::default(),
            shape,
            vain_turns: Cell::default(),
            fetching_turns: Cell::default(),
        }
    }

    /// Whether the loops in which warps test barriers count as endless.
    pub(crate) fn polls_endlessly(&self) -> bool {
        self.vain_turns.get().are_endless(self.blocks.len() * self.blocks[0].warps())
    }

    /// The block and the warp of an agent.
    pub(crate) fn warp(&self, agent: usize) -> (&BlockState, usize) {
        let warps = self.blocks[0].warps();
        (&self.blocks[agent / warps], agent % warps)
    }
}

/// The random numbers of a block, from the run's seed.
pub(crate) fn random_of(block: Grid, seed: u64) -> fastrand::Rng {
    let number = u64::from(block.x) << 32 | u64::from(block.y) << 16 | u64::from(block.z);
    fastrand::Rng::with_seed(seed ^ number)
}

/// The elected lane of each warp of a block.
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

/// All indices of a grid, x fastest.
pub(crate) fn indices(Grid { x, y, z }: Grid) -> impl Iterator<Item = Grid> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| Grid { x, y, z })))
}

/// The event that a warp waits for.
pub(crate) enum Waiting {
    /// All warps of the block reach this `sync`.
    Sync(&'static Location<'static>),
    /// This phase of a named barrier is complete: as many threads have come.
    Named { barrier: u32, phase: u32, threads: u32, location: &'static Location<'static> },
    /// One of these phases ends.
    Phases(Vec<PhaseWait>),
    /// All warps of the cluster reach its barrier this many times.
    Cluster { times: u32, location: &'static Location<'static> },
    /// The four warps of a warpgroup commit this many `wgmma` groups.
    WarpGroup { group: usize, groups: u32, location: &'static Location<'static> },
    /// This many registers are available for each lane of the warp.
    Registers { warp: usize, count: u32, location: &'static Location<'static> },
    /// Its next turn. It has tested these mbarriers without success; without any, a lane is before
    /// an atomic operation in shared memory.
    Scheduler(Vec<u32>),
    /// The next turn of its cluster: a lane is before an atomic operation.
    Launch,
}

/// A warp of a simulated block.
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

    /// Number of blocks of its cluster.
    pub(crate) fn blocks_of_cluster(self) -> usize {
        self.state.blocks
    }

    /// The lane that the warp elects; the same each time.
    pub(crate) fn elected(self) -> usize {
        self.state.elected[self.warp]
    }

    /// Synchronises the lanes of the warp.
    pub(crate) fn sync_warp(self) {
        self.state.sync_warp();
    }

    /// Waits until all warps of the block wait here.
    pub(crate) fn sync(self, site: Site) {
        // A destructor while a failed run is unwound: the other warps will not arrive.
        if std::thread::panicking() {
            return;
        }
        note_sync(site);
        self.yielder.suspend(Waiting::Sync(site.location));
    }

    /// Waits until this many threads of the block have come to this named barrier.
    pub(crate) fn sync_named(self, site: Site, barrier: u32, threads: u32) {
        if !std::thread::panicking() {
            let phase = self.come_to_named(site, barrier, threads, true);
            note_sync(site);
            let location = site.location;
            self.yielder.suspend(Waiting::Named { barrier, phase, threads, location });
        }
    }

    /// Counts this warp's threads at this named barrier, without waiting.
    pub(crate) fn arrive_named(self, site: Site, barrier: u32, threads: u32) {
        if !std::thread::panicking() {
            self.come_to_named(site, barrier, threads, false);
            note_collective(site, "bar.arrive");
        }
    }

    fn come_to_named(self, site: Site, barrier: u32, threads: u32, waits: bool) -> u32 {
        let by = self.state.access_by(Lanes::Each, site);
        named_barrier::come(self.state, by, barrier, threads, waits)
            .unwrap_or_else(|misuse| fail(site, misuse))
    }

    /// Lets other warps run until the wait is over.
    pub(crate) fn suspend(self, waiting: Waiting) {
        self.yielder.suspend(waiting);
    }
}
