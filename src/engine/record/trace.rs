//! The trace: each warp's instructions in order.

use crate::engine::record::instruction::Instruction;
use crate::lane::Grid;
use core::panic::Location;
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, fs, io, vec};

/// The instructions of each warp of a launch, with their times: see
/// [`Simulator::traced`](crate::sim::Simulator::traced).
///
/// The unit of time is a step. A warp executes one instruction in each step, and all warps of a
/// block run side by side. A `sync` lasts until the last warp arrives. This shows the order, and
/// does not predict the time on a GPU. It depends on the seed only if the kernel's work does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    events: Vec<TraceEvent>,
}

/// An instruction that a warp executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEvent {
    /// The block's index.
    pub block: Grid,
    /// The warp's number in the block.
    pub warp: usize,
    /// The step at which it began, counted from the start of the block.
    pub step: u64,
    /// Its duration in steps.
    pub steps: u64,
    /// The instruction, as in PTX; `cp.async` with its size.
    pub instruction: &'static str,
    /// Number of lanes that executed it.
    pub lanes: usize,
    /// The line of the kernel's source.
    pub location: &'static Location<'static>,
}

impl Trace {
    /// The instructions, ordered by block, then by warp, then by time.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &TraceEvent> {
        self.events.iter()
    }

    /// Writes the trace in Chrome's trace format, for <https://ui.perfetto.dev> and
    /// `chrome://tracing`.
    ///
    /// A block is a process, a warp is a thread, and a step is a microsecond.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        self.chrome(&mut file)?;
        io::Write::flush(&mut file)
    }

    fn chrome(&self, to: &mut impl io::Write) -> io::Result<()> {
        write!(to, "{{\"traceEvents\":[")?;
        let mut separator = "";
        for (process, block) in
            self.events.chunk_by(|one, next| one.block == next.block).enumerate()
        {
            let name = quoted(&format!("block {}", block[0].block));
            write!(to, "{separator}\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{process},")?;
            write!(to, "\"args\":{{\"name\":{name}}}}}")?;
            separator = ",";
            for warp in block.chunk_by(|one, next| one.warp == next.warp) {
                let thread = warp[0].warp;
                write!(
                    to,
                    ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},"
                )?;
                write!(to, "\"args\":{{\"name\":\"warp {thread}\"}}}}")?;
                for event in warp {
                    let TraceEvent { step, steps, lanes, .. } = event;
                    let (name, source) =
                        (quoted(event.instruction), quoted(&event.location.to_string()));
                    write!(
                        to,
                        ",\n{{\"name\":{name},\"ph\":\"X\",\"pid\":{process},\"tid\":{thread},"
                    )?;
                    write!(
                        to,
                        "\"ts\":{step},\"dur\":{steps},\"args\":\
                         {{\"source\":{source},\"lanes\":{lanes}}}}}"
                    )?;
                }
            }
        }
        writeln!(to, "\n]}}")
    }
}

/// A JSON string. (Only tests depend on a JSON library.)
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\0'..'\x20' => quoted.push_str(&format!("\\u{:04x}", char as u32)),
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// A trace under construction.
pub(crate) struct Tracer {
    trace: Trace,
    block: Grid,
    /// The next step of each warp.
    clocks: Vec<u64>,
    /// The indices of `sync`s that are still in progress.
    waiting: Vec<usize>,
}

impl Tracer {
    pub(crate) fn new() -> Self {
        let block = Grid { x: 0, y: 0, z: 0 };
        Tracer { trace: Trace::default(), block, clocks: Vec::new(), waiting: Vec::new() }
    }

    pub(crate) fn begin_block(&mut self, block: Grid, warps: usize) {
        self.block = block;
        self.clocks = vec![0; warps];
    }

    pub(crate) fn add(&mut self, warp: usize, instruction: &Instruction) {
        let clock = &mut self.clocks[warp];
        self.trace.events.push(TraceEvent {
            block: self.block,
            warp,
            step: *clock,
            steps: 1,
            instruction: instruction.code.form,
            lanes: instruction.lanes,
            location: instruction.code.location,
        });
        *clock += 1;
    }

    /// Marks the last instruction as a `sync` in progress.
    pub(crate) fn wait(&mut self) {
        self.waiting.push(self.trace.events.len() - 1);
    }

    /// Ends the `sync`: all warps have arrived.
    pub(crate) fn pass_barrier(&mut self) {
        let now = self.clocks.iter().copied().max().unwrap_or(0);
        self.clocks.fill(now);
        for index in self.waiting.drain(..) {
            let event = &mut self.trace.events[index];
            event.steps = now - event.step;
        }
    }

    pub(crate) fn end_block(&mut self) {
        self.trace.events.sort_by_key(|event| (event.warp, event.step));
    }

    /// Appends the trace of a later block.
    pub(crate) fn append(&mut self, later: Self) {
        self.trace.events.extend(later.trace.events);
    }

    pub(crate) fn finish(self) -> Trace {
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_windows_is_quoted() {
        assert_eq!(quoted("src\\a \"b\".rs\n"), r#""src\\a \"b\".rs\u000a""#);
    }
}
