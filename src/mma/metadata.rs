//! Which elements of a sparse matrix are kept.

use crate::fragment::SparseWidth;
use crate::lane::Site;
use crate::{Global, LaneCapture, PerLane, Warp};
use core::fmt;
use core::marker::PhantomData;

/// Which two of the four parts of a chunk are kept: a code of the metadata, of four bits, the first part's number in the lower
/// two.
///
/// A part is an element of 16 or 8 bits, two elements of 4 bits, or half of a tf32.
///
/// ```
/// use ptx_matrix::Kept;
/// assert_eq!(Kept::parts(1, 3).unwrap().code(), 0b1101);
/// assert_eq!(Kept::parts(3, 1), None); // they are in order
/// assert_eq!(Kept::half(1).code(), 0b1110);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Kept(u8);

impl Kept {
    /// Parts `first` and `second`, if `first < second < 4`: what every form takes.
    #[inline(always)]
    pub const fn parts(first: usize, second: usize) -> Option<Self> {
        if first < second && second < 4 { Some(Kept((first | second << 2) as u8)) } else { None }
    }

    /// The first half of the chunk, or, if `which` is not 0, the second: of two tf32, one.
    #[inline(always)]
    pub const fn half(which: usize) -> Self {
        if which == 0 { Kept(0b0100) } else { Kept(0b1110) }
    }

    /// The parts that a bit is set of, and, where these are less than two, the first of the others; if they are no more.
    #[inline(always)]
    pub(super) const fn at_least(parts: usize) -> Option<Self> {
        // A code of four bits for each of the sixteen sets, the empty one's in the lowest; zero where there are too many.
        const CODES: u64 = {
            let mut codes = 0;
            let mut set = 0_usize;
            while set < 16 {
                if set.count_ones() <= 2 {
                    let mut wanted = set;
                    while wanted.count_ones() < 2 {
                        wanted |= 1 << (!wanted).trailing_zeros();
                    }
                    let (first, second) = (wanted.trailing_zeros(), wanted.ilog2());
                    codes |= ((first | second << 2) as u64) << (4 * set);
                }
                set += 1;
            }
            codes
        };
        match (CODES >> (4 * parts)) as u8 & 0xf {
            0 => None,
            code => Some(Kept(code)),
        }
    }

    /// The code of these four bits, whatever they are: two parts in any order, or the same one twice.
    #[inline(always)]
    pub const fn from_code(code: u8) -> Self {
        Kept(code & 0xf)
    }

    /// Its four bits.
    #[inline(always)]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The first part.
    #[inline(always)]
    pub const fn first(self) -> usize {
        (self.0 & 3) as usize
    }

    /// The second part.
    #[inline(always)]
    pub const fn second(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// In a chunk of elements of width `W`, the column of the kept element `index`.
    #[inline(always)]
    pub const fn column<W: SparseWidth>(self, index: usize) -> usize {
        if W::CHUNK < 4 {
            return self.first() / 2;
        }
        let part = W::CHUNK / 4;
        let which = if index < part { self.first() } else { self.second() };
        which * part + index % part
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({:#06b})", self.0)
    }
}

/// The metadata of 16 rows of 16 chunks of a sparse A with elements of width `W`, in a register of each lane.
///
/// These are one, two or four matrices beside each other, among which the selector of
/// [`MmaSparse::accumulate`](crate::MmaSparse::accumulate) chooses: with selector 1, a `m16n8k32` of f16 takes the columns from 32 on. Of a
/// [`WgmmaSparse`](crate::WgmmaSparse), each warp has that of its 16 rows.
///
/// ```
/// use ptx_matrix::{Bits16, Metadata};
/// assert_eq!(Metadata::<Bits16>::COLS, 64);
/// // Lane 5 has that of rows 1 and 9, columns 16 to 31.
/// assert_eq!(Metadata::<Bits16>::position(5, 0), (1, 4));
/// assert_eq!(Metadata::<Bits16>::owner(9, 7), (5, 7));
/// ```
pub struct Metadata<W: SparseWidth> {
    words: PerLane<u32>,
    _width: PhantomData<fn() -> W>,
}

impl<W: SparseWidth> Clone for Metadata<W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<W: SparseWidth> Copy for Metadata<W> {}

/// Codes in a word.
const CODES: usize = 8;

impl<W: SparseWidth> Metadata<W> {
    /// Rows of A that it is for.
    pub const ROWS: usize = W::METADATA.rows();
    /// Chunks of a row.
    pub const CHUNKS: usize = W::METADATA.cols();
    /// Columns of A.
    pub const COLS: usize = Self::CHUNKS * W::CHUNK;

    /// The (row, chunk) of the code `index` (four bits, lowest first) of `lane`.
    #[inline(always)]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        W::METADATA.position(lane, index)
    }

    /// The (lane, index) of a chunk's code.
    #[inline(always)]
    pub const fn owner(row: usize, chunk: usize) -> (usize, usize) {
        W::METADATA.owner(row, chunk)
    }

    /// The metadata of `kept(row, chunk)`.
    #[inline(always)]
    #[track_caller]
    pub fn from_fn(warp: Warp<'_>, kept: impl Fn(usize, usize) -> Kept + LaneCapture) -> Self {
        Self::from_words(warp.each(|lane| {
            (0..CODES).fold(0, |word, index| {
                let (row, chunk) = Self::position(lane.id(), index);
                word | u32::from(kept(row, chunk).code()) << (4 * index)
            })
        }))
    }

    /// Block `index` of [`Compressed::metadata`](crate::Compressed::metadata): 32 words behind each other, of which each lane takes
    /// its own.
    #[inline(always)]
    #[track_caller]
    pub fn load(warp: Warp<'_>, words: Global<u32>, index: usize) -> Self {
        let site = Site::here();
        // What has no number is beyond the slice too.
        #[cfg(not(target_arch = "nvptx64"))]
        let index = index.min(usize::MAX / crate::LANES - 1);
        Self::from_words(warp.each(|lane| words.get_at(index * crate::LANES + lane.id(), site)))
    }

    /// The metadata whose registers these are.
    #[inline(always)]
    pub const fn from_words(words: PerLane<u32>) -> Self {
        Metadata { words, _width: PhantomData }
    }

    /// The registers, as the instructions take them.
    #[inline(always)]
    pub fn words(&self) -> PerLane<u32> {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Bits4, Bits8, Bits16, Bits32};
    use std::vec::Vec;

    #[test]
    fn codes_are_those_of_the_ptx_isa() {
        let pairs = (0..4).flat_map(|first| (0..4).filter_map(move |second| Kept::parts(first, second)));
        let mut codes: Vec<u8> = pairs.map(Kept::code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110]);
        assert_eq!([0, 1].map(|half| Kept::half(half).code()), [0b0100, 0b1110]);
    }

    #[test]
    fn what_is_kept_has_the_wanted_parts_and_is_in_order() {
        for set in 0..16_usize {
            let kept = Kept::at_least(set);
            assert_eq!(kept.is_some(), set.count_ones() <= 2, "{set:04b}");
            if let Some(kept) = kept {
                assert_eq!(Kept::parts(kept.first(), kept.second()), Some(kept));
                assert_eq!(set & !(1 << kept.first() | 1 << kept.second()), 0, "{set:04b}");
            }
        }
    }

    #[test]
    fn columns_of_kept_elements() {
        let kept = Kept::parts(1, 3).unwrap();
        assert_eq!([0, 1].map(|index| kept.column::<Bits16>(index)), [1, 3]);
        assert_eq!([0, 1].map(|index| kept.column::<Bits8>(index)), [1, 3]);
        assert_eq!([0, 1, 2, 3].map(|index| kept.column::<Bits4>(index)), [2, 3, 6, 7]);
        assert_eq!([0, 1].map(|half| Kept::half(half).column::<Bits32>(0)), [0, 1]);
    }
}
