//! One instruction, executed once, on what a file gives: `cargo xtask exec`.
//!
//! What a warp executes and what a warpgroup does have files of the same kind. [`Instruction`] is
//! where they differ.

mod example;
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
pub use gpu::{Unsupported, execute, kernel};
pub use instruction::{About, Instruction};
pub use operand::{Operand, Part};
pub use options::GroupOptions;
pub use problem::Problem;
pub use state::{Results, Selection, State};
