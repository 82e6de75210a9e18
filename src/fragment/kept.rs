//! The positions of the kept elements of a sparse matrix.

use super::SparseWidth;
use core::fmt;

/// The two kept parts of a chunk (of four parts), as a metadata code of four bits.
///
/// The lower two bits are the first part's number, the upper two the second part's. A part is an
/// element of 16 or 8 bits, two elements of 4 bits, or half of a tf32.
///
/// ```
/// use ptx_matrix::fragment::Kept;
/// assert_eq!(Kept::parts(1, 3).unwrap().code(), 0b1101);
/// assert_eq!(Kept::parts(3, 1), None); // the parts must be in order
/// assert_eq!(Kept::half(1).code(), 0b1110);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Kept(u8);

impl Kept {
    /// Keeps the parts `first` and `second`, if `first < second < 4`. Every form accepts such a
    /// code.
    #[inline]
    pub const fn parts(first: usize, second: usize) -> Option<Self> {
        if first < second && second < 4 { Some(Kept((first | second << 2) as u8)) } else { None }
    }

    /// Keeps the first half of the chunk, or the second if `which` is not 0. For tf32, a half is
    /// one of two elements.
    #[inline]
    pub const fn half(which: usize) -> Self {
        if which == 0 { Kept(0b0100) } else { Kept(0b1110) }
    }

    /// Keeps the parts whose bit is set. If fewer than two are set, it keeps the first others too.
    /// `None` if more than two bits are set.
    #[inline]
    pub(crate) const fn at_least(parts: usize) -> Option<Self> {
        // Four bits for each of the 16 sets, the empty set's in the lowest. Zero marks a set with
        // more than two parts.
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

    /// Makes the code of these four bits, unchecked: the parts may be in any order, or equal.
    #[inline]
    pub const fn from_code(code: u8) -> Self {
        Kept(code & 0xf)
    }

    /// The four bits.
    #[inline]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The first part.
    #[inline]
    pub const fn first(self) -> usize {
        (self.0 & 3) as usize
    }

    /// The second part.
    #[inline]
    pub const fn second(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// The column of the kept element `index`, in a chunk of elements of width `W`.
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Bits4, Bits8, Bits16, Bits32};
    use std::vec::Vec;

    #[test]
    fn codes_match_ptx_isa() {
        let pairs =
            (0..4).flat_map(|first| (0..4).filter_map(move |second| Kept::parts(first, second)));
        let mut codes: Vec<u8> = pairs.map(Kept::code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110]);
        assert_eq!([0, 1].map(|half| Kept::half(half).code()), [0b0100, 0b1110]);
    }

    #[test]
    fn at_least_keeps_wanted_positions_in_order() {
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
