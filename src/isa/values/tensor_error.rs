//! Why there can be no such tensor map.

use std::boxed::Box;
use std::fmt;

/// Why there can be no such tensor map. Dimensions are counted from 0, which is the one whose
/// elements are neighbours.
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
    /// A coordinate of a corner of the bounding box.
    Corner {
        /// `lower` or `upper`.
        which: &'static str,
        /// The dimension.
        dimension: usize,
        /// The coordinate.
        value: i32,
        /// Dimensions of the tensor, on which it depends how many bits a coordinate has.
        rank: usize,
        /// It must be less, and not less than its negative.
        limit: i32,
    },
    /// The bounding box has no pixels.
    NoPixel {
        /// The dimension.
        dimension: usize,
        /// Where it starts.
        first: i64,
        /// Where it ends.
        last: i64,
    },
    /// The bounding box of a tensor that is written goes beyond it.
    WrittenBounds {
        /// The dimension.
        dimension: usize,
        /// Where it starts.
        first: i64,
        /// Where it ends.
        last: i64,
        /// Elements of the tensor.
        size: u64,
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
    /// Elements of a tensor that is written lie on each other: which of two values stays there,
    /// nobody says.
    Overlap {
        /// The dimension.
        dimension: usize,
        /// Its stride, in elements.
        stride: u64,
        /// Elements that other dimensions span: the stride must not be less.
        needed: u64,
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
                write!(
                    f,
                    "dimension {dimension} of a tensor has {size} elements: it must have from 1 to 2^32"
                )
            }
            TensorMapError::Stride { dimension, bytes } => write!(
                f,
                "elements along dimension {dimension} of a tensor are {bytes} bytes apart: it must be a multiple of 16, less than 2^40"
            ),
            TensorMapError::Apart { stride } => {
                write!(
                    f,
                    "elements along dimension 0 of a tensor are {stride} apart: they must be neighbours"
                )
            }
            TensorMapError::BoxSize { dimension, size } => {
                write!(
                    f,
                    "a box has {size} elements along dimension {dimension}: it must have from 1 to 256"
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
                    "a box takes every {step}th element along dimension {dimension}: it must be from 1 to 8"
                )
            }
            TensorMapError::NotTheTile { of_box, of_tile } => write!(
                f,
                "a box has {} lines of {} elements, and the tile {} of {}",
                of_box.1, of_box.0, of_tile.1, of_tile.0
            ),
            TensorMapError::Corner { which, dimension, value, rank, limit } => write!(
                f,
                "the {which} corner of a bounding box is {value} along dimension {dimension}: of a tensor of {rank} dimensions it must be from -{limit} to {}",
                limit - 1
            ),
            TensorMapError::NoPixel { dimension, first, last } => write!(
                f,
                "a bounding box starts at {first} and ends at {last} along dimension {dimension}: it must not end before it starts"
            ),
            TensorMapError::WrittenBounds { dimension, first, last, size } => write!(
                f,
                "the bounding box of a tensor that is written is from {first} to {last} along dimension {dimension}: it must be within the tensor, from 0 to {}",
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
                "a line of a tensor that is written has {bytes} bytes: it must be a multiple of 16, as what is behind it in the last 16 would be written too"
            ),
            TensorMapError::Overlap { dimension, stride, needed } => write!(
                f,
                "elements along dimension {dimension} of a tensor that is written are {stride} apart, and lie on each other: they must be at least {needed} apart"
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
