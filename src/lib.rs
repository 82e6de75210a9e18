//! Matrix instructions of NVIDIA GPUs as safe, typed Rust, and a simulator of the same kernels.
//!
//! A kernel written with this crate compiles to inline PTX: `ldmatrix`, `mma.sync`, `wgmma`,
//! `cp.async`, TMA and `mbarrier`. The same source runs on the CPU in a simulator. It returns the
//! bits of the hardware, and reports each misuse with its source line. A fragment's type has its
//! role, its shape and its element type, and a wrong combination does not compile. A collective
//! under a lane-dependent branch does not compile either.
//! # A kernel and its test
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! /// D = A x B: 16x8x16, row-major, bf16 with f32 accumulators, by one warp.
//! #[kernel(threads = 32, target = "sm_80")]
//! pub fn multiply_tile(
//!     block: &Block,
//!     #[shared] tile_a: SharedTile<bf16, 16, 16>,
//!     #[shared] tile_b: SharedTile<bf16, 16, 8>,
//!     a: Global<bf16>,
//!     b: Global<bf16>,
//!     d: GlobalMut<f32>,
//! ) {
//!     let warp = block.warp();
//!     tile_a.fill(warp, |row, k| a.get(row * 16 + k));
//!     tile_b.fill(warp, |k, col| b.get(k * 8 + col));
//!     block.sync();
//!     let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile_a, At::<0, 0>); // ldmatrix.x4
//!     let b = FragmentB::<M16N8K16, bf16>::load(warp, &tile_b, At::<0, 0>); // ldmatrix.x2.trans
//!     let mut acc = Accumulator::<M16N8K16, f32>::zero();
//!     Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b); // mma.sync.m16n8k16
//!     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
//! }
//!
//! // The test runs on the CPU.
//! let (a, b) = ([bf16::ONE; 256], [bf16::from_f32(2.0); 128]);
//! let mut d = [0.0; 128];
//! multiply_tile::simulate(1, &a, &b, &mut d).check(); // Panics with the report of a misuse.
//! assert_eq!(d, [32.0; 128]);
//! ```
//!
//! The kernel runs at warp scope. A plain value is the same in all 32 lanes there, and control flow
//! may depend on it. A value that differs from lane to lane is a [`PerLane`](lane::PerLane): on a
//! GPU, its `T` in registers. Only a lane closure sees the value of one lane, and it cannot call a
//! collective.
//!
//! # Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | [`prelude`] | the names that most kernels use |
//! | [`scope`] | blocks, warps, warpgroups and clusters |
//! | [`lane`] | values that differ from lane to lane |
//! | [`memory`] | tiles and rings in shared memory, slices and matrices in global memory |
//! | [`copy`] | `cp.async`, bulk copies, TMA, cache policies, reductions |
//! | [`sync`] | `mbarrier`, phases and rings |
//! | [`mma`] | `ldmatrix`, `stmatrix`, `mma`, `mma.sp`, `wgmma` |
//! | [`math`] | approximate special functions: `ex2`, `lg2`, `rcp`, `tanh` and others |
//! | [`fragment`], [`element`] | matrices in registers: roles, shapes, layouts; element types |
//! | [`launch`] | kernel parameters, devices, tensor maps |
//! | `sim` | the simulator: reports, profiles, traces |
//! | [`isa`], [`forms`] | the legal forms of the instructions as values; a form by its name |
//! | [`target`] | GPUs, and their instructions |
//! | [`raw`] | one unsafe function for each PTX form |
//!
//! The macros are [`kernel`](macro@kernel), [`KernelArgs`](macro@KernelArgs) for structs as
//! parameters, and [`SharedLayout`](macro@SharedLayout) for structs in shared memory. The crate
//! `ptx-matrix-build` compiles kernels to PTX, and `ptx-matrix-host` launches them on a GPU.
//!
//! # Safety
//!
//! A kernel without `unsafe` keeps these conditions of PTX:
//!
//! | condition | kept by |
//! | --- | --- |
//! | All lanes execute a collective together. | lane closures, and the builder |
//! | A row address is in shared memory, and aligned to 16 bytes. | [`RowAddr`], made by a tile |
//! | A fragment fits its operand. | the type [`Fragment`] |
//! | A barrier is initialised before its use. | the type [`Barrier`] |
//! | A tensor map fits the tile and the mode of the copy. | the type [`TensorMap`] |
//! | The GPU has the instruction. | the [`target`] in the instruction's type |
//! | A warp waits at its cluster's barrier after it has arrived. | the type [`ClusterArrival`] |
//! | An access is in bounds. | the compiler for [`At`], otherwise a check at run time |
//! | A `wgmma` in flight keeps its operands and accumulators. | [`InFlight`], and the builder |
//! | A dependent kernel (PDL) waits before it touches memory. | [`Dependent`], and the launch |
//! | A launch passes the right arguments. | the kernel's own launch function, and a fingerprint |
//!
//! Lane closures cannot call a collective. The builder refuses code that the compiler moved.
//!
//! The simulator reports these mistakes, with the source lines of both sides:
//!
//! - races and reads of unwritten memory;
//! - a `sync` that some warps miss, and barriers that never complete;
//! - copies without a fence or a wait.
//!
//! # Targets
//!
//! | target | adds |
//! | --- | --- |
//! | `sm_75` (Turing) | `ldmatrix`, `movmatrix`, `mma` of f16, 8-bit and 4-bit integers and bits |
//! | `sm_80` (Ampere) | `cp.async`; `mma` of bf16, tf32 and f64; `mma.sp` |
//! | `sm_89` (Ada) | `mma` of 8-bit floating point |
//! | `sm_90` (Hopper) | `stmatrix`, bulk copies, TMA, `mbarrier`, clusters |
//! | `sm_90a` | `wgmma`, `setmaxnreg` |
//! | `sm_100a`, `sm_120a` (Blackwell) | `kind::f8f6f4`; on `sm_120a` also block scaling |
//!
//! An instruction that the target lacks does not compile. `#[kernel(target = "sm_90")]` leaves a
//! kernel out of builds for older GPUs.
//!
//! [`RowAddr`]: fragment::RowAddr
//! [`Fragment`]: fragment::Fragment
//! [`Barrier`]: sync::Barrier
//! [`TensorMap`]: copy::TensorMap
//!
//! [`ClusterArrival`]: scope::ClusterArrival
//! [`At`]: memory::At
//! [`InFlight`]: mma::InFlight
//! [`Dependent`]: launch::Dependent

#![no_std]
// A method is bounded by the build's target. In a build for an older GPU the bound is trivially
// false, and the method cannot be called.
#![allow(trivial_bounds)]
// The builder enables `abi_ptx` and `asm_experimental_arch` for every crate, so that kernel crates
// need not. The CPU's code needs stable Rust only.
#![cfg_attr(
    target_arch = "nvptx64",
    feature(auto_traits, core_float_math, negative_impls, stdarch_nvptx, trivial_bounds)
)]
#![warn(missing_docs)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

// The code of `#[kernel]` names this crate, also in its own tests.
extern crate self as ptx_matrix;

pub mod copy;
pub mod element;
#[cfg(not(target_arch = "nvptx64"))]
mod engine;
pub mod fragment;
pub mod isa;
pub mod lane;
pub mod launch;
mod machine;
pub mod math;
pub mod memory;
pub mod mma;
pub mod prelude;
pub mod raw;
pub mod scope;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sim;
pub mod sync;
pub mod target;

#[doc = include_str!("launch/kernel_args.md")]
pub use ptx_matrix_macros::KernelArgs;
pub use ptx_matrix_macros::SharedLayout;
#[doc = include_str!("launch/kernel.md")]
pub use ptx_matrix_macros::kernel;

/// The legal forms of the instructions as values, and the execution of a form by its name.
///
/// | item | purpose |
/// | --- | --- |
/// | [`all`], `all_wgmma` | every legal form; see [`isa`] |
/// | `find`, `find_any` | a form by its name in PTX, on the host |
/// | `Held`, `HeldMatrix` | the matrices that a form's registers hold, on the host |
/// | `AnyForm` | a form of either kind, on the host |
/// | `WgmmaMatrices`, `WgmmaMemory` | the operands of `wgmma`, on the host |
///
/// ```
/// use ptx_matrix::forms;
///
/// let form = forms::find("ldmatrix.sync.aligned.m8n8.x4.shared.b16").unwrap();
/// assert_eq!((form.family, form.d), ("ldmatrix", 4));
/// ```
///
/// [`all`]: isa::all
pub mod forms {
    pub use crate::isa::*;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::sim::by_name::{
        AnyForm, Held, HeldMatrix, UnknownForm, WgmmaMatrices, WgmmaMemory, find, find_any,
    };
}

/// The examples of the README and of the guides, as tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/GUIDE.md")]
    struct Guide;
    #[doc = include_str!("../docs/CUTLASS.md")]
    struct Cutlass;
}

/// The paths that the code of the macros uses.
#[doc(hidden)]
pub mod __private {
    // By this path, no `extern crate self as core` misleads the macros.
    pub use ::core;

    pub use crate::lane::Grid;
    pub use crate::launch::*;
    pub use crate::memory::SharedLayout;
    pub use crate::scope::{Block, ClusterBlock};
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::sim::{
        Report, SHARED_BASE, SharedField, SharedName, SimError, Simulator, name_fields,
    };
    pub use pastey::paste;
}

/// A kernel that panics stops with a trap; the launch reports it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    raw::trap()
}
