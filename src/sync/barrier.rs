//! Barriers in shared memory that some threads arrive at and others wait for (`mbarrier`, PTX ISA
//! 9.7.13.15).

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

// SAFETY: an mbarrier is eight bytes, aligned to eight.
unsafe impl SharedLayout for BarrierMemory {
    const BYTES: usize = 8;
    const ALIGN: usize = 8;

    #[inline(always)]
    unsafe fn at(address: u32) -> Self {
        BarrierMemory { address }
    }

    fn name_byte(_: usize, _: &mut SharedName) {}
}

impl BarrierMemory {
    /// Makes it a barrier whose phases need `count` arrivals each (from 1 to 2^20 - 1), and waits
    /// until all warps see it (`mbarrier.init`, `fence.mbarrier_init`, `fence.proxy.async`,
    /// `bar.sync`).
    ///
    /// All warps of the block come here, once.
    #[inline(always)]
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
    /// Makes it `N` barriers whose phases need `count` arrivals each: as [`BarrierMemory::init`].
    #[inline(always)]
    #[track_caller]
    pub fn init(self, block: &Block<'_>, count: u32) -> BarrierRing<N>
    where
        BarrierMemory: BuiltFor<AtLeast<90>>,
    {
        init(block, |index| self.part(index).address, N, count);
        BarrierRing::of_memory(self)
    }
}

#[inline(always)]
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
                    // SAFETY: memory of the kernel's, for a barrier.
                    unsafe { mbarrier::init(site, address(index), count) };
                }
                raw::fence_mbarrier_init_release_cluster();
                raw::fence_proxy_async_shared_cta();
            }
        });
    }
    block.sync();
}

/// A barrier in shared memory that goes from phase to phase.
///
/// A phase is over when as many have arrived in it as the barrier was made for, and all bytes have
/// come that it was told to expect; then the next begins. Who arrives does not wait, and who waits
/// need not arrive. What a lane did before it arrived, those see who have waited for the phase: the
/// lane's own doings, and those of others that it knows of, by a [`Warp::sync`] say.
///
/// A warp keeps the [`Phase`] that it waits for next; [`wait`](Self::wait) returns the one behind
/// it. The simulator reports a deadlock with what each phase lacks, arrivals and bytes that no
/// phase is for, a phase that ends before all have waited for the one before, one that is waited
/// for before it has begun, and accesses that no arrival orders. Needs sm_90.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Warp 0 hands numbers to warp 1, one round of 32 after the other, through one row.
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
///         let mut phase = Phase::BEFORE_FIRST; // of `empty`: at first it is.
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

/// What [`Barrier::arrive`] returns: the phase that was arrived in, as the hardware names it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    state: u64,
}

impl Arrival {
    /// Arrivals that the phase still needed before this one (`mbarrier.pending_count`).
    #[inline(always)]
    pub fn pending(self) -> u32 {
        raw::mbarrier_pending_count_b64(self.state)
    }
}

/// The number of a barrier's phase, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase(pub(super) u32);

impl Phase {
    /// The first.
    pub const FIRST: Self = Phase(0);

    /// The one before the first, which is over from the beginning: for who waits for memory to be
    /// free that is free at first.
    pub const BEFORE_FIRST: Self = Phase(u32::MAX);

    /// The phase behind this one.
    #[inline(always)]
    #[must_use]
    pub const fn next(self) -> Self {
        Phase(self.0.wrapping_add(1))
    }

    /// Whether its number is odd, by which alone the hardware knows it.
    #[inline(always)]
    pub const fn parity(self) -> u32 {
        self.0 & 1
    }
}

/// One arrival: its function, the raw one, its operands.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)*) $raw:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, $($operand: u32)*) -> Arrival
        where
            Self: BuiltFor<AtLeast<90>>,
        {
            let _ = lane;
            // SAFETY: a barrier, which `init` has made.
            Arrival { state: unsafe { raw::$raw(self.address, $($operand)*) } }
        }
    )*};
}

/// One look at a phase: its function, and its operand.
macro_rules! looks {
    ($($(#[$doc:meta])* $name:ident($($operand:ident)?);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self, lane: Lane<'_>, phase: Phase, $($operand: u32)?) -> bool
        where
            Self: BuiltFor<AtLeast<90>>,
        {
            let _ = lane;
            // SAFETY: a barrier, which `init` has made.
            unsafe { mbarrier::$name(Site::here(), self.address, phase.0, $($operand)?) }
        }
    )*};
}

impl Barrier {
    arrivals! {
        /// One arrival (`mbarrier.arrive`).
        arrive() mbarrier_arrive_shared_cta_b64;
        /// As many at once, at least one.
        arrive_times(count) mbarrier_arrive_shared_cta_b64_count;
        /// The phase waits for so many bytes more, and one has arrived (`mbarrier.arrive.expect_tx`).
        arrive_expecting(bytes) mbarrier_arrive_expect_tx_shared_cta_b64;
        /// One arrival, and from the next phase on one fewer is needed (`mbarrier.arrive_drop`).
        leave() mbarrier_arrive_drop_shared_cta_b64;
        /// As many at once, at least one.
        leave_times(count) mbarrier_arrive_drop_shared_cta_b64_count;
        /// The phase waits for so many bytes more, one has arrived, and later phases need one fewer.
        leave_expecting(bytes) mbarrier_arrive_drop_expect_tx_shared_cta_b64;
    }

    /// The phase waits for so many bytes more (`mbarrier.expect_tx`). At most 2^20 - 1 in a phase.
    #[inline(always)]
    #[track_caller]
    pub fn expect(self, lane: Lane<'_>, bytes: u32)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: a barrier, which `init` has made.
        unsafe { raw::mbarrier_expect_tx_relaxed_cta_shared_cta_b64(self.address, bytes) }
    }

    /// So many bytes have come (`mbarrier.complete_tx`): as a copy does when it has landed.
    #[inline(always)]
    #[track_caller]
    pub fn complete(self, lane: Lane<'_>, bytes: u32)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: a barrier, which `init` has made.
        unsafe { raw::mbarrier_complete_tx_relaxed_cta_shared_cta_b64(self.address, bytes) }
    }

    /// One arrival, which comes when the copies by `cp.async` that the lane has started before have
    /// landed (`cp.async.mbarrier.arrive.noinc`, PTX ISA 9.7.13.15.15): who waits for the phase
    /// sees them, and the lane need not wait for its groups. What it wrote otherwise, that does
    /// not tell. `wgmma` and bulk copies need a [`fence_for_bulk`](Warp::fence_for_bulk) between
    /// the wait and what they read.
    ///
    /// ```
    /// use ptx_matrix::{memory::RingIndex, prelude::*};
    ///
    /// /// Warp 0 copies rows of 128 numbers, which warp 1 sums up, through two rows of shared memory.
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
    #[inline(always)]
    #[track_caller]
    pub fn arrive_when_copied(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: a barrier, which `init` has made.
        unsafe { raw::cp_async_mbarrier_arrive_noinc_shared_cta_b64(self.address) }
    }

    /// The phase needs one arrival more, which comes when the copies by `cp.async` that the lane
    /// has started before have landed (`cp.async.mbarrier.arrive`): so it does not end before
    /// that, for whoever arrives. Else as [`arrive_when_copied`](Self::arrive_when_copied).
    ///
    /// The phase must not be over before this is executed: an arrival of the lane's own, behind it,
    /// sees to that.
    #[inline(always)]
    #[track_caller]
    pub fn hold_until_copied(self, lane: Lane<'_>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: a barrier, which `init` has made.
        unsafe { raw::cp_async_mbarrier_arrive_shared_cta_b64(self.address) }
    }

    /// The warp waits until a phase is over (`mbarrier.try_wait.parity`, until it is for all lanes,
    /// which tell each other by `vote.sync.all`). Returns the next phase.
    ///
    /// What copies brought, and lanes of the block wrote before they arrived, it sees then; of
    /// other blocks of the cluster it knows that they have read what they were to read. (For
    /// what they wrote, [`wait_for_cluster`](Self::wait_for_cluster).)
    ///
    /// It is the current phase, or the one before: a barrier knows two phases apart, and no more.
    #[inline(always)]
    #[track_caller]
    pub fn wait(self, warp: Warp<'_>, phase: Phase) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: a barrier, which `init` has made; warp scope is converged.
        unsafe { mbarrier::wait(warp.block().at, Site::here(), self.address, phase.0) };
        phase.next()
    }

    /// The same, and what other blocks of the cluster wrote before they arrived
    /// ([`PeerBarrier::arrive`](crate::sync::PeerBarrier::arrive)), the warp sees (`mbarrier.
    /// try_wait.parity.acquire.cluster`). Of tiles that only copies write, and others only read,
    /// [`wait`](Self::wait) is enough.
    #[inline(always)]
    #[track_caller]
    pub fn wait_for_cluster(self, warp: Warp<'_>, phase: Phase) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: a barrier, which `init` has made; warp scope is converged.
        unsafe { mbarrier::wait_for_cluster(warp.block().at, Site::here(), self.address, phase.0) };
        phase.next()
    }

    /// As [`wait`](Self::wait), and the hardware may let the warp sleep for about so many
    /// nanoseconds before it looks again (`mbarrier.try_wait.parity` with `suspendTimeHint`,
    /// PTX ISA 9.7.13.15.16): longer than it does of itself where others need the issue
    /// slots, shorter never makes the wait end sooner than the phase. It changes how fast the
    /// kernel is, and nothing else; the simulator ignores it. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Warp 0 computes for long, and warp 1 takes none of its time meanwhile.
    /// #[kernel(threads = 64, target = "sm_90")]
    /// fn collatz(block: &Block, #[shared] steps: SharedTile<u32, 1, 32>, #[shared] done: BarrierMemory, d: GlobalMut<u32>) {
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
    /// assert_eq!(d[26], 111); // of 27
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn wait_with_hint(self, warp: Warp<'_>, phase: Phase, nanoseconds: u32) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: a barrier, which `init` has made; warp scope is converged.
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

    /// The same for the cluster: as [`wait_for_cluster`](Self::wait_for_cluster), with the hint of
    /// [`wait_with_hint`](Self::wait_with_hint) (`mbarrier.try_wait.parity.acquire.cluster`). Needs
    /// sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn wait_for_cluster_with_hint(self, warp: Warp<'_>, phase: Phase, nanoseconds: u32) -> Phase
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: a barrier, which `init` has made; warp scope is converged.
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

    /// Each lane waits until the phase is over that it arrived in (`mbarrier.try_wait`, until it
    /// is).
    #[inline(always)]
    #[track_caller]
    pub fn wait_behind(self, warp: Warp<'_>, arrivals: &PerLane<Arrival>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let site = Site::here();
        warp.each(|lane| {
            let state = lane.get(arrivals).state;
            // SAFETY: a barrier, which `init` has made.
            unsafe { mbarrier::wait_behind(site, self.address, state) };
        });
    }

    /// As [`wait_behind`](Self::wait_behind), and what other blocks of the cluster wrote before
    /// they arrived, the lane sees (`mbarrier.try_wait.acquire.cluster`). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn wait_behind_for_cluster(self, warp: Warp<'_>, arrivals: &PerLane<Arrival>)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let site = Site::here();
        warp.each(|lane| {
            let state = lane.get(arrivals).state;
            // SAFETY: a barrier, which `init` has made.
            unsafe { mbarrier::wait_behind_for_cluster(site, self.address, state) };
        });
    }

    looks! {
        /// Whether a phase is over (`mbarrier.test_wait.parity`). If it is, the lane sees what those did who arrived in it.
        is_over();
        /// The same, and what other blocks of the cluster wrote before they arrived, the lane sees too
        /// (`mbarrier.test_wait.parity.acquire.cluster`). Needs sm_90.
        is_over_for_cluster();
        /// Whether a phase is over, for which the lane waits up to about so many nanoseconds (`mbarrier.try_wait.parity` with
        /// `suspendTimeHint`, PTX ISA 9.7.13.15.16): for lanes that have something else to do if it takes longer. If it is, the lane
        /// sees what those did who arrived in it.
        ///
        /// Lanes of a warp may come to different answers, so there is none for a warp: that waits
        /// ([`wait_with_hint`](Self::wait_with_hint)). The simulator has no time; there others go on once before the answer. Needs sm_90.
        ///
        /// ```
        /// use ptx_matrix::prelude::*;
        ///
        /// /// One lane counts as long as what the other warp is to bring has not come.
        /// #[kernel(threads = 64, target = "sm_90")]
        /// fn look(block: &Block, #[shared] row: SharedTile<u32, 1, 4>, #[shared] come: BarrierMemory, d: GlobalMut<u32>) {
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
        /// The same, and what other blocks of the cluster wrote before they arrived, the lane sees too
        /// (`mbarrier.try_wait.parity.acquire.cluster`). Needs sm_90.
        try_wait_for_cluster(nanoseconds);
    }

    /// The memory, for another barrier, once all warps of the block have come here and need this
    /// one no more (`bar.sync`, `mbarrier.inval`).
    #[inline(always)]
    #[track_caller]
    pub fn invalidate(self, block: &Block<'_>) -> BarrierMemory
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        invalidate(block, |_| self.address, 1);
        BarrierMemory { address: self.address }
    }

    /// Where it lies, in the `.shared` window.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }
}

#[inline(always)]
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
                    // SAFETY: a barrier, which `init` has made, and which nobody needs any more.
                    unsafe { mbarrier::invalidate(site, address(index)) };
                }
            }
        });
    }
}
