use super::race::{Access, Lanes};
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
            Lanes::Each | Lanes::Together => Agent::SameWarp,
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

/// Why a simulated kernel did not run to its end: a [`Finding`].
///
/// Printed, with `{}` and `{:?}` alike, it reads like an error of the compiler; so `unwrap()` in a test shows it so.
#[derive(Clone, PartialEq)]
pub struct SimError(Box<Finding>);

impl From<Finding> for SimError {
    fn from(finding: Finding) -> Self {
        SimError(Box::new(finding))
    }
}

impl std::ops::Deref for SimError {
    type Target = Finding;

    fn deref(&self) -> &Finding {
        &self.0
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
    /// Whether it is found at the same lines.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let other_places = |finding: &Self| match &finding.misuse {
            Misuse::Race { other_place, .. } => Some(other_place.clone()),
            _ => None,
        };
        self.place == other.place && other_places(self) == other_places(other)
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
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
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
        if self.seed != 0 {
            write!(f, "\n   = with seed {}, which shows it again", self.seed)?;
        }
        if let Some(help) = self.misuse.help() {
            write!(f, "\n   = help: {help}")?;
        }
        Ok(())
    }
}
