//! Asynchronous copies between global and shared memory: `cp.async`, bulk copies and TMA.
//!
//! | item | PTX | from |
//! | --- | --- | --- |
//! | [`CpAsync`] | `cp.async`: 4 to 16 bytes for each lane | sm_80 |
//! | [`TileReader`] | consecutive tiles of a matrix, aligned to 16 bytes, by `cp.async` | sm_80 |
//! | [`UnalignedReader`] | tiles of an unaligned matrix, through registers or `cp.async` | sm_75 |
//! | [`SharedTile::load_tma`], `store_tma` | `cp.async.bulk`, `cp.async.bulk.tensor` | sm_90 |
//! | [`SharedTile::reduce_tma`] | `cp.reduce.async.bulk`, `cp.reduce.async.bulk.tensor` | sm_90 |
//! | [`TmaSource`], [`TmaDestination`] | the global side: cache policy, multicast | sm_90 |
//! | [`TensorMap`], [`TensorMapMut`] | boxes of a tensor of up to five dimensions | sm_90 |
//! | [`Im2col`] | the mode of tensor maps for convolutions | sm_90 |
//! | [`CachePolicy`] | how long the L2 cache keeps the bytes | sm_90 |
//! | [`reduction`] | bulk copies that reduce at the destination: add, min, max and others | sm_90 |
//! | | reductions by single lanes: [`GlobalMut::reduce`], [`SharedTile::reduce`] | sm_75 |
//! | [`AtomicElement`] | the elements that [`GlobalAtomic`] loads, stores and exchanges | sm_75 |
//! | [`BulkGroup`] | waits for stores that a lane started | sm_90 |
//!
//! A load completes its bytes on a [barrier](crate::sync), and a warp waits for the barrier's
//! phase. A store belongs to a group, and its lane waits for the [`BulkGroup`].
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// Copies a matrix of 8 rows through shared memory.
//! #[kernel(threads = 32, target = "sm_90")]
//! fn copy(
//!     block: &Block,
//!     #[shared] tile: SharedTile<f32, 8, 32>,
//!     #[shared] full: BarrierMemory,
//!     a: Global<f32>,
//!     d: GlobalMut<f32>,
//! ) {
//!     let full = full.init(block, 1);
//!     let warp = block.warp();
//!     warp.elect(|lane| {
//!         full.arrive_expecting(lane, SharedTile::<f32, 8, 32>::BULK_BYTES);
//!         tile.load_tma(lane, a.bulk(0), full);
//!     });
//!     full.wait(warp, Phase::FIRST);
//!     warp.elect(|lane| {
//!         tile.store_tma(lane, d.bulk(0));
//!         BulkGroup::commit(lane);
//!         BulkGroup::wait_read::<0>(lane);
//!     });
//! }
//!
//! let a: Vec<f32> = (0..256).map(|i| i as f32).collect();
//! let mut d = [0.0; 256];
//! copy::simulate(1, &a, &mut d).check();
//! assert_eq!(d[..], a[..]);
//! ```
//!
//! [`GlobalAtomic`]: crate::memory::GlobalAtomic
//! [`GlobalMut::reduce`]: crate::memory::GlobalMut::reduce
//! [`SharedTile::load_tma`]: crate::memory::SharedTile::load_tma
//! [`SharedTile::reduce`]: crate::memory::SharedTile::reduce
//! [`SharedTile::reduce_tma`]: crate::memory::SharedTile::reduce_tma

mod atomic;
mod bulk;
mod bulk_tensor;
mod cache_policy;
mod cp_async;
mod global_atomic;
mod im2col;
mod peer;
mod peer_bulk;
mod piece_reader;
pub mod reduction;
mod tensor_map;
mod tile_reader;
mod tma;

pub use bulk::{BulkGroup, TmaElements};
pub use bulk_tensor::{TmaBox, TmaCoord};
pub use cache_policy::{CachePolicy, Priority, RestPriority};
pub use cp_async::{CpAsync, CpAsyncForm};
pub use global_atomic::AtomicElement;
pub use im2col::{Im2colAt, TmaPixels};
pub use piece_reader::{AsyncPiece, Fetched, Piece, UnalignedReader};
pub use tensor_map::{BoxTile, Im2col, TensorMap, TensorMapMut, TensorMode, Tiled};
pub use tile_reader::{Along, ReadTile, TileReader};
pub use tma::{LoadTma, Multicast, StoreTma, TmaDestination, TmaSource};
