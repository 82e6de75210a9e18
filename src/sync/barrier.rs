//! Barriers in shared memory with separate arrival and wait (`mbarrier`, PTX ISA 9.7.13.15).

use super::BarrierRing;
use crate::lane::{Lane, PerLane, Site};
use crate::machine::{SharedName, mbarrier};
use crate::memory::{SharedLayout, SharedRing};
use crate::raw;
use crate::scope::{Block, Warp};
use crate::target::{AtLeast, BuiltFor};

/// Shared memory for a [`Barrier`]: eight bytes, a part of a kernel's `#[shared]` memory.
///
/// `SharedRing<BarrierMemory, N>` is memory for a [`BarrierRing`].
pub struct BarrierMemory {
    pub(super) address: u32,
}

// SAFETY: an mbarrier has eight bytes, aligned to eight.
unsafe impl SharedLayout for BarrierMemory {
    const BYTES: usize = 8;
    const ALIGN: usize = 8;

    #[inline]
    unsafe fn at(address: u32) -> Self {
        BarrierMemory { address }
    }

    fn name_byte(_: usize, _: &mut SharedName) {}
}

impl BarrierMemory {
    /// Initialises the barrier, for `count` arrivals in each phase, and waits until all warps see
    /// it (`mbarrier.init`, `fence.mbarrier_init`, `fence.proxy.async`, `bar.sync`).
    ///
    /// These fences and the block sync also make it visible to copies. Other blocks of a cluster
    /// may use it after a cluster sync. `count` is from 1 to `2^20 - 1`. All warps of the block
    /// call it, once. Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn init(self, block: &Block<'_>, count: u32) -> Barrier
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let address = self.address;
        init(block, |_| address, 1, count);
        Barrier { address }
    }
}

impl<const N: usize> SharedRing<BarrierMemory, N> {
    /// Initialises `N` barriers, for `count` arrivals in each phase, and waits until all warps see
    /// them.
    ///
    /// It contains the fences and the block sync that make them visible, as [`BarrierMemory::init`]
    /// does. Other blocks of a cluster may use them after a cluster sync. All warps of the block
    /// call it, once.
    #[inline]
    #[track_caller]
    pub fn init(self, block: &Block<'_>, count: u32) -> BarrierRing<N>
    where
        BarrierMemory: BuiltFor<AtLeast<90>>,
    {
        init(block, |index| self.part(index).address, N, count);
        BarrierRing::of_memory(self)
    }
}

#[inline]
#[track_caller]
fn init(
    block: &Block<'_>,
    address: impl Fn(usize) -> u32 + crate::lane::LaneCapture,
    barriers: usize,
    count: u32,
) {
    let warp = block.warp();
    if warp.index() == 0 {
        let site = Site::here();
        warp.each(|lane| {
            if lane.id() == 0 {
                for index in 0..barriers {
                    // SAFETY: the kernel's memory for a barrier.
                    unsafe { mbarrier::init(site, address(index), count) };
                }
                raw::fence_mbarrier_init_release_cluster();
                raw::fence_proxy_async_shared_cta();
            }
        });
    }
    block.sync();
}

/// A barrier in shared memory that counts arrivals and bytes, phase by phase (`mbarrier`).
///
/// A phase ends when all its arrivals and all its expected bytes have come; then the next phase
/// begins. An arrival does not block, and a waiting thread need not arrive. A thread that has
/// waited for a phase sees the earlier writes of the lanes that arrived in it. It also sees the
/// writes that these lanes knew of, for example through a [`Warp::sync`].
///
/// A warp keeps the [`Phase`] that it waits for next, and [`wait`](Self::wait) returns the
/// following one. Needs sm_90.
///
/// The simulator reports:
///
/// - a deadlock, with the arrivals and bytes that each phase lacks;
/// - arrivals and bytes that no phase needs;
/// - a phase that ends before all have waited for the preceding one, or would in another schedule;
/// - a wait for a phase before it begins, likewise;
/// - bytes that are expected when the phase may be over;
/// - accesses that no arrival orders.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Warp 0 passes numbers to warp 1 through one row, 32 in each round.
/// #[kernel(threads = 64, target = "sm_90")]
/// fn hand_over(
///     block: &Block,
///     #[shared] row: SharedTile<u32, 1, 32>,
///     #[shared] (full, empty): (BarrierMemory, BarrierMemory),
///     a: Global<u32>,
///     d: GlobalMut<u32>,
/// ) {
///     let (full, empty) = (full.init(block, 32), empty.init(block, 1));
///     let warp = block.warp();
///     let rounds = a.len() / 32;
///     if warp.index() == 0 {
///         let mut phase = Phase::BEFORE_FIRST; // The row is empty at the start.
///         for round in 0..rounds {
///             phase = empty.wait(warp, phase);
///             warp.each(|lane| {
///                 row.set((0, lane.id()), a.get(round * 32 + lane.id()));
///                 full.arrive(lane);
///             });
///         }
///     } else {
///         let mut phase = Phase::FIRST;
///         for round in 0..rounds {
///             phase = full.wait(warp, phase);
///             warp.each(|lane| d.set(round * 32 + lane.id(), row.get(lane, (0, 31 - lane.id()))));
///             warp.sync();
///             warp.elect(|lane| {
///                 empty.arrive(lane);
///             });
///         }
///     }
/// }
///
/// let a: Vec<u32> = (0..128).collect();
/// let mut d = [0; 128];
/// hand_over::simulate(1, &a, &mut d).check();
/// assert_eq!((d[0], d[127]), (31, 96));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    pub(super) address: u32,
}

/// The token of [`Barrier::arrive`]: the phase of the arrival, as the hardware encodes it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    state: u64,
}

impl Arrival {
    /// The arrivals that the phase still needed before this one (`mbarrier.pending_count`).
    #[inline]
    pub fn pending(self) -> u32 {
        raw::mbarrier_pending_count_b64(self.state)
    }
}

/// The number of a barrier's phase, from 0.
///
/// It is a count, not a parity as in CUDA and PTX, although the instruction takes the parity. A
/// kernel that toggles a bit waits for phases 0, 1, 0, .. here, and the simulator reports the third
/// wait. [`wait`](Barrier::wait) returns the next phase, and a
/// [`PipelineState`](super::PipelineState) keeps it for a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase(pub(super) u32);

impl Phase {
    /// The first phase.
    pub const FIRST: Self = Phase(0);

    /// The phase before the first, which is over from the start.
    ///
    /// A producer waits for it first: its stages are empty at the start.
    pub const BEFORE_FIRST: Self = Phase(u32::MAX);

    /// The following phase.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        self.after(1)
    }

    /// The phase that comes `phases` later.
    #[inline]
    #[must_use]
    pub const fn after(self, phases: u32) -> Self {
        Phase(self.0.wrapping_add(phases))
    }

    /// The parity of the phase's number, by which alone the hardware distinguishes phases.
    #[inline]
    pub const fn parity(self) -> u32 {
        self.0 & 1
    }
}

/// For each kind of arrival: its method, the raw function, and the operands.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)*) $raw:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, $($operand: u32)*) -> Arrival
        where
            Self: BuiltFor<AtLeast<90>>,
        {
            let _ = lane;
            // SAFETY: `init` has initialised the barrier.
            Arrival { state: unsafe { raw::$raw(self.address, $($operand)*) } }
        }
    )*};
}

/// For each kind of test: its method, and the operand.
macro_rules! looks {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)?);)*) => {$(
        $(#[$doc])*
        #[must_use = "the phase may not be over"]
        #[inline]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, phase: Phase, $($operand: u32)?) -> bool
        where
            Self: BuiltFor<AtLeast<90>>,
        {
            let _ = lane;
            // SAFETY: `init` has initialised the barrier.
            unsafe { mbarrier::$name(Site::here(), self.address, phase.0, $($operand)?) }
        }
    )*};
}

impl Barrier {
    arrivals! {
        /// Arrives once (`mbarrier.arrive`).
        arrive() mbarrier_arrive_shared_cta_b64;
        /// Arrives `count` times, at least once (`mbarrier.arrive` with a count).
        arrive_times(count) mbarrier_arrive_shared_cta_b64_count;
        /// Expects `bytes` more bytes in the phase, and arrives once (`mbarrier.arrive.expect_tx`).
        arrive_expecting(bytes) mbarrier_arrive_expect_tx_shared_cta_b64;
        /// Arrives once, and lowers the arrival count of the following phases by one
        /// (`mbarrier.arrive_drop`).
        arrive_drop() mbarrier_arrive_drop_shared_cta_b64;
        /// Arrives `count` times, at least once, and lowers the arrival count of the following
        /// phases by `count`.
        arrive_drop_times(count) mbarrier_arrive_drop_shared_cta_b64_count;
        /// Expects `bytes` more bytes in the phase, arrives once, and lowers the arrival count of
        /// the following phases by one (`mbarrier.arrive_drop.expect_tx`).
        arrive_drop_expecting(bytes) mbarrier_arrive_drop_expect_tx_shared_cta_b64;
    }

    /// Expects `bytes` more bytes in the phase (`mbarrier.expect_tx`).
    ///
    /// A phase expects at most `2^20 - 1` bytes.
    #[inline]
    #[track_caller]
    pub fn expect(self, lane: Lane<'_>, bytes: u32)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: `init` has initialised the barrier.
        unsafe { raw::mbarrier_expect_tx_relaxed_cta_shared_cta_b64(self.address, bytes) }
    }

    /// Completes `bytes` of the expected bytes (`mbarrier.complete_tx`), as a copy does when it
    /// lands.
    #[inline]
    #[track_caller]
    pub fn complete(self, lane: Lane<'_>, bytes: u32)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: `init` has initialised the barrier.
        unsafe { raw::mbarrier_complete_tx_relaxed_cta_shared_cta_b64(self.address, bytes) }
    }

    /// Arrives once when the lane's earlier copies by `cp.async` have landed
    /// (`cp.async.mbarrier.arrive.noinc`, PTX ISA 9.7.13.15.15).
    ///
    /// The lane need not wait for its groups. Threads that wait for the phase see the copied bytes,
    /// but not the lane's other writes. `wgmma` and bulk copies need a
    /// [`fence_for_bulk`](Warp::fence_for_bulk) between the wait and their reads.
    ///
    /// ```
    /// use ptx_matrix::{memory::RingIndex, prelude::*};
    ///
    /// /// Sums rows of 128 numbers. Warp 0 copies them, through two stages, and warp 1 adds them
    /// /// up.
    /// #[kernel(threads = 64, target = "sm_90")]
    /// fn sums(
    ///     block: &Block,
    ///     #[shared] rows: SharedRing<SharedTile<u32, 1, 128>, 2>,
    ///     #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    ///     a: Global<u32>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let (full, empty) = (full.init(block, 32), empty.init(block, 1));
    ///     let warp = block.warp();
    ///     let mut stage = RingIndex::FIRST;
    ///     let mut phase = if warp.index() == 0 { Phase::BEFORE_FIRST } else { Phase::FIRST };
    ///     for row in 0..a.len() / 128 {
    ///         if warp.index() == 0 {
    ///             empty.stage(stage).wait(warp, phase);
    ///             rows.stage(stage).copy_async(warp, a, |_, col| row * 128 + col);
    ///             warp.each(|lane| full.stage(stage).arrive_when_copied(lane));
    ///         } else {
    ///             full.stage(stage).wait(warp, phase);
    ///             let tile = rows.stage(stage);
    ///             warp.each(|lane| {
    ///                 if lane.id() == 0 {
    ///                     d.set(row, (0..128).map(|col| tile.get(lane, (0, col))).sum());
    ///                     empty.stage(stage).arrive(lane);
    ///                 }
    ///             });
    ///         }
    ///         stage = stage.next();
    ///         if stage == RingIndex::FIRST {
    ///             phase = phase.next();
    ///         }
    ///     }
    /// }
    ///
    /// let a: Vec<u32> = (0..1280).collect();
    /// let mut d = [0; 10];
    /// sums::simulate(1, &a, &mut d).check();
    /// assert_eq!(d[9], (1152..1280).sum::<u32>());
    /// ```
    #[inline]
    #[track_caller]
    pub fn arrive_when_copied(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: `init` has initialised the barrier.
        unsafe { raw::cp_async_mbarrier_arrive_noinc_shared_cta_b64(self.address) }
    }

    /// Adds one pending arrival to the phase, which comes when the lane's earlier copies by
    /// `cp.async` have landed (`cp.async.mbarrier.arrive`).
    ///
    /// The phase cannot end before that, whatever else arrives. It must not be over when this
    /// executes: a later arrival of the same lane in the phase ensures it. The rest is as for
    /// [`arrive_when_copied`](Self::arrive_when_copied).
    #[inline]
    #[track_caller]
    pub fn hold_until_copied(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: `init` has initialised the barrier.
        unsafe { raw::cp_async_mbarrier_arrive_shared_cta_b64(self.address) }
    }

    /// Waits until the phase is over for all lanes (`mbarrier.try_wait.parity` in a loop, with
    /// `vote.sync.all`). Returns the next phase.
    ///
    /// The warp then sees the bytes of copies, and the writes that lanes of its own block made
    /// before they arrived. An arrival of another block of the cluster only says that its reads are
    /// done. For its writes, use [`wait_for_cluster`](Self::wait_for_cluster).
    ///
    /// `phase` is the current phase, or the preceding one: a barrier cannot distinguish more.
    #[inline]
    #[track_caller]
    pub fn wait(self, warp: Warp<'_>, phase: Phase) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: `init` has initialised the barrier; warp scope is converged.
        unsafe { mbarrier::wait(warp.block().at, Site::here(), self.address, phase.0) };
        phase.next()
    }

    /// Like [`wait`](Self::wait); the warp also sees the writes that other blocks of the cluster
    /// made before they arrived (`mbarrier.try_wait.parity.acquire.cluster`).
    ///
    /// Such blocks arrive by [`PeerBarrier::arrive`](crate::sync::PeerBarrier::arrive).
    /// [`wait`](Self::wait) is enough for tiles that only copies write, and that other blocks only
    /// read.
    #[inline]
    #[track_caller]
    pub fn wait_for_cluster(self, warp: Warp<'_>, phase: Phase) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: `init` has initialised the barrier; warp scope is converged.
        unsafe { mbarrier::wait_for_cluster(warp.block().at, Site::here(), self.address, phase.0) };
        phase.next()
    }

    /// Like [`wait`](Self::wait), with a hint for how long the warp may be suspended between tests
    /// (`mbarrier.try_wait.parity` with `suspendTimeHint`, PTX ISA 9.7.13.15.16).
    ///
    /// The hint is in nanoseconds, and approximate. A hint longer than the hardware's default
    /// leaves issue slots to other warps. A shorter one never ends the wait before the phase. It
    /// affects speed alone; the simulator ignores it. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Warp 0 computes for long. Warp 1 waits, and leaves the issue slots to warp 0.
    /// #[kernel(threads = 64, target = "sm_90")]
    /// fn collatz(
    ///     block: &Block,
    ///     #[shared] steps: SharedTile<u32, 1, 32>,
    ///     #[shared] done: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let done = done.init(block, 32);
    ///     let warp = block.warp();
    ///     if warp.index() == 0 {
    ///         warp.each(|lane| {
    ///             let (mut n, mut count) = (lane.id() as u32 + 1, 0);
    ///             while n != 1 {
    ///                 (n, count) = (if n % 2 == 0 { n / 2 } else { 3 * n + 1 }, count + 1);
    ///             }
    ///             steps.set((0, lane.id()), count);
    ///             done.arrive(lane);
    ///         });
    ///     } else {
    ///         done.wait_with_hint(warp, Phase::FIRST, 10_000);
    ///         warp.each(|lane| d.set(lane.id(), steps.get(lane, (0, lane.id()))));
    ///     }
    /// }
    ///
    /// let mut d = [0; 32];
    /// collatz::simulate(1, &mut d).check();
    /// assert_eq!(d[26], 111); // Lane 26 computed it for 27.
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait_with_hint(self, warp: Warp<'_>, phase: Phase, nanoseconds: u32) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: `init` has initialised the barrier; warp scope is converged.
        unsafe {
            mbarrier::wait_with_hint(
                warp.block().at,
                Site::here(),
                self.address,
                phase.0,
                nanoseconds,
            )
        };
        phase.next()
    }

    /// Like [`wait_for_cluster`](Self::wait_for_cluster), with the hint of
    /// [`wait_with_hint`](Self::wait_with_hint) (`mbarrier.try_wait.parity.acquire.cluster`). Needs
    /// sm_90.
    #[inline]
    #[track_caller]
    pub fn wait_for_cluster_with_hint(self, warp: Warp<'_>, phase: Phase, nanoseconds: u32) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: `init` has initialised the barrier; warp scope is converged.
        unsafe {
            mbarrier::wait_for_cluster_with_hint(
                warp.block().at,
                Site::here(),
                self.address,
                phase.0,
                nanoseconds,
            )
        };
        phase.next()
    }

    /// Each lane waits until the phase of its own arrival is over (`mbarrier.try_wait` in a loop).
    #[inline]
    #[track_caller]
    pub fn wait_behind(self, warp: Warp<'_>, arrivals: &PerLane<Arrival>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let site = Site::here();
        warp.each(|lane| {
            let state = lane.get(arrivals).state;
            // SAFETY: `init` has initialised the barrier.
            unsafe { mbarrier::wait_behind(site, self.address, state) };
        });
    }

    /// Like [`wait_behind`](Self::wait_behind); the lane also sees the writes that other blocks of
    /// the cluster made before they arrived (`mbarrier.try_wait.acquire.cluster`). Needs sm_90.
    #[inline]
    #[track_caller]
    pub fn wait_behind_for_cluster(self, warp: Warp<'_>, arrivals: &PerLane<Arrival>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let site = Site::here();
        warp.each(|lane| {
            let state = lane.get(arrivals).state;
            // SAFETY: `init` has initialised the barrier.
            unsafe { mbarrier::wait_behind_for_cluster(site, self.address, state) };
        });
    }

    looks! {
        /// Whether a phase is over (`mbarrier.test_wait.parity`). If so, the lane sees the earlier
        /// writes of the lanes that arrived in it.
        is_over();
        /// Like [`is_over`](Self::is_over); the lane also sees the writes that other blocks of the
        /// cluster made before they arrived (`mbarrier.test_wait.parity.acquire.cluster`). Needs
        /// sm_90.
        is_over_for_cluster();
        /// Whether a phase is over, after waiting for it up to about `nanoseconds`
        /// (`mbarrier.try_wait.parity` with `suspendTimeHint`, PTX ISA 9.7.13.15.16).
        ///
        /// It serves lanes that have other work if the wait takes longer. If the phase is over, the
        /// lane sees the earlier writes of the lanes that arrived in it.
        ///
        /// Lanes of a warp may get different answers, so there is no form for a warp; a warp uses
        /// [`wait_with_hint`](Self::wait_with_hint). The simulator has no clock: it lets others run
        /// once before it answers. Needs sm_90.
        ///
        /// ```
        /// use ptx_matrix::prelude::*;
        ///
        /// /// One lane counts its unsuccessful tests until the other warp's number has come.
        /// #[kernel(threads = 64, target = "sm_90")]
        /// fn look(
        ///     block: &Block,
        ///     #[shared] row: SharedTile<u32, 1, 4>,
        ///     #[shared] come: BarrierMemory,
        ///     d: GlobalMut<u32>,
        /// ) {
        ///     let come = come.init(block, 1);
        ///     let warp = block.warp();
        ///     if warp.index() == 0 {
        ///         warp.elect(|lane| {
        ///             let mut in_vain = 0;
        ///             while !come.try_wait(lane, Phase::FIRST, 500) {
        ///                 in_vain += 1;
        ///             }
        ///             d.set(0, row.get(lane, (0, 0)));
        ///             d.set(1, in_vain);
        ///         });
        ///     } else {
        ///         warp.elect(|lane| {
        ///             row.set((0, 0), 42);
        ///             come.arrive(lane);
        ///         });
        ///     }
        /// }
        ///
        /// let mut d = [0; 2];
        /// look::simulate(1, &mut d).check();
        /// assert_eq!(d[0], 42);
        /// ```
        try_wait(nanoseconds);
        /// Like [`try_wait`](Self::try_wait); the lane also sees the writes that other blocks of
        /// the cluster made before they arrived (`mbarrier.try_wait.parity.acquire.cluster`). Needs
        /// sm_90.
        try_wait_for_cluster(nanoseconds);
    }

    /// Invalidates the barrier and returns its memory, for another barrier (`bar.sync`,
    /// `mbarrier.inval`).
    ///
    /// All warps of the block call it, when they no longer need the barrier, and after the phases
    /// that copies signal. A copy in flight would signal the next barrier at this address.
    #[inline]
    #[track_caller]
    pub fn invalidate(self, block: &Block<'_>) -> BarrierMemory
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        invalidate(block, |_| self.address, 1);
        BarrierMemory { address: self.address }
    }

    /// The barrier's address in the `.shared` window.
    #[inline]
    pub const fn address(self) -> u32 {
        self.address
    }
}

#[inline]
#[track_caller]
pub(super) fn invalidate(
    block: &Block<'_>,
    address: impl Fn(usize) -> u32 + crate::lane::LaneCapture,
    barriers: usize,
) {
    block.sync();
    let warp = block.warp();
    if warp.index() == 0 {
        let site = Site::here();
        warp.each(|lane| {
            if lane.id() == 0 {
                for index in 0..barriers {
                    // SAFETY: `init` has initialised the barrier, and nobody needs it any more.
                    unsafe { mbarrier::invalidate(site, address(index)) };
                }
            }
        });
    }
}
