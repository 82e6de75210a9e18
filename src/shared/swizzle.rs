//! Swizzles: which 16-byte chunk of shared memory an element goes to, so that the eight rows of a matrix lie in
//! different banks.

use crate::sealed::Sealed;

/// How a tile's bytes are permuted in shared memory.
pub trait Swizzle: Sealed + Copy + 'static {
    /// How many of the address bits 4, 5, 6 are exchanged (by XOR with bits 7, 8, 9).
    const BITS: u32;
    /// The bytes within which chunks move: a tile's size is a multiple of it.
    const SPAN: usize = 16 << Self::BITS;
    /// The bytes after which the pattern repeats: a tile's alignment.
    const ALIGN: usize = if Self::BITS == 0 { 16 } else { 128 << Self::BITS };
}

/// Where byte `offset` of a tile with lines of `pitch` bytes lies, from the tile's start.
///
/// The chunk's number is XORed with the number of its 128-byte line: that is TMA's swizzle, a function of the address
/// alone. In lines of several times 128 bytes (which TMA does not write in one piece) that number would repeat too
/// soon, and the line's own number takes its place.
#[inline(always)]
pub(crate) const fn swizzled(offset: u32, pitch: u32, bits: u32) -> u32 {
    let line = if pitch.is_multiple_of(128) { offset / pitch } else { offset / 128 };
    offset ^ ((line & ((1 << bits) - 1)) << 4)
}

/// Where byte `along` of line `line` lies, from the tile's start.
///
/// Where a line is a multiple of 128 bytes, the line and the place in it are kept apart: then what is constant in either is
/// an addition for the compiler, which an exclusive or with bits of both would hide.
#[inline(always)]
pub(crate) const fn swizzled_in_line(line: u32, along: u32, pitch: u32, bits: u32) -> u32 {
    if pitch.is_multiple_of(128) {
        line * pitch + (along ^ ((line & ((1 << bits) - 1)) << 4))
    } else {
        swizzled(line * pitch + along, pitch, bits)
    }
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $swizzle:ident $bits:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $swizzle;
        impl Sealed for $swizzle {}
        impl Swizzle for $swizzle {
            const BITS: u32 = $bits;
        }
    )*};
}

swizzles! {
    /// Rows as they are. Eight rows of 128 bytes or more lie in the same banks: an 8-way conflict.
    Unswizzled 0;
    /// TMA's 32-byte swizzle, for rows of 32 bytes: `a ^= ((a >> 7) & 1) << 4`.
    Swizzle32 1;
    /// TMA's 64-byte swizzle, for rows of 64 bytes: `a ^= ((a >> 7) & 3) << 4`.
    Swizzle64 2;
    /// TMA's 128-byte swizzle, for rows of 128 bytes and more: `a ^= ((a >> 7) & 7) << 4`.
    Swizzle128 3;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bank conflicts of the eight 16-byte rows of a matrix: the most rows in one 16-byte column of banks.
    fn ways(pitch: u32, bits: u32) -> usize {
        let mut rows_in_banks = [0; 8];
        for row in 0..8 {
            rows_in_banks[swizzled(row * pitch, pitch, bits) as usize / 16 % 8] += 1;
        }
        *rows_in_banks.iter().max().unwrap()
    }

    #[test]
    fn each_swizzle_is_free_of_conflicts_at_its_own_pitch() {
        assert_eq!(ways(32, Swizzle32::BITS), 1);
        assert_eq!(ways(64, Swizzle64::BITS), 1);
        assert_eq!(ways(128, Swizzle128::BITS), 1);
        assert_eq!(ways(512, Swizzle128::BITS), 1);
        assert_eq!(ways(128, Unswizzled::BITS), 8);
    }

    #[test]
    fn a_swizzle_permutes_the_chunks_of_its_span() {
        for bits in 0..=3 {
            for pitch in [16, 32, 48, 64, 128, 192, 256, 384] {
                let mut seen = [false; 384 * 32 / 16];
                let bytes = pitch * 32;
                for offset in (0..bytes).step_by(2) {
                    let to = swizzled(offset, pitch, bits);
                    assert_eq!(to / (16 << bits), offset / (16 << bits), "stays in its span");
                    assert_eq!(to % 16, offset % 16, "chunks move whole");
                    seen[to as usize / 16] = true;
                }
                assert!(seen[..bytes as usize / 16].iter().all(|&seen| seen), "{bits} bits, pitch {pitch}");
            }
        }
    }

    #[test]
    fn a_line_and_the_place_in_it_are_an_offset() {
        for bits in 0..=3 {
            for pitch in [16, 32, 48, 64, 128, 192, 256, 384] {
                for offset in 0..8 * pitch {
                    assert_eq!(
                        swizzled_in_line(offset / pitch, offset % pitch, pitch, bits),
                        swizzled(offset, pitch, bits)
                    );
                }
            }
        }
    }

    #[test]
    fn up_to_128_bytes_a_swizzle_is_that_of_tma() {
        for pitch in [32, 64, 128] {
            for offset in 0..8 * pitch {
                let tma = |mask: u32| offset ^ ((offset >> 7 & mask) << 4);
                assert_eq!(swizzled(offset, pitch, Swizzle32::BITS), tma(1));
                assert_eq!(swizzled(offset, pitch, Swizzle64::BITS), tma(3));
                assert_eq!(swizzled(offset, pitch, Swizzle128::BITS), tma(7));
            }
        }
    }
}
