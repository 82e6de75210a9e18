//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `mma.sp` and `wgmma`, and fragments of tiles.

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

pub use crate::fragment::{Kept, Mxf4, Mxf4Nvf4, Mxf8f6f4, ScaleA, ScaleB, ScaledKind, Scales, Selected};
pub use crate::isa::{AndPopc, AnyOrder, F8F6F4, Ordered, Plain, Rm, Rn, Rp, Rz, SatFinite, Widen, XorPopc};
#[cfg(not(target_arch = "nvptx64"))]
pub use compressed::{CompressError, Compressed};
pub use dense::{Mma, MmaForm};
pub use fragment_tile::FragmentRows;
pub(crate) use ldmatrix::LdMatrixForms;
pub use ldmatrix::{LdMatrix, LdMatrixBytes};
pub use matrix::{
    B4x16P64, B6x16P32, B8, B16, Count, CountOf, CountRegisters, NoTrans, Trans, Transposition, X1, X2, X4,
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
    DenseA, FactorA, GroupAccumulator, InFlight, Issue, IssueSparse, M64, MatrixA, MatrixB, Multiplicand,
    PatternSwizzle, PeerAccumulator, SharedAccumulator, SparseA, Subtracts, Wgmma, WgmmaColumns, WgmmaForm,
    WgmmaSparse, WgmmaSparseForm,
};
