//! Fused attention in one kernel, for Hopper: for each head, O = softmax(scale Q x K^T) x V. The
//! scores stay in registers.
//!
//! | role | threads | file |
//! | --- | --- | --- |
//! | producer | one warp of a warpgroup: TMA loads of K and V tiles | `producer.rs` |
//! | consumers | two warpgroups of 64 queries each: `wgmma`, softmax | `consumer.rs` |
//!
//! A block computes 128 queries of a head. `softmax.rs` has the online softmax, over scores that
//! arrive tile by tile.

#![no_std]
// A build for an older GPU leaves kernels out, and with them what only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

// Older GPUs have no `wgmma`.
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
pub use kernel::{attention_bf16_64, attention_bf16_128, attention_f16_64, attention_f16_128};
#[cfg(not(target_arch = "nvptx64"))]
pub use {
    error::AttentionError,
    kernel::{Attention, AttentionElement},
};
