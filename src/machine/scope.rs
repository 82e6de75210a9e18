//! The executing block, warp and lanes.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{self, WarpOfBlock, cluster, registers};
#[cfg(target_arch = "nvptx64")]
use crate::lane::LANES;
use crate::lane::{Grid, Lane, LaneCapture, PerLane, Site};
#[cfg(target_arch = "nvptx64")]
use crate::{machine::uniform as uniform_in_warp, raw};
use core::marker::PhantomData;

/// The executing warp of a block: on the device the block's number of threads, on the host the
/// simulated warp.
#[derive(Clone, Copy)]
pub(crate) struct BlockRef<'k> {
    #[cfg(target_arch = "nvptx64")]
    threads: usize,
    #[cfg(not(target_arch = "nvptx64"))]
    simulated: WarpOfBlock<'k>,
    _kernel: PhantomData<&'k ()>,
}

impl<'k> BlockRef<'k> {
    /// The block, at the entry of a kernel.
    ///
    /// # Safety
    /// The kernel was launched with blocks of `threads` threads in one dimension, a multiple of 32.
    /// All threads of the block call this.
    #[inline]
    pub(crate) unsafe fn enter(threads: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            // SAFETY: guaranteed by the caller; only the bound depends on the number. It gives LLVM
            // the bounds of the warp's index.
            unsafe { core::hint::assert_unchecked((raw::index::thread() as usize) < threads) };
            BlockRef { threads, _kernel: PhantomData }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        unreachable!("no kernel of {threads} threads is entered on the host")
    }

    /// A simulated warp.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn simulated(simulated: WarpOfBlock<'k>) -> Self {
        BlockRef { simulated, _kernel: PhantomData }
    }

    /// The simulated warp, for the engine.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(super) fn warp_of_block(self) -> WarpOfBlock<'k> {
        self.simulated
    }

    /// `%ctaid`.
    #[inline]
    pub(crate) fn index(self) -> Grid {
        #[cfg(target_arch = "nvptx64")]
        return raw::index::block().into();
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.block_index();
    }

    /// `%nctaid`.
    #[inline]
    pub(crate) fn grid(self) -> Grid {
        #[cfg(target_arch = "nvptx64")]
        return raw::index::grid().into();
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.grid();
    }

    /// Number of threads of the block.
    #[inline]
    pub(crate) fn threads(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        return self.threads;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.threads();
    }

    /// The warp's index in the block.
    #[inline]
    pub(crate) fn warp(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the quotient is the same in all lanes of a warp.
        return unsafe { raw::index::thread() } as usize / LANES;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.warp();
    }

    /// The warp's index, which the assembler knows as uniform. It is less than `warps`.
    ///
    /// # Safety
    /// The warp is converged, and its block has `warps` warps.
    #[inline]
    pub(crate) unsafe fn uniform_warp(self, warps: usize) -> u32 {
        let index = self.warp() as u32;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        return unsafe {
            let index = uniform_in_warp(index);
            core::hint::assert_unchecked((index as usize) < warps);
            index
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = warps;
            index
        }
    }

    /// Number of blocks of the cluster.
    #[inline]
    pub(crate) fn blocks_of_cluster(self) -> usize {
        #[cfg(target_arch = "nvptx64")]
        return raw::index::cluster_size() as usize;
        #[cfg(not(target_arch = "nvptx64"))]
        return self.simulated.blocks_of_cluster();
    }

    /// Synchronises all warps of the block.
    ///
    /// # Safety
    /// The warp is converged.
    #[inline]
    pub(crate) unsafe fn sync(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::bar_sync();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.simulated.sync(site);
    }

    /// Synchronises `threads` threads of the block at a named barrier.
    ///
    /// # Safety
    /// The warp is converged. The simulator reports warps that are counted twice or in place of
    /// others; on a GPU a barrier may then end early, or never.
    #[inline]
    pub(crate) unsafe fn sync_named(self, site: Site, barrier: u32, threads: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::bar_sync_threads(barrier, threads);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.simulated.sync_named(site, barrier, threads);
    }

    /// Counts the warp's threads at a named barrier, without waiting.
    ///
    /// # Safety
    /// As for [`sync_named`](Self::sync_named).
    #[inline]
    pub(crate) unsafe fn arrive_named(self, site: Site, barrier: u32, threads: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::bar_arrive_threads(barrier, threads);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.simulated.arrive_named(site, barrier, threads);
    }

    /// Synchronises the lanes of the warp.
    ///
    /// # Safety
    /// All lanes execute it.
    #[inline]
    pub(crate) unsafe fn sync_warp(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::bar_warp_sync();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.simulated.sync_warp();
            engine::note_collective(site, "bar.warp.sync");
        }
    }

    /// Runs the closure in each lane.
    #[inline]
    #[track_caller]
    pub(crate) fn each<T>(self, value: impl Fn(Lane<'_>) -> T + LaneCapture) -> PerLane<T> {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = self;
            PerLane::from_own(value(Lane::current()))
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return engine::each_lane(self.simulated, &value);
    }

    /// Runs the closure in each lane, with a mutable reference to that lane's value.
    #[inline]
    #[track_caller]
    pub(crate) fn update<T: LaneCapture>(
        self,
        values: &mut PerLane<T>,
        change: impl Fn(Lane<'_>, &mut T) + LaneCapture,
    ) {
        #[cfg(target_arch = "nvptx64")]
        change(Lane::current(), values.own_mut());
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let values = engine::taken_in_turn(values);
            engine::each_lane(self.simulated, &|lane: Lane<'_>| {
                change(lane, values[lane.id()].take().expect("each lane runs once"));
            });
        }
    }

    /// Runs the closure in one elected lane.
    ///
    /// # Safety
    /// The warp is converged.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn elect(self, work: impl Fn(Lane<'_>) + LaneCapture) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        if unsafe { raw::elect_sync() } {
            work(Lane::current());
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            engine::note_collective(Site::here(), "elect.sync");
            let elected = self.simulated.elected();
            self.each(|lane| {
                if lane.id() == elected {
                    work(lane);
                }
            });
        }
    }

    /// Reduces the registers of each thread of the warpgroup to `COUNT`.
    ///
    /// # Safety
    /// The warpgroup is converged.
    #[inline]
    pub(crate) unsafe fn give_registers<const COUNT: u32>(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::setmaxnreg_dec_sync_aligned_u32::<COUNT>();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        registers::set(self.simulated, site, "setmaxnreg.dec.sync.aligned.u32", COUNT);
    }

    /// Raises the registers of each thread of the warpgroup to `COUNT`.
    ///
    /// # Safety
    /// The warpgroup is converged.
    #[inline]
    pub(crate) unsafe fn take_registers<const COUNT: u32>(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::setmaxnreg_inc_sync_aligned_u32::<COUNT>();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        registers::set(self.simulated, site, "setmaxnreg.inc.sync.aligned.u32", COUNT);
    }

    /// Arrives at the cluster's barrier, and releases the warp's writes.
    ///
    /// # Safety
    /// The warp is converged, and waits before it arrives again.
    #[inline]
    pub(crate) unsafe fn arrive_at_cluster(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::barrier_cluster_arrive_release_aligned();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        cluster::arrive(site, "barrier.cluster.arrive.release.aligned", false);
    }

    /// Arrives at the cluster's barrier without a release of writes.
    ///
    /// # Safety
    /// As for [`arrive_at_cluster`](Self::arrive_at_cluster).
    #[inline]
    pub(crate) unsafe fn arrive_at_cluster_relaxed(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::barrier_cluster_arrive_relaxed_aligned();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        cluster::arrive(site, "barrier.cluster.arrive.relaxed.aligned", true);
    }

    /// Waits at the cluster's barrier.
    ///
    /// # Safety
    /// The warp is converged, and has arrived.
    #[inline]
    pub(crate) unsafe fn wait_for_cluster(self, site: Site) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            let _ = site;
            raw::barrier_cluster_wait_acquire_aligned();
        }
        #[cfg(not(target_arch = "nvptx64"))]
        cluster::wait(self.simulated, site, "barrier.cluster.wait.acquire.aligned");
    }
}
