//! Profile and trace: records of the executed instructions, on request.
//!
//! | file | contents |
//! | --- | --- |
//! | `instruction.rs` | an instruction of a warp |
//! | `closure_run.rs` | lanes' accesses combined into instructions |
//! | `profile.rs`, `banks.rs` | instruction counts, bytes moved, bank conflicts |
//! | `trace.rs` | the sequence of instructions of each warp |
//!
//! Every function of the engine that stands for an instruction calls a `note_..` function here.

mod banks;
mod closure_run;
mod instruction;
mod profile;
mod trace;

pub(crate) use instruction::Traffic;
pub use profile::{BytesMoved, Executed, Profile, SharedSite};
pub use trace::{Trace, TraceEvent};

use crate::engine::{
    findings::Misuse,
    record::closure_run::ClosureRun,
    warps::{
        block::BlockState,
        context::{current_lane, fail, with_block},
    },
};
use crate::fragment::RowAddr;
use crate::isa;
use crate::lane::{Grid, LANES, Site};
use instruction::{Code, Instruction, LaneAccess};
use profile::Profiler;
use std::cell::Cell;
use std::vec::Vec;
use trace::Tracer;

std::thread_local! {
    /// Whether the simulated block has a recorder, or is limited to the instructions of one GPU.
    /// Most runs have neither, and only pay for this check.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// The record of a block, or the combined record of a launch.
pub(crate) struct Recorder {
    profiler: Option<Profiler>,
    tracer: Option<Tracer>,
    /// The lane closure that runs, since its start or its last collective. Only one warp runs at a
    /// time, and none waits in between.
    closure: ClosureRun,
}

/// The requested records.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Recorded {
    pub(crate) profiled: bool,
    pub(crate) traced: bool,
}

impl Recorded {
    /// A recorder, if any record is requested.
    pub(crate) fn recorder(self) -> Option<Recorder> {
        let Recorded { profiled, traced } = self;
        (profiled || traced).then(|| Recorder {
            profiler: profiled.then(Profiler::default),
            tracer: traced.then(Tracer::new),
            closure: ClosureRun::default(),
        })
    }
}

impl Recorder {
    pub(crate) fn begin_block(&mut self, block: Grid, warps: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.begin_block(block, warps);
        }
    }

    /// All warps have reached a `sync`.
    pub(crate) fn pass_barrier(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.pass_barrier();
        }
    }

    pub(crate) fn end_block(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.end_block();
        }
    }

    /// Appends the record of a later block.
    pub(crate) fn append(&mut self, later: Self) {
        if let (Some(profiler), Some(later)) = (&mut self.profiler, later.profiler) {
            profiler.append(later);
        }
        if let (Some(tracer), Some(later)) = (&mut self.tracer, later.tracer) {
            tracer.append(later);
        }
    }

    pub(crate) fn finish(self) -> (Option<Profile>, Option<Trace>) {
        (self.profiler.map(Profiler::finish), self.tracer.map(Tracer::finish))
    }

    fn add(&mut self, warp: usize, instruction: &Instruction) {
        if let Some(profiler) = &mut self.profiler {
            profiler.add(instruction);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.add(warp, instruction);
        }
    }

    fn access(&mut self, warp: usize, code: Code, traffic: Traffic, address: usize, bytes: usize) {
        match current_lane() {
            Some(lane) => self.closure.add(code, traffic, LaneAccess { lane, address, bytes }),
            // Outside of a lane closure the access is uniform: all lanes make it.
            None => {
                let accesses = (0..LANES).map(|lane| LaneAccess { lane, address, bytes }).collect();
                self.add(warp, &Instruction { code, traffic, lanes: LANES, accesses });
            }
        }
    }
}

/// Switches recording on or off. Returns the previous state.
pub(crate) fn set_recording(recording: bool) -> bool {
    RECORDING.replace(recording)
}

fn recorded(work: impl FnOnce(&mut Recorder, &BlockState)) {
    with_block(|block| {
        if let Some(recorder) = &block.recorder {
            work(&mut recorder.borrow_mut(), block);
        }
    });
}

/// Records an instruction without memory access, by the running lane, or, at warp scope, by the
/// warp.
#[inline]
pub(crate) fn note_lane(site: Site, form: &'static str) {
    if RECORDING.get() {
        match current_lane() {
            Some(_) => access(site, form, Traffic::None, 0, 0),
            None => collective(site, form, Traffic::None, Vec::new()),
        }
    }
}

/// Records a collective without memory access.
#[inline]
pub(crate) fn note_collective(site: Site, form: &'static str) {
    if RECORDING.get() {
        collective(site, form, Traffic::None, Vec::new());
    }
}

/// Records a collective that accesses the rows whose addresses the first lanes supply.
#[inline]
pub(crate) fn note_rows(site: Site, form: &'static str, traffic: Traffic, rows: &[RowAddr]) {
    if RECORDING.get() {
        let rows = rows.iter().enumerate();
        let access = |(lane, row): (usize, &RowAddr)| {
            let (address, bytes) = (row.address() as usize, RowAddr::BYTES as usize);
            LaneAccess { lane, address, bytes }
        };
        collective(site, form, traffic, rows.map(access).collect());
    }
}

/// Ends the run if the simulated GPU lacks the instruction.
fn check_gpu(site: Site, form: &'static str) {
    if let Some(gpu) = with_block(|block| block.gpu)
        && let Some(needs) = isa::lacking(gpu, form)
    {
        fail(site, Misuse::Absent { form, gpu, needs });
    }
}

#[cold]
fn collective(site: Site, form: &'static str, traffic: Traffic, accesses: Vec<LaneAccess>) {
    check_gpu(site, form);
    let code = Code { location: site.location, form };
    let instruction = Instruction { code, traffic, lanes: LANES, accesses };
    recorded(|recorder, block| recorder.add(block.running(), &instruction));
}

/// Records that the warp reaches a `sync`.
#[inline]
pub(crate) fn note_sync(site: Site) {
    if RECORDING.get() {
        note_collective(site, "bar.sync");
        recorded(|recorder, _| {
            if let Some(tracer) = &mut recorder.tracer {
                tracer.wait();
            }
        });
    }
}

/// Records the load or store of an element by a lane or by uniform code.
#[inline]
pub(crate) fn note_element(site: Site, traffic: Traffic, address: usize, bytes: usize) {
    if RECORDING.get() {
        access(site, traffic.of_an_element(bytes), traffic, address, bytes);
    }
}

/// Records that a lane reduces an element, or starts a copy.
#[inline]
pub(crate) fn note_moved(
    site: Site,
    form: &'static str,
    traffic: Traffic,
    address: usize,
    bytes: usize,
) {
    if RECORDING.get() {
        access(site, form, traffic, address, bytes);
    }
}

#[cold]
fn access(site: Site, form: &'static str, traffic: Traffic, address: usize, bytes: usize) {
    check_gpu(site, form);
    let code = Code { location: site.location, form };
    recorded(|recorder, block| recorder.access(block.running(), code, traffic, address, bytes));
}

/// The section of a lane closure that the running warp interrupts, since others run meanwhile.
pub(crate) struct Interrupted(Option<ClosureRun>);

/// Interrupts a section of a lane closure, for a turn of other warps.
pub(crate) fn interrupt_closure() -> Interrupted {
    let mut interrupted = Interrupted(None);
    if RECORDING.get() {
        recorded(|recorder, _| interrupted.0 = Some(std::mem::take(&mut recorder.closure)));
    }
    interrupted
}

/// Goes on with a section of a lane closure.
pub(crate) fn resume_closure(Interrupted(interrupted): Interrupted) {
    if let Some(closure) = interrupted {
        recorded(|recorder, _| recorder.closure = closure);
    }
}

/// Ends a section of a lane closure: all lanes have ended or reached a collective.
#[inline]
pub(crate) fn note_end_of_closure() {
    if RECORDING.get() {
        recorded(|recorder, block| {
            for instruction in recorder.closure.end() {
                recorder.add(block.running(), &instruction);
            }
        });
    }
}
