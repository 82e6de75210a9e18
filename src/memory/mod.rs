//! Shared memory and global memory: tiles, rings, swizzles, slices and matrices.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Global`], [`GlobalMut`] | slices of global memory: read only, or also written |
//! | [`GlobalAtomic`] | a slice of global memory for atomic operations: counters and flags |
//! | [`GlobalMatrix`], [`GlobalMatrixMut`] | matrices in such slices, with a leading dimension |
//! | [`SharedTile`] | a matrix in shared memory, with its order and its [`Swizzle`] |
//! | [`SharedRing`] | `N` equal parts, indexed at run time: the stages of a pipeline |
//! | [`Swizzle128`], [`Swizzle64`], [`Swizzle32`] | permutations that avoid bank conflicts |
//! | [`Unswizzled`] | no permutation |
//! | [`TileSize`], [`SwizzleBits`] | a size and a swizzle as numbers |
//! | [`At`] | coordinates that the compiler checks |
//! | [`macro@SharedLayout`] | derive: a struct of parts of shared memory |
//! | [`PeerTile`], [`PeerRing`] | shared memory of another block of the cluster (DSMEM) |
//!
//! Asynchronous copies into tiles are in [`copy`](crate::copy). Loads and stores of fragments are
//! in [`mma`](crate::mma).
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// Transposes a matrix through shared memory.
//! #[kernel(threads = 32)]
//! fn transpose(
//!     block: &Block,
//!     #[shared] tile: SharedTile<f32, 8, 8>,
//!     a: Global<f32>,
//!     d: GlobalMut<f32>,
//! ) {
//!     let warp = block.warp();
//!     tile.fill(warp, |row, col| a.get(row * 8 + col));
//!     block.sync();
//!     tile.for_each(warp, |row, col, value| d.set(col * 8 + row, value));
//! }
//!
//! let a: Vec<f32> = (0..64).map(|i| i as f32).collect();
//! let mut d = [0.0; 64];
//! transpose::simulate(1, &a, &mut d).check();
//! assert_eq!(d[1], 8.0);
//! ```

mod coordinate;
mod copy;
mod global;
mod global_atomic;
mod global_matrix;
mod layout;
mod peer_memory;
mod ring;
mod swizzle;
mod tile;
mod vector;

pub use crate::fragment::{ColMajor, Order, RowAddr, RowMajor, SwizzleBits, TileSize};
pub use crate::target::{MAX_SHARED_BYTES, MAX_STATIC_BYTES};
pub(crate) use coordinate::check_known;
pub use coordinate::{At, Coordinate, Window};
pub use global::{Global, GlobalMut};
pub use global_atomic::GlobalAtomic;
pub use global_matrix::{GlobalMatrix, GlobalMatrixMut};
pub use layout::SharedLayout;
pub use peer_memory::{OfPeer, PeerRing, PeerTile};
pub use ptx_matrix_macros::SharedLayout;
pub use ring::{RingIndex, SharedRing};
#[allow(unused_imports, reason = "kernels by a form's name are the host's")]
pub(crate) use swizzle::swizzled_in_line;
pub use swizzle::{
    Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, TensorSwizzle, Unswizzled,
    Unswizzled128,
};
pub use tile::SharedTile;
pub(crate) use tile::Single;
pub(crate) use vector::Vector;
