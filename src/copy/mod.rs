//! Copies between global and shared memory: `cp.async`, bulk copies and TMA, with cache policies and reductions.

mod bulk;
mod bulk_tensor;
mod cache_policy;
mod cp_async;
mod im2col;
mod multicast;
mod peer;
mod piece_reader;
pub mod reduction;
mod tensor_map;
mod tile_reader;

pub use bulk::BulkGroup;
pub(crate) use bulk::{check_prefetch, check_slice};
pub use bulk_tensor::BoxAt;
pub use cache_policy::{CachePolicy, Priority, RestPriority};
pub use cp_async::{CpAsync, CpAsyncForm};
pub use im2col::Im2colAt;
pub use piece_reader::{AsyncPiece, Fetched, Piece, PieceReader};
pub use tensor_map::{BoxTile, Im2col, TensorMap, TensorMapMut, TensorMode, Tiled};
pub use tile_reader::{Along, ReadTile, TileReader};
