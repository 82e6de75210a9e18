//! All misuses that the simulator reports.

use super::cause::{Actor, PhaseUse};
use super::names::Namer;
use crate::engine::warps::divergence::WaitingLanes;
use crate::fragment::{SwizzleBits, TileSize};
use crate::lane::{AccessKind, Grid};
use crate::target::{Arch, Needs};
use core::ops::RangeInclusive;
use core::panic::Location;
use std::boxed::Box;
use std::fmt;
use std::num::NonZero;
use std::string::String;
use std::vec::Vec;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as passed to the compiler.
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

/// A place in memory.
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
        f.write_str(&self.named(Namer::NONE))
    }
}

impl Memory {
    /// Its name.
    pub(super) fn named(&self, names: Namer) -> String {
        match self {
            Memory::Shared { address } => names.at(*address),
            Memory::Global { name, index } => std::format!("element {index} of `{name}`"),
        }
    }
}

/// The author of the other access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Another lane of the same warp.
    LaneOfWarp(usize),
    /// All lanes of the same warp, in one instruction such as `stmatrix`.
    SameWarp,
    /// Another warp of the same block.
    WarpOfBlock(usize),
    /// A warp of another block of the cluster.
    WarpOfPeer {
        /// The block.
        block: Grid,
        /// The warp in it.
        warp: usize,
    },
    /// Another block.
    OtherBlock(Grid),
    /// An asynchronous copy.
    Asynchronous,
    /// A `wgmma` of a warpgroup.
    WarpGroup,
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agent::LaneOfWarp(lane) => write!(f, "lane {lane} of the same warp"),
            Agent::SameWarp => write!(f, "all lanes of the same warp"),
            Agent::WarpOfBlock(warp) => write!(f, "warp {warp}"),
            Agent::WarpOfPeer { block, warp } => write!(f, "warp {warp} of block {block}"),
            Agent::Asynchronous => f.write_str("an asynchronous copy"),
            Agent::WarpGroup => f.write_str("a `wgmma` in flight"),
            Agent::OtherBlock(block) => write!(f, "block {block}"),
        }
    }
}

/// The part of a tensor that no box covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uncovered {
    /// The dimension; 0 is the innermost.
    pub dimension: usize,
    /// The end of the covered part: a coordinate along the dimension, in elements.
    pub end: i64,
}

/// The commit group of a `cp.async` in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyGroup {
    /// It is not committed.
    Uncommitted,
    /// It is committed.
    Committed {
        /// The groups that its lane has committed since.
        newer: usize,
    },
}

/// A warp that waits for an event that does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWarp {
    /// The warp.
    pub warp: usize,
    /// Its block, if the cluster has several.
    pub block: Option<Grid>,
    /// The source line of the wait.
    pub place: Place,
    /// The awaited event.
    pub awaited: Awaited,
}

/// The arrivals at an mbarrier with a wait without end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierState {
    /// Its address.
    pub address: u32,
    /// The initialisation.
    pub made: Option<Actor>,
    /// The last arrival of each warp.
    pub arrivals: Vec<PhaseUse>,
    /// The last `hold_until_copied`. It counts as no arrival: its phase needs one more.
    pub held: Option<Actor>,
    /// Whether a wait for it has ended.
    pub had_wait: bool,
}

/// A warp that has ended while others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedWarp {
    /// The warp.
    pub warp: usize,
    /// Its block, if the cluster has several.
    pub block: Option<Grid>,
}

/// The event that a warp waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// All warps of the block reach a `sync`.
    Sync,
    /// `threads` threads of the block reach a named barrier.
    Named {
        /// The barrier's number.
        barrier: u32,
        /// The barrier's number of threads.
        threads: u32,
        /// The threads that have come.
        arrived: u32,
    },
    /// All warps of the cluster that are still running reach the cluster's barrier.
    Cluster {
        /// Number of warps that are missing.
        lacking: usize,
    },
    /// All four warps of a warpgroup execute a `wgmma`.
    WarpGroup {
        /// The warpgroup.
        group: usize,
    },
    /// Registers become free for each thread of the warp.
    Registers {
        /// Number of registers requested for each thread.
        count: u32,
        /// Number of registers that each thread has.
        held: u32,
        /// Number of free registers.
        free: u32,
    },
    /// A phase of an mbarrier ends.
    Barrier {
        /// The barrier's address.
        address: u32,
        /// The current phase, counted from 0.
        phase: u32,
        /// The arrivals that it needs.
        of: u32,
        /// The arrivals that are missing.
        arrivals: u32,
        /// The bytes that are missing; negative if more have landed than expected.
        bytes: i64,
    },
}

/// A wrong use of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierMisuse {
    /// It is not initialised.
    Uninitialised,
    /// A copy signals it, and no fence follows its initialisation.
    Unfenced,
    /// It is initialised while it is live.
    InitialisedAgain,
    /// A wait for it has the state of an arrival at another mbarrier.
    ArrivalOfAnother {
        /// The address of the other one; its own address if it was ended and initialised again.
        address: u32,
    },
    /// The count is not valid for any mbarrier.
    Count {
        /// The count.
        count: u32,
    },
    /// More arrivals come in a phase than its count.
    TooManyArrivals {
        /// The count of the phase.
        of: u32,
    },
    /// A phase expects more bytes than an mbarrier can count.
    TooManyBytes {
        /// The bytes.
        bytes: i64,
    },
    /// More bytes have landed than the phase expects.
    UnexpectedBytes {
        /// The number of extra bytes.
        bytes: i64,
    },
    /// Nothing orders a wait, expected bytes or a copy after the end of the phase before its own.
    /// In another schedule it belongs to that phase.
    MayBeEarly,
    /// No arrival of the phase is ordered after a `hold_until_copied`. So the phase may be over
    /// before.
    HeldLate,
    /// Bytes are expected, and no operation that the phase needs is ordered after that. So the
    /// phase may be over before.
    ExpectedLate {
        /// The bytes.
        bytes: u32,
    },
    /// A wait for a phase when later phases are over too. A GPU only knows the parity of the phase,
    /// so it might wait forever.
    PhaseMissed {
        /// Number of later phases that are over.
        behind: u32,
    },
    /// A wait for a phase that is still in the future. A GPU only knows the parity of the phase. So
    /// it might confuse it with the one before the current, and not wait.
    PhaseAhead {
        /// The distance from the current phase.
        ahead: u32,
    },
}

/// A wrong use of a cluster's barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterMisuse {
    /// A lane arrives again without a wait in between.
    ArrivedAgain,
    /// A lane waits without an arrival.
    NotArrived,
}

/// An operation of a kernel that fails, or has no defined result, on a GPU.
#[derive(Debug, Clone, PartialEq)]
pub enum Misuse {
    /// An element beyond the end of a slice in global memory.
    GlobalOutOfBounds {
        /// The access.
        access: AccessKind,
        /// The kernel's parameter.
        name: &'static str,
        /// The index of the element.
        index: usize,
        /// Number of elements.
        len: usize,
    },
    /// A matrix that does not fit into its slice.
    MatrixOutOfBounds {
        /// The kernel's parameter.
        name: &'static str,
        /// Rows and columns of the matrix.
        size: TileSize,
        /// The row or column stride, in elements.
        stride: usize,
        /// Number of elements of the slice.
        len: usize,
    },
    /// A stride too large for the 32-bit offsets within a tile.
    StrideTooLarge {
        /// The kernel's parameter.
        name: &'static str,
        /// The row or column stride, in elements.
        stride: usize,
        /// The largest valid stride.
        limit: usize,
    },
    /// A coordinate beyond a tile, or beyond a matrix in global memory.
    TileOutOfBounds {
        /// The start of the tile, or of the matrix's slice.
        memory: Memory,
        /// The coordinate: the first row and column.
        at: (usize, usize),
        /// Rows and columns of the accessed part.
        size: TileSize,
        /// Rows and columns of the tile.
        tile: TileSize,
    },
    /// A coordinate that is not the start of a matrix row.
    TileMisaligned {
        /// The tile's address.
        address: u32,
        /// The coordinate: the first row and column.
        at: (usize, usize),
        /// The row and the column must be multiples of these.
        step: TileSize,
    },
    /// An index beyond a ring of tiles or barriers.
    RingOutOfBounds {
        /// The ring's address.
        address: u32,
        /// The index.
        index: usize,
        /// Number of members of the ring.
        len: usize,
    },
    /// A raw row address that is not a multiple of 16.
    RowMisaligned {
        /// The address.
        address: u32,
    },
    /// A raw address outside of the block's shared memory.
    SharedOutOfBounds {
        /// The access.
        access: AccessKind,
        /// The address.
        address: u32,
        /// Bytes accessed.
        bytes: usize,
        /// Bytes of the block's shared memory.
        size: usize,
    },
    /// A read of unwritten shared memory.
    SharedUnwritten {
        /// The first unwritten byte.
        address: u32,
        /// Number of unwritten bytes of the read.
        bytes: usize,
    },
    /// A read of an unwritten element of global memory: see
    /// [`mark_unwritten`](crate::engine::mark_unwritten).
    GlobalUnwritten {
        /// The kernel's parameter.
        name: &'static str,
        /// The element, or the first that was read.
        index: usize,
    },
    /// A race: two threads access the same memory without an order, and one of them writes.
    Race {
        /// `Read`, `Write` or `Reduction`: this access.
        access: AccessKind,
        /// What is accessed.
        memory: Memory,
        /// `Read`, `Write` or `Reduction`: the other access.
        other_access: AccessKind,
        /// The other access's line.
        other_place: Place,
        /// The author of the other access.
        other: Agent,
        /// Whether the read value depends on the simulator's order of lanes within a closure.
        ///
        /// On a GPU the lanes run in lockstep, or in any order. True for a value that another lane
        /// wrote earlier in the same closure. True also for a value that another lane writes
        /// later, if it had written it earlier in lockstep.
        same_closure: bool,
        /// The line of the last `sync` of the block before both accesses, if it is between their
        /// lines: the access above it belongs to a later round of a loop.
        synced: Option<NonZero<u32>>,
    },
    /// Bytes of a live mbarrier are accessed by an instruction that is not one of its own.
    BarrierMemory {
        /// The access.
        access: AccessKind,
        /// The first such byte.
        address: u32,
        /// The line that initialised the mbarrier.
        place: Place,
    },
    /// A lane's stack exceeds the local memory of a GPU thread.
    LocalMemory {
        /// Bytes on the stack.
        bytes: usize,
    },
    /// Shared memory is accessed while an asynchronous copy to it is in flight.
    CopyInFlight {
        /// The access. `Copy` is a second copy.
        access: AccessKind,
        /// The first such byte.
        address: u32,
        /// The line that started the copy.
        place: Place,
        /// The warp that started it.
        warp: usize,
        /// Its block, if the cluster has several.
        block: Option<Grid>,
        /// Its group, if it is a `cp.async` that no mbarrier waits for.
        group: Option<CopyGroup>,
    },
    /// An access to global memory at an address that is not a multiple of its size.
    GlobalMisaligned {
        /// `Copy`, `Reduction`, or `Read` or `Write` of a vector.
        access: AccessKind,
        /// The kernel's parameter.
        name: &'static str,
        /// The first element.
        index: usize,
        /// Bytes accessed.
        bytes: usize,
    },
    /// A bulk copy from or to an element that does not start at a multiple of 16 bytes.
    BulkMisaligned {
        /// The kernel's parameter.
        name: &'static str,
        /// The first element.
        index: usize,
        /// Bytes from the previous multiple of 16 to the element.
        beyond: usize,
    },
    /// Boxes of a tensor map lie completely outside the tensor, and the other boxes do not cover
    /// the tensor.
    BoxOutside {
        /// Whether they are loaded; otherwise they are stored.
        loads: bool,
        /// The coordinates of an outside box, innermost dimension first.
        coordinates: Vec<i64>,
        /// The sizes of the box.
        size: Vec<u32>,
        /// The sizes of the tensor.
        tensor: Vec<u64>,
        /// The part of the tensor that inside boxes do not cover. `None` if all boxes lie outside.
        uncovered: Option<Uncovered>,
    },
    /// Warps wait for events that do not happen.
    Deadlock {
        /// The waiting warps.
        waiting: Vec<WaitingWarp>,
        /// The warps that have ended.
        ended: Vec<EndedWarp>,
        /// The mbarriers that they wait for.
        barriers: Vec<BarrierState>,
    },
    /// A phase of an mbarrier ends, and a warp's wait for the phase before is not ordered before
    /// that. In another schedule the wait comes too late. A GPU tells only odd phases from even
    /// ones, so it might wait forever.
    PhaseMayEnd {
        /// The barrier's address.
        address: u32,
        /// The wait.
        wait: Actor,
    },
    /// Shared memory is written while a bulk copy from it may still read it.
    CopySourceInFlight {
        /// The first such byte.
        address: u32,
        /// The line that started the copy.
        place: Place,
        /// The warp that started it.
        warp: usize,
        /// Its block, if the cluster has several.
        block: Option<Grid>,
        /// Whether the copy signals an mbarrier. Otherwise it belongs to a bulk group.
        is_sent: bool,
    },
    /// An mbarrier is invalidated while a copy that signals it is in flight.
    BarrierInFlight {
        /// The mbarrier's address.
        address: u32,
        /// The line that started the copy. For `cp.async`: the line of the arrival that waits for
        /// it.
        place: Place,
        /// The warp that started it.
        warp: usize,
        /// Its block, if the cluster has several.
        block: Option<Grid>,
    },
    /// Global memory is accessed while a bulk copy to it is in flight.
    StoreInFlight {
        /// `Read`, `Write` or `Reduction`.
        access: AccessKind,
        /// The kernel's parameter.
        name: &'static str,
        /// The element.
        index: usize,
        /// The line that started the copy.
        place: Place,
        /// Whether the lane has waited until the copy has read shared memory, and no longer.
        has_read: bool,
    },
    /// A bulk copy accesses memory that ordinary stores wrote, without a proxy fence in between.
    ProxyFence {
        /// The first such byte or element.
        memory: Memory,
        /// The line of the store.
        place: Place,
        /// Whether the fence must follow a wait: the store was asynchronous, or another block's.
        after_wait: bool,
    },
    /// The size of a bulk copy is not a multiple of 16.
    BulkSize {
        /// The size in bytes.
        bytes: u32,
    },
    /// The element width of a reduction differs from that of the slice.
    ReductionWidth {
        /// The kernel's parameter.
        name: &'static str,
        /// Bytes of an element of the slice.
        element: usize,
        /// Bytes of an element of the reduction.
        bytes: usize,
    },
    /// An atomic operation with a result, or an ordered load or store, of memory that is not a
    /// [`GlobalAtomic`](crate::memory::GlobalAtomic).
    NotAtomic {
        /// The kernel's parameter.
        name: &'static str,
        /// The instruction.
        form: &'static str,
    },
    /// The operand for a tensor map is not one.
    NoTensorMap,
    /// The rank of a tensor instruction differs from that of its map.
    TensorRank {
        /// Rank of the map.
        map: usize,
        /// Rank of the instruction.
        instruction: usize,
    },
    /// An im2col instruction has a tiled tensor map, or a tiled instruction has an im2col map.
    TensorMode {
        /// Whether the instruction is in im2col mode.
        im2col: bool,
    },
    /// An im2col offset that does not fit its bits.
    Im2colOffset {
        /// The dimension.
        dimension: usize,
        /// The offset.
        offset: u16,
        /// The exclusive upper limit.
        limit: u32,
    },
    /// An im2col copy whose first pixel is outside the bounding box.
    OutOfBoundingBox {
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        coordinate: i64,
        /// The first coordinate of the bounding box.
        first: i64,
        /// The last coordinate of the bounding box.
        last: i64,
    },
    /// A box whose start along dimension 0 is not a multiple of 16 bytes.
    BoxStart {
        /// The start in bytes.
        bytes: i64,
    },
    /// A tensor store to a box that starts at a negative coordinate.
    BoxBefore {
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        coordinate: i64,
    },
    /// A reduction that the tensor's element type does not have.
    TensorReduction,
    /// The block ends while a bulk copy uses its shared memory.
    BulkUnfinished,
    /// A wrong use of an mbarrier.
    Barrier {
        /// Its address.
        address: u32,
        /// The kind of misuse.
        misuse: BarrierMisuse,
    },
    /// A wrong use of the cluster's barrier.
    ClusterBarrier {
        /// The kind of misuse.
        misuse: ClusterMisuse,
    },
    /// A rank that the cluster does not have.
    ClusterRank {
        /// The rank.
        rank: usize,
        /// Number of blocks of the cluster.
        blocks: usize,
    },
    /// A multicast mask that is empty, or that names blocks outside the cluster.
    BlockMask {
        /// The mask.
        mask: u16,
        /// Number of blocks of the cluster.
        blocks: usize,
    },
    /// An access to shared memory of another block of the cluster that may not run yet.
    PeerNotStarted {
        /// `Read`, `Write`, `Arrival` or `Copy`.
        access: AccessKind,
        /// The other block.
        block: Grid,
    },
    /// An access to shared memory of another block of the cluster that may have ended.
    PeerEnded {
        /// `Read`, `Write`, `Arrival` or `Copy`.
        access: AccessKind,
        /// The other block.
        block: Grid,
    },
    /// A copy to shared memory of one block that signals a barrier of another block.
    BarrierOfAnother {
        /// The rank of the destination.
        to: usize,
        /// The rank of the barrier's block.
        barrier: usize,
    },
    /// A raw shared address that is not aligned to the size of the access.
    SharedMisaligned {
        /// The access.
        access: AccessKind,
        /// The address.
        address: u32,
        /// Bytes accessed.
        bytes: usize,
    },
    /// A raw access to global memory that is in no slice of the kernel.
    OutsideOfSlices {
        /// `Copy`, `Reduction` or `Atomic`.
        access: AccessKind,
        /// Bytes accessed.
        bytes: usize,
    },
    /// A raw copy with a source longer than the copy.
    CopyTooLong {
        /// Bytes of the source.
        some: usize,
        /// Bytes of the copy.
        bytes: usize,
    },
    /// A raw function of one lane is called outside of a lane closure.
    RawAtWarpScope {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// Some lanes of a warp reach a raw collective that the other lanes do not reach, or the lanes
    /// reach different ones.
    Divergence {
        /// The waiting lanes.
        waiting: Vec<WaitingLanes>,
        /// The lanes that have ended the lane closure.
        ended: Vec<usize>,
    },
    /// An `mma` uses registers that another `mma` returned, as a matrix with a different layout.
    WrongOperand {
        /// The role in which they are used: `A`, `B` or `C`.
        role: char,
        /// The element type of that role.
        element: &'static str,
        /// The element type of the accumulator that returned them.
        result: &'static str,
        /// The line of the `mma` that returned them.
        place: Place,
    },
    /// An invalid code in the metadata of a sparse `mma` or `wgmma`. It does not name two parts of
    /// a chunk, or names them out of order with `::ordered_metadata`.
    Metadata {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The code: four bits.
        code: u8,
        /// The row of A.
        row: usize,
        /// The columns of the chunk.
        cols: RangeInclusive<usize>,
        /// The reason why it is invalid.
        why: &'static str,
    },
    /// The simulator's [GPU](crate::sim::Simulator::gpu) lacks the instruction.
    Absent {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The GPU.
        gpu: Arch,
        /// The GPUs that have it.
        needs: Needs,
    },
    /// The lanes of a warp execute a sparse `mma` with different selectors, which are immediates of
    /// the instruction.
    SelectorsDiffer {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The first lane's selector.
        first: u32,
        /// A different one of another lane.
        other: u32,
    },
    /// The swizzle of a `wgmma` operand differs from that of the tensor copy that wrote it.
    WrongSwizzle {
        /// The instruction, as in PTX.
        form: &'static str,
        /// `A` or `B`.
        operand: char,
        /// The swizzle of the descriptor: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
        read: u32,
        /// The swizzle of the copy, with the same codes.
        written: u32,
        /// The line that started the copy.
        place: Place,
    },
    /// A tile is read with another swizzle than that of the tensor copy that wrote it.
    WrongTileSwizzle {
        /// The address of the element.
        address: u32,
        /// The swizzle of the tile.
        read: SwizzleBits,
        /// The swizzle of the copy: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
        written: u32,
        /// The line that started the copy.
        place: Place,
    },
    /// A tensor copy reads a tile with another swizzle than that of the tile by which it was
    /// written.
    WrongStoredSwizzle {
        /// The address of the element.
        address: u32,
        /// The swizzle of the tile.
        written: SwizzleBits,
        /// The swizzle of the copy: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
        read: u32,
        /// The line of the store.
        place: Place,
    },
    /// An invalid matrix descriptor of a `wgmma`.
    MatrixDescriptor {
        /// The instruction, as in PTX.
        form: &'static str,
        /// `A` or `B`.
        operand: char,
        /// The reason why it is invalid.
        why: &'static str,
    },
    /// A `wgmma` uses registers without a fence since the last wait. They are A's, and changed, or
    /// not the result of a `wgmma` of the same shape.
    WgmmaUnfenced {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// Registers of a `wgmma` in flight are used.
    AccumulatorInFlight {
        /// `Read` or `Write`.
        access: AccessKind,
        /// The line of the `wgmma`.
        place: Place,
    },
    /// The warps of a warpgroup execute different `wgmma`s.
    WarpGroupDiverges {
        /// The `wgmma` of one warp, as in PTX.
        form: &'static str,
        /// Its line.
        place: Place,
        /// A warp that does not execute it.
        warp: usize,
        /// The line of that warp's `wgmma`, if it executes one.
        other: Option<Place>,
    },
    /// The lanes of a warp execute an instruction with different operands that must be equal.
    OperandsDiffer {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// A `setmaxnreg.dec` that would raise the number of registers, or an `.inc` that would lower
    /// it.
    RegisterCount {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The requested registers of each thread.
        count: u32,
        /// The registers that each thread has.
        held: u32,
    },
    /// The warps of a warpgroup do not execute the same `setmaxnreg`.
    RegistersDiverge {
        /// The `setmaxnreg` of one warp, as in PTX.
        form: &'static str,
        /// A warp that does not execute it.
        warp: usize,
        /// The line of that warp's `setmaxnreg`, if it executes one.
        other: Option<Place>,
    },
    /// A warp executes a `setmaxnreg` without synchronisation with the previous one of another warp
    /// of its warpgroup.
    RegistersUnsynced {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The other warp.
        warp: usize,
    },
    /// The block ends without a wait for a `wgmma`.
    WgmmaUnfinished,
    /// A matrix to be compressed has too many nonzero parts in a chunk: more than half.
    NotSparse {
        /// The row.
        row: usize,
        /// The columns of the chunk.
        cols: RangeInclusive<usize>,
        /// The nonzero parts of the chunk, as a bit mask.
        parts: usize,
    },
    /// A lane waits for a value of an atomic element, and no block changes one any more.
    AtomicPolling {
        /// The kernel's parameter.
        name: &'static str,
        /// The element.
        index: usize,
    },
    /// Warps only do atomic operations, without end.
    EndlessAtomics {
        /// The number of operations after which that counts as endless.
        operations: u64,
    },
    /// A lane polls: it reads the same value again and again, as if another lane would write it.
    Polling {
        /// The memory that it reads.
        memory: Memory,
    },
    /// A lane polls a phase of an mbarrier that no event can end.
    PollingBarrier {
        /// The barrier, and the missing parts of its phase.
        awaited: Awaited,
        /// The arrivals at the barrier.
        barrier: Box<BarrierState>,
    },
    /// A named barrier with a wrong number or a wrong number of threads.
    ///
    /// Its number is from 1 to 15; number 0 is the barrier of `sync`. Its threads are a positive
    /// multiple of 32, and the same for all its warps.
    NamedBarrier {
        /// The barrier's number.
        barrier: u32,
        /// The number of threads, as this warp gives it.
        threads: u32,
        /// The number of threads for which other warps wait there.
        others: Option<u32>,
    },
    /// A warp comes to a named barrier that other warps have completed, and nothing orders it after
    /// them. A barrier counts threads, whichever they are: on a GPU the warp may come first, and
    /// complete the barrier in place of one of these warps.
    NamedBarrierShared {
        /// The barrier's number.
        barrier: u32,
        /// The other warps that have completed it.
        warps: Vec<usize>,
        /// The line at which one of them came to it.
        place: Place,
    },
    /// A warp comes to a named barrier again before the barrier is complete. It has not waited
    /// there: it arrived, and counts twice.
    NamedBarrierTwice {
        /// The barrier's number.
        barrier: u32,
        /// The line of its first arrival.
        place: Place,
    },
    /// The kernel executed `trap`.
    Trap,
    /// The kernel panicked: an assertion, an index, an overflow.
    Panic {
        /// The panic's message.
        message: String,
    },
    /// A warp accesses memory without end and reaches no `sync`: see
    /// [`Simulator::patience`](crate::sim::Simulator::patience).
    Endless {
        /// Accesses of its lanes in this turn.
        accesses: u64,
    },
    /// The launch itself is invalid; no kernel ran.
    Launch {
        /// The reason.
        message: String,
    },
}
