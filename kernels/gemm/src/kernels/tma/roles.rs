//! Which warps of a block have tiles brought.

use ptx_matrix::*;

/// Who has tiles brought, and who multiplies them.
pub trait Roles {
    /// The first warp that multiplies: of those before it, one has tiles brought; if there are none, all that multiply do so, by turns.
    const FIRST: usize;

    /// Of the warpgroup that only has tiles brought.
    fn give_registers(group: WarpGroup<'_>);

    /// Of one that multiplies.
    fn take_registers(group: WarpGroup<'_>);
}

/// One warp of a warpgroup apart, which gives its registers to those that multiply.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub struct Apart;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
impl Roles for Apart {
    const FIRST: usize = 4;

    #[inline(always)]
    fn give_registers(group: WarpGroup<'_>) {
        group.give_registers::<{ crate::kernels::by_maps::PRODUCER }>();
    }

    #[inline(always)]
    fn take_registers(group: WarpGroup<'_>) {
        group.take_registers::<{ crate::kernels::by_maps::CONSUMER }>();
    }
}

/// All that multiply, by turns.
pub struct ByTurns;

impl Roles for ByTurns {
    const FIRST: usize = 0;

    #[inline(always)]
    fn give_registers(_: WarpGroup<'_>) {}

    #[inline(always)]
    fn take_registers(_: WarpGroup<'_>) {}
}
