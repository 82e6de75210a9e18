//! One instruction, executed once, on registers that a file gives: `cargo xtask exec`.

mod example;
mod gpu;
mod problem;
mod state;

pub use example::example;
pub use gpu::{Unsupported, execute, kernel};
pub use problem::Problem;
pub use state::{Results, Selection, State};
