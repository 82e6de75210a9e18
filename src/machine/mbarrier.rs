//! `mbarrier`: made, waited for, asked.

use super::BlockRef;
#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::mbarrier::{self as engine, Phase, Scope};
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use crate::{lane::PerLane, machine::all, raw};

/// Makes a barrier whose phases need `count` arrivals.
///
/// # Safety
/// The address is that of memory for a barrier.
#[inline(always)]
pub(crate) unsafe fn init(site: Site, address: u32, count: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        let _ = site;
        raw::mbarrier_init_shared_cta_b64(address, count);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::init(site, "mbarrier.init.shared::cta.b64", address, count);
}

/// Makes a barrier memory again.
///
/// # Safety
/// It is a barrier, which nobody needs any more.
#[inline(always)]
pub(crate) unsafe fn invalidate(site: Site, address: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        let _ = site;
        raw::mbarrier_inval_shared_cta_b64(address);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::invalidate(site, "mbarrier.inval.shared::cta.b64", address);
}

/// One look of a lane at the phase of this number: its function, its operand, the raw one, PTX,
/// whose writes are seen then.
macro_rules! looks {
    ($($name:ident($($operand:ident)?) $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// Whether the phase is over.
        ///
        /// # Safety
        /// It is a barrier.
        #[inline(always)]
        pub(crate) unsafe fn $name(site: Site, address: u32, phase: u32, $($operand: u32)?) -> bool {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            return unsafe {
                let _ = site;
                raw::$raw(address, phase & 1, $($operand)?)
            };
            // Not as the raw function, which waits until the phase is over, and knows of it no more than that it is odd.
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                $(let _ = $operand;)?
                engine::test_in_lane(site, $ptx, address, Phase::Number(phase), Scope::$scope)
            };
        }
    )*};
}
looks! {
    is_over() mbarrier_test_wait_parity_shared_cta_b64 "mbarrier.test_wait.parity.shared::cta.b64" Block;
    is_over_for_cluster() mbarrier_test_wait_parity_acquire_cluster_shared_cta_b64
        "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
    try_wait(nanoseconds) mbarrier_try_wait_parity_shared_cta_b64_hint "mbarrier.try_wait.parity.shared::cta.b64" Block;
    try_wait_for_cluster(nanoseconds) mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64_hint
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
}

/// One wait of a warp for the phase of this number.
macro_rules! waits {
    ($($name:ident($($operand:ident)?) $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// The warp waits until the phase is over.
        ///
        /// # Safety
        /// It is a barrier, and the warp is converged.
        #[inline(always)]
        pub(crate) unsafe fn $name(warp: BlockRef<'_>, site: Site, address: u32, phase: u32, $($operand: u32)?) {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = (warp, site);
                let parity = phase & 1;
                // SAFETY: the caller's.
                until(|| unsafe { raw::$raw(address, parity, $($operand)?) });
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $(let _ = $operand;)?
                engine::wait(warp.warp_of_block(), site, $ptx, address, Phase::Number(phase), Scope::$scope);
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
    wait_for_cluster_with_hint(nanoseconds) mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64_hint
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64" Cluster;
}

/// The warp asks until all lanes know that it is so.
///
/// Which they learn together: else ptxas takes it that one may ask again while others have gone on,
/// and has the warp yield wherever the loop around begins anew, which takes some 60 cycles.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn until(is_so: impl Fn() -> bool) {
    // SAFETY: warp scope is not under lane-dependent control flow.
    while !unsafe { all(is_so()) } {}
}

/// A lane's wait for the phase that it arrived in.
macro_rules! waits_behind {
    ($($name:ident $raw:ident $ptx:literal $scope:ident;)*) => {$(
        /// The lane waits until the phase is over that it arrived in, which `state` names.
        ///
        /// # Safety
        /// It is a barrier.
        #[inline(always)]
        pub(crate) unsafe fn $name(site: Site, address: u32, state: u64) {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = site;
                // SAFETY: the caller's.
                while !unsafe { raw::$raw(address, state) } {}
            }
            #[cfg(not(target_arch = "nvptx64"))]
            while !engine::wait_in_lane(site, $ptx, address, Phase::Of(state), Scope::$scope) {}
        }
    )*};
}
waits_behind! {
    wait_behind mbarrier_try_wait_shared_cta_b64 "mbarrier.try_wait.shared::cta.b64" Block;
    wait_behind_for_cluster mbarrier_try_wait_acquire_cluster_shared_cta_b64
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64" Cluster;
}

/// The answer to a warp's look at a phase, ahead of its wait. The simulator has none: it waits.
#[derive(Clone, Copy)]
pub(crate) struct LookAhead {
    #[cfg(target_arch = "nvptx64")]
    is_over: PerLane<bool>,
}

impl LookAhead {
    /// Looks.
    ///
    /// # Safety
    /// It is a barrier.
    #[inline(always)]
    pub(crate) unsafe fn at(site: Site, address: u32, phase: u32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = site;
            // Not `try_wait`, which of a phase that takes longer answers late, and whoever has
            // asked ends no sooner. SAFETY: the caller's.
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
                Phase::Number(phase),
            );
            LookAhead {}
        }
    }

    /// Whether all lanes saw that the phase is over.
    ///
    /// # Safety
    /// The warp is converged.
    #[inline(always)]
    pub(crate) unsafe fn is_over(self) -> bool {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller's.
        return unsafe { all(self.is_over.own()) };
        #[cfg(not(target_arch = "nvptx64"))]
        false
    }
}
