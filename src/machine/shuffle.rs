//! `shfl.sync`: the exchange of values between lanes, in 32-bit registers.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{Mode, note_collective};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::LANES;
use crate::lane::{PerLane, Site};
#[cfg(target_arch = "nvptx64")]
use crate::{machine::uniform, raw};
use bytemuck::Pod;

/// One row for each shuffle: its name, the function of `raw`, the form, the mode, and the last
/// operand.
macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident $raw:ident $form:literal $mode:ident $clamp:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The warp is converged.
        #[inline]
        pub(crate) unsafe fn $name<T: Pod>(
            site: Site, values: &PerLane<T>, operand: u32
        ) -> PerLane<T> {
            #[cfg(target_arch = "nvptx64")]
            return {
                let _ = site;
                // SAFETY: guaranteed by the caller.
                passed(values, |value| unsafe { raw::$raw(value, operand, $clamp) })
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return passed(site, values, $form, |lane| Mode::$mode.source(lane, operand, $clamp).0);
        }
    )*};
}
shuffles! {
    /// The value of the lane whose number is this lane's XOR the operand.
    shuffle_xor shfl_sync_bfly_b32 "shfl.sync.bfly.b32" Butterfly 31;
    /// The value of the lane with a number lower by the operand.
    shuffle_up shfl_sync_up_b32 "shfl.sync.up.b32" Up 0;
    /// The value of the lane with a number higher by the operand.
    shuffle_down shfl_sync_down_b32 "shfl.sync.down.b32" Down 31;
}

/// The value of the lane that each lane selects.
///
/// # Safety
/// The warp is converged.
#[inline]
pub(crate) unsafe fn shuffle<T: Pod>(
    site: Site,
    values: &PerLane<T>,
    from: &PerLane<u32>,
) -> PerLane<T> {
    #[cfg(target_arch = "nvptx64")]
    return {
        let _ = site;
        let from = from.own();
        // SAFETY: guaranteed by the caller.
        passed(values, |value| unsafe { raw::shfl_sync_idx_b32(value, from, 31) })
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return passed(site, values, "shfl.sync.idx.b32", |lane| {
        Mode::Index.source(lane, from.array()[lane], 31).0
    });
}

/// The value of lane 0.
///
/// # Safety
/// The warp is converged.
#[inline]
pub(crate) unsafe fn broadcast<T: Pod>(site: Site, values: &PerLane<T>) -> T {
    #[cfg(target_arch = "nvptx64")]
    return {
        let _ = site;
        // SAFETY: guaranteed by the caller.
        passed(values, |value| unsafe { uniform(value) }).own()
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return passed(site, values, "shfl.sync.idx.b32", |_| 0).array()[0];
}

/// The value for each lane, register by register.
#[cfg(target_arch = "nvptx64")]
#[inline]
fn passed<T: Pod>(values: &PerLane<T>, of_register: impl Fn(u32) -> u32) -> PerLane<T> {
    let mut value = values.own();
    for register in bytemuck::must_cast_slice_mut::<T, u32>(core::slice::from_mut(&mut value)) {
        *register = of_register(*register);
    }
    PerLane::from_own(value)
}

/// The value for each lane, from the lane `source(lane)`.
#[cfg(not(target_arch = "nvptx64"))]
fn passed<T: Pod>(
    site: Site,
    values: &PerLane<T>,
    form: &'static str,
    source: impl Fn(usize) -> usize,
) -> PerLane<T> {
    for _ in 0..size_of::<T>() / 4 {
        note_collective(site, form);
    }
    PerLane::from_array(core::array::from_fn::<_, LANES, _>(|lane| values.array()[source(lane)]))
}
