//! The parts of the GEMM kernels, for kernels of your own.
//!
//! | part | for |
//! | --- | --- |
//! | [`OperandA`], [`OperandB`] | operand tiles of a stage: TMA loads, descriptors, fragments |
//! | [`TileScheduler`] | the order of the tiles of D, and their assignment to blocks |
//! | [`Epilogue`], [`EpilogueArgs`] | D = f(alpha A x B + beta C + bias) |
//! | [`TmaStore`] | staging tiles and TMA stores of D |
//! | [`EpilogueStore`], [`Staging`] | an epilogue of your own for accumulators of `wgmma` |
//! | [`MmaOp`], [`Source`](source::Source) | an instruction `mma.sync`, and loads without TMA |
//! | [`TmaArgs`], [`AsyncArgs`], [`ProblemShape`] | kernel arguments |
//!
//! [`sm90_wgmma`](crate::kernels::sm90_wgmma) joins them to a GEMM. A kernel with its own epilogue
//! implements [`EpilogueStore`]. If it passes its results to a [`TmaStore`], alpha, beta, the bias
//! and the activation apply to these results. So a SwiGLU with alpha is D = alpha silu(A x G) * (A
//! x U): alpha comes after silu.

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
    Group, GroupCursor, GroupedTiles, Groups, MatrixCoord, TileScheduler, TileShape, TileWalk,
    WHOLE_TILE, WorkTile,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use {args::AsyncArgsHost, epilogue::EpilogueArgsHost};

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub use tma::*;
