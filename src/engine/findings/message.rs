//! The first line of each report: the title.

use super::barrier_message::{barrier, phase_lacks};
use super::misuse::{Awaited, BarrierState, ClusterMisuse, Memory, Misuse, WaitingWarp};
use super::names::Namer;
use super::notes::{of, warps};
use crate::fragment::{SwizzleBits, TileSize};
use crate::lane::AccessKind;
use std::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.title(f, Namer::NONE)
    }
}

impl Misuse {
    /// Writes the title. `names` has the names of the kernel's memory.
    pub(super) fn title(&self, f: &mut fmt::Formatter<'_>, names: Namer) -> fmt::Result {
        match self {
            Misuse::GlobalOutOfBounds { access, name, index, len } => {
                write!(f, "{access} out of bounds: element {index} of `{name}`, which has {len}")
            }
            Misuse::MatrixOutOfBounds { name, size: TileSize { rows, cols }, stride, len } => {
                write!(
                    f,
                    "out of bounds: a matrix of {rows} x {cols} at a stride of {stride} in \
                     `{name}`, which has {len} elements"
                )
            }
            Misuse::StrideTooLarge { name, stride, limit } => {
                write!(
                    f,
                    "a matrix in `{name}` whose lines lie {stride} elements apart, and not at most \
                     {limit}"
                )
            }
            Misuse::TileOutOfBounds { memory, at, size, tile } => {
                let (memory, kind) = match memory {
                    Memory::Shared { address } => (names.tile(*address), "tile"),
                    Memory::Global { name, .. } => (format!("`{name}`"), "matrix"),
                };
                f.write_str("out of bounds: ")?;
                match size {
                    TileSize { rows: 1, cols: 1 } => write!(f, "element {at:?} of {memory}")?,
                    TileSize { rows, cols } => {
                        write!(f, "{rows} x {cols} elements at {at:?} of {memory}")?;
                    }
                }
                write!(f, ", a {kind} of {} x {}", tile.rows, tile.cols)
            }
            Misuse::RingOutOfBounds { address, index, len } => {
                write!(
                    f,
                    "out of bounds: part {index} of {}, a ring of {len}",
                    names.ring(*address)
                )
            }
            Misuse::TileMisaligned { address, at, .. } => {
                write!(
                    f,
                    "misaligned: no matrix row or vector starts at {at:?} of {}",
                    names.tile(*address)
                )
            }
            Misuse::RowMisaligned { address } => {
                write!(f, "misaligned: the matrix row at {}", names.at(*address))
            }
            Misuse::SharedOutOfBounds { access, address, bytes, size } => write!(
                f,
                "{access} out of bounds: {bytes} bytes at shared address {address:#x}; the block's \
                 {size} bytes of shared memory start at {:#x}",
                crate::engine::SHARED_BASE
            ),
            Misuse::SharedUnwritten { address, bytes } => {
                write!(
                    f,
                    "read of shared memory that nothing wrote: {bytes} bytes at {}",
                    names.at(*address)
                )
            }
            Misuse::GlobalUnwritten { name, index } => {
                write!(f, "read of global memory that nothing wrote: element {index} of `{name}`")
            }
            Misuse::Race {
                access: AccessKind::Write, memory, other, same_closure: true, ..
            } => write!(
                f,
                "race: write of {}, which {other} read before in the same lane closure; lanes in \
                 step read after it",
                memory.named(names)
            ),
            Misuse::Race { access, memory, other, same_closure: true, .. } => {
                let memory = memory.named(names);
                write!(
                    f,
                    "race: {access} of {memory}, which {other} wrote in the same lane closure"
                )
            }
            Misuse::BarrierMemory { access, address, .. } => {
                write!(f, "{access} of {}, which is part of a live mbarrier", names.at(*address))
            }
            Misuse::LocalMemory { bytes } => {
                write!(
                    f,
                    "a lane has {} KiB on its stack, and a thread of a GPU at most 512 KiB",
                    bytes / 1024
                )
            }
            Misuse::Race { access, memory, other_access, other, .. } => {
                let memory = memory.named(names);
                write!(
                    f,
                    "race: {access} of {memory}, with a {other_access} by {other} and nothing to \
                     order them"
                )
            }
            Misuse::CopyInFlight { access, address, warp, block, .. } => write!(
                f,
                "{access} of {} while a copy to it, started by warp {warp}{}, is in flight",
                names.at(*address),
                of(*block)
            ),
            Misuse::GlobalMisaligned { access, name, index, bytes } => {
                write!(f, "misaligned: {access} of {bytes} bytes at element {index} of `{name}`")
            }
            Misuse::BulkMisaligned { name, index, beyond } => write!(
                f,
                "misaligned: a bulk copy starts at element {index} of `{name}`, {beyond} bytes \
                 beyond a multiple of 16"
            ),
            Misuse::Deadlock { waiting, barriers, .. } => deadlock(f, waiting, barriers, names),
            Misuse::BoxOutside { loads, coordinates, size, tensor, .. } => {
                let (verb, effect) =
                    if *loads { ("load", "is all zeros") } else { ("store", "writes nothing") };
                write!(
                    f,
                    "a {verb} of a box completely outside of its tensor {effect}: coordinates \
                     {coordinates:?}, box {size:?}, \
                     tensor {tensor:?}, innermost dimension first"
                )
            }
            Misuse::PhaseMayEnd { address, wait } => write!(
                f,
                "a phase of {} may end before warp {}{} has waited for the one before: nothing \
                 orders that wait before this arrival",
                names.barrier(*address),
                wait.warp,
                of(wait.block)
            ),
            Misuse::CopySourceInFlight { address, warp, block, .. } => write!(
                f,
                "write of {} while a copy from it, started by warp {warp}{}, is in flight",
                names.at(*address),
                of(*block)
            ),
            Misuse::BarrierInFlight { address, warp, block, .. } => write!(
                f,
                "{} is invalidated while a copy that signals it, started by warp {warp}{}, is in \
                 flight",
                names.barrier(*address),
                of(*block)
            ),
            Misuse::StoreInFlight { access, name, index, .. } => {
                write!(f, "{access} of element {index} of `{name}` while a copy to it is in flight")
            }
            Misuse::ProxyFence { memory, .. } => {
                write!(
                    f,
                    "no proxy fence between a store to {} and a bulk copy or `wgmma`",
                    memory.named(names)
                )
            }
            Misuse::BulkSize { bytes } => write!(f, "a bulk copy of {bytes} bytes"),
            Misuse::ReductionWidth { name, element, bytes } => {
                write!(
                    f,
                    "a reduction of elements of {bytes} bytes in `{name}`, whose elements have \
                     {element}"
                )
            }
            Misuse::NotAtomic { name, form } => {
                write!(f, "`{form}` on an element of `{name}`, which is no `GlobalAtomic`")
            }
            Misuse::NoTensorMap => {
                f.write_str("the address given as a tensor map is not that of one")
            }
            Misuse::TensorRank { map, instruction } => {
                write!(
                    f,
                    "an instruction for tensors of {instruction} dimensions, and a tensor map of \
                     {map}"
                )
            }
            Misuse::TensorMode { im2col: true } => {
                f.write_str("an instruction for im2col mode, and a tensor map of boxes")
            }
            Misuse::TensorMode { im2col: false } => {
                f.write_str("an instruction for boxes, and a tensor map of im2col mode")
            }
            Misuse::Im2colOffset { dimension, offset, .. } => {
                write!(
                    f,
                    "an im2col copy whose pixels are moved by {offset} along dimension {dimension}"
                )
            }
            Misuse::OutOfBoundingBox { dimension, coordinate, .. } => write!(
                f,
                "an im2col copy that starts at coordinate {coordinate} along dimension \
                 {dimension}, out of the bounding box"
            ),
            Misuse::BoxStart { bytes } => {
                write!(
                    f,
                    "a copy of a box that starts {bytes} bytes along dimension 0 of its tensor"
                )
            }
            Misuse::BoxBefore { dimension, coordinate } => {
                write!(
                    f,
                    "a copy to a box that starts at coordinate {coordinate} along dimension \
                     {dimension}"
                )
            }
            Misuse::TensorReduction => {
                f.write_str("a reduction that a tensor of these elements does not have")
            }
            Misuse::BulkUnfinished => {
                f.write_str("the block ends while a copy to or from its shared memory is in flight")
            }
            Misuse::ClusterBarrier { misuse: ClusterMisuse::ArrivedAgain } => f.write_str(
                "a lane arrives at the barrier of the cluster again, and has not waited since \
                 it did",
            ),
            Misuse::ClusterBarrier { misuse: ClusterMisuse::NotArrived } => {
                f.write_str("a lane waits at the barrier of the cluster, and has not arrived")
            }
            Misuse::ClusterRank { rank, blocks } => {
                write!(f, "out of the cluster: the block of rank {rank}, of {blocks}")
            }
            Misuse::BlockMask { mask: 0, .. } => f.write_str("a copy to no block of the cluster"),
            Misuse::BlockMask { mask, blocks } => {
                write!(f, "out of the cluster: a copy to blocks {mask:#b}, of {blocks}")
            }
            Misuse::PeerNotStarted { access, block } => {
                write!(
                    f,
                    "{access} in shared memory of block {block}, which may not have started yet"
                )
            }
            Misuse::PeerEnded { access, block } => {
                write!(f, "{access} in shared memory of block {block}, which may have ended before")
            }
            Misuse::BarrierOfAnother { to, barrier } => {
                write!(
                    f,
                    "a copy to the block of rank {to} that is to signal a barrier of the block of \
                     rank {barrier}"
                )
            }
            Misuse::Barrier { address, misuse } => {
                write!(f, "{} {}", names.barrier(*address), barrier(*misuse, names))
            }
            Misuse::SharedMisaligned { access, address, bytes } => {
                write!(f, "misaligned: {access} of {bytes} bytes at {}", names.at(*address))
            }
            Misuse::OutsideOfSlices { access, bytes } => {
                write!(
                    f,
                    "{access} out of bounds: {bytes} bytes outside of the slices whose `as_ptr` \
                     the kernel asked for"
                )
            }
            Misuse::CopyTooLong { some, bytes } => {
                write!(f, "a copy of {bytes} bytes that reads {some}")
            }
            Misuse::RawAtWarpScope { form } => write!(f, "`{form}` outside of a lane closure"),
            Misuse::Divergence { waiting, .. } => {
                let first = waiting.first().map_or("", |waiting| waiting.form);
                write!(f, "divergence: the lanes of a warp do not come to `{first}` together")
            }
            Misuse::WrongOperand { role, element, result, .. } => {
                write!(
                    f,
                    "the registers of an {result} accumulator are taken for {role} of {element}"
                )
            }
            Misuse::Endless { accesses } => {
                write!(
                    f,
                    "endless: a warp has made {accesses} accesses and come to no `sync`: does it \
                     wait for what does not happen?"
                )
            }
            Misuse::Metadata { form, code, row, cols, why } => {
                write!(
                    f,
                    "metadata: {code:#06b} for row {row}, columns {} to {} of A, in \
                     `{form}`: {why}",
                    cols.start(),
                    cols.end()
                )
            }
            Misuse::Absent { form, gpu, needs } => {
                write!(f, "`{form}` needs {needs}, and {gpu} is simulated")
            }
            Misuse::SelectorsDiffer { form, first, other } => {
                write!(
                    f,
                    "divergence: the lanes of a warp come to `{form}` with different selectors, \
                     {first} and {other}"
                )
            }
            Misuse::WrongTileSwizzle { address, read, written, .. } => {
                write!(
                    f,
                    "wrong swizzle: {} is read by a tile with {}, and the copy wrote it with {}",
                    names.at(*address),
                    of_tile(*read),
                    swizzle(*written)
                )
            }
            Misuse::WrongStoredSwizzle { address, written, read, .. } => {
                write!(
                    f,
                    "wrong swizzle: the copy reads {} with {}, and a tile with {} wrote it",
                    names.at(*address),
                    swizzle(*read),
                    of_tile(*written)
                )
            }
            Misuse::WrongSwizzle { form, operand, read, written, .. } => {
                let (read, written) = (swizzle(*read), swizzle(*written));
                write!(
                    f,
                    "wrong swizzle: `{form}` reads {operand} with {read}, and the copy wrote \
                           it with {written}"
                )
            }
            Misuse::MatrixDescriptor { form, operand, why } => {
                write!(f, "what is to be the descriptor of {operand} in `{form}` is none: {why}")
            }
            Misuse::WgmmaUnfenced { form } => {
                write!(
                    f,
                    "no `wgmma.fence` between what was done to registers and `{form}`, which takes \
                     them"
                )
            }
            Misuse::AccumulatorInFlight { access, .. } => {
                write!(
                    f,
                    "{access} of registers of an accumulator while a `wgmma` has them in flight"
                )
            }
            Misuse::WarpGroupDiverges { form, warp, .. } => {
                write!(f, "divergence: warp {warp} does not come to `{form}` with its warpgroup")
            }
            Misuse::OperandsDiffer { form } => {
                write!(
                    f,
                    "divergence: the lanes of a warp come to `{form}` with different operands"
                )
            }
            Misuse::RegisterCount { form, count, held } => {
                write!(f, "`{form}` is for {count} registers, and each thread has {held}")
            }
            Misuse::RegistersDiverge { form, warp, .. } => {
                write!(
                    f,
                    "divergence: warp {warp} does not come to this `{form}` with its warpgroup"
                )
            }
            Misuse::RegistersUnsynced { form, warp } => {
                write!(
                    f,
                    "`{form}`, and nothing says that warp {warp} of the warpgroup has come to the \
                     one before"
                )
            }
            Misuse::WgmmaUnfinished => f.write_str("the block ends while a `wgmma` is in flight"),
            Misuse::NotSparse { row, cols, parts } => {
                let parts = parts.count_ones();
                write!(
                    f,
                    "not sparse: row {row}, columns {} to {}: of the four parts, {parts} are not \
                     zero",
                    cols.start(),
                    cols.end()
                )
            }
            Misuse::AtomicPolling { name, index } => {
                write!(
                    f,
                    "deadlock: a lane waits for a value of element {index} of `{name}`, and no \
                     block changes an atomic element any more"
                )
            }
            Misuse::EndlessAtomics { operations } => {
                write!(f, "the launch does {operations} atomic operations, and no warp ends")
            }
            Misuse::Polling { memory } => {
                let who = match memory {
                    Memory::Global { .. } => "no other thread of the block",
                    Memory::Shared { .. } => "nobody",
                };
                let memory = memory.named(names);
                write!(
                    f,
                    "deadlock: {memory} is read again and again, and {who} can write it meanwhile"
                )
            }
            Misuse::PollingBarrier {
                awaited: Awaited::Barrier { address, phase, of, arrivals, bytes },
                ..
            } => write!(
                f,
                "deadlock: {} is tested again and again, and nothing ends its phase {phase}: {}",
                names.barrier(*address),
                phase_lacks(*of, *arrivals, *bytes)
            ),
            Misuse::PollingBarrier { .. } => {
                f.write_str("deadlock: a barrier is tested again and again")
            }
            Misuse::NamedBarrier { barrier, threads, others: Some(others) } => {
                write!(
                    f,
                    "a warp comes to named barrier {barrier} for {threads} threads, while others \
                     wait there for {others}"
                )
            }
            Misuse::NamedBarrier { barrier: barrier @ 1..=15, threads, others: None } => {
                write!(
                    f,
                    "named barrier {barrier} is for {threads} threads, which is no positive \
                     multiple of 32"
                )
            }
            Misuse::NamedBarrier { barrier, others: None, .. } => {
                write!(f, "there is no named barrier {barrier}")
            }
            Misuse::NamedBarrierShared { barrier, warps, .. } => {
                write!(
                    f,
                    "named barrier {barrier} may count a warp too early: {} passed it, and nothing \
                     orders this one after that",
                    self::warps(warps.iter().map(|&warp| (None, warp)).collect())
                )
            }
            Misuse::NamedBarrierTwice { barrier, .. } => {
                write!(f, "a warp comes to named barrier {barrier} twice before it is complete")
            }
            Misuse::Trap => f.write_str("the kernel trapped"),
            Misuse::Panic { message } => write!(f, "the kernel panicked: {message}"),
            Misuse::Launch { message } => f.write_str(message),
        }
    }
}

/// The name of a tensor map's swizzle.
fn swizzle(code: u32) -> String {
    if code == 0 { "no swizzle".into() } else { format!("a {}-byte swizzle", 16 << code) }
}

/// The name of a tile's swizzle.
fn of_tile(swizzle: SwizzleBits) -> String {
    match swizzle {
        SwizzleBits { bits: 0, .. } => self::swizzle(0),
        SwizzleBits { bits, base: 4 } => self::swizzle(bits),
        _ => "a swizzle that no copy has".into(),
    }
}

/// Writes the title of a deadlock. It names the event if all warps wait for the same kind.
/// Otherwise it names the first wait, which causes the others.
fn deadlock(
    f: &mut fmt::Formatter<'_>,
    waiting: &[WaitingWarp],
    barriers: &[BarrierState],
    names: Namer,
) -> fmt::Result {
    let Some(first) = waiting.first() else { return f.write_str("deadlock") };
    if wait_in_circle(waiting, barriers) {
        let names: Vec<_> = barriers.iter().map(|barrier| names.barrier(barrier.address)).collect();
        let names = names.join(" and ");
        return write!(f, "deadlock in the first round: warps wait for {names} before any arrival");
    }
    let with_first = waiting.iter().filter(|waiting| waiting.awaited == first.awaited);
    let group: Vec<_> = with_first.map(|waiting| (waiting.block, waiting.warp)).collect();
    let waits = if group.len() == 1 { "waits" } else { "wait" };
    let who = warps(group);
    match first.awaited {
        Awaited::Sync => write!(f, "deadlock: {who} {waits} at a `sync` that not all warps reach"),
        Awaited::Named { barrier, threads, arrived } => {
            write!(
                f,
                "deadlock: {who} {waits} at named barrier {barrier}, to which {arrived} of \
                 {threads} threads have come"
            )
        }
        Awaited::Cluster { lacking } => {
            let plural = if lacking == 1 { "warp does" } else { "warps do" };
            write!(
                f,
                "deadlock: {who} {waits} at a `sync` of the cluster, to which {lacking} {plural} \
                 not come"
            )
        }
        Awaited::WarpGroup { group } => {
            write!(
                f,
                "deadlock: {who} {waits} for all four warps of warpgroup {group} to come to its \
                 `wgmma`"
            )
        }
        Awaited::Registers { count, held, free } => write!(
            f,
            "deadlock: {who} {waits} for registers that no other warp releases: {count} a thread, \
             of which it has {held}, \
             and {free} are free"
        ),
        Awaited::Barrier { address, phase, of, arrivals, bytes } => write!(
            f,
            "deadlock: {who} {waits} for {}, and nothing ends its phase {phase}: {}",
            names.barrier(address),
            phase_lacks(of, arrivals, bytes)
        ),
    }
}

/// Whether the warps wait for each other from the start. They wait for the first phases of several
/// mbarriers, but for warps that have come to a `sync`. None of these has had an arrival, bytes of
/// a copy, or a wait that ended.
pub(super) fn wait_in_circle(waiting: &[WaitingWarp], barriers: &[BarrierState]) -> bool {
    let is_first = |of: &WaitingWarp| {
        matches!(
            of.awaited,
            Awaited::Barrier { phase: 0, bytes: 0, .. } | Awaited::Sync | Awaited::Cluster { .. }
        )
    };
    barriers.len() > 1
        && waiting.iter().all(is_first)
        && barriers.iter().all(|barrier| barrier.arrivals.is_empty() && !barrier.had_wait)
}
