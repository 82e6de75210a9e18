//! What can be wrong with a kernel.

use super::cause::Actor;
use super::names::{Namer, RANK_SHIFT};
use crate::engine::warps::divergence::WaitingLanes;
use crate::lane::Grid;
use crate::target::{Arch, Needs};
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
        f.write_str(&self.named(Namer::NONE))
    }
}

impl Memory {
    /// What it is called.
    pub(super) fn named(&self, names: Namer) -> String {
        match self {
            Memory::Shared { address } => names.at(*address),
            Memory::Global { name, index } => std::format!("element {index} of `{name}`"),
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
            Agent::SameWarp => write!(f, "the same warp, all lanes together,"),
            Agent::WarpOfBlock(warp) => write!(f, "warp {warp}"),
            Agent::WarpOfPeer { block, warp } => write!(f, "warp {warp} of block {block}"),
            Agent::Asynchronous => f.write_str("an asynchronous copy"),
            Agent::WarpGroup => f.write_str("a `wgmma` in flight"),
            Agent::OtherBlock(block) => write!(f, "block {block}"),
        }
    }
}

/// A warp that waits for what does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWarp {
    /// The warp.
    pub warp: usize,
    /// Its block, in a cluster of several.
    pub block: Option<Grid>,
    /// Where it waits.
    pub place: Place,
    /// For what.
    pub awaited: Awaited,
}

/// Who has arrived at an mbarrier that is waited for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierState {
    /// Its address.
    pub address: u32,
    /// Who initialised it.
    pub made: Option<Actor>,
    /// Who arrived last of each warp, and in which phase.
    pub arrivals: Vec<(u32, Actor)>,
}

/// A warp that has ended, while others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedWarp {
    /// The warp.
    pub warp: usize,
    /// Its block, in a cluster of several.
    pub block: Option<Grid>,
}

/// What a warp waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// All warps of the block at a `sync`.
    Sync,
    /// So many threads at a barrier of the block's others.
    Named {
        /// The barrier's number.
        barrier: u32,
        /// How many threads it is for.
        threads: u32,
    },
    /// All warps of the cluster's blocks, but for those that have ended, at the cluster's barrier.
    Cluster {
        /// How many have not come.
        lacking: usize,
    },
    /// All four warps of a warpgroup at a `wgmma`.
    WarpGroup {
        /// The warpgroup.
        group: usize,
    },
    /// Registers for each thread of the warp.
    Registers {
        /// How many it is to have.
        count: u32,
        /// How many it has.
        held: u32,
        /// How many are free.
        free: u32,
    },
    /// A phase of an mbarrier.
    Barrier {
        /// The barrier's address.
        address: u32,
        /// The phase that is not over, from 0.
        phase: u32,
        /// Arrivals that it needs.
        of: u32,
        /// Arrivals that it lacks.
        arrivals: u32,
        /// Bytes that it lacks; if negative, it has been told of more than it was to expect.
        bytes: i64,
    },
}

/// What is wrong with the use of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierMisuse {
    /// Nothing has initialised it.
    Uninitialised,
    /// A copy is to tell it, and no fence lies behind its initialisation.
    Unfenced,
    /// It is initialised while it is one already.
    InitialisedAgain,
    /// It is waited for with the state of an arrival at another.
    ArrivalOfAnother {
        /// The address of the other, or, of one that was ended since, its own.
        address: u32,
    },
    /// So many arrivals: no barrier counts them.
    Count {
        /// The number.
        count: u32,
    },
    /// More arrive in a phase than it has.
    TooManyArrivals {
        /// The arrivals of a phase.
        of: u32,
    },
    /// A phase is to wait for more bytes than a barrier counts.
    TooManyBytes {
        /// The bytes.
        bytes: i64,
    },
    /// More bytes have come than the phase was to expect.
    UnexpectedBytes {
        /// How many more.
        bytes: i64,
    },
    /// A phase is waited for when later ones are over too: a GPU, which knows only whether its
    /// number is odd, might wait for ever.
    PhaseMissed {
        /// How many later ones.
        behind: u32,
    },
    /// A phase is waited for that has not begun: a GPU, which knows only whether its number is odd,
    /// might take it for the one before the current, and go on at once.
    PhaseAhead {
        /// How far it is ahead of the current one.
        ahead: u32,
    },
}

/// What is wrong with the use of a cluster's barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterMisuse {
    /// A lane arrives that has arrived and not waited since.
    ArrivedAgain,
    /// A lane waits that has not arrived.
    NotArrived,
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
    /// A matrix whose lines lie so far apart that a reader of its tiles cannot count the distance.
    StrideTooLarge {
        /// The kernel's parameter.
        name: &'static str,
        /// Elements from one line to the next.
        stride: usize,
        /// The most that there may be.
        limit: usize,
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
        /// The first byte that nothing wrote.
        address: u32,
        /// Bytes of the read that nothing wrote.
        bytes: usize,
    },
    /// An element of global memory that nothing wrote was read: see
    /// [`mark_unwritten`](crate::engine::mark_unwritten).
    GlobalUnwritten {
        /// The kernel's parameter.
        name: &'static str,
        /// The element, or the first that was read.
        index: usize,
    },
    /// Two warps, or two blocks, access the same memory, one of them writes, and nothing says in
    /// which order.
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
        /// Whether the value that is read comes of the order in which the simulator runs the lanes
        /// of a closure, one after the other. On a GPU they go in step, or in any order.
        /// It is so of what another lane wrote earlier in the same closure, and of what one writes
        /// later, if in step it would have done so before.
        same_closure: bool,
    },
    /// Bytes of a live mbarrier are touched by something other than its own instructions.
    BarrierMemory {
        /// `read`, `write`, `copy`, `reduction`, or the instruction.
        access: &'static str,
        /// The first such byte.
        address: u32,
        /// The line that initialised the mbarrier.
        place: Place,
    },
    /// A lane has more on its stack than a GPU's thread has local memory.
    LocalMemory {
        /// Bytes on the stack.
        bytes: usize,
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
        /// Its block, in a cluster of several.
        block: Option<Grid>,
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
    /// A bulk copy from or to an element that does not start at a multiple of 16 bytes.
    BulkMisaligned {
        /// The kernel's parameter.
        name: &'static str,
        /// The first element.
        index: usize,
        /// Bytes from the last such multiple to it.
        beyond: usize,
    },
    /// Boxes of a tensor map lie completely outside of the tensor, and those inside do not reach
    /// all of it.
    BoxOutside {
        /// Whether they are loaded; else they are stored.
        loads: bool,
        /// The coordinates of one that lies outside, from the innermost dimension on.
        coordinates: Vec<i64>,
        /// The sizes of the box.
        size: Vec<u32>,
        /// The sizes of the tensor.
        tensor: Vec<u64>,
        /// The dimension that copies inside of the tensor do not cover, and how far it is covered
        /// from its start; nothing, if all lie outside.
        uncovered: Option<(usize, i64)>,
    },
    /// Warps wait for what does not happen.
    Deadlock {
        /// The warps that wait, and where.
        waiting: Vec<WaitingWarp>,
        /// The warps that have ended.
        ended: Vec<EndedWarp>,
        /// The mbarriers that are waited for.
        barriers: Vec<BarrierState>,
    },
    /// Shared memory is written while a bulk copy from it may still read it.
    CopySourceInFlight {
        /// The first such byte.
        address: u32,
        /// The line that started the copy.
        place: Place,
        /// The warp that did.
        warp: usize,
        /// Its block, in a cluster of several.
        block: Option<Grid>,
    },
    /// Global memory is touched while a bulk copy to it is on its way.
    StoreInFlight {
        /// `read` or `write`.
        access: &'static str,
        /// The kernel's parameter.
        name: &'static str,
        /// The element.
        index: usize,
        /// The line that started the copy.
        place: Place,
    },
    /// A bulk copy reads or writes what ordinary stores wrote, and no proxy fence is between.
    ProxyFence {
        /// The first such byte, or element.
        memory: Memory,
        /// The line of the store.
        place: Place,
    },
    /// A bulk copy of so many bytes: it must be a multiple of 16.
    BulkSize {
        /// The bytes.
        bytes: u32,
    },
    /// A reduction of elements of another width than the slice's.
    ReductionWidth {
        /// The kernel's parameter.
        name: &'static str,
        /// Bytes of its elements.
        element: usize,
        /// Bytes of those that are reduced.
        bytes: usize,
    },
    /// What an instruction takes for a tensor map is none.
    NoTensorMap,
    /// An instruction for tensors of another rank than the map's.
    TensorRank {
        /// Dimensions of the map.
        map: usize,
        /// Dimensions of the instruction.
        instruction: usize,
    },
    /// An instruction for im2col mode and a tensor map of boxes, or the other way round.
    TensorMode {
        /// Whether the instruction is for im2col mode.
        im2col: bool,
    },
    /// An offset of im2col mode that has more bits than there are for it.
    Im2colOffset {
        /// The dimension.
        dimension: usize,
        /// The offset.
        offset: u16,
        /// What it must be less than.
        limit: u32,
    },
    /// A copy in im2col mode that starts with a pixel beyond the bounding box.
    OutOfBoundingBox {
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        coordinate: i64,
        /// The box's first.
        first: i64,
        /// The box's last.
        last: i64,
    },
    /// A box that starts so many bytes along dimension 0 of its tensor: it must be a multiple of
    /// 16.
    BoxStart {
        /// The bytes.
        bytes: i64,
    },
    /// A tensor copy from shared memory to a box that starts at a negative coordinate.
    BoxBefore {
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        coordinate: i64,
    },
    /// A reduction of a tensor whose elements have none.
    TensorReduction,
    /// The block ends while a bulk copy goes to or from its shared memory.
    BulkUnfinished,
    /// An mbarrier is used as it must not be.
    Barrier {
        /// Its address.
        address: u32,
        /// What is wrong.
        misuse: BarrierMisuse,
    },
    /// The barrier of the cluster is used as it must not be.
    ClusterBarrier {
        /// What is wrong.
        misuse: ClusterMisuse,
    },
    /// A block of the cluster is asked for that there is not.
    ClusterRank {
        /// Its number.
        rank: usize,
        /// The blocks of the cluster.
        blocks: usize,
    },
    /// A copy to several blocks that names others than the cluster's, or none.
    BlockMask {
        /// The mask.
        mask: u16,
        /// The blocks of the cluster.
        blocks: usize,
    },
    /// Shared memory of another block of the cluster is touched when that need not run yet.
    PeerNotStarted {
        /// `read`, `write`, `arrival` or `copy`.
        access: &'static str,
        /// The other block.
        block: Grid,
    },
    /// Shared memory of another block of the cluster is touched when that may have ended.
    PeerEnded {
        /// `read`, `write`, `arrival` or `copy`.
        access: &'static str,
        /// The other block.
        block: Grid,
    },
    /// A copy to shared memory of one block that is to tell a barrier of another.
    BarrierOfAnother {
        /// The rank of the one.
        to: usize,
        /// The rank of the other.
        barrier: usize,
    },
    /// An address in shared memory, given to a raw instruction, that is no multiple of what it
    /// accesses.
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
    /// Some lanes of a warp come to a raw collective that the others do not come to, or to another,
    /// or at another line.
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
    /// The metadata of a sparse `mma` or `wgmma` has a code that names no two parts of a chunk, or,
    /// with `::ordered_metadata`, not in order.
    Metadata {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The code: four bits.
        code: u8,
        /// The row of A.
        row: usize,
        /// The first column of the chunk, and the last.
        cols: (usize, usize),
        /// What is wrong with it.
        why: &'static str,
    },
    /// The GPU that the simulator was [told](crate::sim::Simulator::gpu) lacks the instruction.
    Absent {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The GPU.
        gpu: Arch,
        /// GPUs that have it.
        needs: Needs,
    },
    /// The lanes of a warp come to a sparse `mma` with different selectors, which are part of the
    /// instruction.
    SelectorsDiffer {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The first lane's, and another.
        selectors: (u32, u32),
    },
    /// A `wgmma` takes a matrix with another swizzle than a tensor copy wrote it with.
    WrongSwizzle {
        /// The instruction, as in PTX.
        form: &'static str,
        /// `A` or `B`.
        operand: char,
        /// The swizzle of the descriptor: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
        read: u32,
        /// The swizzle of the copy, likewise.
        written: u32,
        /// The line that started the copy.
        place: Place,
    },
    /// A matrix descriptor that a `wgmma` takes is none.
    MatrixDescriptor {
        /// The instruction, as in PTX.
        form: &'static str,
        /// `A` or `B`.
        operand: char,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A `wgmma` takes registers with no fence since the last wait, and they are not what that left
    /// in them.
    WgmmaUnfenced {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// Registers that a `wgmma` has in flight are used.
    AccumulatorInFlight {
        /// `read` or `write`.
        access: &'static str,
        /// The line of the `wgmma`.
        place: Place,
    },
    /// The warps of a warpgroup come to different `wgmma`s.
    WarpGroupDiverges {
        /// What one comes to, as in PTX.
        form: &'static str,
        /// Its line.
        place: Place,
        /// A warp that does not.
        warp: usize,
        /// The line of what it comes to, if it comes to any.
        other: Option<Place>,
    },
    /// The lanes of a warp come to an instruction with different operands, which must be the same
    /// in all.
    OperandsDiffer {
        /// The instruction, as in PTX.
        form: &'static str,
    },
    /// A `setmaxnreg.dec` is for more registers than the threads of the warp have, or an `.inc` for
    /// fewer.
    RegisterCount {
        /// The instruction, as in PTX.
        form: &'static str,
        /// How many each thread is to have.
        count: u32,
        /// How many it has.
        held: u32,
    },
    /// The warps of a warpgroup do not come to the same `setmaxnreg`.
    RegistersDiverge {
        /// What one comes to, as in PTX.
        form: &'static str,
        /// A warp that does not.
        warp: usize,
        /// The line of what it comes to, if it comes to any.
        other: Option<Place>,
    },
    /// A warp comes to a `setmaxnreg`, and nothing says that another of its warpgroup has come to
    /// the one before.
    RegistersUnsynced {
        /// The instruction, as in PTX.
        form: &'static str,
        /// The other warp.
        warp: usize,
    },
    /// The block ends and has not waited for a `wgmma`.
    WgmmaUnfinished,
    /// A matrix that is to be compressed has more in a chunk than half that is not zero.
    NotSparse {
        /// The row.
        row: usize,
        /// The first column of the chunk, and the last.
        cols: (usize, usize),
        /// The parts of the chunk that are not zero: a bit each.
        parts: usize,
    },
    /// A lane reads the same again and again, as if to wait for another to write it.
    Polling {
        /// What it reads.
        memory: Memory,
    },
    /// A lane asks again and again whether a phase of an mbarrier is over, and nothing can end it.
    PollingBarrier {
        /// The barrier and what its phase lacks.
        awaited: Awaited,
        /// Who has arrived at it.
        barrier: Box<BarrierState>,
    },
    /// The kernel stopped by `trap`.
    Trap,
    /// The kernel panicked: an assertion, an index, an overflow.
    Panic {
        /// The panic's message.
        message: String,
    },
    /// A warp accesses memory on and on, and comes to no `sync`: see
    /// [`Simulator::patience`](crate::sim::Simulator::patience).
    Endless {
        /// Accesses of its lanes since its turn began.
        accesses: u64,
    },
    /// The launch itself is wrong; no kernel ran.
    Launch {
        /// What is.
        message: String,
    },
}

impl Misuse {
    /// The same of shared memory of the block of this rank, for who is of the other: addresses
    /// become those of the `.shared::cluster` window, which say whose memory it is.
    #[must_use]
    pub(crate) fn in_memory_of(mut self, rank: usize, actor: usize) -> Self {
        let address = match &mut self {
            Misuse::RowMisaligned { address }
            | Misuse::SharedOutOfBounds { address, .. }
            | Misuse::SharedUnwritten { address, .. }
            | Misuse::Race { memory: Memory::Shared { address }, .. }
            | Misuse::CopyInFlight { address, .. }
            | Misuse::CopySourceInFlight { address, .. }
            | Misuse::BarrierMemory { address, .. }
            | Misuse::ProxyFence { memory: Memory::Shared { address }, .. }
            | Misuse::Barrier { address, .. }
            | Misuse::SharedMisaligned { address, .. } => address,
            _ => return self,
        };
        if rank != actor {
            *address = address_of(rank, *address);
        }
        self
    }
}

/// The address, in the `.shared::cluster` window, of what lies there in the block of this rank.
pub(crate) fn address_of(rank: usize, address: u32) -> u32 {
    if address >> RANK_SHIFT == 0 { (rank as u32 + 1) << RANK_SHIFT | address } else { address }
}
