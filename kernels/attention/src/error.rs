//! The errors of attention: what was wrong, where, and what would be right.

use core::error::Error;
use core::fmt;
use ptx_matrix::isa::TensorMapError;

/// The error of an attention that was not computed. Only [`Device`](Self::Device) can follow a
/// launch.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttentionError<E> {
    /// No kernel supports this number of features.
    Features {
        /// The features of the problem.
        given: usize,
        /// The features that kernels support.
        known: &'static [usize],
    },
    /// The heads of the queries are not a multiple of the heads of the keys.
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
    /// A size is too large for the kernels.
    TooLarge {
        /// The size.
        size: &'static str,
        /// Its value.
        given: usize,
        /// The largest value.
        limit: usize,
    },
    /// A buffer is too short.
    TooShort {
        /// The buffer.
        buffer: &'static str,
        /// Its elements.
        given: usize,
        /// The elements that it must have.
        needed: usize,
    },
    /// The driver cannot make a tensor map of a buffer.
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
                "{heads} heads of queries do not share {key_heads} heads of keys: `heads` must be \
                 a multiple of `key_heads`"
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
