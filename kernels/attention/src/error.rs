//! Why attention is refused, or fails: what was wrong, where, and what would be right.

use core::error::Error;
use core::fmt;
use ptx_matrix::isa::TensorMapError;

/// Why attention was not computed. Only [`Device`](Self::Device) comes after a launch.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttentionError<E> {
    /// No kernel has heads of so many features.
    Features {
        /// The features asked for.
        given: usize,
        /// The features that kernels have.
        known: &'static [usize],
    },
    /// The heads of the queries do not divide evenly among those of the keys.
    Heads {
        /// Heads of the queries.
        heads: usize,
        /// Heads of the keys.
        key_heads: usize,
    },
    /// The scale is not a positive, finite number.
    Scale {
        /// The scale.
        given: f32,
    },
    /// A size is more than kernels count to.
    TooLarge {
        /// Which size.
        size: &'static str,
        /// How much it is.
        given: usize,
        /// The most.
        limit: usize,
    },
    /// A buffer is too short.
    TooShort {
        /// Which buffer.
        buffer: &'static str,
        /// Its elements.
        given: usize,
        /// The elements that it must have.
        needed: usize,
    },
    /// The driver makes no tensor map of a buffer.
    TensorMap(TensorMapError),
    /// The device failed.
    Device(E),
}

impl<E: fmt::Display> fmt::Display for AttentionError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features { given, known } => {
                write!(f, "heads of {given} features: kernels have heads of {known:?} features")
            }
            Self::Heads { heads, key_heads } => write!(
                f,
                "{heads} heads of queries do not share {key_heads} heads of keys: `heads` must be a multiple of `key_heads`"
            ),
            Self::Scale { given } => {
                write!(f, "a scale of {given}: it must be positive and finite")
            }
            Self::TooLarge { size, given, limit } => {
                write!(f, "{size} is {given}, more than the {limit} that kernels count to")
            }
            Self::TooShort { buffer, given, needed } => {
                write!(f, "{buffer} has {given} elements, and attention needs {needed}")
            }
            Self::TensorMap(error) => write!(f, "no tensor map of a buffer: {error}"),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for AttentionError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TensorMap(error) => Some(error),
            Self::Device(error) => error.source(),
            _ => None,
        }
    }
}
