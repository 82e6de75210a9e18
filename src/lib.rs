#![doc = include_str!("../README.md")]
#![no_std]
#![feature(auto_traits, macro_metavar_expr_concat, negative_impls, trivial_bounds)]
// What an older GPU has not, a build for it leaves unusable: the bound of a method that says so is false there, and known to be.
#![allow(trivial_bounds)]
// The builder switches on `abi_ptx` and `asm_experimental_arch` for every crate, so that kernels need not.
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx))]
#![cfg_attr(not(target_arch = "nvptx64"), feature(panic_can_unwind))]
#![warn(missing_docs)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

// `#[kernel]` names this crate; so do the tests within it.
extern crate self as ptx_matrix;

mod arrangement;
mod array;
mod bulk;
mod bulk_tensor;
mod cache_policy;
mod cluster;
mod cp_async;
mod element;
mod fragment;
mod global;
mod global_matrix;
mod im2col;
mod lane;
mod ldmatrix;
mod matrix;
mod mbarrier;
mod mma;
mod mma_scaled;
mod mma_sparse;
mod mma_sparse_scaled;
mod movmatrix;
mod piece_reader;
mod rows;
mod scope;
mod sealed;
mod shared;
mod shuffle;
mod site;
mod sparse;
mod stmatrix;
mod tensor_map;
mod tile_reader;
mod warp_group;
mod wgmma;

pub mod forms;
pub mod launch;
pub mod raw;
pub mod reduction;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sim;
pub mod target;

pub use arrangement::{Arrangement, Packed};
pub use bulk::BulkGroup;
pub use bulk_tensor::BoxAt;
pub use bytemuck::Zeroable;
pub use cache_policy::{CachePolicy, Priority, RestPriority};
pub use cluster::{
    Blocks, Cluster, ClusterArrival, ClusterBlock, OfPeer, Peer, PeerBarrier, PeerBarrierRing, PeerRing, PeerTile,
    Peers,
};
pub use cp_async::{CpAsync, CpAsyncForm};
pub use element::{
    Bits1, Bits4, Bits8, Bits16, Bits32, Bits64, Element, InByte, Rounded, Width, b1, e2m1, e2m3, e3m2, s4, tf32, u4,
    ue4m3, ue8m0,
};
pub use float8::{F8E4M3, F8E5M2};
pub use fragment::{
    Accumulator, Bit, Fragment, FragmentA, FragmentB, FragmentRows, FragmentShape, FragmentSparseA, Layout, M8N8K4,
    M8N8K4Quad, M8N8K16, M8N8K32, M8N8K128, M16N8K4, M16N8K8, M16N8K8Pairs, M16N8K16, M16N8K32, M16N8K64, M16N8K128,
    M16N8K256, Registers, Role, RoleA, RoleB, RoleC, RoleSparseA, Shape, SparseWidth,
};
pub use global::{Global, GlobalMut};
pub use global_matrix::{GlobalMatrix, GlobalMatrixMut};
pub use half::{bf16, f16};
pub use im2col::Im2colAt;
pub use lane::{LANES, Lane, LaneCapture, PerLane};
pub use launch::Grid;
pub use ldmatrix::{LdMatrix, LdMatrixBytes};
pub use matrix::{
    B4x16P64, B6x16P32, B8, B16, Count, CountOf, CountRegisters, NoTrans, Trans, Transposition, X1, X2, X4,
};
pub use mbarrier::{Arrival, Barrier, BarrierMemory, BarrierRing, Look, Phase, Turn};
pub use mma::{AndPopc, F8F6F4, Mma, MmaForm, Plain, Rm, Rn, Rp, Rz, SatFinite, Widen, XorPopc};
pub use mma_scaled::{
    MmaScaled, MmaScaledForm, Mxf4, Mxf4Nvf4, Mxf8f6f4, ScaleA, ScaleB, ScaledKind, Scales, Select, Selected, Selects,
};
pub use mma_sparse::{Among, AnyOrder, MmaSparse, MmaSparseForm, Ordered, Selector, SelectorsBelow};
pub use mma_sparse_scaled::{MmaSparseScaled, MmaSparseScaledForm};
pub use movmatrix::MovMatrix;
pub use piece_reader::{AsyncPiece, Fetched, Piece, PieceReader};
#[doc = include_str!("launch/kernel_args.md")]
pub use ptx_matrix_macros::KernelArgs;
pub use ptx_matrix_macros::SharedLayout;
#[doc = include_str!("launch/kernel.md")]
pub use ptx_matrix_macros::kernel;
pub use rows::{RowParts, RowValues};
pub use scope::{Block, Threads, Warp};
pub use shared::{
    At, ColMajor, Coordinate, MAX_SHARED_BYTES, MAX_STATIC_BYTES, Order, RingIndex, RowAddr, RowMajor, SharedLayout,
    SharedRing, SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, TensorSwizzle, Unswizzled,
    Unswizzled128, Window,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use sim::CheckedRun;
#[cfg(not(target_arch = "nvptx64"))]
pub use sparse::{CompressError, Compressed};
pub use sparse::{Kept, Metadata};
pub use stmatrix::{StMatrix, StMatrixBytes};
pub use tensor_map::{BoxTile, Im2col, TensorMap, TensorMapMut, TensorMapWords, TensorMode, Tiled};
#[cfg(not(target_arch = "nvptx64"))]
pub use tensor_map::{EncodedMap, EncodedMapMut, Im2colTensor, Tensor, TensorAccess, TensorEncoding, TensorMapError};
pub use tile_reader::{Along, ReadTile, TileReader};
pub use warp_group::WarpGroup;
pub use wgmma::{
    DenseA, FactorA, GroupAccumulator, InFlight, Issue, IssueSparse, M64, MatrixA, MatrixB, Multiplicand,
    PatternSwizzle, PeerAccumulator, SharedAccumulator, SparseA, Subtracts, Wgmma, WgmmaColumns, WgmmaForm,
    WgmmaSparse, WgmmaSparseForm,
};

/// A kernel that panics stops with a trap; the launch reports it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    raw::trap()
}
