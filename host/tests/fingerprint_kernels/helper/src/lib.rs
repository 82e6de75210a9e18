//! A path dependency of a kernel crate.

#![no_std]

/// The number that `scale` adds.
pub const SHIFT: f32 = 0.0;
