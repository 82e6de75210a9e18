//! A GEMM tutorial: each file is a kernel with one more idea, and faster than the one before.
//!
//! | step | file | idea | data flow to the multiply |
//! | --- | --- | --- | --- |
//! | 0 | [`naive`] | one thread per element of D | global memory, registers |
//! | 1 | [`shared`](mod@shared) | tiling | global memory, registers, shared memory, registers |
//! | 2 | [`ldmatrix`] | tensor cores | global memory, shared memory, fragments |
//! | 3 | [`pipelined`] | a multistage pipeline | the same, with four stages of shared memory |
//! | 4 | [`swizzled`] | swizzled tiles | the same, without bank conflicts |
//!
//! The steps after [`naive`] multiply row-major bf16 matrices whose dimensions are multiples of the
//! tile's, and show nothing but their idea. The GEMM for all layouts and shapes is in
//! `ptx-matrix-gemm`.

#![no_std]
// A build for an older GPU leaves out kernels, and the items that only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

pub mod naive;
pub mod shared;

// These use `cp.async`, which sm_75 does not have.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod ldmatrix;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod pipelined;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod swizzled;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod warp_tile;

/// The tile of a block, M x N x K, from [`ldmatrix`] on. K is that of one k-tile.
pub const TILE: (usize, usize, usize) = (128, 128, 32);
