//! Forms by name: the layout of a form's matrices, and the execution of a form.
//!
//! | file | contents |
//! | --- | --- |
//! | `find.rs` | a form by its name |
//! | `held.rs`, `wgmma_held.rs` | the lane that holds each element |
//! | `execute.rs`, `typed.rs` | one execution by a warp |
//! | `execute_group.rs`, `simulate.rs` | one execution by a warpgroup |
//! | `wgmma_memory.rs` | the input and output format of `wgmma` kernels |
//!
//! `crate::forms` exports these names. Tools and tests call them.

mod execute;
mod execute_group;
mod find;
mod held;
mod simulate;
mod typed;
mod wgmma_held;
mod wgmma_memory;

pub use execute::Execution;
pub use find::{AnyForm, UnknownForm, find, find_any};
pub use held::{Held, HeldMatrix};
pub use wgmma_memory::{WgmmaMatrices, WgmmaMemory};
