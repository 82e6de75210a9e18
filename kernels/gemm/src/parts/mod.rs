//! The parts of the GEMM kernels, to build kernels of your own from.
//!
//! | part | for |
//! | --- | --- |
//! | [`OperandA`], [`OperandB`] | the tiles of A and B in one pipeline stage: TMA loads, `wgmma` descriptors, `mma` fragments |
//! | [`TileScheduler`] | which tiles of D a block computes |
//! | [`Epilogue`], [`EpilogueArgs`] | D = f(alpha A x B + beta C + bias) |
//! | [`TmaStore`] | staging tiles and TMA stores of D |
//! | [`TmaArgs`], [`AsyncArgs`], [`ProblemShape`] | kernel arguments |
//!
//! [`sm90_wgmma`](crate::kernels::sm90_wgmma) joins them to a GEMM. A kernel with an epilogue of
//! its own implements [`EpilogueStore`](crate::kernels::sm90_wgmma::EpilogueStore).

pub mod args;
pub mod epilogue;
pub mod mma;
pub mod number;
pub mod scheduler;
pub mod source;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod tma;

pub use args::{AsyncArgs, MatrixArgs, ProblemShape};
pub use epilogue::{Epilogue, EpilogueArgs, EpilogueScalars};
pub use mma::MmaOp;
pub use number::{Activation, Number, Output};
pub use scheduler::{
    Group, GroupCursor, GroupedTiles, Groups, TileScheduler, TileShape, TileWalk, WorkTile,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use {args::AsyncArgsHost, epilogue::EpilogueArgsHost};

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub use tma::*;
