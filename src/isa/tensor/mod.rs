//! What a tensor map says of a tensor.

#[cfg(not(target_arch = "nvptx64"))]
mod encoding;
#[cfg(not(target_arch = "nvptx64"))]
mod error;

#[cfg(not(target_arch = "nvptx64"))]
pub use encoding::{TensorAccess, TensorEncoding};
#[cfg(not(target_arch = "nvptx64"))]
pub use error::TensorMapError;

/// A tensor map as the hardware knows it: 128 bytes that mean nothing to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMapWords(pub [u64; 16]);
