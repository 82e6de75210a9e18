//! What the misuses are called in reports, and how each is mended.

use super::error::Finding;
use super::misuse::{Agent, Awaited, BarrierMisuse, ClusterMisuse, Memory, Misuse, WaitingWarp};
use crate::Grid;
use crate::sim::warps::divergence::{WaitingLanes, lanes};
use std::fmt;
use std::string::String;
use std::vec::Vec;

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
            Misuse::StrideTooLarge { name, stride, limit } => {
                write!(f, "a matrix in `{name}` whose lines lie {stride} elements apart, and not at most {limit}")
            }
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
                crate::sim::SHARED_BASE
            ),
            Misuse::SharedUnwritten { address, bytes } => {
                write!(f, "read of shared memory that nothing wrote: {bytes} bytes at shared address {address:#x}")
            }
            Misuse::GlobalUnwritten { name, index } => {
                write!(f, "read of global memory that nothing wrote: element {index} of `{name}`")
            }
            Misuse::Race { access: "write", memory, other, same_closure: true, .. } => write!(
                f,
                "race: write of {memory}, which {other} read before in the same lane closure, and in step reads behind it"
            ),
            Misuse::Race { access, memory, other, same_closure: true, .. } => {
                write!(f, "race: {access} of {memory}, which {other} wrote in the same lane closure")
            }
            Misuse::BarrierMemory { access, address, .. } => write!(
                f,
                "{access} of shared address {address:#x}, which is part of the mbarrier at {:#x}",
                address / 8 * 8
            ),
            Misuse::LocalMemory { bytes } => {
                write!(f, "a lane has {} KiB on its stack, and a thread of a GPU at most 512 KiB", bytes / 1024)
            }
            Misuse::Race { access, memory, other_access, other, .. } => {
                write!(f, "race: {access} of {memory}, with a {other_access} by {other} and nothing to order them")
            }
            Misuse::CopyInFlight { access, address, warp, block, .. } => write!(
                f,
                "{access} of shared address {address:#x} while a copy to it, started by warp {warp}{}, is in flight",
                of(*block)
            ),
            Misuse::CopyMisaligned { name, index, bytes } => {
                write!(f, "misaligned: a copy of {bytes} bytes from element {index} of `{name}`")
            }
            Misuse::Deadlock { waiting, .. } => {
                let waits = if waiting.len() == 1 { "waits" } else { "wait" };
                let only_sync = waiting.iter().all(|waiting| waiting.awaited == Awaited::Sync);
                let what = if only_sync { "at a `sync` that not all warps reach" } else { "for what does not happen" };
                let waiting = waiting.iter().map(|waiting| (waiting.block, waiting.warp));
                write!(f, "deadlock: {} {waits} {what}", warps(waiting))
            }
            Misuse::CopySourceInFlight { address, warp, block, .. } => write!(
                f,
                "write of shared address {address:#x} while a copy from it, started by warp {warp}{}, is in flight",
                of(*block)
            ),
            Misuse::StoreInFlight { access, name, index, .. } => {
                write!(f, "{access} of element {index} of `{name}` while a copy to it is in flight")
            }
            Misuse::ProxyFence { memory, .. } => {
                write!(f, "no proxy fence between a store to {memory} and a bulk copy or `wgmma`")
            }
            Misuse::BulkSize { bytes } => write!(f, "a bulk copy of {bytes} bytes"),
            Misuse::ReductionWidth { name, element, bytes } => {
                write!(f, "a reduction of elements of {bytes} bytes in `{name}`, whose elements have {element}")
            }
            Misuse::NoTensorMap => f.write_str("what is to be a tensor map is none"),
            Misuse::TensorRank { map, instruction } => {
                write!(f, "an instruction for tensors of {instruction} dimensions, and a tensor map of {map}")
            }
            Misuse::TensorMode { im2col: true } => {
                f.write_str("an instruction for im2col mode, and a tensor map of boxes")
            }
            Misuse::TensorMode { im2col: false } => {
                f.write_str("an instruction for boxes, and a tensor map of im2col mode")
            }
            Misuse::Im2colOffset { dimension, offset, .. } => {
                write!(f, "an im2col copy whose pixels are moved by {offset} along dimension {dimension}")
            }
            Misuse::OutOfBoundingBox { dimension, coordinate, .. } => write!(
                f,
                "an im2col copy that starts at coordinate {coordinate} along dimension {dimension}, out of the bounding box"
            ),
            Misuse::BoxStart { bytes } => {
                write!(f, "a copy of a box that starts {bytes} bytes along dimension 0 of its tensor")
            }
            Misuse::BoxBefore { dimension, coordinate } => {
                write!(f, "a copy to a box that starts at coordinate {coordinate} along dimension {dimension}")
            }
            Misuse::TensorReduction => f.write_str("a reduction of a tensor whose elements have none"),
            Misuse::BulkUnfinished => {
                f.write_str("the block ends while a copy to or from its shared memory is in flight")
            }
            Misuse::ClusterBarrier { misuse: ClusterMisuse::ArrivedAgain } => {
                f.write_str("a lane arrives at the barrier of the cluster again, and has not waited since it did")
            }
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
                write!(f, "{access} in shared memory of block {block}, of which nothing says that it runs yet")
            }
            Misuse::PeerEnded { access, block } => {
                write!(f, "{access} in shared memory of block {block}, which may have ended before")
            }
            Misuse::BarrierOfAnother { to, barrier } => {
                write!(f, "a copy to the block of rank {to} that is to tell a barrier of the block of rank {barrier}")
            }
            Misuse::Barrier { address, misuse } => {
                write!(f, "the mbarrier at shared address {address:#x} {}", barrier(*misuse))
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
            Misuse::Endless { accesses } => {
                write!(
                    f,
                    "endless: a warp has made {accesses} accesses and come to no `sync`: does it wait for what does not happen?"
                )
            }
            Misuse::Metadata { form, code, row, cols: (first, last), why } => {
                write!(f, "metadata: {code:#06b} for row {row}, columns {first} to {last} of A, in `{form}`: {why}")
            }
            Misuse::SelectorsDiffer { form, selectors: (one, other) } => {
                write!(
                    f,
                    "divergence: the lanes of a warp come to `{form}` with different selectors, {one} and {other}"
                )
            }
            Misuse::MatrixDescriptor { form, operand, why } => {
                write!(f, "what is to be the descriptor of {operand} in `{form}` is none: {why}")
            }
            Misuse::WgmmaUnfenced { form } => {
                write!(f, "no `wgmma.fence` between what was done to registers and `{form}`, which takes them")
            }
            Misuse::AccumulatorInFlight { access, .. } => {
                write!(f, "{access} of registers of an accumulator while a `wgmma` has them in flight")
            }
            Misuse::WarpGroupDiverges { form, warp, .. } => {
                write!(f, "divergence: warp {warp} does not come to `{form}` with its warpgroup")
            }
            Misuse::OperandsDiffer { form } => {
                write!(f, "divergence: the lanes of a warp come to `{form}` with different operands")
            }
            Misuse::RegisterCount { form, count, held } => {
                write!(f, "`{form}` is for {count} registers, and each thread has {held}")
            }
            Misuse::RegistersDiverge { form, warp, .. } => {
                write!(f, "divergence: warp {warp} does not come to this `{form}` with its warpgroup")
            }
            Misuse::RegistersUnsynced { form, warp } => {
                write!(f, "`{form}`, and nothing says that warp {warp} of the warpgroup has come to the one before")
            }
            Misuse::WgmmaUnfinished => f.write_str("the block ends while a `wgmma` is in flight"),
            Misuse::NotSparse { row, cols: (first, last), parts } => {
                let parts = parts.count_ones();
                write!(f, "not sparse: row {row}, columns {first} to {last}: of the four parts, {parts} are not zero")
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
            Misuse::StrideTooLarge { .. } => "distances within a tile are counted in 32 bits: take tiles of fewer lines".into(),
            Misuse::TileMisaligned { step, .. } => {
                std::format!("a matrix row has 16 bytes: the coordinate must be a multiple of {step:?}")
            }
            Misuse::RowMisaligned { .. } => "`ldmatrix` and `stmatrix` take addresses that are multiples of 16".into(),
            Misuse::SharedUnwritten { .. } => {
                "write it before, and put a `sync` between where another warp or lane writes it".into()
            }
            Misuse::GlobalUnwritten { .. } => "write it before: on the host, or in an earlier launch".into(),
            Misuse::Race { other: Agent::WarpOfBlock(_), .. } => {
                "put a `sync` of the block between the two; or, where one tells the other by a barrier, a `sync` of the warp before its lane arrives"
                    .into()
            }
            Misuse::Race { other: Agent::WarpOfPeer { .. }, .. } => {
                "put a `sync` of the cluster between the two; or let one tell the other by a barrier: by `arrive` of the peer's, and `wait_for_cluster`"
                    .into()
            }
            Misuse::Race { same_closure: true, .. } => {
                "the lanes of a warp run in step, or in any order: write in one closure, put a `sync` of the warp behind it, and read in the next; or hand the value on by a shuffle"
                    .into()
            }
            Misuse::BarrierMemory { .. } => {
                "only the barrier's own functions touch its eight bytes, until `invalidate` ends it".into()
            }
            Misuse::LocalMemory { .. } => {
                "end the recursion, or take shared or global memory for large arrays".into()
            }
            Misuse::Race { other: Agent::LaneOfWarp(_) | Agent::SameWarp, .. } => {
                "put a `sync` of the warp between the two".into()
            }
            Misuse::Race { other: Agent::OtherBlock(_), .. } => {
                "blocks run in any order: what one writes, no other may touch in the same launch".into()
            }
            Misuse::Race { other: Agent::WarpGroup, .. } => {
                "who writes must know, by a `sync` or a barrier, of the warpgroup's wait for the `wgmma`".into()
            }
            Misuse::ClusterBarrier { misuse: ClusterMisuse::ArrivedAgain } => "wait between the two".into(),
            Misuse::ClusterBarrier { misuse: ClusterMisuse::NotArrived } => "arrive before, once for each wait".into(),
            Misuse::ClusterRank { .. } => "ranks count from 0, and `#[kernel(cluster = ..)]` says how many there are".into(),
            Misuse::BlockMask { .. } => "a bit for each block of the cluster, rank 0 the lowest".into(),
            Misuse::PeerNotStarted { .. } => {
                "put a `sync` of the cluster before: at the kernel's beginning, behind the initialisation of barriers".into()
            }
            Misuse::PeerEnded { .. } => {
                "a block's shared memory is there until it ends: put a `sync` of the cluster behind, or let it wait for what tells it".into()
            }
            Misuse::BarrierOfAnother { .. } => "the barrier lies in the block that the copy goes to".into(),
            Misuse::MatrixDescriptor { .. } => "a `SharedTile` makes descriptors".into(),
            Misuse::WgmmaUnfenced { .. } => "put `wgmma.fence` between the two".into(),
            Misuse::AccumulatorInFlight { .. } | Misuse::WgmmaUnfinished => {
                "commit it, and wait for its group, and take the registers behind that".into()
            }
            Misuse::WarpGroupDiverges { .. } => {
                "all four warps must come to the same, at the same line, with the same matrices in shared memory".into()
            }
            Misuse::RegistersDiverge { .. } => {
                "all four warps of a warpgroup must come to the same, at the same line: take it out of the branch".into()
            }
            Misuse::RegistersUnsynced { .. } => "put a `sync` of the warpgroup between the two".into(),
            Misuse::CopyInFlight { .. } => {
                "wait for the barrier that is told of the copy; if none is, the warp that started it must commit it and wait for its \
                 group, and others put a `sync` after that"
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
            Misuse::Metadata { .. } => {
                "a chunk's code is one of 0b0100, 0b1000, 0b1001, 0b1100, 0b1101 and 0b1110 (`Kept::parts`), of tf32 0b0100 or 0b1110 (`Kept::half`)"
                    .into()
            }
            Misuse::SelectorsDiffer { .. } => "the selector is part of the instruction: give all lanes the same".into(),
            Misuse::NotSparse { cols: (first, last), .. } => {
                std::format!("{}; `Compressed::of` compresses, and checks, on the host", crate::sparse::allowed(last - first + 1))
            }
            Misuse::Endless { .. } => "if it does end, give the simulator more patience".into(),
            Misuse::Polling { .. } => "what another warp or lane writes is seen behind a `sync`: wait there".into(),
            Misuse::Deadlock { waiting, .. }
                if waiting.iter().any(|waiting| matches!(waiting.awaited, Awaited::Barrier { .. })) =>
            {
                "a phase is over when as many have arrived as the barrier was initialised for, and all bytes have come that it expects"
                    .into()
            }
            Misuse::CopySourceInFlight { .. } | Misuse::StoreInFlight { .. } => {
                "the lane that started the copy must commit it and wait for its group; others, behind a `sync` or a barrier after that"
                    .into()
            }
            Misuse::ProxyFence { memory: Memory::Global { .. }, .. } => {
                "put `fence_global_for_bulk` of the warp behind the store, before the `sync` or the barrier that the copy is behind"
                    .into()
            }
            Misuse::ProxyFence { .. } => {
                "put `fence_for_bulk` of the warp behind the store, before the `sync` or the barrier that the copy is behind".into()
            }
            Misuse::BulkSize { .. } => "a multiple of 16".into(),
            Misuse::BoxStart { .. } => "a multiple of 16 bytes: an H200 takes others for illegal instructions".into(),
            Misuse::Im2colOffset { limit, .. } => std::format!("less than {limit}, of a tensor of so many dimensions"),
            Misuse::OutOfBoundingBox { first, last, .. } => std::format!("from {first} to {last}: offsets move pixels out of the box, coordinates do not"),
            Misuse::BoxBefore { .. } => "not below zero: an H200 takes others for illegal instructions, of copies from shared memory".into(),
            Misuse::BulkUnfinished => {
                "wait for the barrier that a copy tells; one to global memory must be committed, and then be waited for by `BulkGroup::wait_read`"
                    .into()
            }
            Misuse::Barrier { misuse, .. } => barrier_help(*misuse).into(),
            Misuse::Deadlock { waiting, .. }
                if waiting.iter().any(|waiting| matches!(waiting.awaited, Awaited::Cluster { .. })) =>
            {
                "every warp of a cluster's blocks that has not ended must come to its barrier equally often".into()
            }
            Misuse::Deadlock { waiting, .. }
                if waiting.iter().any(|waiting| matches!(waiting.awaited, Awaited::Registers { .. })) =>
            {
                "the warps of a block have together no more registers than it began with: others must give some back".into()
            }
            Misuse::Deadlock { waiting, .. }
                if waiting.iter().any(|waiting| waiting.awaited != Awaited::Sync) =>
            {
                "all four warps of a warpgroup must come to its collectives equally often".into()
            }
            Misuse::Deadlock { .. } => "every warp of a block must come to `sync` equally often".into(),
            _ => return None,
        })
    }
}

/// What is wrong with an mbarrier.
fn barrier(misuse: BarrierMisuse) -> String {
    match misuse {
        BarrierMisuse::Uninitialised => "is used, and nothing has initialised it".into(),
        BarrierMisuse::Unfenced => "is to be told by a copy, and no fence lies behind its initialisation".into(),
        BarrierMisuse::InitialisedAgain => "is initialised, and is one already".into(),
        BarrierMisuse::ArrivalOfAnother { address } => {
            std::format!("is waited for with the state of an arrival at another, the one at {address:#x}")
        }
        BarrierMisuse::Count { count } => std::format!("cannot count {count} arrivals"),
        BarrierMisuse::TooManyArrivals { of } => {
            std::format!("is come to more often in a phase than the {of} times it is for")
        }
        BarrierMisuse::TooManyBytes { bytes } => std::format!("cannot wait for {bytes} bytes"),
        BarrierMisuse::UnexpectedBytes { bytes } => {
            std::format!("is told of {bytes} bytes more than its phase expects")
        }
        BarrierMisuse::PhaseMissed { behind } => {
            let phases = if behind == 1 { "phase" } else { "phases" };
            std::format!("is waited for too late: it is {behind} {phases} further")
        }
        BarrierMisuse::PhaseAhead { ahead } => {
            let phases = if ahead == 1 { "phase" } else { "phases" };
            std::format!("is waited for too early: it is {ahead} {phases} short of the one that is to end")
        }
    }
}

/// What would be right.
fn barrier_help(misuse: BarrierMisuse) -> &'static str {
    match misuse {
        BarrierMisuse::Uninitialised => {
            "one thread initialises it, once, and the block waits at a `sync` before others use it"
        }
        BarrierMisuse::Unfenced => "`fence.mbarrier_init` by the thread that initialises it, before the `sync`",
        BarrierMisuse::InitialisedAgain => "initialise it once, or end it by `mbarrier.inval` before",
        BarrierMisuse::ArrivalOfAnother { .. } => "wait at the barrier that was arrived at",
        BarrierMisuse::Count { .. } => "from 1 to 1048575",
        BarrierMisuse::TooManyArrivals { .. } => "whoever has arrived waits for the phase before arriving again",
        BarrierMisuse::TooManyBytes { .. } => "at most 1048575 in a phase",
        BarrierMisuse::UnexpectedBytes { .. } => "expect as many bytes as the copies of the phase bring",
        BarrierMisuse::PhaseMissed { .. } => {
            "a phase must not end before all have waited for the one before: let them arrive at another barrier, and wait for that"
        }
        BarrierMisuse::PhaseAhead { .. } => {
            "wait for each phase in turn: a GPU knows the current one and the one before apart, and no more, so it takes this one for over"
        }
    }
}

/// " of block (1, 0, 0)", if it is said.
fn of(block: Option<Grid>) -> String {
    block.map_or(String::new(), |block| std::format!(" of block {block}"))
}

/// "warp 0" or "warps 0, 2", block by block where there are several.
fn warps(warps: impl Iterator<Item = (Option<Grid>, usize)>) -> String {
    let mut warps: Vec<(Option<Grid>, usize)> = warps.collect();
    warps.dedup();
    let of_block = |warps: &[(Option<Grid>, usize)]| {
        let plural = if warps.len() == 1 { "warp" } else { "warps" };
        let indices: Vec<String> = warps.iter().map(|(_, warp)| std::format!("{warp}")).collect();
        std::format!("{plural} {}{}", indices.join(", "), of(warps[0].0))
    };
    let blocks: Vec<String> = warps.chunk_by(|one, next| one.0 == next.0).map(of_block).collect();
    blocks.join(" and ")
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
        if let Misuse::BarrierMemory { place, .. } = &self.misuse {
            write!(f, "\n   = the mbarrier is initialised at {place}")?;
        }
        if let Misuse::ProxyFence { place, .. } = &self.misuse {
            write!(f, "\n   = the store is at {place}")?;
        }
        if let Misuse::CopyInFlight { place, .. }
        | Misuse::CopySourceInFlight { place, .. }
        | Misuse::StoreInFlight { place, .. } = &self.misuse
        {
            write!(f, "\n   = the copy is started at {place}")?;
        }
        if let Misuse::AccumulatorInFlight { place, .. } | Misuse::WarpGroupDiverges { place, .. } = &self.misuse {
            write!(f, "\n   = the `wgmma` is at {place}")?;
        }
        if let Misuse::WarpGroupDiverges { other: Some(other), .. } = &self.misuse {
            write!(f, "\n   = the warp comes to one at {other}")?;
        }
        if let Misuse::RegistersDiverge { other: Some(other), .. } = &self.misuse {
            write!(f, "\n   = the warp comes to one at {other}")?;
        }
        if let Misuse::Deadlock { waiting, ended } = &self.misuse {
            for WaitingWarp { warp, block, place, awaited } in waiting {
                write!(f, "\n   = warp {warp}{} waits at {place}", of(*block))?;
                if let Awaited::Cluster { lacking } = awaited {
                    write!(f, ", for all warps of the cluster, of which {lacking} lack, to come to its barrier")?;
                }
                if let Awaited::Named { barrier, threads } = awaited {
                    write!(f, ", at barrier {barrier}, which {threads} threads come to")?;
                }
                if let Awaited::WarpGroup { group } = awaited {
                    write!(f, ", for all four warps of warpgroup {group} to come to its `wgmma`s")?;
                }
                if let Awaited::Registers { count, free } = awaited {
                    write!(f, ", for each of its threads to have {count} registers, of which {free} are free")?;
                }
                if let Awaited::Barrier { address, phase, arrivals, bytes } = awaited {
                    write!(
                        f,
                        ", for the mbarrier at {address:#x}, whose phase {phase} lacks {arrivals} arrivals and {bytes} bytes"
                    )?;
                }
            }
            if !ended.is_empty() {
                let have = if ended.len() == 1 { "has" } else { "have" };
                write!(f, "\n   = {} {have} ended", warps(ended.iter().map(|ended| (ended.block, ended.warp))))?;
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
