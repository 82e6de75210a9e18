use super::SharedLayout;
use super::layout::align_up;
use crate::site::{Site, check};
use core::marker::PhantomData;

/// `N` parts of shared memory that are chosen at run time: the stages of a pipeline.
///
/// An array `[P; N]` of parts is an array of handles, and a GPU can only index registers by constants: chosen at run time,
/// it goes to local memory. This is one handle, and a part's address is computed.
///
/// ```
/// use ptx_matrix::*;
///
/// /// Each warp has a tile of its own.
/// #[kernel(threads = 128)]
/// fn scratch(block: &Block, #[shared] tiles: SharedRing<SharedTile<u32, 1, 32>, 4>, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     let tile = tiles.part(warp.index());
///     tile.fill(warp, |_, col| col as u32);
///     warp.sync();
///     let first = warp.index() * 32;
///     warp.each(|lane| d.set(first + lane.id(), tile.get(lane, (0, 31 - lane.id()))));
/// }
///
/// let mut d = [0; 128];
/// scratch::simulate(1, &mut d).unwrap();
/// assert_eq!((d[0], d[127]), (31, 0));
/// ```
pub struct SharedRing<P, const N: usize> {
    address: u32,
    _parts: PhantomData<fn() -> P>,
}

impl<P, const N: usize> Clone for SharedRing<P, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize> Copy for SharedRing<P, N> {}

// SAFETY: as `[P; N]`.
unsafe impl<P: SharedLayout, const N: usize> SharedLayout for SharedRing<P, N> {
    const BYTES: usize = <[P; N]>::BYTES;
    const ALIGN: usize = P::ALIGN;

    #[inline(always)]
    unsafe fn at(address: u32) -> Self {
        SharedRing { address, _parts: PhantomData }
    }
}

impl<P: SharedLayout, const N: usize> SharedRing<P, N> {
    /// Part `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> P {
        check!(index < N, Site::here(), RingOutOfBounds { index, len: N });
        // SAFETY: within this ring's bytes, at a multiple of the stride.
        unsafe { P::at(self.address + (index * align_up(P::BYTES, P::ALIGN)) as u32) }
    }
}
