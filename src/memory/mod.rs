//! Shared memory: swizzled tiles, the row addresses that matrix loads and stores take, and how a kernel's
//! shared memory is laid out.

mod coordinate;
mod copy;
mod global;
mod global_matrix;
mod layout;
mod peer_memory;
mod ring;
mod swizzle;
mod tile;

pub use crate::fragment::{ColMajor, Order, RowAddr, RowMajor};
pub use crate::target::{MAX_SHARED_BYTES, MAX_STATIC_BYTES};
pub(crate) use coordinate::check_known;
pub use coordinate::{At, Coordinate, Window};
pub use global::{Global, GlobalMut};
pub use global_matrix::{GlobalMatrix, GlobalMatrixMut};
pub use layout::SharedLayout;
pub use peer_memory::{OfPeer, PeerRing, PeerTile};
pub use ring::{RingIndex, SharedRing};
#[allow(unused_imports, reason = "kernels by a form's name are the host's")]
pub(crate) use swizzle::swizzled_in_line;
pub use swizzle::{Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, TensorSwizzle, Unswizzled, Unswizzled128};
pub use tile::SharedTile;
pub(crate) use tile::Single;
