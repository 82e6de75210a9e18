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

pub mod copy;
pub mod element;
#[cfg(not(target_arch = "nvptx64"))]
mod engine;
pub mod fragment;
pub mod isa;
mod lane;
pub mod launch;
mod machine;
pub mod math;
pub mod memory;
pub mod mma;
pub mod raw;
pub mod scope;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sim;
pub mod sync;
pub mod target;

pub use bytemuck::Zeroable;
pub use copy::reduction;
pub use copy::{
    Along, AsyncPiece, BoxAt, BoxTile, BulkGroup, CachePolicy, CpAsync, CpAsyncForm, Fetched, Im2col, Im2colAt, Piece,
    PieceReader, Priority, ReadTile, RestPriority, TensorMap, TensorMapMut, TensorMode, TileReader, Tiled,
};
pub use element::{
    Bits1, Bits4, Bits8, Bits16, Bits32, Bits64, Element, InByte, Width, b1, e2m1, e2m3, e3m2, s4, tf32, u4, ue4m3,
    ue8m0,
};
pub use float8::{F8E4M3, F8E5M2};
pub use fragment::{
    Accumulator, Arrangement, Bit, ColMajor, Fragment, FragmentA, FragmentB, FragmentShape, FragmentSparseA, Kept,
    Layout, M8N8K4, M8N8K4Quad, M8N8K16, M8N8K32, M8N8K128, M16N8K4, M16N8K8, M16N8K8Pairs, M16N8K16, M16N8K32,
    M16N8K64, M16N8K128, M16N8K256, Mxf4, Mxf4Nvf4, Mxf8f6f4, Order, Packed, Registers, Role, RoleA, RoleB, RoleC,
    RoleSparseA, RowAddr, RowMajor, ScaleA, ScaleB, ScaledKind, Scales, Selected, Shape, SparseWidth,
};
pub use half::{bf16, f16};
pub use isa::{AndPopc, AnyOrder, F8F6F4, Ordered, Plain, Rm, Rn, Rp, Rz, SatFinite, TensorMapWords, Widen, XorPopc};
pub use lane::{Grid, LANES, Lane, LaneCapture, PerLane};
pub use memory::{
    At, Coordinate, Global, GlobalMatrix, GlobalMatrixMut, GlobalMut, OfPeer, PeerRing, PeerTile, RingIndex,
    SharedLayout, SharedRing, SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, TensorSwizzle,
    Unswizzled, Unswizzled128, Window,
};
pub use mma::{
    Among, B4x16P64, B6x16P32, B8, B16, Count, CountOf, CountRegisters, DenseA, FactorA, FragmentRows,
    GroupAccumulator, InFlight, Issue, IssueSparse, LdMatrix, LdMatrixBytes, M64, MatrixA, MatrixB, Metadata, Mma,
    MmaForm, MmaScaled, MmaScaledForm, MmaSparse, MmaSparseForm, MmaSparseScaled, MmaSparseScaledForm, MovMatrix,
    Multiplicand, NoTrans, PatternSwizzle, PeerAccumulator, Rounded, RowParts, RowValues, Select, Selector,
    SelectorsBelow, Selects, SharedAccumulator, SparseA, StMatrix, StMatrixBytes, Subtracts, Trans, Transposition,
    Wgmma, WgmmaColumns, WgmmaForm, WgmmaSparse, WgmmaSparseForm, X1, X2, X4,
};
#[doc = include_str!("launch/kernel_args.md")]
pub use ptx_matrix_macros::KernelArgs;
pub use ptx_matrix_macros::SharedLayout;
#[doc = include_str!("launch/kernel.md")]
pub use ptx_matrix_macros::kernel;
pub use scope::{Block, Blocks, Cluster, ClusterArrival, ClusterBlock, Peer, Peers, Threads, Warp, WarpGroup};
pub use sync::{Arrival, Barrier, BarrierMemory, BarrierRing, Look, PeerBarrier, PeerBarrierRing, Phase, Turn};
pub use target::{MAX_SHARED_BYTES, MAX_STATIC_BYTES};

#[cfg(not(target_arch = "nvptx64"))]
pub use {
    isa::{TensorAccess, TensorEncoding, TensorMapError},
    launch::{EncodedMap, EncodedMapMut, Im2colTensor, Tensor},
    mma::{CompressError, Compressed},
    sim::CheckedRun,
};

/// The forms of the instructions, as values.
pub mod forms {
    pub use crate::isa::*;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::sim::by_name::{AnyForm, Held, HeldMatrix, UnknownForm, WgmmaMatrices, WgmmaMemory, find, find_any};
}

/// A kernel that panics stops with a trap; the launch reports it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    raw::trap()
}
