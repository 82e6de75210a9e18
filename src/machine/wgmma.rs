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
#[inline]
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
#[inline]
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
#[inline]
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
#[inline]
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
#[inline]
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

/// The simulation of a `wgmma`. A GPU has the instructions instead.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) struct Simulation {
    site: Site,
    operation: engine::Operation,
    metadata: PerLane<u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Simulation {
    /// For a dense A. B is a descriptor, and whether it is transposed.
    pub(crate) fn new(
        site: Site,
        form: Form,
        (b, transposes_b): (u64, bool),
        accumulates: bool,
        negates_a: bool,
    ) -> Self {
        let operation = engine::Operation {
            form,
            b,
            transposes_b,
            accumulates,
            negates_a,
            negates_b: false,
            selector: 0,
        };
        Self { site, operation, metadata: PerLane::splat(0) }
    }

    /// The same with a sparse A.
    pub(crate) fn sparse(self, metadata: PerLane<u32>, selector: u32) -> Self {
        Self { metadata, operation: engine::Operation { selector, ..self.operation }, ..self }
    }

    pub(crate) fn with_a_in_shared_memory<R: Registers<Register = u32>>(
        self,
        d: PerLane<R>,
        descriptor: u64,
        transposed: bool,
    ) -> PerLane<R> {
        self.multiply(d, engine::A::Shared { descriptor, transposed })
    }

    pub(crate) fn with_a_in_registers<R: Registers<Register = u32>>(
        self,
        d: PerLane<R>,
        a: PerLane<[u32; 4]>,
    ) -> PerLane<R> {
        self.multiply(d, engine::A::Registers(a))
    }

    fn multiply<R: Registers<Register = u32>>(
        self,
        d: PerLane<R>,
        a: engine::A<PerLane<[u32; 4]>>,
    ) -> PerLane<R> {
        let Self { site, operation, metadata } = self;
        engine::multiply(site, engine::Operands { operation, a, metadata }, d)
    }
}

/// No form uses it on a GPU.
#[cfg(target_arch = "nvptx64")]
pub(crate) struct Simulation;

#[cfg(target_arch = "nvptx64")]
impl Simulation {
    pub(crate) fn new(_: Site, _: Form, _: (u64, bool), _: bool, _: bool) -> Self {
        Simulation
    }

    pub(crate) fn sparse(self, _: PerLane<u32>, _: u32) -> Self {
        self
    }

    pub(crate) fn with_a_in_shared_memory<R>(self, _: PerLane<R>, _: u64, _: bool) -> PerLane<R> {
        unreachable!("`dense_instructions` and `sparse_instructions` override it")
    }

    pub(crate) fn with_a_in_registers<R>(self, _: PerLane<R>, _: PerLane<[u32; 4]>) -> PerLane<R> {
        unreachable!("`dense_instructions` and `sparse_instructions` override it")
    }
}

/// The functions of `raw` for a form with a dense A, in its `impl`.
#[cfg(target_arch = "nvptx64")]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! dense_instructions {
    (($($form:tt)*) $immediates:ident) => {
        crate::wgmma_named! { 0 $($form)* => dense_instructions ($immediates) }
    };
    (@named $name:ident (nothing)) => { pastey::paste! {
        dense_instructions! { @one [<$name _ss>] [<$name _rs>] [] [] }
    } };
    (@named $name:ident (negate)) => { pastey::paste! {
        dense_instructions! {
            @one [<$name _ss>] [<$name _rs>] [::<NEGATE, false>] [::<NEGATE, false>]
        }
    } };
    (@named $name:ident (transpose)) => { pastey::paste! {
        dense_instructions! {
            @one [<$name _ss>] [<$name _rs>] [::<NEGATE, false, TRANS_A, TRANS_B>]
                [::<NEGATE, false, TRANS_B>]
        }
    } };
    (@one $ss:ident $rs:ident [$($shared:tt)*] [$($registers:tt)*]) => {
        #[inline]
        unsafe fn shared<const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool>(
            _: crate::lane::Site,
            d: crate::lane::PerLane<Self::Registers>,
            a: u64,
            b: u64,
            adds: bool,
        ) -> crate::lane::PerLane<Self::Registers> {
            // SAFETY: guaranteed by the caller.
            crate::lane::PerLane::from_own(unsafe {
                crate::raw::$ss $($shared)*(d.own(), a, b, adds)
            })
        }

        #[inline]
        unsafe fn registers<const NEGATE: bool, const TRANS_B: bool>(
            _: crate::lane::Site,
            d: crate::lane::PerLane<Self::Registers>,
            a: crate::lane::PerLane<[u32; 4]>,
            b: u64,
            adds: bool,
        ) -> crate::lane::PerLane<Self::Registers> {
            // SAFETY: guaranteed by the caller.
            crate::lane::PerLane::from_own(unsafe {
                crate::raw::$rs $($registers)*(d.own(), a.own(), b, adds)
            })
        }
    };
}

/// The functions of `raw` for a form with a sparse A, in its `impl`.
#[cfg(target_arch = "nvptx64")]
#[allow(unused_macros, reason = "an older GPU has no `wgmma`")]
macro_rules! sparse_instructions {
    ($selectors:literal ($($form:tt)*) $immediates:ident) => {
        crate::wgmma_named! { $selectors $($form)* => sparse_instructions ($immediates) }
    };
    (@named $name:ident (nothing)) => { pastey::paste! {
        sparse_instructions! { @one [<$name _ss>] [<$name _rs>] [] [] }
    } };
    (@named $name:ident (negate)) => { pastey::paste! {
        sparse_instructions! {
            @one [<$name _ss>] [<$name _rs>] [NEGATE, false] [NEGATE, false]
        }
    } };
    (@named $name:ident (transpose)) => { pastey::paste! {
        sparse_instructions! {
            @one [<$name _ss>] [<$name _rs>] [NEGATE, false, TRANS_A, TRANS_B]
                [NEGATE, false, TRANS_B]
        }
    } };
    (@one $ss:ident $rs:ident [$($shared:tt)*] [$($registers:tt)*]) => {
        #[inline]
        unsafe fn shared<
            const SELECTOR: u32, const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool
        >(
            _: crate::lane::Site,
            d: crate::lane::PerLane<Self::Registers>,
            a: u64,
            b: u64,
            metadata: crate::lane::PerLane<u32>,
            adds: bool,
        ) -> crate::lane::PerLane<Self::Registers> {
            // SAFETY: guaranteed by the caller.
            crate::lane::PerLane::from_own(unsafe {
                crate::raw::$ss::<SELECTOR, $($shared)*>(d.own(), a, b, metadata.own(), adds)
            })
        }

        #[inline]
        unsafe fn registers<const SELECTOR: u32, const NEGATE: bool, const TRANS_B: bool>(
            _: crate::lane::Site,
            d: crate::lane::PerLane<Self::Registers>,
            a: crate::lane::PerLane<[u32; 4]>,
            b: u64,
            metadata: crate::lane::PerLane<u32>,
            adds: bool,
        ) -> crate::lane::PerLane<Self::Registers> {
            // SAFETY: guaranteed by the caller.
            crate::lane::PerLane::from_own(unsafe {
                crate::raw::$rs::<SELECTOR, $($registers)*>(
                    d.own(), a.own(), b, metadata.own(), adds,
                )
            })
        }
    };
}

/// The simulator needs no functions besides the form's description.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! dense_instructions {
    ($form:tt $immediates:ident) => {};
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! sparse_instructions {
    ($selectors:tt $form:tt $immediates:ident) => {};
}

#[allow(unused_imports, reason = "as above")]
pub(crate) use {dense_instructions, sparse_instructions};
