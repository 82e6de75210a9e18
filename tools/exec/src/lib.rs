//! Executes one instruction once, on the operands of a file: `cargo xtask exec`, `cargo ptx exec`.
//!
//! Instructions of a warp and of a warpgroup use the same file format. [`Instruction`] is where
//! they differ.

pub mod cli;
mod example;
#[cfg(feature = "gpu")]
mod gpu;
mod image;
mod instruction;
mod operand;
mod options;
mod problem;
mod state;
mod warp;
mod warp_group;

pub use example::example;
#[cfg(feature = "gpu")]
pub use gpu::{Unsupported, execute, kernel};
pub use instruction::{About, Instruction};
pub use operand::{Operand, Part};
pub use options::GroupOptions;
pub use problem::Problem;
pub use state::{Results, Selection, State};
