//! Kernels for tests of the simulator. One runs random programs, and one runs random pipelines. The
//! small ones have one misuse each, which a parameter corrects.

#![no_std]
// A build for an older GPU leaves kernels out; their helper functions are then unused.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod misuses;
// Uses `stmatrix`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod script;
// Uses `wgmma`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod pipeline;
