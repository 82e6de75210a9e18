use super::divergence::{WaitingLanes, lanes};
use super::race::{Access, Lanes};
use super::simulator::Report;
use crate::Grid;
use core::panic::Location;
use std::boxed::Box;
use std::fmt;
use std::string::String;
use std::vec::Vec;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for Place {
    fn from(at: &Location<'_>) -> Self {
        Place { file: at.file().into(), line: at.line(), column: at.column() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A piece of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Memory {
    /// A byte of the block's shared memory.
    Shared {
        /// Its address.
        address: u32,
    },
    /// An element of a slice in global memory.
    Global {
        /// The kernel's parameter.
        name: &'static str,
        /// The element.
        index: usize,
    },
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Shared { address } => write!(f, "shared address {address:#x}"),
            Memory::Global { name, index } => write!(f, "element {index} of `{name}`"),
        }
    }
}

/// Who else accessed the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Another lane of the same warp.
    LaneOfWarp(usize),
    /// The same warp, all lanes together: `ldmatrix`, `stmatrix`.
    SameWarp,
    /// Another warp of the same block.
    WarpOfBlock(usize),
    /// Another block.
    OtherBlock(Grid),
}

impl Agent {
    /// Who made the earlier of two accesses in a block, seen from the later one.
    pub(super) fn in_block(later: Access, earlier: Access) -> Self {
        match earlier.by {
            _ if earlier.agent != later.agent => Agent::WarpOfBlock(earlier.agent),
            Lanes::One(lane) => Agent::LaneOfWarp(lane),
            Lanes::Each | Lanes::Together(_) => Agent::SameWarp,
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agent::LaneOfWarp(lane) => write!(f, "lane {lane} of the same warp"),
            Agent::SameWarp => write!(f, "the same warp, all lanes together,"),
            Agent::WarpOfBlock(warp) => write!(f, "warp {warp}"),
            Agent::OtherBlock(block) => write!(f, "block {block}"),
        }
    }
}

/// What a kernel did that no GPU would do as meant.
#[derive(Debug, Clone, PartialEq)]
pub enum Misuse {
    /// An element beyond the end of a slice in global memory.
    GlobalOutOfBounds {
        /// `read` or `write`.
        access: &'static str,
        /// The kernel's parameter.
        name: &'static str,
        /// The element asked for.
        index: usize,
        /// Elements that there are.
        len: usize,
    },
    /// A matrix that does not fit the slice that it is to lie in.
    MatrixOutOfBounds {
        /// The kernel's parameter.
        name: &'static str,
        /// Rows and columns of the matrix.
        size: (usize, usize),
        /// Elements from one line to the next.
        stride: usize,
        /// Elements of the slice.
        len: usize,
    },
    /// A coordinate beyond a tile.
    TileOutOfBounds {
        /// The first row and column.
        at: (usize, usize),
        /// Rows and columns of what was asked for.
        size: (usize, usize),
        /// Rows and columns of the tile.
        tile: (usize, usize),
    },
    /// A coordinate at which no matrix row starts.
    TileMisaligned {
        /// The first row and column.
        at: (usize, usize),
        /// What they should be multiples of.
        step: (usize, usize),
    },
    /// A part beyond a ring of them.
    RingOutOfBounds {
        /// The part asked for.
        index: usize,
        /// Parts that there are.
        len: usize,
    },
    /// A row address, made by hand, that is no multiple of 16.
    RowMisaligned {
        /// The address.
        address: u32,
    },
    /// An address, made by hand, outside of the block's shared memory.
    SharedOutOfBounds {
        /// `read` or `write`.
        access: &'static str,
        /// The address.
        address: u32,
        /// Bytes accessed.
        bytes: usize,
        /// Bytes of shared memory that the block has.
        size: usize,
    },
    /// Bytes of shared memory that nothing wrote were read.
    SharedUnwritten {
        /// Where the read starts.
        address: u32,
        /// Bytes that were read.
        bytes: usize,
    },
    /// An element of global memory that nothing wrote was read: see [`mark_unwritten`](super::mark_unwritten).
    GlobalUnwritten {
        /// The kernel's parameter.
        name: &'static str,
        /// The element, or the first that was read.
        index: usize,
    },
    /// Two warps, or two blocks, access the same memory, one of them writes, and nothing says in which order.
    Race {
        /// `read` or `write`: this access.
        access: &'static str,
        /// What is accessed.
        memory: Memory,
        /// `read` or `write`: the other access.
        other_access: &'static str,
        /// The other access's line.
        other_place: Place,
        /// Who made the other access.
        other: Agent,
    },
    /// Shared memory is touched while an asynchronous copy to it is in flight.
    CopyInFlight {
        /// `read`, `write`, or `copy`: a second copy.
        access: &'static str,
        /// The first such byte.
        address: u32,
        /// The line that started the copy.
        place: Place,
        /// The warp that did.
        warp: usize,
    },
    /// An asynchronous copy from an address that is no multiple of its size.
    CopyMisaligned {
        /// The kernel's parameter.
        name: &'static str,
        /// The first element.
        index: usize,
        /// Bytes that are copied.
        bytes: usize,
    },
    /// Warps wait for others that do not come.
    Deadlock {
        /// The warps that wait, and where.
        waiting: Vec<(usize, Place)>,
        /// The warps that have ended.
        ended: Vec<usize>,
    },
    /// An address in shared memory, given to a raw instruction, that is no multiple of what it accesses.
    SharedMisaligned {
        /// `read`, `write` or `copy`.
        access: &'static str,
        /// The address.
        address: u32,
        /// Bytes accessed.
        bytes: usize,
    },
    /// A raw copy from outside of all slices that the kernel asked for a pointer to.
    CopyFromNowhere {
        /// Bytes that it would read.
        bytes: usize,
    },
    /// A raw copy that would read more than it copies.
    CopyTooLong {
        /// Bytes that it would read.
        some: usize,
        /// Bytes that it copies.
        bytes: usize,
    },
    /// A raw function that is one lane's is called where there is no lane.
    RawAtWarpScope {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// Some lanes of a warp come to a raw collective that the others do not come to, or to another, or at another line.
    Divergence {
        /// The lanes that wait, and where.
        waiting: Vec<WaitingLanes>,
        /// The lanes that have ended the lane closure.
        ended: Vec<usize>,
    },
    /// An `mma` takes registers that another returned for a matrix that they are not.
    WrongOperand {
        /// What they are taken for: `A`, `B` or `C`.
        role: char,
        /// Its elements.
        element: &'static str,
        /// The elements of the accumulator that they are.
        result: &'static str,
        /// The line of the `mma` that returned them.
        place: Place,
    },
    /// A lane reads the same again and again, as if to wait for another to write it.
    Polling {
        /// What it reads.
        memory: Memory,
    },
    /// The kernel stopped by `trap`.
    Trap,
    /// The kernel panicked: an assertion, an index, an overflow.
    Panic {
        /// The panic's message.
        message: String,
    },
    /// The launch itself is wrong; no kernel ran.
    Launch {
        /// What is.
        message: String,
    },
}

/// What is wrong with a simulated run: one or more [`Finding`]s, each once. It stands for the first of them.
///
/// Printed, with `{}` and `{:?}` alike, it reads like the errors of the compiler; so `unwrap()` in a test shows it so.
#[derive(Clone, PartialEq)]
pub struct SimError(Box<Failed>);

#[derive(Clone, PartialEq)]
struct Failed {
    /// At least one.
    findings: Vec<Finding>,
    report: Report,
}

impl SimError {
    /// The error of these findings, if there are any, else the report.
    pub(super) fn of(findings: Vec<Finding>, report: Report) -> Result<Report, Self> {
        if findings.is_empty() { Ok(report) } else { Err(SimError(Box::new(Failed { findings, report }))) }
    }

    /// The findings: block by block, and in a block in the order in which they were made.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// What ran all the same, with its profile and trace. A block that could not go on ran until there.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
}

impl std::ops::Deref for SimError {
    type Target = Finding;

    fn deref(&self) -> &Finding {
        &self.0.findings[0]
    }
}

/// What a simulated kernel did, and where.
#[derive(Clone, PartialEq)]
pub struct Finding {
    /// What it did.
    pub misuse: Misuse,
    /// The kernel's name.
    pub kernel: &'static str,
    /// The line of its source.
    pub place: Option<Place>,
    /// The block.
    pub block: Option<Grid>,
    /// The warp in the block.
    pub warp: Option<usize>,
    /// The lane, if it happened in a lane closure, or by the operand of one lane.
    pub lane: Option<usize>,
    /// The seed that shows it again.
    pub seed: u64,
}

impl Finding {
    /// Whether it is the same misuse at the same lines.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let same_lines = match (&self.misuse, &other.misuse) {
            (
                Misuse::Race { access, other_access, other_place, .. },
                Misuse::Race { access: access2, other_access: other_access2, other_place: other_place2, .. },
            ) => (access, other_access, other_place) == (access2, other_access2, other_place2),
            (Misuse::CopyInFlight { place, .. }, Misuse::CopyInFlight { place: place2, .. }) => place == place2,
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        };
        same_lines && self.place == other.place
    }
}

impl std::error::Error for SimError {}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Debug for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", **self)?;
        for finding in &self.findings()[1..] {
            write!(f, "\n\n{finding}")?;
        }
        if self.findings().len() > 1 {
            write!(f, "\n\nerror: {} findings in kernel `{}`", self.findings().len(), self.kernel)?;
        }
        Ok(())
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::GlobalOutOfBounds { access, name, index, len } => {
                write!(f, "{access} out of bounds: element {index} of `{name}`, which has {len}")
            }
            Misuse::MatrixOutOfBounds { name, size: (rows, cols), stride, len } => write!(
                f,
                "out of bounds: a matrix of {rows} x {cols} at a stride of {stride} in `{name}`, which has {len} elements"
            ),
            Misuse::TileOutOfBounds { at, size: (1, 1), tile } => {
                write!(f, "out of bounds: element {at:?} of a tile of {} x {}", tile.0, tile.1)
            }
            Misuse::TileOutOfBounds { at, size, tile } => write!(
                f,
                "out of bounds: {} x {} elements at {at:?} reach beyond a tile of {} x {}",
                size.0, size.1, tile.0, tile.1
            ),
            Misuse::RingOutOfBounds { index, len } => write!(f, "out of bounds: part {index} of a ring of {len}"),
            Misuse::TileMisaligned { at, .. } => {
                write!(f, "misaligned: no matrix row starts at {at:?} of the tile")
            }
            Misuse::RowMisaligned { address } => {
                write!(f, "misaligned: the matrix row at shared address {address:#x}")
            }
            Misuse::SharedOutOfBounds { access, address, bytes, size } => write!(
                f,
                "{access} out of bounds: {bytes} bytes at shared address {address:#x}; the block's {size} bytes of shared memory start at {:#x}",
                super::SHARED_BASE
            ),
            Misuse::SharedUnwritten { address, bytes } => {
                write!(f, "read of shared memory that nothing wrote: {bytes} bytes at shared address {address:#x}")
            }
            Misuse::GlobalUnwritten { name, index } => {
                write!(f, "read of global memory that nothing wrote: element {index} of `{name}`")
            }
            Misuse::Race { access, memory, other_access, other, .. } => {
                write!(f, "race: {access} of {memory}, with a {other_access} by {other} and nothing to order them")
            }
            Misuse::CopyInFlight { access, address, warp, .. } => write!(
                f,
                "{access} of shared address {address:#x} while a copy to it, started by warp {warp}, is in flight"
            ),
            Misuse::CopyMisaligned { name, index, bytes } => {
                write!(f, "misaligned: a copy of {bytes} bytes from element {index} of `{name}`")
            }
            Misuse::Deadlock { waiting, .. } => {
                let waits = if waiting.len() == 1 { "waits" } else { "wait" };
                write!(
                    f,
                    "deadlock: {} {waits} at a `sync` that not all warps reach",
                    warps(waiting.iter().map(|w| w.0))
                )
            }
            Misuse::SharedMisaligned { access, address, bytes } => {
                write!(f, "misaligned: {access} of {bytes} bytes at shared address {address:#x}")
            }
            Misuse::CopyFromNowhere { bytes } => {
                write!(
                    f,
                    "copy out of bounds: {bytes} bytes from outside of the slices whose `as_ptr` the kernel asked for"
                )
            }
            Misuse::CopyTooLong { some, bytes } => write!(f, "a copy of {bytes} bytes that reads {some}"),
            Misuse::RawAtWarpScope { form } => write!(f, "`{form}` outside of a lane closure"),
            Misuse::Divergence { waiting, .. } => {
                let first = waiting.first().map_or("", |waiting| waiting.form);
                write!(f, "divergence: the lanes of a warp do not come to `{first}` together")
            }
            Misuse::WrongOperand { role, element, result, .. } => {
                write!(f, "the registers of an {result} accumulator are taken for {role} of {element}")
            }
            Misuse::Polling { memory } => {
                write!(f, "deadlock: {memory} is read again and again, and nobody can write it meanwhile")
            }
            Misuse::Trap => f.write_str("the kernel trapped"),
            Misuse::Panic { message } => write!(f, "the kernel panicked: {message}"),
            Misuse::Launch { message } => f.write_str(message),
        }
    }
}

impl Misuse {
    /// What would be right.
    fn help(&self) -> Option<String> {
        Some(match self {
            Misuse::GlobalOutOfBounds { .. } => "pass a longer slice, or do not access it in these lanes".into(),
            Misuse::MatrixOutOfBounds { .. } => {
                "the stride is at least a line's length, and the last line ends within the slice".into()
            }
            Misuse::TileMisaligned { step, .. } => {
                std::format!("a matrix row has 16 bytes: the coordinate must be a multiple of {step:?}")
            }
            Misuse::RowMisaligned { .. } => "`ldmatrix` and `stmatrix` take addresses that are multiples of 16".into(),
            Misuse::SharedUnwritten { .. } => {
                "write it before, and put a `sync` between where another warp or lane writes it".into()
            }
            Misuse::GlobalUnwritten { .. } => "write it before: on the host, or in an earlier launch".into(),
            Misuse::Race { other: Agent::WarpOfBlock(_), .. } => "put a `sync` of the block between the two".into(),
            Misuse::Race { other: Agent::LaneOfWarp(_) | Agent::SameWarp, .. } => {
                "put a `sync` of the warp between the two".into()
            }
            Misuse::Race { other: Agent::OtherBlock(_), .. } => {
                "blocks run in any order: what one writes, no other may touch in the same launch".into()
            }
            Misuse::CopyInFlight { .. } => {
                "the warp that started the copy must commit it and wait for its group; others, behind a `sync` after that"
                    .into()
            }
            Misuse::CopyMisaligned { bytes, .. } => {
                std::format!("the address must be a multiple of {bytes}: rows of the matrix too")
            }
            Misuse::SharedMisaligned { bytes, .. } => std::format!("the address must be a multiple of {bytes}"),
            Misuse::CopyTooLong { bytes, .. } => std::format!("give it at most {bytes}; the rest becomes zero"),
            Misuse::RawAtWarpScope { .. } => {
                "a raw function is called by each lane for itself: in a lane closure, `warp.each(|lane| ..)`".into()
            }
            Misuse::Divergence { .. } => {
                "all 32 lanes must come to the same collective, at the same line: take it out of the branch".into()
            }
            Misuse::WrongOperand { .. } => {
                "bring the elements to the type and to the lanes: by `Fragment::map`, or through shared memory".into()
            }
            Misuse::Polling { .. } => "what another warp or lane writes is seen behind a `sync`: wait there".into(),
            Misuse::Deadlock { .. } => "every warp of a block must come to `sync` equally often".into(),
            _ => return None,
        })
    }
}

/// "warp 0" or "warps 0, 2".
fn warps(mut indices: impl ExactSizeIterator<Item = usize>) -> String {
    let plural = if indices.len() == 1 { "warp" } else { "warps" };
    let first = indices.next().unwrap_or_default();
    indices.fold(std::format!("{plural} {first}"), |list, index| std::format!("{list}, {index}"))
}

/// As the compiler writes its errors.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.misuse)?;
        if let Some(place) = &self.place {
            writeln!(f, "  --> {place}")?;
        }
        write!(f, "   = in kernel `{}`", self.kernel)?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        if let Some(warp) = self.warp {
            write!(f, ", warp {warp}")?;
        }
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Misuse::Race { other_access, other_place, other, .. } = &self.misuse {
            write!(f, "\n   = the {other_access} by {other} is at {other_place}")?;
        }
        if let Misuse::CopyInFlight { place, .. } = &self.misuse {
            write!(f, "\n   = the copy is started at {place}")?;
        }
        if let Misuse::Deadlock { waiting, ended } = &self.misuse {
            for (warp, place) in waiting {
                write!(f, "\n   = warp {warp} waits at {place}")?;
            }
            if !ended.is_empty() {
                let have = if ended.len() == 1 { "has" } else { "have" };
                write!(f, "\n   = {} {have} ended", warps(ended.iter().copied()))?;
            }
        }
        if let Misuse::Divergence { waiting, ended } = &self.misuse {
            for WaitingLanes { lanes: of, form, place } in waiting {
                let wait = if of.len() == 1 { "waits" } else { "wait" };
                write!(f, "\n   = {} {wait} at `{form}`, at {place}", lanes(of))?;
            }
            if !ended.is_empty() {
                let have = if ended.len() == 1 { "has" } else { "have" };
                write!(f, "\n   = {} {have} ended the lane closure", lanes(ended))?;
            }
        }
        if let Misuse::WrongOperand { place, .. } = &self.misuse {
            write!(f, "\n   = the `mma` that returned them is at {place}")?;
        }
        if self.seed != 0 {
            write!(f, "\n   = with seed {}, which shows it again", self.seed)?;
        }
        if let Some(help) = self.misuse.help() {
            write!(f, "\n   = help: {help}")?;
        }
        Ok(())
    }
}
