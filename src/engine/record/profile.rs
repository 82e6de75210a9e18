//! The profile of a launch: instructions, bytes moved, and bank conflicts.

use crate::engine::findings::Place;
use crate::engine::record::banks;
use crate::engine::record::instruction::{Code, Instruction, Traffic};
use std::collections::BTreeMap;
use std::fmt;
use std::vec::Vec;

/// The instructions and data movement of a launch: see
/// [`Simulator::profiled`](crate::sim::Simulator::profiled).
///
/// Printed, it is a table. It depends on the seed only if the kernel's work does.
///
/// Accesses of a lane closure count as instructions of the warp, as on a GPU. The first visits of
/// all lanes to one source position are one instruction, the second visits are another. Reads and
/// writes outside of lane closures count for all lanes. Accesses to global memory are those of the
/// source: the compiler may merge some, or keep values in registers. Address computations, branches
/// and arithmetic are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// By instruction, as in PTX; `cp.async` with its size.
    pub instructions: BTreeMap<&'static str, Executed>,
    /// Bytes moved.
    pub bytes: BytesMoved,
    /// The source positions that access shared memory (other than by asynchronous copies), in
    /// source order.
    pub shared: Vec<SharedSite>,
}

/// Execution counts of an instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Executed {
    /// Number of warps that executed it, over all executions.
    pub warps: u64,
    /// Number of lanes that executed it, over all executions.
    pub lanes: u64,
}

/// Bytes moved: the sum over all lanes' accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BytesMoved {
    /// Loaded from global memory.
    pub global_read: u64,
    /// Stored to global memory.
    pub global_written: u64,
    /// Loaded from shared memory, by lanes and by `ldmatrix`; includes other blocks of the
    /// cluster.
    pub shared_read: u64,
    /// Stored to shared memory, by lanes and by `stmatrix`; includes other blocks of the cluster.
    pub shared_written: u64,
    /// Copied asynchronously to shared memory, from global memory or from a block of the cluster.
    /// The zeros of `cp.async` do not count; the box of a tensor copy counts whole.
    pub copied: u64,
    /// Copied or reduced asynchronously from shared to global memory. Elements outside of the
    /// tensor do not count.
    pub stored: u64,
}

impl BytesMoved {
    /// The numbers with their names in a printed profile.
    fn named(&mut self) -> [(&'static str, &mut u64); 6] {
        [
            ("read from global memory", &mut self.global_read),
            ("written to global memory", &mut self.global_written),
            ("read from shared memory", &mut self.shared_read),
            ("written to shared memory", &mut self.shared_written),
            ("to shared memory, asynchronously", &mut self.copied),
            ("from shared to global memory, asynchronously", &mut self.stored),
        ]
    }

    fn add(&mut self, mut other: Self) {
        for ((_, moved), (_, of_other)) in self.named().into_iter().zip(other.named()) {
            *moved += *of_other;
        }
    }
}

/// A source position that accesses shared memory, and its bank conflicts.
///
/// Shared memory has 32 banks of four bytes. An access has one phase; two if each lane moves eight
/// bytes; four for sixteen bytes. Each matrix of `ldmatrix` and `stmatrix` is one phase. A phase
/// takes as many passes ("ways") as its busiest bank must deliver different words. One way means no
/// conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedSite {
    /// The line of the kernel's source.
    pub place: Place,
    /// The instruction, as in PTX.
    pub instruction: &'static str,
    /// Number of executions by warps.
    pub accesses: u64,
    /// Their phases.
    pub phases: u64,
    /// The sum of the ways of all phases.
    pub wavefronts: u64,
    /// The ways of the worst phase.
    pub worst_ways: u32,
    /// The lanes and addresses of a phase with `worst_ways` ways. Of several such phases, the one
    /// with the first lanes and the lowest addresses.
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

    /// Of phases with equally many ways, not the first is kept: the seed determines which warp is
    /// first.
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
    /// Number of executions by warps of an instruction, named as in PTX.
    pub fn warps(&self, instruction: &str) -> u64 {
        self.instructions.get(instruction).map_or(0, |executed| executed.warps)
    }

    /// The source position with the most passes lost to conflicts, if there are conflicts.
    pub fn worst_conflict(&self) -> Option<&SharedSite> {
        let lost = |site: &&SharedSite| site.wavefronts - site.phases;
        self.shared.iter().max_by_key(lost).filter(|site| lost(site) > 0)
    }
}

/// A profile under construction.
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
            Traffic::Store => &mut moved.stored,
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
        self.profile.bytes.add(other.profile.bytes);
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
            names.max().unwrap_or(0).max("from shared to global memory, asynchronously".len());
        writeln!(f, "{:width$} {:>14} {:>14}", "instruction", "by warps", "by lanes")?;
        for (form, Executed { warps, lanes }) in &self.instructions {
            writeln!(f, "{form:width$} {warps:14} {lanes:14}")?;
        }
        writeln!(f, "\n{:width$} {:>14}", "moved", "bytes")?;
        for (what, bytes) in { self.bytes }.named() {
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
