use super::SharedLayout;
use super::layout::align_up;
use crate::lane::Site;
use crate::machine::check;
use crate::scope::Warp;
use core::marker::PhantomData;

/// `N` equal parts of shared memory, indexed at run time: the stages of a pipeline, or an array.
///
/// | use | access |
/// | --- | --- |
/// | the stages of a pipeline, used in turn | [`stage`](Self::stage), by [`RingIndex`] |
/// | an array: TMA boxes, sub-tiles, a tile for each warp | [`part`](Self::part), by a number |
///
/// It is one handle, and computes the address of a part. An array `[P; N]` is an array of handles
/// instead. A GPU indexes registers by constants alone, so that an array indexed at run time goes
/// to local memory.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// Reverses numbers: each warp has a tile of its own.
/// #[kernel(threads = 128)]
/// fn scratch(
///     block: &Block,
///     #[shared] tiles: SharedRing<SharedTile<u32, 1, 32>, 4>,
///     d: GlobalMut<u32>,
/// ) {
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
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize> Copy for SharedRing<P, N> {}

// SAFETY: as `[P; N]`.
unsafe impl<P: SharedLayout, const N: usize> SharedLayout for SharedRing<P, N> {
    const BYTES: usize = <[P; N]>::BYTES;
    const ALIGN: usize = P::ALIGN;

    #[inline]
    unsafe fn at(address: u32) -> Self {
        SharedRing { address, _parts: PhantomData }
    }

    fn name_byte(offset: usize, name: &mut crate::machine::SharedName) {
        <[P; N]>::name_byte(offset, name);
    }
}

/// An index into a ring of `N` parts, always less than `N`, so that [`SharedRing::stage`] needs no
/// check.
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
        assert!(N > 0, "a ring needs at least one part");
        RingIndex(0)
    };

    /// The next part; after the last part comes part 0.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 as usize == N - 1 { Self::FIRST } else { RingIndex(self.0 + 1) }
    }

    /// The part `steps` later, and how often part 0 came on the way.
    #[inline]
    pub(crate) const fn advance(self, steps: u32) -> (Self, u32) {
        // Without a sum of `steps`, which might overflow.
        let (rounds, part) = (steps / N as u32, self.0 + steps % N as u32);
        if part < N as u32 {
            (RingIndex(part), rounds)
        } else {
            (RingIndex(part - N as u32), rounds + 1)
        }
    }

    /// The preceding part; before part 0 comes the last.
    #[inline]
    #[must_use]
    pub const fn before(self) -> Self {
        if self.0 == 0 { RingIndex(N as u32 - 1) } else { RingIndex(self.0 - 1) }
    }

    /// The same index, marked for ptxas as equal in all lanes: see [`Warp::uniform`]. Descriptors
    /// of `wgmma` should be made of such an index.
    #[inline]
    #[must_use]
    pub fn uniform(self, warp: Warp<'_>) -> Self {
        RingIndex(warp.uniform(self.0))
    }

    /// The index as a number.
    #[inline]
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl<P: SharedLayout, const N: usize> SharedRing<P, N> {
    /// The address of part 0 in the `.shared` window.
    #[inline]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// The bytes from one part to the next.
    pub(crate) const STRIDE: u32 = align_up(P::BYTES, P::ALIGN) as u32;

    /// The part of the stage `index`.
    #[inline]
    pub fn stage(self, index: RingIndex<N>) -> P {
        // SAFETY: an index is less than `N`, so that the part is within this ring's bytes, at a
        // multiple of the stride.
        unsafe { P::at(self.address + index.0 * Self::STRIDE) }
    }

    /// Reuses the ring's memory for other parts, for example a pipeline's stages for the epilogue.
    ///
    /// The ring's contents must no longer be needed. The simulator reports threads that still read
    /// the ring, and copies that still write it. It does not report a read of the old contents as
    /// elements of the new parts.
    #[inline]
    pub fn reuse<Q: SharedLayout>(self) -> Q {
        const {
            assert!(Q::BYTES <= Self::BYTES, "the new parts need more bytes than the ring has");
            assert!(
                Self::ALIGN % Q::ALIGN == 0,
                "the new parts need a larger alignment than the ring has"
            );
        }
        // SAFETY: within this ring's bytes, and aligned.
        unsafe { Q::at(self.address) }
    }

    /// Part `index`, less than `N`; otherwise the kernel stops.
    #[inline]
    #[track_caller]
    pub fn part(self, index: usize) -> P {
        check!(index < N, Site::here(), RingOutOfBounds { address: self.address, index, len: N });
        // SAFETY: within this ring's bytes, at a multiple of the stride.
        unsafe { P::at(self.address + index as u32 * Self::STRIDE) }
    }
}
