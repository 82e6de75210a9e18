//! A form by its name: which lane holds which element of its matrices, and one execution of it.

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
