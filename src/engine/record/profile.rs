//! What a launch executed and moved, and how its accesses to shared memory meet in the banks.

use crate::engine::findings::Place;
use crate::engine::record::banks;
use crate::engine::record::instruction::{Code, Instruction, Traffic};
use std::collections::BTreeMap;
use std::fmt;
use std::vec::Vec;

/// What the warps of a launch executed, and what they moved: see
/// [`Simulator::profiled`](crate::sim::Simulator::profiled).
///
/// Printed, it is a table. It does not depend on the seed unless the kernel's work does.
///
/// Accesses of a lane closure are counted as the instructions of the warp that they are on a GPU:
/// what its lanes do at one place, the first time that each comes there, is one instruction, the
/// second time another. What code outside of lane closures reads or writes, all lanes do. Accesses
/// to global memory are those that the kernel asks for: the compiler may merge some, or keep values
/// in registers. Address computations, branches and arithmetic are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// By instruction, as in PTX; `cp.async` with its size.
    pub instructions: BTreeMap<&'static str, Executed>,
    /// Bytes moved.
    pub bytes: BytesMoved,
    /// The places that access shared memory (other than by asynchronous copies), in the order of
    /// the source.
    pub shared: Vec<SharedSite>,
}

/// How often an instruction was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Executed {
    /// By warps.
    pub warps: u64,
    /// By lanes.
    pub lanes: u64,
}

/// Bytes moved: the sum of what the lanes asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BytesMoved {
    /// Loaded from global memory.
    pub global_read: u64,
    /// Stored to global memory.
    pub global_written: u64,
    /// Loaded from shared memory, by lanes and by `ldmatrix`; also from that of other blocks of
    /// the cluster.
    pub shared_read: u64,
    /// Stored to shared memory, by lanes and by `stmatrix`, likewise.
    pub shared_written: u64,
    /// Copied asynchronously from global to shared memory, without the zeros that fill up.
    pub copied: u64,
}

/// A place that accesses shared memory, and how its accesses meet in the banks.
///
/// Shared memory has 32 banks of four bytes. An access goes through in phases: one, or two if each
/// lane moves eight bytes, or four for sixteen; each matrix of `ldmatrix` and `stmatrix` is one. A
/// phase takes as many turns ("ways") as the bank that has most to do must give different words.
/// One way is free of conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedSite {
    /// The line of the kernel's source.
    pub place: Place,
    /// The instruction, as in PTX.
    pub instruction: &'static str,
    /// Times that a warp executed it.
    pub accesses: u64,
    /// Their phases.
    pub phases: u64,
    /// The ways of all phases together.
    pub wavefronts: u64,
    /// The ways of the worst phase.
    pub worst_ways: u32,
    /// A phase that had so many, of several that of the first lanes and the lowest addresses: the
    /// lanes, and their addresses.
    pub worst: Vec<(usize, u32)>,
}

impl SharedSite {
    /// The ways of a phase, on average.
    pub fn average_ways(&self) -> f64 {
        self.wavefronts as f64 / self.phases as f64
    }

    fn new(code: Code) -> Self {
        SharedSite {
            place: code.location.into(),
            instruction: code.form,
            accesses: 0,
            phases: 0,
            wavefronts: 0,
            worst_ways: 0,
            worst: Vec::new(),
        }
    }

    fn add(&mut self, instruction: &Instruction) {
        self.accesses += 1;
        for (ways, phase) in banks::phases(&instruction.accesses) {
            self.phases += 1;
            self.wavefronts += u64::from(ways);
            self.note_worst(ways, phase.iter().map(|access| (access.lane, access.address as u32)));
        }
    }

    /// Of several phases of so many ways, not the first is kept: which warp is the first is a
    /// matter of the seed.
    fn note_worst(&mut self, ways: u32, pattern: impl Iterator<Item = (usize, u32)> + Clone) {
        if ways > self.worst_ways
            || ways == self.worst_ways && pattern.clone().lt(self.worst.iter().copied())
        {
            self.worst_ways = ways;
            self.worst = pattern.collect();
        }
    }

    fn append(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.phases += other.phases;
        self.wavefronts += other.wavefronts;
        self.note_worst(other.worst_ways, other.worst.iter().copied());
    }
}

impl Profile {
    /// Times that warps executed an instruction, given as in PTX.
    pub fn warps(&self, instruction: &str) -> u64 {
        self.instructions.get(instruction).map_or(0, |executed| executed.warps)
    }

    /// The place that loses the most turns to conflicts, if one does.
    pub fn worst_conflict(&self) -> Option<&SharedSite> {
        let lost = |site: &&SharedSite| site.wavefronts - site.phases;
        self.shared.iter().max_by_key(lost).filter(|site| lost(site) > 0)
    }
}

/// A profile in the making.
#[derive(Default)]
pub(crate) struct Profiler {
    profile: Profile,
    shared: BTreeMap<Code, SharedSite>,
}

impl Profiler {
    pub(crate) fn add(&mut self, instruction: &Instruction) {
        let Instruction { code, traffic, lanes, ref accesses } = *instruction;
        let executed = self.profile.instructions.entry(code.form).or_default();
        executed.warps += 1;
        executed.lanes += lanes as u64;
        let moved = &mut self.profile.bytes;
        let moved = match traffic {
            Traffic::None => return,
            Traffic::GlobalRead => &mut moved.global_read,
            Traffic::GlobalWrite => &mut moved.global_written,
            Traffic::SharedRead | Traffic::ClusterRead => &mut moved.shared_read,
            Traffic::SharedWrite | Traffic::ClusterWrite => &mut moved.shared_written,
            Traffic::Copy => &mut moved.copied,
        };
        *moved += accesses.iter().map(|access| access.bytes as u64).sum::<u64>();
        if matches!(traffic, Traffic::SharedRead | Traffic::SharedWrite) {
            self.shared.entry(code).or_insert_with(|| SharedSite::new(code)).add(instruction);
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        for (form, Executed { warps, lanes }) in other.profile.instructions {
            let executed = self.profile.instructions.entry(form).or_default();
            executed.warps += warps;
            executed.lanes += lanes;
        }
        let BytesMoved { global_read, global_written, shared_read, shared_written, copied } =
            other.profile.bytes;
        let moved = &mut self.profile.bytes;
        moved.global_read += global_read;
        moved.global_written += global_written;
        moved.shared_read += shared_read;
        moved.shared_written += shared_written;
        moved.copied += copied;
        for (code, site) in other.shared {
            self.shared.entry(code).or_insert_with(|| SharedSite::new(code)).append(&site);
        }
    }

    pub(crate) fn finish(self) -> Profile {
        Profile { shared: self.shared.into_values().collect(), ..self.profile }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.instructions.keys().map(|form| form.len());
        let width =
            names.max().unwrap_or(0).max("from global to shared memory, asynchronously".len());
        writeln!(f, "{:width$} {:>14} {:>14}", "instruction", "by warps", "by lanes")?;
        for (form, Executed { warps, lanes }) in &self.instructions {
            writeln!(f, "{form:width$} {warps:14} {lanes:14}")?;
        }
        writeln!(f, "\n{:width$} {:>14}", "moved", "bytes")?;
        let BytesMoved { global_read, global_written, shared_read, shared_written, copied } =
            self.bytes;
        for (what, bytes) in [
            ("read from global memory", global_read),
            ("written to global memory", global_written),
            ("read from shared memory", shared_read),
            ("written to shared memory", shared_written),
            ("from global to shared memory, asynchronously", copied),
        ] {
            writeln!(f, "{what:width$} {bytes:14}")?;
        }
        if !self.shared.is_empty() {
            writeln!(
                f,
                "\n{:width$} {:>14} {:>6} {:>8}",
                "shared memory", "accesses", "worst", "average"
            )?;
        }
        for site in &self.shared {
            writeln!(f, "{}", site.place)?;
            let (form, ways) = (site.instruction, site.worst_ways);
            let width = width - 2;
            writeln!(
                f,
                "  {form:width$} {:14} {ways:2}-way {:8.2}",
                site.accesses,
                site.average_ways()
            )?;
            if ways > 1 {
                write!(f, "    {ways} ways:")?;
                for (lane, address) in &site.worst {
                    write!(f, " {lane}:{address:#x}")?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
