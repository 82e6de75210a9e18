use super::SharedLayout;
use super::layout::align_up;
use crate::lane::Site;
use crate::machine::check;
use crate::scope::Warp;
use core::marker::PhantomData;

/// `N` parts of shared memory that are chosen at run time: the stages of a pipeline.
///
/// An array `[P; N]` of parts is an array of handles, and a GPU can only index registers by
/// constants: chosen at run time, it goes to local memory. This is one handle, and a part's address
/// is computed.
///
/// ```
/// use ptx_matrix::prelude::*;
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

    fn name_byte(offset: usize, name: &mut crate::machine::SharedName) {
        <[P; N]>::name_byte(offset, name);
    }
}

/// A part of a ring of `N`, to go round it with: less than `N` always, so that
/// [`SharedRing::stage`] need not check.
///
/// ```
/// use ptx_matrix::memory::RingIndex;
/// let last = RingIndex::<4>::FIRST.before();
/// assert_eq!((last.get(), last.next().get()), (3, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingIndex<const N: usize>(u32);

impl<const N: usize> RingIndex<N> {
    /// Part 0.
    pub const FIRST: Self = {
        assert!(N > 0, "a ring without parts has no first one");
        RingIndex(0)
    };

    /// The part behind this one; behind the last, the first.
    #[inline(always)]
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 as usize == N - 1 { Self::FIRST } else { RingIndex(self.0 + 1) }
    }

    /// The part before this one; before the first, the last.
    #[inline(always)]
    #[must_use]
    pub const fn before(self) -> Self {
        if self.0 == 0 { RingIndex(N as u32 - 1) } else { RingIndex(self.0 - 1) }
    }

    /// The same, of which the assembler learns that all lanes have it: as [`Warp::uniform`]. What a
    /// descriptor of `wgmma` is made of should be so.
    #[inline(always)]
    #[must_use]
    pub fn uniform(self, warp: Warp<'_>) -> Self {
        RingIndex(warp.uniform(self.0))
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl<P: SharedLayout, const N: usize> SharedRing<P, N> {
    /// Where the first part starts, in the `.shared` window.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// Bytes from one part to the next.
    pub(crate) const STRIDE: u32 = align_up(P::BYTES, P::ALIGN) as u32;

    /// The part of this index.
    #[inline(always)]
    pub fn stage(self, index: RingIndex<N>) -> P {
        // SAFETY: an index is less than `N`: within this ring's bytes, at a multiple of the stride.
        unsafe { P::at(self.address + index.0 * Self::STRIDE) }
    }

    /// The same memory for something else, once nobody needs what is in it: a pipeline's, for the
    /// results. The simulator reports who still reads or copies to it; not, who then takes what
    /// was in it for the new parts' elements.
    #[inline(always)]
    pub fn reuse<Q: SharedLayout>(self) -> Q {
        const {
            assert!(Q::BYTES <= Self::BYTES, "there is not so much memory in the ring");
            assert!(Self::ALIGN % Q::ALIGN == 0, "the ring is not so well aligned");
        }
        // SAFETY: within this ring's bytes, and aligned.
        unsafe { Q::at(self.address) }
    }

    /// Part `index`, less than `N`.
    #[inline(always)]
    #[track_caller]
    pub fn part(self, index: usize) -> P {
        check!(index < N, Site::here(), RingOutOfBounds { index, len: N });
        // SAFETY: within this ring's bytes, at a multiple of the stride.
        unsafe { P::at(self.address + index as u32 * Self::STRIDE) }
    }
}
