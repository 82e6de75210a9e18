//! GEMM: D = f(alpha A x B + beta C + bias), on a GPU, in one of its streams, or on the simulator.
//!
//! A [`Gemm`] describes the problem; [`Gemm::plan`] checks it and selects a kernel; [`Plan::run`]
//! checks the buffers and launches it. Nothing allocates memory implicitly.
//!
//! ```
//! use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
//! use ptx_matrix_gemm::{Gemm, Layout, Operands};
//!
//! // A batch of eight: D = 0.5 A x B + bias, 20 x 16 each. All use one row-major A. Each has its
//! // own column-major B.
//! let device = Simulator::default();
//! let (a, b) = (device.upload(&[bf16::ONE; 20 * 24])?, device.upload(&[bf16::ONE; 8 * 16 * 24])?);
//! let bias = device.upload(&[bf16::ONE; 16])?;
//! let mut d = device.upload(&[bf16::ZERO; 8 * 20 * 16])?;
//! let gemm = Gemm::<bf16>::new(20, 16, 24)
//!     .b(Layout::col_major(24).batch_stride(16 * 24))
//!     .d(Layout::row_major(16).batch_stride(20 * 16))
//!     .batches(8)
//!     .alpha(0.5);
//! gemm.plan(&device)?.run(Operands::new(&device, &a, &b, &mut d).bias(&bias))?;
//! assert!(d.iter().all(|&element| element.to_f32() == 13.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `planner` (default): [`Gemm`], and its kernels. A crate with only a kernel of its own from
//!   [`parts`] leaves it out, and builds in a fraction of the time.
//! - `host`: [`Gemm`] on `GpuDevice`, and in its streams. The guide, under "GEMM", has the manifest
//!   and the build script of such a program.

#![cfg_attr(target_arch = "nvptx64", no_std)]
// A build for an older GPU leaves out kernels, and the items that only they use.
#![cfg_attr(target_arch = "nvptx64", allow(unused))]

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod kernels;
pub mod parts;

#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod device;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod error;
#[cfg(all(feature = "host", not(target_arch = "nvptx64")))]
mod gpu;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod layout;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod plan;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod problem;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod select;
#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
mod slices;

#[cfg(all(feature = "planner", not(target_arch = "nvptx64")))]
pub use {
    device::GemmDevice,
    error::{GemmError, Refusal},
    kernels::{Activation, Kernel, Multiply, Number, Output},
    layout::{Layout, Operand, Order, Repacked},
    plan::{Operands, Plan},
    problem::Gemm,
    select::{Choice, ParseChoiceError, Tuned, TunedError, TunedGemm},
};
