//! Raw PTX instructions: one function for each form, with one `asm!` and PTX's own name.
//!
//! The function's name is the instruction's, with `_` for `.` and `::`. For example,
//! `mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32` is
//! [`mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32`]. The typed layer above is
//! [`mma`](crate::mma), [`copy`](crate::copy) and [`sync`](crate::sync). [`isa`](crate::isa) lists
//! the forms of matrix instructions.
//!
//! On the device, nothing here is checked, and nothing here needs the rest of the crate. Addresses
//! of shared memory are 32-bit `.shared` addresses, not generic pointers. The caller of a
//! `.sync.aligned` form ensures that all 32 lanes of the warp execute it together, converged.
//!
//! On the host, each form runs in the simulator, and the simulator checks it. A function there is
//! one lane's part. Call it in a lane closure. A collective waits for all lanes:
//!
//! ```
//! use ptx_matrix::{prelude::*, raw};
//!
//! /// Multiplies matrices of ones.
//! #[kernel(threads = 32)]
//! fn multiply(block: &Block, d: GlobalMut<f32>) {
//!     let one = u32::from(f16::ONE.to_bits()) * 0x1_0001;
//!     block.warp().each(|lane| {
//!         // SAFETY: all lanes come here together.
//!         let acc = unsafe {
//!             raw::mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32([one; 2], [one], [0; 4])
//!         };
//!         for (i, register) in acc.into_iter().enumerate() {
//!             d.set(lane.id() * 4 + i, f32::from_bits(register));
//!         }
//!     });
//! }
//!
//! let mut d = [0.0; 128];
//! multiply::simulate(1, &mut d).unwrap();
//! assert_eq!(d, [8.0; 128]);
//! ```
//!
//! No collective is `pure`: LLVM could otherwise move it under a branch. Forms that touch no memory
//! are `nomem`.

mod approx;
mod async_stores;
mod atom;
mod bulk;
mod bulk_tensor;
mod cache_policy;
mod cluster;
mod cp_async;
mod cvt;
mod im2col;
pub mod index;
mod ldmatrix;
mod mbarrier;
mod mbarrier_cluster;
mod memory;
mod mma;
mod mma_scaled;
mod mma_sparse;
mod mma_sparse_scaled;
mod movmatrix;
mod multicast;
mod pairs;
mod red;
mod setmaxnreg;
mod shuffle;
mod stmatrix;
mod sync;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod wgmma;

pub use approx::*;
pub use async_stores::*;
pub use atom::*;
pub use bulk::*;
pub use bulk_tensor::*;
pub use cache_policy::*;
pub use cluster::*;
pub use cp_async::*;
pub use cvt::*;
pub use im2col::*;
pub use ldmatrix::*;
pub use mbarrier::*;
pub use mbarrier_cluster::*;
pub use memory::*;
pub use mma::*;
pub use mma_scaled::*;
pub use mma_sparse::*;
pub use mma_sparse_scaled::*;
pub use movmatrix::*;
pub use multicast::*;
pub use pairs::*;
pub use red::*;
pub use setmaxnreg::*;
pub use shuffle::*;
pub use stmatrix::*;
pub use sync::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use wgmma::*;
