//! Matrix multiply-accumulate instructions, and loads and stores of their fragments.
//!
//! | item | PTX | from |
//! | --- | --- | --- |
//! | [`LdMatrix`], [`MovMatrix`] | `ldmatrix`, `movmatrix` | sm_75 |
//! | [`StMatrix`] | `stmatrix` | sm_90 |
//! | [`Mma`], [`MmaScaled`] | `mma.sync`, and `mma.sync` with block scaling | sm_75, sm_120a |
//! | [`MmaSparse`] | `mma.sp` | sm_80 |
//! | [`MmaSparseScaled`] | `mma.sp` with block scaling | sm_120a |
//! | [`Wgmma`], [`WgmmaSparse`] | `wgmma.mma_async`, `wgmma.mma_async.sp` | sm_90a |
//! | [`GroupAccumulator`] | accumulators of a warpgroup | sm_90a |
//! | [`InFlight`] | accumulators of `wgmma` in flight | sm_90a |
//! | [`Metadata`], `Compressed` | sparse matrices | |
//! | [`RowValues`], [`RowParts`] | row reductions of accumulators, for example for a softmax | |
//!
//! One warp executes `mma.sync` and `mma.sp`, with all operands in registers. One warpgroup (four
//! warps) executes `wgmma`, with B in shared memory, and A in shared memory or registers.
//!
//! A [fragment](crate::fragment) is a matrix operand in registers. It loads itself from a [shared
//! tile](crate::memory::SharedTile) with the right instruction:
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// D = A x B, 16 x 8 x 8, by one warp.
//! #[kernel(threads = 32)]
//! fn multiply(
//!     block: &Block,
//!     #[shared] tile_a: SharedTile<f16, 16, 8>,
//!     #[shared] tile_b: SharedTile<f16, 8, 8>,
//!     d: GlobalMut<f32>,
//! ) {
//!     let warp = block.warp();
//!     tile_a.fill(warp, |row, _| f16::from_f32(row as f32));
//!     tile_b.fill(warp, |_, _| f16::ONE);
//!     block.sync();
//!     let a = FragmentA::<M16N8K8, f16>::load(warp, &tile_a, At::<0, 0>);
//!     let b = FragmentB::<M16N8K8, f16>::load(warp, &tile_b, At::<0, 0>);
//!     let mut acc = Accumulator::<M16N8K8, f32>::zero();
//!     Mma::<M16N8K8, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b);
//!     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
//! }
//!
//! let mut d = [0.0; 128];
//! multiply::simulate(1, &mut d).check();
//! assert_eq!(d[3 * 8], 24.0);
//! ```

mod compress;
#[cfg(not(target_arch = "nvptx64"))]
mod compressed;
mod dense;
mod fragment;
mod fragment_rows;
mod fragment_run;
mod fragment_tile;
mod ldmatrix;
mod matrix;
mod metadata;
mod movmatrix;
mod rounded;
pub(crate) mod rows;
mod scaled;
mod sparse;
mod sparse_scaled;
mod stmatrix;
pub(crate) mod wgmma;

pub use crate::fragment::{
    Kept, Mxf4, Mxf4Nvf4, Mxf8f6f4, ScaleA, ScaleB, ScaledKind, Scales, Selected,
};
pub use crate::isa::{
    AndPopc, AnyOrder, F8F6F4, Ordered, Plain, Rm, Rn, Rp, Rz, SatFinite, Widen, XorPopc,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use compressed::{CompressError, Compressed};
pub use dense::{Mma, MmaForm};
pub use fragment_tile::FragmentRows;
pub(crate) use ldmatrix::LdMatrixForms;
pub use ldmatrix::{LdMatrix, LdMatrixBytes};
pub use matrix::{
    B4x16P64, B6x16P32, B8, B16, Count, CountOf, CountRegisters, NoTrans, Trans, Transposition, X1,
    X2, X4,
};
pub use metadata::Metadata;
pub use movmatrix::MovMatrix;
pub use rounded::Rounded;
pub use rows::{RowParts, RowValues};
pub use scaled::{MmaScaled, MmaScaledForm, Select, Selects};
pub use sparse::{Among, MmaSparse, MmaSparseForm, Selector, SelectorsBelow};
pub use sparse_scaled::{MmaSparseScaled, MmaSparseScaledForm};
pub(crate) use stmatrix::StMatrixForms;
pub use stmatrix::{StMatrix, StMatrixBytes};
pub use wgmma::{
    DenseA, GroupAccumulator, InFlight, Issue, IssueSparse, M64, MatrixA, MatrixB, Multiplicand,
    PatternSwizzle, PeerAccumulator, SharedAccumulator, SparseA, SparsityA, Subtracts,
    Transposable, Wgmma, WgmmaColumns, WgmmaForm, WgmmaSparse, WgmmaSparseForm,
};
