//! Attention in one kernel, for Hopper: of each head, O = softmax(scale Q x K^T) x V, of which the
//! scores never leave the registers.
//!
//! A block computes 128 queries of a head, by two warpgroups of 64 each (`consumer.rs`), while a
//! warp of a third has the tiles of keys and of values copied (`producer.rs`). What is known of a
//! softmax whose scores come tile by tile is in `softmax.rs`.

#![no_std]
#![feature(core_float_math)]
// A build for an older GPU leaves kernels out, and with them what only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

// An older GPU has no `wgmma`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod consumer;
#[cfg(not(target_arch = "nvptx64"))]
mod error;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod kernel;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod producer;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod softmax;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use kernel::*;
