//! Shared memory: swizzled tiles, the row addresses that matrix loads and stores take, and how a kernel's
//! shared memory is laid out.

mod coordinate;
mod copy;
mod global;
mod global_matrix;
mod layout;
mod peer_memory;
mod ring;
mod row;
mod swizzle;
mod tile;

pub(crate) use coordinate::check_known;
pub use coordinate::{At, Coordinate, Window};
pub use global::{Global, GlobalMut};
pub use global_matrix::{GlobalMatrix, GlobalMatrixMut};
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use layout::align_up;
pub use layout::{MAX_SHARED_BYTES, MAX_STATIC_BYTES, SharedLayout};
pub use peer_memory::{OfPeer, PeerBarrier, PeerBarrierRing, PeerRing, PeerTile};
pub use ring::{RingIndex, SharedRing};
pub use row::RowAddr;
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use swizzle::swizzled_in_line;
pub use swizzle::{Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, TensorSwizzle, Unswizzled, Unswizzled128};
pub(crate) use tile::Single;
pub use tile::{ColMajor, Order, RowMajor, SharedTile};
