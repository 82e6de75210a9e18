//! Memory, who accessed which of it, and what may not be read or overwritten yet.

pub(in crate::sim) mod boxes;
pub(crate) mod bulk;
pub(in crate::sim) mod bytes;
pub(in crate::sim) mod copies;
pub(in crate::sim) mod global;
pub(in crate::sim) mod im2col;
pub(in crate::sim) mod matrix;
pub(in crate::sim) mod order;
pub(crate) mod peer;
pub(in crate::sim) mod race;
pub(crate) mod reduction;
pub(in crate::sim) mod shared;
pub(in crate::sim) mod slices;
pub(crate) mod tensor;
pub(in crate::sim) mod unwritten;

pub(crate) use copies::{commit_copies, start_copy, wait_for_copies};
pub(crate) use global::{ElementOf, read_constant, read_global, write_global};
pub(crate) use matrix::{load_matrices, store_matrices, transpose_matrix};
pub use shared::SHARED_BASE;
pub(crate) use shared::{load_shared, store_shared};
pub(crate) use slices::{Slice, note_slice};
pub use unwritten::mark_unwritten;
