//! The GEMM kernels.
//!
//! | file | kernels |
//! | --- | --- |
//! | [`configs`] | every kernel, by name |
//! | [`sm80_mma`] | `mma.sync`, tiles by `cp.async`; also grouped |
//! | [`sm90_mma`] | `mma.sync` of f64, tiles by TMA |
//! | [`sm90_wgmma`] | `wgmma`, warp-specialized and persistent; also swap-AB |
//! | [`sm90_promotion`] | the mainloop of 8-bit floats with promotion to `f32` |
//! | [`sm90_wgmma_split_k`] | `wgmma` with cluster split-K |
//! | [`sm90_grouped`] | the epilogue of grouped GEMMs on `wgmma` |
//! | [`split_k_reduce`] | the second launch of split-K |
//! | [`repack`] | repacks A and B into another layout first |

#[cfg(feature = "planner")]
#[macro_use]
mod table;

#[cfg(feature = "planner")]
pub mod configs;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod host;
#[cfg(feature = "planner")]
pub mod repack;
pub mod sm80_mma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod sm90_grouped;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod sm90_mma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod sm90_promotion;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod sm90_wgmma;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod sm90_wgmma_split_k;
#[cfg(feature = "planner")]
pub mod split_k_reduce;

pub use crate::parts::{Activation, Number, Output};
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
pub use {
    crate::slices::{Failed, Launched, Launches, OnSlices, Slice},
    host::{Buffers, ClusterAlong, GemmLaunch, Kernel, Multiply, OperandOrders},
    ptx_matrix::launch::LaunchError,
};
