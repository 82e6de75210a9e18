//! The kernels by which the simulator is judged: one that runs random programs, and small ones that
//! misuse the machine, or, mended, do not.

#![no_std]
// A build for an older GPU leaves kernels out, and with them what only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod misuses;
// It uses `stmatrix`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod script;
// It uses `wgmma`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod pipeline;
