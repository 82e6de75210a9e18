//! The names that most kernels use: `use ptx_matrix::prelude::*`.
//!
//! Scopes, lanes, memory, the common element types, dense fragments and [`Mma`], barriers and
//! tensor maps, and the methods of floats. A kernel imports other names from their modules, such as
//! [`mma`](crate::mma) or [`copy`](crate::copy).
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! #[kernel(threads = 32)]
//! fn add(block: &Block, a: Global<f32>, b: Global<f32>, sum: GlobalMut<f32>) {
//!     block.warp().each(|lane| sum.set(lane.id(), a.get(lane.id()) + b.get(lane.id())));
//! }
//!
//! let mut sum = [0.0; 32];
//! add::simulate(1, &[1.0; 32], &[2.5; 32], &mut sum).check();
//! assert_eq!(sum, [3.5; 32]);
//! ```

pub use crate::copy::{BulkGroup, TensorMap, TensorMapMut};
pub use crate::element::{Element, F8E4M3, F8E5M2, Zeroable, bf16, f16, tf32};
pub use crate::fragment::{
    Accumulator, ColMajor, FragmentA, FragmentB, M16N8K8, M16N8K16, M16N8K32, RowMajor,
};
pub use crate::lane::{LANES, Lane, LaneCapture, PerLane};
pub use crate::math::FloatMath;
pub use crate::memory::{
    At, Global, GlobalAtomic, GlobalMut, SharedLayout, SharedRing, SharedTile, Swizzle32,
    Swizzle64, Swizzle128, Unswizzled,
};
pub use crate::mma::Mma;
pub use crate::scope::{Block, ClusterBlock, Threads, Warp, WarpGroup};
#[cfg(not(target_arch = "nvptx64"))]
pub use crate::sim::CheckedRun;
pub use crate::sync::{Barrier, BarrierMemory, NamedBarrier, Phase, PipelineState};
pub use crate::{KernelArgs, kernel};
