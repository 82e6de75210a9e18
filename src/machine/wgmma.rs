//! `wgmma`: start, groups, waits, and the registers of results.

use super::BlockRef;
#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::wgmma as engine;
#[cfg(not(target_arch = "nvptx64"))]
pub use crate::engine::wgmma::Form;
use crate::fragment::Registers;
use crate::lane::{PerLane, Site};

/// Waits until at most the `NEWEST` newest groups are in flight.
///
/// # Safety
/// The warpgroup is converged.
#[inline(always)]
pub(crate) unsafe fn wait_for<const NEWEST: u32>(site: Site, block: BlockRef<'_>) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: guaranteed by the caller.
    unsafe {
        crate::raw::wgmma_wait_group_sync_aligned::<NEWEST>();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::wait(block.warp_of_block(), site, NEWEST as usize);
    #[cfg(target_arch = "nvptx64")]
    let _ = (site, block);
}

/// The accumulator registers after the last wait: no `wgmma` writes them any more.
#[inline(always)]
pub(crate) fn settled<R: Registers<Register = u32>>(
    site: Site,
    registers: PerLane<R>,
) -> PerLane<R> {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    let registers = {
        let mut registers = registers;
        registers
            .own_mut()
            .as_mut()
            .iter_mut()
            .for_each(|register| [*register] = crate::raw::wgmma_registers([*register]));
        registers
    };
    #[cfg(not(target_arch = "nvptx64"))]
    let registers = engine::settle(site, registers);
    #[cfg(target_arch = "nvptx64")]
    let _ = site;
    registers
}

/// Checks in the simulator that no `wgmma` in flight writes the registers.
#[inline(always)]
pub(crate) fn check_finished<R: Registers<Register = u32>>(site: Site, registers: &PerLane<R>) {
    #[cfg(target_arch = "nvptx64")]
    let _ = (site, registers);
    #[cfg(not(target_arch = "nvptx64"))]
    engine::check_finished(site, registers);
}

/// `wgmma.fence`, before the first `wgmma` of a group.
///
/// # Safety
/// The warpgroup is converged.
#[inline(always)]
pub(crate) unsafe fn fence(site: Site) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: guaranteed by the caller.
    unsafe {
        crate::raw::wgmma_fence_sync_aligned();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::fence(site);
    #[cfg(target_arch = "nvptx64")]
    let _ = site;
}

/// `wgmma.commit_group`: ends a group.
///
/// # Safety
/// The warpgroup is converged.
#[inline(always)]
pub(crate) unsafe fn commit(site: Site) {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90a"))]
    // SAFETY: guaranteed by the caller.
    unsafe {
        crate::raw::wgmma_commit_group_sync_aligned();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::commit(site);
    #[cfg(target_arch = "nvptx64")]
    let _ = site;
}

/// The description of a form for the simulator; empty on the device.
#[cfg(target_arch = "nvptx64")]
#[derive(Debug, Clone, Copy)]
pub struct Form;

#[cfg(target_arch = "nvptx64")]
#[allow(dead_code, reason = "an older GPU has no `wgmma`")]
impl Form {
    pub(crate) const fn of(_: &str, _: &'static str, _: usize) -> Self {
        Form
    }
}

/// A `wgmma` with A in shared memory: the function of `raw`, and the arguments for the simulator.
#[cfg(target_arch = "nvptx64")]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! multiply_shared {
    ([$($raw:tt)*] $form:expr, $site:ident, $d:ident, ($a:ident, $trans_a:expr),
        ($b:ident, $trans_b:expr),
        [$($metadata:ident)?] $selector:expr, $adds:ident, $negates:ident) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        PerLane::from_own(unsafe {
            crate::raw::$($raw)*($d.own(), $a, $b, $($metadata.own(),)? $adds)
        })
    }};
}

/// A `wgmma` with A in registers.
#[cfg(target_arch = "nvptx64")]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! multiply_registers {
    ([$($raw:tt)*] $form:expr, $site:ident, $d:ident, $a:ident, ($b:ident, $trans_b:expr),
        [$($metadata:ident)?] $selector:expr, $adds:ident, $negates:ident) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        PerLane::from_own(unsafe {
            crate::raw::$($raw)*($d.own(), $a.own(), $b, $($metadata.own(),)? $adds)
        })
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! multiply_shared {
    ([$($raw:tt)*] $form:expr, $site:ident, $d:ident, ($a:ident, $trans_a:expr),
        ($b:ident, $trans_b:expr),
        [$($metadata:ident)?] $selector:expr, $adds:ident, $negates:ident) => {{
        use crate::engine::wgmma::{self, Operands, Operation};
        let operation = Operation {
            form: $form,
            b: $b,
            transposes_b: $trans_b,
            accumulates: $adds,
            negates_a: $negates,
            negates_b: false,
            selector: $selector,
        };
        let a = wgmma::A::Shared { descriptor: $a, transposed: $trans_a };
        let metadata = crate::machine::wgmma::metadata([$($metadata)?]);
        wgmma::multiply($site, Operands { operation, a, metadata }, $d)
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! multiply_registers {
    ([$($raw:tt)*] $form:expr, $site:ident, $d:ident, $a:ident, ($b:ident, $trans_b:expr),
        [$($metadata:ident)?] $selector:expr, $adds:ident, $negates:ident) => {{
        use crate::engine::wgmma::{self, Operands, Operation};
        let operation = Operation {
            form: $form,
            b: $b,
            transposes_b: $trans_b,
            accumulates: $adds,
            negates_a: $negates,
            negates_b: false,
            selector: $selector,
        };
        let a = wgmma::A::Registers($a);
        let metadata = crate::machine::wgmma::metadata([$($metadata)?]);
        wgmma::multiply($site, Operands { operation, a, metadata }, $d)
    }};
}

#[allow(unused_imports, reason = "as above")]
pub(crate) use {multiply_registers, multiply_shared};

/// The metadata of a sparse A; zeros for a dense A.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn metadata<const N: usize>(words: [PerLane<u32>; N]) -> PerLane<u32> {
    words.first().copied().unwrap_or(PerLane::splat(0))
}
