//! The kernels of the conformance run: one for each form of each instruction, and whole tiles.
//!
//! The same source is compiled to PTX for every GPU, and to the host for the simulator.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(float_minimum_maximum))]
// A build for an older GPU leaves out kernels, and the items that only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod approx;
pub mod arithmetic;
pub mod atomic_reductions;
pub mod atomics;
pub mod barriers;
pub mod copies;
pub mod fragments;
pub mod matrices;
pub mod multiply;
pub mod multiply_sparse;
pub mod pairs;
pub mod products;
pub mod shared_memory;
pub mod shuffles;

// Older GPUs have none of these instructions.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod async_stores;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod bulk;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod cached;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod cluster;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod convolution;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod im2col;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod tensor;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod tensor_part;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod wgmma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod wgmma_sparse;

/// The names in PTX of the operations of reductions, by the number of `reduction::Operation` that a
/// kernel gets.
pub const REDUCTIONS: [&str; 8] = ["add", "min", "max", "inc", "dec", "and", "or", "xor"];
