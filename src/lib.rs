#![doc = include_str!("../README.md")]
#![no_std]
#![feature(auto_traits, macro_metavar_expr_concat, negative_impls)]
// The builder switches on `abi_ptx` and `asm_experimental_arch` for every crate, so that kernels need not.
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx))]
#![warn(missing_docs)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

// `#[kernel]` names this crate; so do the tests within it.
extern crate self as ptx_matrix;

mod cp_async;
mod element;
mod forms;
mod fragment;
mod global;
mod global_matrix;
mod lane;
mod ldmatrix;
mod matrix;
mod mma;
mod movmatrix;
mod piece_reader;
mod scope;
mod sealed;
mod shared;
mod site;
mod stmatrix;
mod tile_reader;

pub mod launch;
pub mod raw;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sim;
pub mod target;

pub use bytemuck::Zeroable;
pub use cp_async::{CpAsync, CpAsyncForm};
pub use element::{Bits8, Bits16, Bits32, Bits64, Element, Rounded, Width, tf32};
pub use float8::{F8E4M3, F8E5M2};
pub use fragment::{
    Accumulator, Bit, Fragment, FragmentA, FragmentB, FragmentRows, FragmentShape, Layout, M8N8K4, M8N8K16, M16N8K4,
    M16N8K8, M16N8K16, M16N8K32, Registers, Role, RoleA, RoleB, RoleC, Shape,
};
pub use global::{Global, GlobalMut};
pub use global_matrix::{GlobalMatrix, GlobalMatrixMut};
pub use half::{bf16, f16};
pub use lane::{LANES, Lane, LaneCapture, PerLane};
pub use launch::Grid;
pub use ldmatrix::LdMatrix;
pub use matrix::{B16, Count, CountOf, CountRegisters, NoTrans, Trans, Transposition, X1, X2, X4};
pub use mma::{MMA_FORMS, Mma, MmaForm};
pub use movmatrix::MovMatrix;
pub use piece_reader::{AsyncPiece, Fetched, Piece, PieceReader};
pub use ptx_matrix_macros::{SharedLayout, kernel};
pub use scope::{Block, Threads, Warp};
pub use shared::{
    At, ColMajor, Coordinate, MAX_SHARED_BYTES, MAX_STATIC_BYTES, Order, RingIndex, RowAddr, RowMajor, SharedLayout,
    SharedRing, SharedTile, Swizzle, Swizzle32, Swizzle64, Swizzle128, SwizzleWords, Unswizzled, Window,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use sim::CheckedRun;
pub use stmatrix::StMatrix;
pub use tile_reader::{Along, ReadTile, TileReader};

/// A kernel that panics stops with a trap; the launch reports it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    raw::trap()
}
