//! The parts of kernels that load operands and store D by TMA (sm_90).

mod args;
mod operand;
mod staging;
mod store;
mod unroll;

#[cfg(not(target_arch = "nvptx64"))]
pub use args::TmaArgsHost;
pub use args::{TmaArgs, TmaOperands};
pub use operand::{Multicast, Multiplied, OperandA, OperandB, TileRow, TmaLoad, WgmmaA, WgmmaB};
pub use staging::{EpilogueStore, Staging};
pub use store::{TmaStore, WGMMA_M, wait_for_stores};
pub use unroll::Unroll;
