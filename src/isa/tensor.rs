//! The words of a tensor map.

/// A tensor map as the hardware knows it: 128 bytes that mean nothing to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMapWords(pub [u64; 16]);
