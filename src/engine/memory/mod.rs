//! Shared and global memory, copies, and the order of accesses.
//!
//! | file | contents |
//! | --- | --- |
//! | `shared/`, `bytes.rs` | shared memory of a block, and the records of each byte |
//! | `global.rs`, `slices.rs`, `unwritten.rs` | global memory, slices, unwritten buffers |
//! | `atomic.rs` | atomic operations |
//! | `launch_memory.rs` | memory that the clusters of a launch share |
//! | `order.rs`, `race.rs` | the happens-before order, and data races |
//! | `copies.rs`, `bulk.rs` | `cp.async`; bulk copies |
//! | `tensor.rs`, `im2col.rs`, `boxes.rs` | TMA copies of tensors; boxes outside of a tensor |
//! | `reduction.rs` | reductions of an element |
//! | `matrix.rs` | `ldmatrix`, `stmatrix`, `movmatrix` |
//! | `peer.rs` | shared memory of other blocks of the cluster |
//!
//! `machine/` and `raw` call these functions, one for each instruction. `warps/` lands copies that
//! a warp waits for.

pub(crate) mod atomic;
pub(crate) mod boxes;
pub(crate) mod bulk;
pub(crate) mod bytes;
pub(crate) mod copies;
pub(crate) mod global;
pub(crate) mod im2col;
pub(crate) mod launch_memory;
pub(crate) mod matrix;
pub(crate) mod order;
pub(crate) mod peer;
pub(crate) mod race;
pub(crate) mod reduction;
pub(crate) mod shared;
pub(crate) mod slices;
pub(crate) mod tensor;
pub(crate) mod unwritten;

pub(crate) use copies::{commit_copies, start_copy, wait_for_copies};
pub(crate) use global::{ElementOf, load_constant, read_constant, read_global, write_global};
pub(crate) use matrix::{load_matrices, store_matrices, transpose_matrix};
pub use shared::SHARED_BASE;
pub(crate) use shared::{InTile, check_swizzle, load_shared, note_row, note_written, store_shared};
pub(crate) use slices::{Slice, note_slice};
pub use unwritten::mark_unwritten;
