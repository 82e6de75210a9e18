//! What a tensor map says, and what is wrong with it.

use super::TensorMapWords;
use std::boxed::Box;
use std::fmt;

/// A tensor map in words: what the driver's `cuTensorMapEncodeTiled` is told, without interleaving, and with zeros beyond the tensor. Of the
/// arrays the first `rank` count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorEncoding {
    /// The elements' type, a `CUtensorMapDataType`.
    pub data_type: u32,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Dimensions.
    pub rank: usize,
    /// Where the tensor starts.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: [u64; 5],
    /// Bytes from one element to the next, along each dimension.
    pub strides: [u64; 5],
    /// Elements of a box along each dimension, those included that are left out.
    pub box_sizes: [u32; 5],
    /// Of the elements of a box, every so many is copied.
    pub steps: [u32; 5],
    /// The swizzle, a `CUtensorMapSwizzle`.
    pub swizzle: u32,
}

/// Why there can be no such tensor map. Dimensions are counted from 0, which is the one whose elements are neighbours.
#[derive(Debug)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The size along a dimension.
    Size {
        /// The dimension.
        dimension: usize,
        /// Elements.
        size: u64,
    },
    /// The stride of a dimension.
    Stride {
        /// The dimension.
        dimension: usize,
        /// Bytes.
        bytes: u64,
    },
    /// Elements along dimension 0 are not neighbours.
    Apart {
        /// The stride in elements.
        stride: u64,
    },
    /// The size of a box along a dimension.
    BoxSize {
        /// The dimension.
        dimension: usize,
        /// Elements.
        size: u64,
    },
    /// The step of a box along a dimension.
    Step {
        /// The dimension.
        dimension: usize,
        /// The step.
        step: u64,
    },
    /// The box does not fill the tile.
    NotTheTile {
        /// Elements of a line of the box, and lines.
        of_box: (u64, u64),
        /// Elements of a line of the tile, and lines.
        of_tile: (u64, u64),
    },
    /// A line of the box has so many bytes.
    Line {
        /// The bytes.
        bytes: u64,
        /// The bytes of the swizzle, or 0 without one.
        swizzle: u64,
    },
    /// A line of a tensor that is written has so many bytes.
    WrittenLine {
        /// The bytes.
        bytes: u64,
    },
    /// The tensor starts so many bytes behind the buffer's start, or at this address.
    Start {
        /// The bytes.
        bytes: u64,
    },
    /// The buffer ends before the tensor does.
    Buffer {
        /// Elements that it would have to have.
        needed: u128,
        /// Elements that it has.
        len: u64,
    },
    /// The device, or its driver, refused it.
    Device(Box<dyn std::error::Error + Send + Sync>),
}

impl std::error::Error for TensorMapError {}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorMapError::Size { dimension, size } => {
                write!(f, "dimension {dimension} of a tensor has {size} elements: it must have from 1 to 2^32")
            }
            TensorMapError::Stride { dimension, bytes } => write!(
                f,
                "elements along dimension {dimension} of a tensor are {bytes} bytes apart: it must be a multiple of 16, less than 2^40"
            ),
            TensorMapError::Apart { stride } => {
                write!(f, "elements along dimension 0 of a tensor are {stride} apart: they must be neighbours")
            }
            TensorMapError::BoxSize { dimension, size } => {
                write!(f, "a box has {size} elements along dimension {dimension}: it must have from 1 to 256")
            }
            TensorMapError::Step { dimension: 0, step } => {
                write!(f, "a box takes every {step}th element along dimension 0: there it takes all")
            }
            TensorMapError::Step { dimension, step } => {
                write!(f, "a box takes every {step}th element along dimension {dimension}: it must be from 1 to 8")
            }
            TensorMapError::NotTheTile { of_box, of_tile } => write!(
                f,
                "a box has {} lines of {} elements, and the tile {} of {}",
                of_box.1, of_box.0, of_tile.1, of_tile.0
            ),
            TensorMapError::Line { bytes, swizzle: 0 } => {
                write!(f, "a line of a box has {bytes} bytes: it must be a multiple of 16")
            }
            TensorMapError::Line { bytes, swizzle } => {
                write!(f, "a line of a box has {bytes} bytes: swizzled, it must have {swizzle}")
            }
            TensorMapError::WrittenLine { bytes } => write!(
                f,
                "a line of a tensor that is written has {bytes} bytes: it must be a multiple of 16, as what is behind it in the last 16 would be written too"
            ),
            TensorMapError::Start { bytes } => {
                write!(f, "a tensor starts at byte {bytes}: it must be a multiple of 16")
            }
            TensorMapError::Buffer { needed, len } => {
                write!(f, "a tensor spans {needed} elements, and the buffer has {len}")
            }
            TensorMapError::Device(error) => error.fmt(f),
        }
    }
}

impl TensorEncoding {
    /// Elements that a box copies along each dimension.
    pub(crate) fn copied(&self) -> [usize; 5] {
        core::array::from_fn(|d| if d < self.rank { self.box_sizes[d].div_ceil(self.steps[d]) as usize } else { 1 })
    }

    /// Whether the hardware can be told so, whatever the address.
    pub(super) fn check(&self) -> Result<(), TensorMapError> {
        for dimension in 0..self.rank {
            let (size, bytes) = (self.sizes[dimension], self.strides[dimension]);
            let (box_size, step) = (self.box_sizes[dimension], self.steps[dimension]);
            if !(1..=1 << 32).contains(&size) {
                return Err(TensorMapError::Size { dimension, size });
            }
            if dimension > 0 && (!bytes.is_multiple_of(16) || bytes >= 1 << 40) {
                return Err(TensorMapError::Stride { dimension, bytes });
            }
            if !(1..=256).contains(&box_size) {
                return Err(TensorMapError::BoxSize { dimension, size: box_size.into() });
            }
            if !(1..=if dimension == 0 { 1 } else { 8 }).contains(&step) {
                return Err(TensorMapError::Step { dimension, step: step.into() });
            }
        }
        let bytes = u64::from(self.box_sizes[0]) * self.element_bytes as u64;
        let swizzle = if self.swizzle == 0 { 0 } else { 16 << self.swizzle };
        if !bytes.is_multiple_of(16) || swizzle != 0 && bytes != swizzle {
            return Err(TensorMapError::Line { bytes, swizzle });
        }
        Ok(())
    }

    /// Elements from the tensor's first to its last.
    pub(super) fn span(&self) -> u128 {
        let last = |dimension| u128::from(self.sizes[dimension] - 1) * u128::from(self.strides[dimension]);
        (0..self.rank).map(last).sum::<u128>() / self.element_bytes as u128 + 1
    }

    /// What the first word of a simulated map is.
    const SIMULATED: u64 = u64::from_le_bytes(*b"sim. map");

    /// The map as the simulator knows it.
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
        for dimension in 0..5 {
            // Nine bits for a box's size, four for a step.
            words[12] |= u64::from(self.box_sizes[dimension]) << (dimension * 9);
            words[13] |= u64::from(self.steps[dimension]) << (dimension * 4);
        }
        TensorMapWords(words)
    }

    /// What a simulated map says, if it is one.
    pub(crate) fn of_simulated(TensorMapWords(words): TensorMapWords) -> Option<Self> {
        let element_bytes = (words[2] >> 8 & 0xff) as usize;
        let encoding = || TensorEncoding {
            data_type: (words[2] & 0xff) as u32,
            element_bytes,
            rank: (words[2] >> 16 & 0xff) as usize,
            address: words[1],
            sizes: core::array::from_fn(|d| words[3 + d]),
            strides: core::array::from_fn(|d| if d == 0 { element_bytes as u64 } else { words[7 + d] }),
            box_sizes: core::array::from_fn(|d| (words[12] >> (d * 9) & 0x1ff) as u32),
            steps: core::array::from_fn(|d| (words[13] >> (d * 4) & 0xf) as u32),
            swizzle: (words[2] >> 24 & 0xff) as u32,
        };
        (words[0] == Self::SIMULATED).then(encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_map_is_read_again() {
        let encoding = TensorEncoding {
            data_type: 9,
            element_bytes: 2,
            rank: 5,
            address: 0x1234_5678_9abc_def0,
            sizes: [1 << 32, 2, 3, 4, 5],
            strides: [2, 1 << 39, 32, 48, 64],
            box_sizes: [256, 1, 255, 256, 7],
            steps: [1, 8, 7, 2, 8],
            swizzle: 3,
        };
        assert_eq!(TensorEncoding::of_simulated(encoding.simulated()), Some(encoding));
        assert_eq!(TensorEncoding::of_simulated(TensorMapWords([0; 16])), None);
    }
}
