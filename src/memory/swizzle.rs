//! Swizzles: permutations of a tile's chunks in shared memory, so that the eight rows of a matrix
//! are in different banks.

use crate::lane::Sealed;

/// A permutation of a tile's bytes in shared memory: `offset ^ ((row & (2^BITS - 1)) << BASE)`.
///
/// `offset` is the byte's offset without a swizzle, as `row * pitch + byte`. `row` is the row
/// (column if `ColMajor`) if rows have a multiple of 128 bytes, and `offset / 128` otherwise.
/// Chunks of 2^`BASE` bytes stay whole.
pub trait Swizzle: Sealed + Copy + 'static {
    /// The number of address bits that are XORed.
    const BITS: u32;
    /// The lowest of these address bits: 4 for chunks of 16 bytes, or more.
    const BASE: u32 = 4;
    /// The bytes within which chunks move: a tile's size is a multiple of it.
    const SPAN: usize = if Self::BITS == 0 { 16 } else { 1 << (Self::BASE + Self::BITS) };
    /// A tile's alignment: for TMA's swizzles, the bytes after which the pattern repeats.
    const ALIGN: usize = match (Self::BITS, Self::BASE) {
        (0, base) => 1 << base,
        (bits, 4) => 128 << bits,
        _ => 1024,
    };
}

/// The XOR mask of the offsets in row `line`.
#[inline]
const fn mask<S: Swizzle>(line: u32) -> u32 {
    (line & ((1 << S::BITS) - 1)) << S::BASE
}

/// The offset of byte `offset` of a tile with rows of `pitch` bytes, after the swizzle.
///
/// TMA's swizzle XORs the chunk's number with the number of its 128-byte line: a function of the
/// address alone. In rows of several times 128 bytes (which TMA does not write as one box) that
/// number would repeat too soon. The row's number takes its place there.
#[inline]
pub(crate) const fn swizzled<S: Swizzle>(offset: u32, pitch: u32) -> u32 {
    let line = if pitch.is_multiple_of(128) { offset / pitch } else { offset / 128 };
    offset ^ mask::<S>(line)
}

/// The offset of byte `along` of row `line`, after the swizzle.
///
/// If rows have a multiple of 128 bytes, only `along` is XORed. A constant term of either then
/// remains an addition for the compiler, which an XOR over the bits of both would hide.
#[inline]
pub(crate) const fn swizzled_in_line<S: Swizzle>(line: u32, along: u32, pitch: u32) -> u32 {
    if pitch.is_multiple_of(128) {
        line * pitch + (along ^ mask::<S>(line))
    } else {
        swizzled::<S>(line * pitch + along, pitch)
    }
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $swizzle:ident $bits:literal $base:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $swizzle;
        impl Sealed for $swizzle {}
        impl Swizzle for $swizzle {
            const BITS: u32 = $bits;
            const BASE: u32 = $base;
        }
    )*};
}

swizzles! {
    /// No swizzle. Eight rows of 128 bytes or more start in the same banks: an 8-way conflict.
    Unswizzled 0 4;
    /// No swizzle, with the alignment of 128 bytes that TMA needs (`CU_TENSOR_MAP_SWIZZLE_NONE`).
    Unswizzled128 0 7;
    /// TMA's 32-byte swizzle, for rows of 32 bytes: `a ^= ((a >> 7) & 1) << 4`.
    Swizzle32 1 4;
    /// TMA's 64-byte swizzle, for rows of 64 bytes: `a ^= ((a >> 7) & 3) << 4`.
    Swizzle64 2 4;
    /// TMA's 128-byte swizzle, for rows of 128 bytes and more: `a ^= ((a >> 7) & 7) << 4`.
    Swizzle128 3 4;
    /// Chunks of 32 bytes, XORed with the row's number modulo 4, for rows of 128 bytes and more.
    ///
    /// Lanes that read elements of 32 or 64 bits from four rows at once have no bank conflicts.
    SwizzleWords 2 5;
}

/// A swizzle that TMA performs when it copies a box of a tensor.
#[diagnostic::on_unimplemented(
    message = "TMA does not have the swizzle `{Self}`",
    note = "TMA has `Unswizzled128`, `Swizzle32`, `Swizzle64` and `Swizzle128`"
)]
pub trait TensorSwizzle: Swizzle {
    /// The driver API's number of the swizzle (`CUtensorMapSwizzle`).
    const CODE: u32;
}

impl TensorSwizzle for Unswizzled128 {
    const CODE: u32 = 0;
}
impl TensorSwizzle for Swizzle32 {
    const CODE: u32 = 1;
}
impl TensorSwizzle for Swizzle64 {
    const CODE: u32 = 2;
}
impl TensorSwizzle for Swizzle128 {
    const CODE: u32 = 3;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bank conflict of eight 16-byte matrix rows: the most rows in the same 16 bytes of banks.
    fn ways<S: Swizzle>(pitch: u32) -> usize {
        let mut rows_in_banks = [0; 8];
        for row in 0..8 {
            rows_in_banks[swizzled::<S>(row * pitch, pitch) as usize / 16 % 8] += 1;
        }
        *rows_in_banks.iter().max().unwrap()
    }

    #[test]
    fn each_swizzle_is_free_of_conflicts_at_its_own_pitch() {
        assert_eq!(ways::<Swizzle32>(32), 1);
        assert_eq!(ways::<Swizzle64>(64), 1);
        assert_eq!(ways::<Swizzle128>(128), 1);
        assert_eq!(ways::<Swizzle128>(512), 1);
        assert_eq!(ways::<Unswizzled>(128), 8);
    }

    /// Each swizzle, with the pitches of the tiles that it is for.
    macro_rules! each_swizzle {
        ($check:ident) => {
            for pitch in [16, 32, 48, 64, 128, 192, 256, 384] {
                $check::<Unswizzled>(pitch);
                $check::<Swizzle32>(pitch);
                $check::<Swizzle64>(pitch);
                $check::<Swizzle128>(pitch);
            }
            for pitch in [128, 256, 384, 512] {
                $check::<SwizzleWords>(pitch);
            }
        };
    }

    #[test]
    fn swizzle_permutes_chunks_of_span() {
        fn check<S: Swizzle>(pitch: u32) {
            let mut seen = [false; 512 * 32 / 16];
            let bytes = pitch * 32;
            for offset in (0..bytes).step_by(2) {
                let to = swizzled::<S>(offset, pitch);
                assert_eq!(to / S::SPAN as u32, offset / S::SPAN as u32, "stays in its span");
                assert_eq!(to % 16, offset % 16, "chunks move whole");
                seen[to as usize / 16] = true;
            }
            assert!(
                seen[..bytes as usize / 16].iter().all(|&seen| seen),
                "{} bits, pitch {pitch}",
                S::BITS
            );
        }
        each_swizzle!(check);
    }

    #[test]
    fn swizzle_in_line_equals_swizzle_of_offset() {
        fn check<S: Swizzle>(pitch: u32) {
            for offset in 0..32 * pitch {
                let in_line = swizzled_in_line::<S>(offset / pitch, offset % pitch, pitch);
                assert_eq!(in_line, swizzled::<S>(offset, pitch));
            }
        }
        each_swizzle!(check);
    }

    /// The access pattern of a fragment whose rows run across K: lane `l` reads element `l / 4` of
    /// row `l % 4`.
    #[test]
    fn elements_of_four_lines_lie_in_different_banks() {
        fn banks<S: Swizzle>(lanes: std::ops::Range<u32>, bytes: u32) -> usize {
            let words: std::vec::Vec<u32> = lanes
                .map(|lane| swizzled::<S>(lane % 4 * 256 + lane / 4 * bytes, 256) / 4)
                .collect();
            let mut banks = [0; 32];
            words.iter().for_each(|word| banks[*word as usize % 32] += 1);
            *banks.iter().max().unwrap()
        }
        assert_eq!(banks::<SwizzleWords>(0..32, 4), 1);
        // A warp reads elements of 8 bytes half a warp at a time.
        assert_eq!(banks::<SwizzleWords>(0..16, 8), 1);
        assert_eq!(banks::<SwizzleWords>(16..32, 8), 1);
        assert!(banks::<Swizzle128>(0..32, 4) > 1);
    }

    #[test]
    fn swizzles_match_tma_up_to_128_bytes() {
        for pitch in [32, 64, 128] {
            for offset in 0..8 * pitch {
                let tma = |mask: u32| offset ^ ((offset >> 7 & mask) << 4);
                assert_eq!(swizzled::<Swizzle32>(offset, pitch), tma(1));
                assert_eq!(swizzled::<Swizzle64>(offset, pitch), tma(3));
                assert_eq!(swizzled::<Swizzle128>(offset, pitch), tma(7));
            }
        }
    }
}
