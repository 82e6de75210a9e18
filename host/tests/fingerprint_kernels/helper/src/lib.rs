//! A crate that a kernel crate depends on by path.

#![no_std]

/// What `scale` adds.
pub const SHIFT: f32 = 0.0;
