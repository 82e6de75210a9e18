//! The last line of each report: the help.

use super::barrier_message::barrier_help;
use super::message::wait_in_circle;
use super::misuse::{Agent, Awaited, ClusterMisuse, CopyGroup, Memory, Misuse, Place, WaitingWarp};
use super::names::Namer;
use crate::fragment::TileSize;
use crate::lane::AccessKind;
use std::format;
use std::string::String;

impl Misuse {
    /// The help line of a misuse at `place`: the correct use.
    pub(super) fn help(&self, place: Option<&Place>, names: Namer) -> Option<String> {
        Some(match self {
            Misuse::Race {
                access: AccessKind::Write,
                other_access: AccessKind::Write,
                other_place,
                other: other @ (Agent::WarpOfBlock(_) | Agent::LaneOfWarp(_)),
                ..
            } if Some(other_place) == place => {
                let (authors, scope) = match other {
                    Agent::WarpOfBlock(_) => ("warps", "block"),
                    _ => ("lanes", "warp"),
                };
                format!(
                    "two {authors} write it by one line: check the index, or let one of them \
                     write; if the two belong to different rounds of a loop, put a `sync` of the \
                     {scope} at the end of a round"
                )
            }
            Misuse::GlobalOutOfBounds { .. } => {
                "pass a longer slice, or do not access it in these lanes".into()
            }
            Misuse::MatrixOutOfBounds { .. } => {
                "give a stride of at least a line's length, and a slice that holds the last line"
                    .into()
            }
            Misuse::StrideTooLarge { .. } => {
                "distances within a tile are counted in 32 bits: take tiles of fewer lines".into()
            }
            Misuse::TileOutOfBounds { memory: Memory::Shared { .. }, .. } => {
                "a coordinate is (row, column), counted from (0, 0); all that is accessed from \
                 there on must be in the tile"
                    .into()
            }
            Misuse::TileOutOfBounds { memory: Memory::Global { .. }, .. } => {
                "compare the row and the column with the matrix's before the access".into()
            }
            Misuse::RingOutOfBounds { len, .. } => format!(
                "parts count from 0 and are less than {len}; `PipelineState` counts the stages of \
                 a ring in turn"
            ),
            Misuse::TileMisaligned { step: TileSize { rows, cols }, .. } => format!(
                "the coordinate must be a multiple of ({rows}, {cols}): a matrix row has 16 bytes \
                 (an operand of `wgmma`: 32 bytes along K), and a vector starts at a multiple of \
                 its size"
            ),
            Misuse::RowMisaligned { .. } => {
                "`ldmatrix` and `stmatrix` take addresses that are multiples of 16".into()
            }
            Misuse::SharedUnwritten { .. } => {
                "write it before the read; if another warp, a lane or a copy writes it, wait for \
                 that: at a `sync`, or for the barrier that it signals"
                    .into()
            }
            Misuse::GlobalUnwritten { .. } => {
                "write it before: on the host, or in an earlier launch".into()
            }
            Misuse::Race { other: Agent::WarpOfBlock(_), synced, .. } => {
                let in_loop =
                    if synced.is_some() { ", in a loop also at the end of a round" } else { "" };
                format!(
                    "put a `sync` of the block between the two{in_loop} (of the warpgroup, if only \
                     its warps come there); or, with an mbarrier: after the first, a `sync` of \
                     the warp and its arrival; before the second, the wait"
                )
            }
            Misuse::Race { other: Agent::WarpOfPeer { .. }, .. } => {
                "put a `sync` of the cluster between the two; or let one signal the other by a \
                 barrier: by `arrive` of the peer's, and `wait_for_cluster` (`arrive_having_read` \
                 and `wait` order no writes of another block)"
                    .into()
            }
            Misuse::Race { same_closure: true, .. } => {
                "the lanes of a warp run in step, or in any order: write in one closure, put a \
                 `sync` of the warp after it, and read in the next; or hand the value on by a \
                 shuffle"
                    .into()
            }
            Misuse::BarrierMemory { .. } => {
                "only the barrier's own functions touch its eight bytes, until `invalidate` ends \
                 it"
                .into()
            }
            Misuse::LocalMemory { .. } => {
                "end the recursion, or take shared or global memory for large arrays".into()
            }
            Misuse::Race { other: Agent::LaneOfWarp(_) | Agent::SameWarp, .. } => {
                "put a `sync` of the warp between the two".into()
            }
            Misuse::Race { access, other_access, other: Agent::OtherBlock(_), .. } => {
                let remedy = match (access, other_access) {
                    (AccessKind::Reduction, AccessKind::Reduction) => {
                        "in one launch, all reduce an element by the same operation, since the \
                         result of several depends on their order"
                    }
                    (AccessKind::Reduction, _) | (_, AccessKind::Reduction) => {
                        "read and write what blocks reduce in another launch, or after you have \
                         acquired what each releases by a `GlobalAtomic`"
                    }
                    _ => {
                        "what one writes, no other may touch in the same launch; or a lane of the \
                         first releases a value of a `GlobalAtomic`, after a `sync` with the \
                         lanes that accessed it, and a lane of the other acquires that value and \
                         then comes to a `sync` with those that access it; to add to one element, \
                         all `reduce` it"
                    }
                };
                format!("blocks run in any order: {remedy}")
            }
            Misuse::Race { other: Agent::WarpGroup, .. } => {
                "if the write is to come first, put a `sync` of the block between the two (of the \
                 warpgroup, if only its warps come there), or an mbarrier; if it is to come later, \
                 it must know of the warpgroup's wait for the `wgmma`, by a `sync` or a barrier"
                    .into()
            }
            Misuse::Race { other: Agent::Asynchronous, .. } => {
                "a copy is over for a warp that has waited for the phase that it signals, and for \
                 those whom that warp then tells, by a `sync` or a barrier (between blocks: by \
                 `arrive` and `wait_for_cluster`)"
                    .into()
            }
            Misuse::ClusterBarrier { misuse: ClusterMisuse::ArrivedAgain } => {
                "wait between the two".into()
            }
            Misuse::ClusterBarrier { misuse: ClusterMisuse::NotArrived } => {
                "arrive before, once for each wait".into()
            }
            Misuse::ClusterRank { .. } => {
                "ranks count from 0, and `#[kernel(cluster = ..)]` says how many there are".into()
            }
            Misuse::BlockMask { .. } => {
                "the mask has a bit for each block of the cluster, rank 0 the lowest".into()
            }
            Misuse::PeerNotStarted { .. } => {
                "put a `sync` of the cluster before: at the kernel's beginning, after the \
                 initialisation of barriers"
                    .into()
            }
            Misuse::PeerEnded { .. } => {
                "a block's shared memory ends with it: put a `sync` of the cluster before the \
                 block ends, or let it wait for a barrier that the other signals"
                    .into()
            }
            Misuse::BarrierOfAnother { .. } => {
                "signal a barrier of the block that the copy goes to".into()
            }
            Misuse::WrongSwizzle { .. } => {
                "take the tile that the tensor map is of, and its `matrix_a` or `matrix_b`: the \
                 swizzle of both is the tile's"
                    .into()
            }
            Misuse::WrongTileSwizzle { .. } => {
                "read it by the tile that the tensor map is of: the swizzle of both is the \
                 tile's"
                    .into()
            }
            Misuse::WrongStoredSwizzle { .. } => {
                "write it by the tile that the tensor map is of: the swizzle of both is the tile's"
                    .into()
            }
            Misuse::MatrixDescriptor { .. } => "a `SharedTile` makes descriptors".into(),
            Misuse::NamedBarrier { others: None, .. } => {
                "a named barrier has a number from 1 to 15, and whole warps: a multiple of 32 \
                 threads; number 0 is that of `sync`, and `WarpGroup::sync` has 1 and the \
                 warpgroup's number"
                    .into()
            }
            Misuse::NamedBarrier { others: Some(_), .. } => {
                "give all warps of a barrier the same number of threads, or another barrier".into()
            }
            Misuse::NamedBarrierShared { .. } => {
                "give each group of warps a number of its own (`WarpGroup::sync` has 1 and the \
                 warpgroup's number), or synchronise the groups in between; if all are one group, \
                 count all their threads"
                    .into()
            }
            Misuse::NamedBarrierTwice { .. } => {
                "before the warp comes again, let it wait for something that the barrier's other \
                 warps do after it, such as their arrival at a second barrier"
                    .into()
            }
            Misuse::WgmmaUnfenced { .. } => "put `wgmma.fence` between the two".into(),
            Misuse::AccumulatorInFlight { .. } | Misuse::WgmmaUnfinished => {
                "commit the `wgmma`, wait for its group, and use the registers after that".into()
            }
            Misuse::WarpGroupDiverges { .. } => {
                "all four warps must come to the same `wgmma`, at the same line, with the same \
                 matrices in shared memory"
                    .into()
            }
            Misuse::RegistersDiverge { .. } => {
                "all four warps of a warpgroup must come to the same `setmaxnreg`, at the same \
                 line: take it out of the branch"
                    .into()
            }
            Misuse::RegistersUnsynced { .. } => {
                "put a `sync` of the warpgroup between the two".into()
            }
            Misuse::CopyInFlight { group: Some(CopyGroup::Uncommitted), .. } => {
                "commit the copy and wait for its group (`cp.async.commit_group`, \
                 `cp.async.wait_group`), and let other warps put a `sync` after that; an mbarrier \
                 waits for it after `arrive_when_copied` in the lane that copies, not after \
                 `arrive`"
                    .into()
            }
            Misuse::CopyInFlight {
                access, group: Some(CopyGroup::Committed { newer }), ..
            } => {
                let earlier = match newer {
                    0 => "",
                    _ => " after the last commit, or for fewer before it",
                };
                let is_read = *access == AccessKind::Read;
                let refill = "; if the copy is for a later step, start it after a `sync` that \
                              follows this read";
                let refill = if is_read { refill } else { "" };
                format!(
                    "wait until at most {newer} group{} in flight (`wait::<{newer}>`){earlier}, \
                     and let other warps put a `sync` after that{refill}",
                    if *newer == 1 { " is" } else { "s are" }
                )
            }
            Misuse::CopyInFlight { access: AccessKind::Copy, .. } => {
                "two copies in flight must not fill one place: start them to different parts, \
                 stages or blocks; or wait for the barrier that the first one signals"
                    .into()
            }
            Misuse::CopyInFlight { .. } => "wait for the barrier that the copy signals".into(),
            Misuse::SharedMisaligned { bytes, .. }
            | Misuse::GlobalMisaligned {
                access: AccessKind::Reduction | AccessKind::Read | AccessKind::Write,
                bytes,
                ..
            } => {
                format!("the address must be a multiple of {bytes}")
            }
            Misuse::GlobalMisaligned { bytes, .. } => {
                format!(
                    "the address must be a multiple of {bytes} bytes, and so must the distance \
                     between rows of the matrix; `UnalignedReader` copies other rows"
                )
            }
            Misuse::BulkMisaligned { .. } => {
                "the address and the size of a bulk copy are multiples of 16 bytes".into()
            }
            Misuse::BoxOutside { .. } => {
                "coordinates are in elements, the innermost dimension first, as the tensor's sizes \
                 are: are two of them exchanged? (Where a launch copies all of the tensor, boxes \
                 outside are taken for padding.)"
                    .into()
            }
            Misuse::PollingBarrier { awaited, .. } => awaited_help(*awaited, names),
            Misuse::ReductionWidth { element, .. } => {
                format!("call the function for elements of {element} bytes")
            }
            Misuse::NotAtomic { .. } => {
                "make it a parameter of type `GlobalAtomic`, and call its functions".into()
            }
            Misuse::OutsideOfSlices { .. } => {
                "take the address from `as_ptr` of a slice, in the same launch, and stay within \
                 the slice; only a `GlobalMut` may be written"
                    .into()
            }
            Misuse::CopyTooLong { bytes, .. } => {
                format!("give it at most {bytes}; the rest becomes zero")
            }
            Misuse::RawAtWarpScope { .. } => {
                "a raw function is called by each lane for itself: in a lane closure, \
                 `warp.each(|lane| ..)`"
                    .into()
            }
            Misuse::Divergence { .. } => {
                "all 32 lanes must come to the same collective, at the same line: take it out of \
                 the branch"
                    .into()
            }
            Misuse::WrongOperand { .. } => {
                "convert the elements and move them to the right lanes: by `Fragment::map`, or \
                 through shared memory"
                    .into()
            }
            Misuse::Metadata { .. } => {
                "a chunk's code is one of 0b0100, 0b1000, 0b1001, 0b1100, 0b1101 and 0b1110 \
                 (`Kept::parts`), of tf32 0b0100 or 0b1110 (`Kept::half`)"
                    .into()
            }
            Misuse::Absent { .. } => {
                "leave it out of kernels for this GPU, or give the simulator another: \
                 `Simulator::gpu`"
                    .into()
            }
            Misuse::SelectorsDiffer { .. } => {
                "the selector is part of the instruction: give all lanes the same".into()
            }
            Misuse::OperandsDiffer { .. } => "give all lanes of the warp the same operands".into(),
            Misuse::NotSparse { cols, .. } => {
                format!(
                    "{}; `Compressed::of` compresses, and checks, on the host",
                    crate::engine::findings::allowed(cols.clone().count())
                )
            }
            Misuse::Endless { .. } | Misuse::EndlessAtomics { .. } => {
                "if it does end, give the simulator more patience".into()
            }
            Misuse::AtomicPolling { .. } => {
                "compare the value that it waits for with those that the others store: none is the \
                 one, or the thread that would store it waits, too"
                    .into()
            }
            Misuse::Polling { memory: Memory::Global { .. } } => {
                "what another block writes is seen in another launch, or by a `GlobalAtomic`; \
                 what another warp or lane writes, after a `sync`: wait there"
                    .into()
            }
            Misuse::Polling { .. } => {
                "what another warp or lane writes is seen after a `sync`: wait there".into()
            }
            Misuse::PhaseMayEnd { .. } => {
                "arrive at the barrier of the stage that was read; or first wait for an operation \
                 that the other warp does after its wait"
                    .into()
            }
            Misuse::CopySourceInFlight { is_sent: true, .. } => {
                "wait until a warp that has waited for the phase that the copy signals arrives at \
                 a barrier of this block, and write after that"
                    .into()
            }
            Misuse::StoreInFlight { has_read: true, .. } => {
                "`wait_read` waits until the copy has read shared memory, not until it has written \
                 global memory: use `wait`"
                    .into()
            }
            Misuse::CopySourceInFlight { .. } | Misuse::StoreInFlight { .. } => {
                "the lane that started the copy must commit it and wait for its group; others need \
                 a `sync` or a barrier after that"
                    .into()
            }
            Misuse::BarrierInFlight { .. } => {
                "wait for the phase that the copy signals before `invalidate`".into()
            }
            Misuse::ProxyFence { memory: Memory::Global { .. }, .. } => {
                "put `fence_global_for_bulk` of the warp after the store, before the `sync` or \
                 the barrier that the copy follows"
                    .into()
            }
            Misuse::ProxyFence { after_wait: true, .. } => {
                "put `fence_for_bulk` of the warp after the wait for the store or copy, in the \
                 block that has the tile: an earlier fence, or one of another block, is not for it"
                    .into()
            }
            Misuse::ProxyFence { .. } => {
                "put `fence_for_bulk` of the warp after the store, before the `sync` or the \
                 barrier that the copy follows"
                    .into()
            }
            Misuse::BulkSize { .. } => "the size of a bulk copy is a multiple of 16 bytes".into(),
            Misuse::BoxStart { .. } => {
                "start it at a multiple of 16 bytes: a GPU takes others for illegal \
                 instructions"
                    .into()
            }
            Misuse::Im2colOffset { limit, .. } => {
                format!("an offset of a tensor of so many dimensions is less than {limit}")
            }
            Misuse::OutOfBoundingBox { first, last, .. } => format!(
                "the coordinate is from {first} to {last}: offsets move pixels out of the box, \
                 coordinates do not"
            ),
            Misuse::BoxBefore { .. } => {
                "a store starts at no coordinate below zero: a GPU takes such a store for an \
                 illegal instruction"
                    .into()
            }
            Misuse::BulkUnfinished => {
                "wait for the barrier that a copy signals; commit a copy to global memory, and \
                 wait for it by `BulkGroup::wait_read`"
                    .into()
            }
            Misuse::Barrier { misuse, .. } => barrier_help(*misuse).into(),
            Misuse::Deadlock { waiting, barriers, .. } if wait_in_circle(waiting, barriers) => {
                "the stages are free in the first round: let the warp that fills them wait for \
                 the phase before the first (`PipelineState::prev_phase`)"
                    .into()
            }
            Misuse::Deadlock { waiting, .. } => awaited_help(
                waiting.first().map_or(Awaited::Sync, |WaitingWarp { awaited, .. }| *awaited),
                names,
            ),
            _ => return None,
        })
    }
}

/// The help line of a wait without end.
fn awaited_help(awaited: Awaited, names: Namer) -> String {
    match awaited {
        Awaited::Sync => {
            "every warp of a block must come to `sync` equally often; in a branch for the warps of \
             a warpgroup, take the `sync` of the warpgroup"
                .into()
        }
        Awaited::Named { .. } => {
            "let the missing warps arrive at the named barrier in each phase, 32 threads each; or \
             give it fewer threads"
                .into()
        }
        Awaited::Cluster { .. } => {
            "every warp of a cluster's blocks that has not ended must come to its barrier equally \
             often"
                .into()
        }
        Awaited::Registers { .. } => {
            "registers come from warps that give some, by `give_registers` (`setmaxnreg.dec`): let \
             these give as many as others take"
                .into()
        }
        Awaited::WarpGroup { .. } => {
            "all four warps of a warpgroup must come to its collectives equally often".into()
        }
        Awaited::Barrier { arrivals: 0, bytes: 1.., .. } => {
            "start copies that complete all bytes that the phase expects, or expect fewer".into()
        }
        Awaited::Barrier { address, of, bytes: ..=-1, .. } => format!(
            "let each phase of {} get {of} arrivals, and expect the bytes of its copies by \
             `arrive_expecting`",
            names.barrier(address)
        ),
        Awaited::Barrier { address, of, arrivals, .. } => format!(
            "let each phase of {} get as many arrivals as it is initialised for, which is {of}{}",
            names.barrier(address),
            if arrivals < of { "; or initialise it for fewer" } else { "" }
        ),
    }
}
