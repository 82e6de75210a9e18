//! The errors of invalid tensor maps.

use std::boxed::Box;
use std::fmt;

/// The lines of a box or of a tile: its rows, or its columns if it is column-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxLines {
    /// Elements of a line.
    pub inner: usize,
    /// The number of lines.
    pub lines: usize,
}

/// The reason why a tensor map is invalid. Dimension 0 is the contiguous one.
#[non_exhaustive]
pub enum TensorMapError {
    /// An invalid size along a dimension.
    Size {
        /// The dimension.
        dimension: usize,
        /// The size in elements.
        size: u64,
    },
    /// An invalid stride of a dimension.
    Stride {
        /// The dimension.
        dimension: usize,
        /// The stride in bytes.
        bytes: u64,
    },
    /// Dimension 0 is not contiguous.
    Apart {
        /// The stride in elements.
        stride: u64,
    },
    /// An invalid size of a box along a dimension.
    BoxSize {
        /// The dimension.
        dimension: usize,
        /// The size in elements.
        size: u64,
    },
    /// An invalid element stride of a dimension.
    Step {
        /// The dimension.
        dimension: usize,
        /// The element stride.
        step: u64,
    },
    /// The box differs from the tile.
    NotTheTile {
        /// The lines of the box.
        of_box: BoxLines,
        /// The lines of the tile.
        of_tile: BoxLines,
    },
    /// A coordinate of a corner of the bounding box does not fit its bits.
    Corner {
        /// `lower` or `upper`.
        which: &'static str,
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        value: i32,
        /// Rank of the tensor, which determines the bits of a coordinate.
        rank: usize,
        /// The valid range is `-limit..limit`.
        limit: i32,
    },
    /// The bounding box is empty.
    NoPixel {
        /// The dimension.
        dimension: usize,
        /// The first coordinate.
        first: i64,
        /// The last coordinate.
        last: i64,
    },
    /// The bounding box of a written tensor exceeds the tensor.
    WrittenBounds {
        /// The dimension.
        dimension: usize,
        /// The first coordinate of the box.
        first: i64,
        /// The last coordinate of the box.
        last: i64,
        /// Size of the tensor in elements.
        size: u64,
    },
    /// An invalid length of a row of the box.
    Line {
        /// The length in bytes.
        bytes: u64,
        /// Width of the swizzle in bytes, or 0 without one.
        swizzle: u64,
    },
    /// An invalid length of a row of a written tensor.
    WrittenLine {
        /// The length in bytes.
        bytes: u64,
    },
    /// Elements of a written tensor overlap, so that the result is undefined.
    Overlap {
        /// The dimension.
        dimension: usize,
        /// Its stride, in elements.
        stride: u64,
        /// The smallest valid stride: the elements that the other dimensions span.
        needed: u64,
    },
    /// The start of the tensor, relative to the buffer or as an address, is not aligned.
    Start {
        /// The offset or the address in bytes.
        bytes: u64,
    },
    /// The buffer ends before the tensor.
    Buffer {
        /// Number of elements needed.
        needed: u128,
        /// Number of elements of the buffer.
        len: u64,
    },
    /// The device, or its driver, refused it.
    Device(Box<dyn std::error::Error + Send + Sync>),
}

impl std::error::Error for TensorMapError {}

/// The text, for `unwrap` and for the result of `main`.
impl fmt::Debug for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorMapError::Size { dimension, size } => {
                write!(
                    f,
                    "dimension {dimension} of a tensor has {size} elements: it must have from 1 to \
                     2^32"
                )
            }
            TensorMapError::Stride { dimension, bytes } => write!(
                f,
                "elements along dimension {dimension} of a tensor are {bytes} bytes apart: it must \
                 be a multiple of 16, less than 2^40"
            ),
            TensorMapError::Apart { stride } => {
                write!(
                    f,
                    "elements along dimension 0 of a tensor are {stride} apart: they must be \
                     neighbours"
                )
            }
            TensorMapError::BoxSize { dimension, size } => {
                write!(
                    f,
                    "a box has {size} elements along dimension {dimension}: it must have from 1 to \
                     256"
                )
            }
            TensorMapError::Step { dimension: 0, step } => {
                write!(
                    f,
                    "a box takes every {step}th element along dimension 0: there it takes all"
                )
            }
            TensorMapError::Step { dimension, step } => {
                write!(
                    f,
                    "a box takes every {step}th element along dimension {dimension}: it must be \
                     from 1 to 8"
                )
            }
            TensorMapError::NotTheTile { of_box, of_tile } => write!(
                f,
                "a box has {} lines of {} elements, and the tile {} of {}",
                of_box.lines, of_box.inner, of_tile.lines, of_tile.inner
            ),
            TensorMapError::Corner { which, dimension, value, rank, limit } => write!(
                f,
                "the {which} corner of a bounding box is {value} along dimension {dimension}: of a \
                 tensor of {rank} dimensions it must be from -{limit} to {}",
                limit - 1
            ),
            TensorMapError::NoPixel { dimension, first, last } => write!(
                f,
                "a bounding box starts at {first} and ends at {last} along dimension {dimension}: \
                 it must not end before it starts"
            ),
            TensorMapError::WrittenBounds { dimension, first, last, size } => write!(
                f,
                "the bounding box of a tensor that is written is from {first} to {last} along \
                 dimension {dimension}: it must be within the tensor, from 0 to {}",
                size - 1
            ),
            TensorMapError::Line { bytes, swizzle: 0 } => {
                write!(f, "a line of a box has {bytes} bytes: it must be a multiple of 16")
            }
            TensorMapError::Line { bytes, swizzle } => {
                write!(f, "a line of a box has {bytes} bytes: swizzled, it must have {swizzle}")
            }
            TensorMapError::WrittenLine { bytes } => write!(
                f,
                "a line of a tensor that is written has {bytes} bytes: it must be a multiple of \
                 16, as what follows it in the last 16 would be written too"
            ),
            TensorMapError::Overlap { dimension, stride, needed } => write!(
                f,
                "elements along dimension {dimension} of a tensor that is written are {stride} \
                 apart, and lie on each other: they must be at least {needed} apart"
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
