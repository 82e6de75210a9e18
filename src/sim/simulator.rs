use crate::engine::{
    Job,
    findings::{Finding, Found, Misuse, Report, SimError},
    memory::{
        boxes::{Boxes, Outside},
        global::LaunchAccesses,
        order::{is_asynchronous, rank_of},
        race::Access,
        unwritten,
    },
    record::{Recorded, Recorder},
    warps::{
        block, launch,
        polling::PATIENCE,
        schedule::{self, Ran},
    },
};
use crate::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use crate::lane::{Grid, LANES, Sealed};
use crate::launch::{Device, KernelInfo, Launch};
use crate::scope::Block;
use crate::target::{Arch, MAX_SHARED_BYTES};
use bytemuck::Pod;
use rayon::prelude::*;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// Runs kernels on the CPU.
///
/// `#[kernel]` generates `name::simulate(grid, ..)`, which uses the default simulator. For another
/// seed, pass a simulator to `name::launch`.
///
/// ```
/// use ptx_matrix::{prelude::*, sim::Simulator};
///
/// #[kernel(threads = 64)]
/// fn double(block: &Block, a: Global<i32>, d: GlobalMut<i32>) {
///     let first = block.index().x as usize * block.threads() + block.warp().index() * 32;
///     block.warp().each(|lane| d.set(first + lane.id(), a.get(first + lane.id()) * 2));
/// }
///
/// let a: Vec<i32> = (0..128).collect();
/// let mut d = vec![0; 128];
/// double::launch(&Simulator::new(7), 2, &a, &mut d).unwrap();
/// assert_eq!(d[100], 200);
///
/// let error = double::simulate(3, &a, &mut d).unwrap_err();
/// assert!(error.to_string().starts_with("error: read out of bounds: element"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Simulator {
    seed: u64,
    gpu: Option<Arch>,
    schedules: u64,
    patience: u64,
    strict: bool,
    /// Whether boxes completely outside of their tensor are allowed without a warning.
    boxes_outside: bool,
    profiled: bool,
    traced: bool,
}

/// Adds `check` to the result of a run, for tests.
pub trait CheckedRun: Sealed {
    /// Returns the report of a run without errors and warnings.
    ///
    /// # Panics
    /// If there are errors or warnings. The message has all findings, in the format of compiler
    /// errors.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// #[kernel(threads = 32)]
    /// fn count(block: &Block, d: GlobalMut<u32>) {
    ///     block.warp().each(|lane| d.set(lane.id(), lane.id() as u32));
    /// }
    ///
    /// let mut d = [0; 32];
    /// let report = count::simulate(1, &mut d).check();
    /// assert_eq!((report.warps, d[31]), (1, 31));
    /// ```
    #[track_caller]
    fn check(self) -> Report;
}

impl Sealed for Result<Report, SimError> {}
impl CheckedRun for Result<Report, SimError> {
    #[track_caller]
    fn check(self) -> Report {
        match self.and_then(Report::check) {
            Ok(report) => report,
            Err(error) => panic!("\n{error}"),
        }
    }
}

impl Simulator {
    /// A simulator that schedules warps in the order of this seed.
    pub const fn new(seed: u64) -> Self {
        Simulator {
            seed,
            gpu: None,
            schedules: 1,
            patience: PATIENCE,
            strict: false,
            boxes_outside: false,
            profiled: false,
            traced: false,
        }
    }

    /// Simulates one GPU: the bits of its tensor cores, and only its instructions. A launch needs
    /// what it needs there: a kernel of the GPU's [targets](KernelInfo::targets), and a block
    /// whose shared memory the GPU has.
    ///
    /// Without it, the simulator has the instructions of every GPU. Results are Hopper's. For forms
    /// that Hopper lacks, they are Blackwell's.
    ///
    /// ```
    /// use ptx_matrix::{prelude::*, sim::{Arch, Simulator}};
    ///
    /// /// 2^24, and fifteen halves.
    /// #[kernel(threads = 32)]
    /// fn sum(block: &Block, d: GlobalMut<f32>) {
    ///     let warp = block.warp();
    ///     let of = |k: usize, rest: f32| f16::from_f32(if k == 0 { 4096.0 } else { rest });
    ///     let a = FragmentA::<M16N8K16, f16>::from_fn(warp, |_, k| of(k, 0.5));
    ///     let b = FragmentB::<M16N8K16, f16>::from_fn(warp, |k, _| of(k, 1.0));
    ///     let mut sum = Accumulator::<M16N8K16, f32>::zero();
    ///     Mma::<M16N8K16, f16, f16, f32>::accumulate(warp, &mut sum, &a, &b);
    ///     sum.for_each(warp, |row, col, value| if (row, col) == (0, 0) { d.set(0, value) });
    /// }
    ///
    /// let on = |gpu: Arch| {
    ///     let mut d = [0.0];
    ///     sum::launch(&Simulator::new(0).gpu(gpu), 1, &mut d).map(|_| d[0])
    /// };
    /// assert_eq!(on(Arch::SM_80).unwrap(), 16_777_216.0); // the halves are truncated
    /// assert_eq!(on(Arch::SM_90).unwrap(), 16_777_222.0);
    /// let error = on(Arch::SM_75).unwrap_err().to_string();
    /// let expected = "m16n8k16.row.col.f32.f16.f16.f32` needs sm_80, and sm_75 is simulated";
    /// assert!(error.contains(expected), "{error}");
    /// ```
    #[must_use]
    pub const fn gpu(self, gpu: Arch) -> Self {
        Simulator { gpu: Some(gpu), ..self }
    }

    /// Runs each block with `count` schedules of its warps: this seed and the following ones.
    ///
    /// The schedules run in parallel, like the blocks. A finding of any schedule is reported, with
    /// the first seed that shows it. Written memory, profile and trace are those of the first
    /// schedule.
    ///
    /// ```
    /// use ptx_matrix::{prelude::*, sim::Simulator};
    ///
    /// /// Warp 1 reads what warp 0 writes, and does not wait for it.
    /// #[kernel(threads = 64)]
    /// fn hasty(block: &Block, #[shared] tile: SharedTile<u32, 1, 4>, d: GlobalMut<u32>) {
    ///     let warp = block.warp();
    ///     if warp.index() == 0 {
    ///         warp.each(|lane| if lane.id() == 0 { tile.set((0, 0), 1) });
    ///     } else {
    ///         warp.each(|lane| if lane.id() == 0 { d.set(0, tile.get(lane, (0, 0))) });
    ///     }
    /// }
    ///
    /// let error = hasty::launch(&Simulator::new(0).schedules(100), 1, &mut [0]).unwrap_err();
    /// let text = error.to_string();
    /// // If warp 0 runs last, the element is not even written. That has the same cause.
    /// assert!(text.contains("error: race: "), "{text}");
    /// ```
    ///
    /// # Panics
    /// `count` is 0.
    #[must_use]
    pub const fn schedules(self, count: u64) -> Self {
        assert!(count > 0, "a launch runs in at least one order of its warps");
        Simulator { schedules: count, ..self }
    }

    /// Sets the number of memory accesses after which a warp without a `sync` of the block counts
    /// as endless.
    ///
    /// The default is 2^28, which takes about half a minute. A loop without memory accesses is not
    /// detected.
    #[must_use]
    pub const fn patience(self, accesses: u64) -> Self {
        Simulator { patience: accesses, ..self }
    }

    /// Makes every warning an error.
    #[must_use]
    pub const fn strict(self) -> Self {
        Simulator { strict: true, ..self }
    }

    /// Allows boxes completely outside of their tensor, without the warning [`Misuse::BoxOutside`].
    ///
    /// A launch whose boxes together cover the tensor needs no permission: its boxes outside are
    /// padding.
    #[must_use]
    pub const fn allow_boxes_outside(self) -> Self {
        Simulator { boxes_outside: true, ..self }
    }

    /// Adds a profile to the report: executed instructions, moved bytes, and the bank conflicts of
    /// each source line.
    ///
    /// ```
    /// use ptx_matrix::{prelude::*, sim::Simulator};
    ///
    /// #[kernel(threads = 32)]
    /// fn load(block: &Block, #[shared] tile: SharedTile<bf16, 16, 64>) {
    ///     let warp = block.warp();
    ///     tile.fill(warp, |_, _| bf16::ONE);
    ///     warp.sync();
    ///     FragmentA::<M16N8K16, bf16>::load(warp, &tile, (0, 0));
    /// }
    ///
    /// let profile = load::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
    /// assert_eq!(profile.warps("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 1);
    /// assert_eq!(profile.bytes.shared_read, 4 * 8 * 16);
    /// // Rows of 128 bytes without a swizzle: the eight rows of each matrix are in the same banks.
    /// assert_eq!(profile.worst_conflict().unwrap().worst_ways, 8);
    /// println!("{profile}");
    /// ```
    #[must_use]
    pub const fn profiled(self) -> Self {
        Simulator { profiled: true, ..self }
    }

    /// Adds a trace to the report: each warp's instructions, for a trace viewer
    /// ([`write_chrome`](crate::sim::Trace::write_chrome)).
    #[must_use]
    pub const fn traced(self) -> Self {
        Simulator { traced: true, ..self }
    }

    /// The records that a run makes.
    fn recorded(&self) -> Recorded {
        Recorded { profiled: self.profiled, traced: self.traced }
    }

    /// Runs the blocks of a cluster (usually one) with each schedule. A single warp has only one
    /// schedule.
    fn run_cluster(&self, job: &Job<'_>, first: Grid) -> Ran {
        let mut ran = schedule::run(job, first, self.seed, self.patience, self.recorded());
        let warps = u64::from(job.threads) / LANES as u64 * job.cluster.blocks();
        let schedules = if warps > 1 { self.schedules } else { 1 };
        let others = (1..schedules).into_par_iter().map(|other| {
            schedule::run(
                job,
                first,
                self.seed.wrapping_add(other),
                self.patience,
                Recorded::default(),
            )
            .found
        });
        others.collect::<Vec<Found>>().into_iter().for_each(|found| ran.found.append(found));
        ran
    }

    /// Runs the clusters at these blocks, which take turns, with each schedule. Returns their
    /// results with the first schedule, and what was found with the others. The values that the
    /// first one left are in memory then.
    ///
    /// # Safety
    /// The kernel writes to buffers that the launch has borrowed mutably.
    unsafe fn run_in_turns(&self, job: &Job<'_>, clusters: Vec<Grid>) -> (Vec<Ran>, Vec<Found>) {
        let run = |schedule: u64, recorded: Recorded| {
            let seed = self.seed.wrapping_add(schedule);
            // SAFETY: guaranteed by the caller. Memory is written only below.
            unsafe { launch::run(job, clusters.iter().copied(), seed, self.patience, recorded) }
        };
        let (ran, memory) = run(0, self.recorded());
        let others = (1..self.schedules).into_par_iter().map(|schedule| {
            let mut found = Found::default();
            let (ran, _) = run(schedule, Recorded::default());
            ran.into_iter().for_each(|ran| found.append(ran.found));
            found
        });
        let of_others = others.collect();
        // SAFETY: guaranteed by the caller. No block runs.
        unsafe { memory.write_to_memory() };
        (ran, of_others)
    }

    /// Whether the simulated GPU can run the kernel: it has the kernel's target, and enough shared
    /// memory for a block. Without [`gpu`](Self::gpu), every kernel runs.
    pub fn can_run(&self, kernel: &KernelInfo) -> bool {
        self.gpu.is_none_or(|gpu| lacking(gpu, kernel).is_none())
    }

    /// The simulated GPU, if one is named.
    pub(super) const fn named_gpu(&self) -> Option<Arch> {
        self.gpu
    }

    /// The error of a launch that cannot start.
    pub(super) fn refusal(&self, kernel: &'static str, misuse: Misuse) -> SimError {
        let finding = Finding {
            misuse,
            kernel,
            place: None,
            block: None,
            warp: None,
            lane: None,
            seed: self.seed,
            cause: None,
            names: None,
        };
        SimError::of(vec![finding], Report::default()).expect_err("there is a finding")
    }

    /// Checks the requirements of all GPUs before the launch.
    fn check(&self, grid: Grid, kernel: &KernelInfo) -> Result<(), String> {
        let KernelInfo { threads, shared_bytes, cluster, .. } = *kernel;
        if grid.blocks() == 0 {
            return Err(format!("a grid of {grid} has no blocks: each dimension is at least 1"));
        }
        if grid.x > MAX_GRID.x || grid.y > MAX_GRID.y || grid.z > MAX_GRID.z {
            return Err(format!(
                "a grid of {grid} is larger than any GPU takes: at most {MAX_GRID}, so count the \
                 longest dimension along x"
            ));
        }
        if threads == 0 || threads > MAX_THREADS || !threads.is_multiple_of(LANES as u32) {
            return Err(format!(
                "a block of {threads} threads, which no GPU runs: a multiple of {LANES}, at most \
                 {MAX_THREADS}"
            ));
        }
        if shared_bytes as usize > MAX_SHARED_BYTES {
            return Err(format!(
                "a block with {shared_bytes} bytes of shared memory, which no GPU has: at most \
                 {MAX_SHARED_BYTES}"
            ));
        }
        if !(1..=MAX_CLUSTER).contains(&cluster.blocks()) {
            return Err(format!(
                "a cluster of {cluster} has {} blocks: from 1 to {MAX_CLUSTER}",
                cluster.blocks()
            ));
        }
        if let Some(lacking) = self.gpu.and_then(|gpu| lacking(gpu, kernel)) {
            return Err(lacking);
        }
        if !cluster.divides(grid) {
            return Err(format!(
                "a grid of {grid} is not one of whole clusters: each dimension is a multiple of \
                 the cluster's, {cluster}"
            ));
        }
        Ok(())
    }
}

/// Why a GPU cannot run a kernel, or `None` if it can.
fn lacking(gpu: Arch, kernel: &KernelInfo) -> Option<String> {
    let KernelInfo { shared_bytes, cluster, targets, .. } = *kernel;
    let most = gpu.max_shared_bytes();
    if !kernel.is_for(gpu) {
        let targets = targets.join(" or ");
        Some(format!("a kernel for {targets}: no build for {gpu}, which is simulated, contains it"))
    } else if shared_bytes as usize > most {
        Some(format!(
            "a block with {shared_bytes} bytes of shared memory: {gpu}, which is simulated, has \
             at most {most}"
        ))
    } else if cluster.blocks() > 1 && gpu.sm() < 90 {
        Some(format!("a cluster of {cluster}: clusters need sm_90, and {gpu} is simulated"))
    } else {
        None
    }
}

impl Default for Simulator {
    /// A simulator with seed 0.
    fn default() -> Self {
        Simulator::new(0)
    }
}

// SAFETY: buffers are slices of the host, and the kernel accesses them on the host.
unsafe impl Device for Simulator {
    type Buffer<T: Pod> = [T];
    type Owned<T: Pod> = Vec<T>;
    type Report = Report;
    type Error = SimError;

    fn upload<T: Pod>(&self, data: &[T]) -> Result<Vec<T>, SimError> {
        Ok(data.to_vec())
    }

    fn download<T: Pod>(&self, buffer: &[T]) -> Result<Vec<T>, SimError> {
        Ok(buffer.to_vec())
    }

    fn slice<T: Pod>(&self, buffer: &[T]) -> (*mut T, usize) {
        unwritten::launched_with(buffer);
        (buffer.as_ptr().cast_mut(), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut [T]) -> (*mut T, usize) {
        unwritten::launched_with(buffer);
        (buffer.as_mut_ptr(), buffer.len())
    }

    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        Ok(encoding.simulated())
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<Report, SimError> {
        let Launch { kernel, grid, .. } = launch;
        let finding = |misuse, place, block, warp, lane| Finding {
            misuse,
            kernel: kernel.name,
            place,
            block,
            warp,
            lane,
            seed: self.seed,
            cause: None,
            names: None,
        };
        if let Err(message) = self.check(grid, kernel) {
            return Err(self.refusal(kernel.name, Misuse::Launch { message }));
        }
        let job = Job {
            launch: launch.id,
            name: kernel.name,
            threads: kernel.threads,
            min_blocks: kernel.min_blocks,
            max_registers: kernel.max_registers,
            shared_bytes: kernel.shared_bytes,
            cluster: kernel.cluster,
            grid,
            gpu: self.gpu,
            name_byte: launch.name_byte,
            body: &|warp| (launch.body)(&Block::simulated(warp)),
        };
        let mut record = self.recorded().recorder();
        let mut accesses = LaunchAccesses::default();
        let (mut found, mut boxes) = (Found::default(), Boxes::default());
        let mut clusters = clusters(grid, kernel.cluster);
        let warps = kernel.threads as usize / LANES;
        let mut add = |ran: Ran, found: &mut Found| {
            found.append(ran.found);
            boxes.append(ran.boxes);
            if let (Some(record), Some(ran)) = (&mut record, ran.recorder) {
                record.append(ran);
            }
            ran.accesses
        };
        if launch.takes_turns {
            // SAFETY: guaranteed by the caller.
            let (ran, of_others) = unsafe { self.run_in_turns(&job, clusters.by_ref().collect()) };
            ran.into_iter().for_each(|ran| drop(add(ran, &mut found)));
            of_others.into_iter().for_each(|of_other| found.append(of_other));
        }
        loop {
            let batch: Vec<Grid> = clusters.by_ref().take(CLUSTER_BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let run = |&first: &Grid| self.run_cluster(&job, first);
            // A single block stays on this thread, where a debugger expects it.
            let ran: Vec<Ran> = match &*batch {
                [first] => vec![run(first)],
                batch => batch.par_iter().map(run).collect(),
            };
            for (&first, ran) in batch.iter().zip(ran) {
                let of_cluster = add(ran, &mut found);
                let blocks = block::blocks(first, kernel.cluster);
                let finding = |misuse, by: Access| {
                    let block = blocks[rank_of(by.agent, blocks.len(), warps)];
                    let (warp, lane) = match is_asynchronous(by.agent) {
                        true => (None, None),
                        false => (Some(by.agent % warps), by.lane()),
                    };
                    finding(misuse, Some(by.location.into()), Some(block), warp, lane)
                };
                // SAFETY: the kernel writes to buffers that the launch has borrowed mutably, and no
                // block is running.
                unsafe { accesses.add(&blocks, warps, of_cluster, &mut found, finding) };
            }
        }
        for (misuse, Outside { block, warp, lane, location, .. }) in
            boxes.warnings().filter(|_| !self.boxes_outside)
        {
            found.add(finding(misuse, Some(location.into()), Some(block), Some(warp), lane));
        }
        let blocks = grid.blocks();
        let (profile, trace) = record.map_or((None, None), Recorder::finish);
        let Found { errors, warnings } = found;
        let report = Report {
            gpu: self.gpu,
            blocks,
            warps: blocks * u64::from(kernel.threads / 32),
            warnings,
            profile,
            trace,
        };
        let report = SimError::of(errors, report)?;
        if self.strict { report.check() } else { Ok(report) }
    }
}

/// The largest grid along each dimension, on any GPU.
const MAX_GRID: Grid = Grid { x: i32::MAX as u32, y: 65_535, z: 65_535 };

/// The most threads of a block.
const MAX_THREADS: u32 = 1024;

/// The most blocks of a cluster, on any GPU with clusters.
const MAX_CLUSTER: u64 = 8;

/// Number of clusters that run in parallel before their writes reach memory. It is the same on
/// every machine, so that a launch whose blocks race gives the same result.
const CLUSTER_BATCH: usize = 64;

/// The first block of each cluster of a grid, in order.
fn clusters(grid: Grid, cluster: Grid) -> impl Iterator<Item = Grid> {
    let count = Grid { x: grid.x / cluster.x, y: grid.y / cluster.y, z: grid.z / cluster.z };
    block::indices(count).map(move |at| Grid {
        x: at.x * cluster.x,
        y: at.y * cluster.y,
        z: at.z * cluster.z,
    })
}
