use super::block;
use super::error::{Finding, Misuse, Place, SimError};
use super::global::{BlockRace, LaunchAccesses};
use crate::Grid;
use crate::launch::{Device, KernelInfo, Launch};
use bytemuck::Pod;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Runs kernels on the CPU.
///
/// `name::simulate(grid, ..)`, which `#[kernel]` makes, runs a kernel on the default one; for another seed
/// give `name::launch` a simulator of one's own.
///
/// ```
/// use ptx_matrix::{sim::Simulator, *};
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
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator {
    seed: u64,
    strict: bool,
}

/// What a simulated run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Races within a warp: one lane reads what another writes, with no [`Warp::sync`](crate::Warp::sync) between.
    /// On today's GPUs a warp mostly goes in step, but PTX does not promise it. Each pair of lines once.
    pub warnings: Vec<Finding>,
}

impl Report {
    /// The report, if there is nothing to warn of.
    ///
    /// # Errors
    /// The first warning.
    pub fn check(self) -> Result<Self, SimError> {
        match self.warnings.into_iter().next() {
            Some(warning) => Err(warning.into()),
            None => Ok(Report { warnings: Vec::new(), ..self }),
        }
    }
}

impl Simulator {
    /// A simulator whose warps take turns in the order of this seed.
    pub const fn new(seed: u64) -> Self {
        Simulator { seed, strict: false }
    }

    /// The same, but what a run is warned of ends it as an error.
    #[must_use]
    pub const fn strict(self) -> Self {
        Simulator { strict: true, ..self }
    }

    /// What is found in a launch as a whole, or a block as a whole.
    fn finding(&self, kernel: &KernelInfo, misuse: Misuse, place: Option<Place>, block: Option<Grid>) -> SimError {
        Finding { misuse, kernel: kernel.name, place, block, warp: None, lane: None, seed: self.seed }.into()
    }

    /// What must hold before anything runs.
    fn check(grid: Grid) -> Result<(), String> {
        if grid.blocks() == 0 {
            return Err(format!("a grid of {grid} has no blocks: each dimension is at least 1"));
        }
        Ok(())
    }
}

// SAFETY: buffers are slices of the host, which the kernel, on the host, reaches as they are.
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
        (buffer.as_ptr().cast_mut(), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut [T]) -> (*mut T, usize) {
        (buffer.as_mut_ptr(), buffer.len())
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<Report, SimError> {
        Self::check(launch.grid)
            .map_err(|message| self.finding(launch.kernel, Misuse::Launch { message }, None, None))?;
        let mut accesses = LaunchAccesses::default();
        let mut warnings = Vec::new();
        let Grid { x, y, z } = launch.grid;
        for z in 0..z {
            for y in 0..y {
                for x in 0..x {
                    let index = Grid { x, y, z };
                    let ran = block::run(&launch, index, self.seed)?;
                    for warning in ran.warnings {
                        if !warnings.iter().any(|known: &Finding| known.is_like(&warning)) {
                            warnings.push(warning);
                        }
                    }
                    if let Some(BlockRace { misuse, location }) = accesses.add(index, ran.accesses) {
                        let (place, block) = (Some(location.into()), Some(index));
                        return Err(self.finding(launch.kernel, misuse, place, block));
                    }
                }
            }
        }
        let blocks = launch.grid.blocks();
        let report = Report { blocks, warps: blocks * u64::from(launch.kernel.threads / 32), warnings };
        if self.strict { report.check() } else { Ok(report) }
    }
}
