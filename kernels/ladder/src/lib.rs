//! GEMM, one idea a step: each file is a kernel that is faster than the one before. The steps
//! behind [`naive`] multiply row-major matrices of bf16, whose sides are multiples of the tile's,
//! and show nothing but their idea; what a product of any kind needs is in `ptx-matrix-gemm`.

#![no_std]
// A build for an older GPU leaves kernels out, and with them what only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod naive;
pub mod shared;

// These copy by `cp.async`, which a build for sm_75 has not.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod ldmatrix;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod pipelined;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod swizzled;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod warp_tile;

/// Rows and columns of D that a block computes, and how far it goes along K in a step, from
/// [`ldmatrix`] on.
pub const TILE: (usize, usize, usize) = (128, 128, 32);
