//! Matrix descriptors: the addresses of elements in shared memory (PTX ISA 9.7.15.5.1).

/// A matrix in shared memory. A "line" is a row of A or a column of B; K runs along it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: u32,
    /// The leading-dimension byte offset (LBO).
    leading: u32,
    /// The stride-dimension byte offset (SBO).
    stride: u32,
    /// Bytes of a row of the swizzle pattern: 128, 64 or 32; 16 without a swizzle.
    width: u32,
    /// Whether the matrix is MN-major: neighbours in memory belong to a column of A or a row of B.
    /// Otherwise it is K-major.
    transposed: bool,
}

impl Descriptor {
    pub(super) fn read(word: u64, transposed: bool) -> Result<Self, &'static str> {
        const FIELD: u64 = 0x3fff;
        let field = |bit: u32| ((word >> bit & FIELD) as u32) << 4;
        let width = [16, 128, 64, 32][(word >> 62) as usize];
        let (start, base_offset) = (field(0), word >> 49 & 7);
        if word & !(FIELD | FIELD << 16 | FIELD << 32 | 7 << 49 | 3 << 62) != 0 {
            Err("bits are set that mean nothing")
        } else if base_offset != 0 || width > 16 && start % (8 * width) >= width {
            Err("its pattern does not start at a multiple of the pattern's size")
        } else {
            Ok(Descriptor { start, leading: field(16), stride: field(32), width, transposed })
        }
    }

    /// The swizzle, in the encoding of a tensor map (`CUtensorMapSwizzle`).
    pub(super) fn swizzle(&self) -> u32 {
        (self.width / 16).trailing_zeros()
    }

    /// The extent of a 16-byte chunk: lines, and elements along K. Chunks begin at multiples of
    /// these.
    pub(super) fn chunk(&self, bits: usize) -> (usize, usize) {
        let elements = 128 / bits;
        if self.transposed { (elements, 1) } else { (1, elements) }
    }

    /// The address of the byte with element (`line`, `k`), for elements of `bits` bits.
    pub(super) fn address(&self, line: usize, k: usize, bits: usize) -> u32 {
        let (along, across) = if self.transposed { (line, k) } else { (k, line) };
        let (along, across) = ((along * bits / 8) as u32, across as u32);
        let Descriptor { start, leading, stride, width, .. } = *self;
        // The group of eight lines, and the column of patterns.
        let (group, piece) = (across / 8, along / width);
        let offset = match (width, self.transposed) {
            (16, true) => piece * stride + group * leading,
            _ => group * stride + piece * leading,
        };
        let address = start + offset + across % 8 * width + along % width;
        address ^ (address >> 7 & (width / 16 - 1)) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::{ColMajor, RowMajor};
    use crate::memory::{SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128};

    fn descriptor(
        start: u32,
        leading: u32,
        stride: u32,
        code: u64,
        transposed: bool,
    ) -> Descriptor {
        let word = u64::from(start >> 4)
            | u64::from(leading >> 4) << 16
            | u64::from(stride >> 4) << 32
            | code << 62;
        Descriptor::read(word, transposed).unwrap()
    }

    /// A swizzle pattern has the layout of a tile with rows of that length.
    #[test]
    fn pattern_is_tile() {
        fn check<S: Swizzle, const LINE: usize>(code: u64) {
            type Along<S, const LINE: usize> = SharedTile<u16, 64, LINE, S, RowMajor>;
            let pattern = descriptor(0x800, 16, 16 * LINE as u32, code, false);
            let transposed = descriptor(0x800, 0, 16 * LINE as u32, code, true);
            for (line, k) in (0..64).flat_map(|line| (0..LINE).map(move |k| (line, k))) {
                assert_eq!(pattern.address(line, k, 16), 0x800 + Along::<S, LINE>::offset(line, k));
                let across = SharedTile::<u16, LINE, 64, S, ColMajor>::offset(k, line);
                assert_eq!(transposed.address(k, line, 16), 0x800 + across);
            }
        }
        check::<Swizzle128, 64>(1);
        check::<Swizzle64, 32>(2);
        check::<Swizzle32, 16>(3);
    }

    /// As observed on an H200: a start address 32 bytes higher moves the matrix 32 bytes along K.
    #[test]
    fn step_along_k_is_32_bytes() {
        let pattern = descriptor(0x400, 16, 1024, 1, false);
        let stepped = descriptor(0x420, 16, 1024, 1, false);
        for (line, k) in (0..64).flat_map(|line| (0..16).map(move |k| (line, k))) {
            assert_eq!(stepped.address(line, k, 16), pattern.address(line, k + 16, 16));
        }
    }

    #[test]
    fn core_matrices_lie_where_the_offsets_say() {
        let along_k = descriptor(0x400, 128, 256, 0, false);
        assert_eq!(along_k.address(9, 10, 16), 0x400 + 256 + 128 + 16 + 4);
        let across = descriptor(0x400, 128, 256, 0, true);
        assert_eq!(across.address(10, 9, 16), 0x400 + 256 + 128 + 16 + 4);
        assert_eq!(across.address(8, 0, 16), 0x400 + 256);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(Descriptor::read(1 << 14, false).is_err());
        assert!(Descriptor::read(1 << 49 | 1 << 62, false).is_err());
        assert!(
            Descriptor::read(0x80 >> 4 | 1 << 62, false).is_err(),
            "the second line of a pattern"
        );
        assert!(Descriptor::read(0x60 >> 4 | 1 << 62, false).is_ok(), "the end of its first");
    }
}
