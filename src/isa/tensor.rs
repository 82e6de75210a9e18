//! The words of a tensor map.

/// A tensor map in the hardware's encoding: 128 opaque bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMapWords(pub [u64; 16]);
