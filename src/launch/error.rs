//! Errors of launches with tensor maps.

use core::error::Error;
use core::fmt;

use crate::isa::TensorMapError;

/// The reason why a kernel that takes tensor maps was not launched, or failed.
pub enum LaunchError<E> {
    /// The device's error.
    Device(E),
    /// A tensor map cannot be made.
    TensorMap(TensorMapError),
}

/// The text, for `unwrap` and for the result of `main`.
impl<E: fmt::Debug> fmt::Debug for LaunchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Device(error) => fmt::Debug::fmt(error, f),
            LaunchError::TensorMap(error) => fmt::Debug::fmt(error, f),
        }
    }
}

impl<E> From<TensorMapError> for LaunchError<E> {
    fn from(error: TensorMapError) -> Self {
        LaunchError::TensorMap(error)
    }
}

impl<E: fmt::Display> fmt::Display for LaunchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Device(error) => error.fmt(f),
            LaunchError::TensorMap(error) => {
                write!(f, "cannot make the tensor map of a matrix: {error}")
            }
        }
    }
}

impl<E: Error + 'static> Error for LaunchError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LaunchError::Device(error) => error.source(),
            LaunchError::TensorMap(error) => Some(error),
        }
    }
}
