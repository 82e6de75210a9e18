//! `mbarrier`: initialisation, waits and tests.

use super::BlockRef;
#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::mbarrier::{self as engine, AwaitedPhase, Scope};
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use crate::{lane::PerLane, machine::all, raw};

/// Initialises a barrier whose phases need `count` arrivals.
///
/// # Safety
/// The address is that of memory for a barrier.
#[inline]
pub(crate) unsafe fn init(site: Site, address: u32, count: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: guaranteed by the caller.
    unsafe {
        let _ = site;
        raw::mbarrier_init_shared_cta_b64(address, count);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::init(site, "mbarrier.init.shared::cta.b64", address, count);
}

/// Ends a barrier, so that its memory can be reused.
///
/// # Safety
/// It is a barrier that is no longer used.
#[inline]
pub(crate) unsafe fn invalidate(site: Site, address: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: guaranteed by the caller.
    unsafe {
        let _ = site;
        raw::mbarrier_inval_shared_cta_b64(address);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::invalidate(site, "mbarrier.inval.shared::cta.b64", address);
}

/// A lane's test of a phase. A row: function, operand, function of `raw`, PTX form, and the scope
/// of the acquired writes.
macro_rules! looks {
    ($($name:ident($($operand:ident)?) $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// Whether the phase is over.
        ///
        /// # Safety
        /// The address is that of a barrier.
        #[inline]
        pub(crate) unsafe fn $name(
            site: Site, address: u32, phase: u32, $($operand: u32)?
        ) -> bool {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: guaranteed by the caller.
            return unsafe {
                let _ = site;
                raw::$raw(address, phase & 1, $($operand)?)
            };
            // The raw function would wait in the simulator, and would only know the phase's parity.
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                $(let _ = $operand;)?
                let phase = AwaitedPhase::Number(phase);
                engine::test_in_lane(site, $ptx, address, phase, Scope::$scope)
            };
        }
    )*};
}
looks! {
    is_over() mbarrier_test_wait_parity_shared_cta_b64 "mbarrier.test_wait.parity.shared::cta.b64"
        Block;
    is_over_for_cluster() mbarrier_test_wait_parity_acquire_cluster_shared_cta_b64
        "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
    try_wait(nanoseconds) mbarrier_try_wait_parity_shared_cta_b64_hint
        "mbarrier.try_wait.parity.shared::cta.b64" Block;
    try_wait_for_cluster(nanoseconds) mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64_hint
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
}

/// A warp's wait for a phase. Rows as above.
macro_rules! waits {
    ($($name:ident($($operand:ident)?) $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// Waits until the phase is over.
        ///
        /// # Safety
        /// The address is that of a barrier, and the warp is converged.
        #[inline]
        pub(crate) unsafe fn $name(
            warp: BlockRef<'_>, site: Site, address: u32, phase: u32, $($operand: u32)?
        ) {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = (warp, site);
                let parity = phase & 1;
                // SAFETY: guaranteed by the caller.
                until(|| unsafe { raw::$raw(address, parity, $($operand)?) });
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $(let _ = $operand;)?
                engine::wait(
                    warp.warp_of_block(), site, $ptx, address, AwaitedPhase::Number(phase),
                    Scope::$scope
                );
            }
        }
    )*};
}
waits! {
    wait() mbarrier_try_wait_parity_shared_cta_b64 "mbarrier.try_wait.parity.shared::cta.b64" Block;
    wait_for_cluster() mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
    wait_with_hint(nanoseconds) mbarrier_try_wait_parity_shared_cta_b64_hint
        "mbarrier.try_wait.parity.shared::cta.b64" Block;
    wait_for_cluster_with_hint(nanoseconds)
        mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64_hint
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
}

/// Polls until the condition holds in all lanes of the warp.
///
/// The lanes vote. Otherwise ptxas assumes that some lanes may poll again while others continue.
/// Then it makes the warp yield at each start of the surrounding loop, which takes about 60 cycles.
#[cfg(target_arch = "nvptx64")]
#[inline]
fn until(is_so: impl Fn() -> bool) {
    // SAFETY: warp-scope code is not under lane-dependent control flow.
    while !unsafe { all(is_so()) } {}
}

/// A lane's wait for the phase in which it arrived.
macro_rules! waits_behind {
    ($($name:ident $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// Waits until the phase is over in which the lane arrived. `state` identifies the phase.
        ///
        /// # Safety
        /// The address is that of a barrier.
        #[inline]
        pub(crate) unsafe fn $name(site: Site, address: u32, state: u64) {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = site;
                // SAFETY: guaranteed by the caller.
                while !unsafe { raw::$raw(address, state) } {}
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let phase = AwaitedPhase::Of(state);
                while !engine::wait_in_lane(site, $ptx, address, phase, Scope::$scope) {}
            }
        }
    )*};
}
waits_behind! {
    wait_behind mbarrier_try_wait_shared_cta_b64 "mbarrier.try_wait.shared::cta.b64" Block;
    wait_behind_for_cluster mbarrier_try_wait_acquire_cluster_shared_cta_b64
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64" Cluster;
}

/// The result of a warp's early test of a phase, before its wait. The simulator has no result: it
/// waits.
#[derive(Clone, Copy)]
pub(crate) struct LookAhead {
    #[cfg(target_arch = "nvptx64")]
    is_over: PerLane<bool>,
}

impl LookAhead {
    /// Tests the phase.
    ///
    /// # Safety
    /// The address is that of a barrier.
    #[inline]
    pub(crate) unsafe fn at(site: Site, address: u32, phase: u32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = site;
            // Not `try_wait`: for a longer phase it returns late, and the wait afterwards ends no
            // sooner. SAFETY: guaranteed by the caller.
            let is_over =
                unsafe { raw::mbarrier_test_wait_parity_shared_cta_b64(address, phase & 1) };
            LookAhead { is_over: PerLane::from_own(is_over) }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        {
            engine::look_ahead(
                site,
                "mbarrier.test_wait.parity.shared::cta.b64",
                address,
                AwaitedPhase::Number(phase),
            );
            LookAhead {}
        }
    }

    /// Whether the phase was over in all lanes.
    ///
    /// # Safety
    /// The warp is converged.
    #[inline]
    pub(crate) unsafe fn is_over(self) -> bool {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: guaranteed by the caller.
        return unsafe { all(self.is_over.own()) };
        #[cfg(not(target_arch = "nvptx64"))]
        false
    }
}
