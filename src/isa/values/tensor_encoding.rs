//! The contents of a tensor map.

use super::{BoxLines, TensorMapError};
use crate::isa::TensorMapWords;

/// A tensor map before its encoding: the arguments of the driver's `cuTensorMapEncodeTiled` or
/// `cuTensorMapEncodeIm2col`.
///
/// There is no interleaving, and elements beyond the tensor are zeros. Only the first `rank`
/// members of an array are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorEncoding {
    /// The element type, a `CUtensorMapDataType`.
    pub data_type: u32,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Number of dimensions.
    pub rank: usize,
    /// The start address of the tensor.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: [u64; 5],
    /// Stride of each dimension, in bytes.
    pub strides: [u64; 5],
    /// Element stride of each dimension: every `steps[d]`-th element is copied.
    pub steps: [u32; 5],
    /// The swizzle, a `CUtensorMapSwizzle`.
    pub swizzle: u32,
    /// The part of the tensor that one instruction copies: a box, or pixels.
    pub access: TensorAccess,
}

/// The part of the tensor that one instruction copies: a box, or pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorAccess {
    /// A box (PTX ISA 5.5.3).
    Tiled {
        /// Size of the box along each dimension, including the elements that `steps` skips.
        box_sizes: [u32; 5],
    },
    /// Consecutive pixels (PTX ISA 5.5.4). The first `rank - 2` coordinates of a corner are valid:
    /// along W, H and D.
    Im2col {
        /// The first pixel of the bounding box, relative to the image's first pixel.
        lower: [i32; 3],
        /// The last pixel of the bounding box, relative to the image's last pixel.
        upper: [i32; 3],
        /// Number of channels copied for each pixel.
        channels: u32,
        /// Number of pixels copied.
        pixels: u32,
    },
}

impl TensorEncoding {
    /// The lines of the copied tile.
    pub(crate) fn copied(&self) -> BoxLines {
        match self.access {
            TensorAccess::Tiled { .. } => BoxLines {
                inner: self.of_box(0),
                lines: (1..self.rank).map(|dimension| self.of_box(dimension)).product(),
            },
            TensorAccess::Im2col { channels, pixels, .. } => {
                BoxLines { inner: channels as usize, lines: pixels as usize }
            }
        }
    }

    /// Number of elements that a box copies along a dimension.
    pub(crate) fn of_box(&self, dimension: usize) -> usize {
        match self.access {
            TensorAccess::Tiled { box_sizes } if dimension < self.rank => {
                box_sizes[dimension].div_ceil(self.steps[dimension]) as usize
            }
            _ => 1,
        }
    }

    /// The bounding box along a dimension of an image: its first and last coordinate, before
    /// offsets.
    pub(crate) fn bounds(&self, dimension: usize) -> (i64, i64) {
        let TensorAccess::Im2col { lower, upper, .. } = self.access else {
            unreachable!("a box is where it is asked for")
        };
        let last = self.sizes[dimension] as i64 - 1 + i64::from(upper[dimension - 1]);
        (lower[dimension - 1].into(), last)
    }

    /// Checks the limits of the hardware, except those of the address.
    pub(crate) fn check(&self) -> Result<(), TensorMapError> {
        for dimension in 0..self.rank {
            let (size, bytes) = (self.sizes[dimension], self.strides[dimension]);
            let step = self.steps[dimension];
            if !(1..=1 << 32).contains(&size) {
                return Err(TensorMapError::Size { dimension, size });
            }
            if dimension > 0 && (!bytes.is_multiple_of(16) || bytes >= 1 << 40) {
                return Err(TensorMapError::Stride { dimension, bytes });
            }
            if let TensorAccess::Tiled { box_sizes } = self.access
                && !(1..=256).contains(&box_sizes[dimension])
            {
                return Err(TensorMapError::BoxSize {
                    dimension,
                    size: box_sizes[dimension].into(),
                });
            }
            if !(1..=if dimension == 0 { 1 } else { 8 }).contains(&step) {
                return Err(TensorMapError::Step { dimension, step: step.into() });
            }
        }
        let line = match self.access {
            TensorAccess::Tiled { box_sizes } => box_sizes[0],
            TensorAccess::Im2col { lower, upper, channels, .. } => {
                self.check_corners("lower", lower)?;
                self.check_corners("upper", upper)?;
                for dimension in 1..self.rank - 1 {
                    let (first, last) = self.bounds(dimension);
                    if first > last {
                        return Err(TensorMapError::NoPixel { dimension, first, last });
                    }
                }
                channels
            }
        };
        let bytes = u64::from(line) * self.element_bytes as u64;
        let swizzle = if self.swizzle == 0 { 0 } else { 16 << self.swizzle };
        if !bytes.is_multiple_of(16) || swizzle != 0 && bytes != swizzle {
            return Err(TensorMapError::Line { bytes, swizzle });
        }
        Ok(())
    }

    /// Checks that a corner of the bounding box fits its bits.
    fn check_corners(&self, which: &'static str, corner: [i32; 3]) -> Result<(), TensorMapError> {
        let limit = match self.rank {
            3 => 1 << 15,
            4 => 1 << 7,
            _ => 1 << 4,
        };
        match (1..self.rank - 1).find(|dimension| !(-limit..limit).contains(&corner[dimension - 1]))
        {
            Some(dimension) => Err(TensorMapError::Corner {
                which,
                dimension,
                value: corner[dimension - 1],
                rank: self.rank,
                limit,
            }),
            None => Ok(()),
        }
    }

    /// Number of elements from the tensor's first to its last.
    pub(crate) fn span(&self) -> u128 {
        let last =
            |dimension| u128::from(self.sizes[dimension] - 1) * u128::from(self.strides[dimension]);
        (0..self.rank).map(last).sum::<u128>() / self.element_bytes as u128 + 1
    }

    /// The first word of a simulated map.
    const SIMULATED: u64 = u64::from_le_bytes(*b"sim. map");
    /// The bit of word 2 that marks im2col mode.
    const IM2COL: u64 = 1 << 32;

    /// The map in the simulator's encoding.
    pub(crate) fn simulated(&self) -> TensorMapWords {
        let mut words = [0; 16];
        words[0] = Self::SIMULATED;
        words[1] = self.address;
        words[2] = self.data_type as u64
            | (self.element_bytes as u64) << 8
            | (self.rank as u64) << 16
            | u64::from(self.swizzle) << 24;
        words[3..8].copy_from_slice(&self.sizes);
        words[8..12].copy_from_slice(&self.strides[1..]);
        // 4 bits for a step, 9 for a box size, 16 for a coordinate of a corner.
        (0..5).for_each(|d| words[13] |= u64::from(self.steps[d]) << (d * 4));
        match self.access {
            TensorAccess::Tiled { box_sizes } => {
                (0..5).for_each(|d| words[12] |= u64::from(box_sizes[d]) << (d * 9))
            }
            TensorAccess::Im2col { lower, upper, channels, pixels } => {
                words[2] |= Self::IM2COL;
                words[12] = u64::from(channels) | u64::from(pixels) << 32;
                for (word, corner) in words[14..].iter_mut().zip([lower, upper]) {
                    (0..3).for_each(|d| *word |= u64::from(corner[d] as u16) << (d * 16));
                }
            }
        }
        TensorMapWords(words)
    }

    /// Decodes a simulated map. `None` if it is not one.
    pub(crate) fn of_simulated(TensorMapWords(words): TensorMapWords) -> Option<Self> {
        let element_bytes = (words[2] >> 8 & 0xff) as usize;
        let corner = |word: u64| core::array::from_fn(|d| i32::from((word >> (d * 16)) as i16));
        let access = if words[2] & Self::IM2COL == 0 {
            TensorAccess::Tiled {
                box_sizes: core::array::from_fn(|d| (words[12] >> (d * 9) & 0x1ff) as u32),
            }
        } else {
            let (channels, pixels) = (words[12] as u32, (words[12] >> 32) as u32);
            TensorAccess::Im2col {
                lower: corner(words[14]),
                upper: corner(words[15]),
                channels,
                pixels,
            }
        };
        let encoding = || TensorEncoding {
            data_type: (words[2] & 0xff) as u32,
            element_bytes,
            rank: (words[2] >> 16 & 0xff) as usize,
            address: words[1],
            sizes: core::array::from_fn(|d| words[3 + d]),
            strides: core::array::from_fn(
                |d| if d == 0 { element_bytes as u64 } else { words[7 + d] },
            ),
            steps: core::array::from_fn(|d| (words[13] >> (d * 4) & 0xf) as u32),
            swizzle: (words[2] >> 24 & 0xff) as u32,
            access,
        };
        (words[0] == Self::SIMULATED).then(encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_encoding_round_trips() {
        let tiled = TensorEncoding {
            data_type: 9,
            element_bytes: 2,
            rank: 5,
            address: 0x1234_5678_9abc_def0,
            sizes: [1 << 32, 2, 3, 4, 5],
            strides: [2, 1 << 39, 32, 48, 64],
            steps: [1, 8, 7, 2, 8],
            swizzle: 3,
            access: TensorAccess::Tiled { box_sizes: [256, 1, 255, 256, 7] },
        };
        let (lower, upper) = ([-32768, 5, -1], [32767, -6, 0]);
        let im2col = TensorEncoding {
            access: TensorAccess::Im2col { lower, upper, channels: 256, pixels: 1024 },
            ..tiled
        };
        for encoding in [tiled, im2col] {
            assert_eq!(TensorEncoding::of_simulated(encoding.simulated()), Some(encoding));
        }
        assert_eq!(TensorEncoding::of_simulated(TensorMapWords([0; 16])), None);
    }
}
