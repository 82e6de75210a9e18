//! The metadata of sparse matrices: the positions of the kept elements.

use crate::fragment::{Kept, SparseWidth};
use crate::lane::{LANES, LaneCapture, PerLane, Site};
use crate::memory::Global;
use crate::scope::Warp;
use core::marker::PhantomData;

/// The metadata of 16 rows x 16 chunks of a sparse A, in one register of each lane.
///
/// `W` is the width of the elements. The register serves one, two or four adjacent matrices. The
/// selector of [`MmaSparse::accumulate`](crate::mma::MmaSparse::accumulate) chooses one: with
/// selector 1, an `m16n8k32` of f16 uses the columns from 32 on. For a
/// [`WgmmaSparse`](crate::mma::WgmmaSparse), each warp holds the metadata of its own 16 rows.
///
/// ```
/// use ptx_matrix::{element::Bits16, mma::Metadata};
/// assert_eq!(Metadata::<Bits16>::COLS, 64);
/// // Lane 5 holds the metadata of rows 1 and 9, columns 16 to 31.
/// assert_eq!(Metadata::<Bits16>::position(5, 0), (1, 4));
/// assert_eq!(Metadata::<Bits16>::owner(9, 7), (5, 7));
/// ```
pub struct Metadata<W: SparseWidth> {
    words: PerLane<u32>,
    _width: PhantomData<fn() -> W>,
}

impl<W: SparseWidth> Clone for Metadata<W> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<W: SparseWidth> Copy for Metadata<W> {}

/// Codes in a word.
const CODES: usize = 8;

impl<W: SparseWidth> Metadata<W> {
    /// Rows of A.
    pub const ROWS: usize = W::METADATA.rows();
    /// Chunks of a row.
    pub const CHUNKS: usize = W::METADATA.cols();
    /// Columns of A.
    pub const COLS: usize = Self::CHUNKS * W::CHUNK;

    /// The (row, chunk) of code `index` of `lane`. A code has four bits, and code 0 is the lowest.
    #[inline]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        W::METADATA.position(lane, index)
    }

    /// The (lane, index) of a chunk's code.
    #[inline]
    pub const fn owner(row: usize, chunk: usize) -> (usize, usize) {
        W::METADATA.owner(row, chunk)
    }

    /// Makes the metadata with the codes `kept(row, chunk)`.
    #[inline]
    #[track_caller]
    pub fn from_fn(warp: Warp<'_>, kept: impl Fn(usize, usize) -> Kept + LaneCapture) -> Self {
        Self::from_words(warp.each(|lane| {
            (0..CODES).fold(0, |word, index| {
                let (row, chunk) = Self::position(lane.id(), index);
                word | u32::from(kept(row, chunk).code()) << (4 * index)
            })
        }))
    }

    /// Loads block `index` of [`Compressed::metadata`](crate::mma::Compressed::metadata): 32
    /// consecutive words, one for each lane.
    ///
    /// Its bounds check may branch to a panic, which no `wgmma` in flight permits. There, load the
    /// words by `Metadata::from_words(warp.each(|lane| { let i = 32 * index + lane.id(); if i <
    /// words.len() { words.get(i) } else { 0 } }))`.
    #[inline]
    #[track_caller]
    pub fn load(warp: Warp<'_>, words: Global<u32>, index: usize) -> Self {
        let site = Site::here();
        // An index whose address would overflow stays out of bounds.
        let first = index.saturating_mul(LANES);
        Self::from_words(warp.each(|lane| words.get_at(first.saturating_add(lane.id()), site)))
    }

    /// Makes metadata of its registers.
    #[inline]
    pub const fn from_words(words: PerLane<u32>) -> Self {
        Metadata { words, _width: PhantomData }
    }

    /// The registers, in the form that the instructions take.
    #[inline]
    pub fn words(&self) -> PerLane<u32> {
        self.words
    }
}
