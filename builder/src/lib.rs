//! Compiles a Rust kernel crate to PTX, and keeps the compiler from breaking warp convergence.
//!
//! rustc compiles for NVIDIA GPUs, but it does not tell LLVM that inline asm may be convergent. All
//! lanes of a warp must reach a convergent instruction together. Without the mark, LLVM copies a
//! `stmatrix` into both arms of a lane-dependent branch: undefined behaviour from correct source.
//! This crate takes the program from rustc before any optimisation, marks the convergent asm and
//! calls, and runs LLVM's own tools on the result:
//!
//! ```text
//! cargo rustc, for each target   unoptimised bitcode of the kernels and of all they use
//! llvm-link                      with what the compiler calls of its own accord
//! marked here                    convergent asm and calls, launch bounds, shared memory
//! opt, for each kernel           once for kernels and targets that differ only in asm
//! checked here                   no mutable static, no copied collective, no inexact operation
//! llc, for each kernel           PTX, once where it is the same
//! ptxas                          cubin, and the resources of each kernel: the manifest
//! checked here                   shared memory, stacks, registers of each `wgmma` until its wait
//! ```
//!
//! In a build script or an `xtask`:
//!
//! ```no_run
//! use ptx_matrix_build::{Arch, Builder};
//!
//! for artifact in Builder::new("kernels").archs([Arch::SM_80, Arch::SM_90A]).build()? {
//!     println!("{}: {}", artifact.arch, artifact.ptx.display());
//! }
//! # anyhow::Ok(())
//! ```
//!
//! In a build script, the build makes cargo run the script again when its inputs or outputs change.
//! The inputs are the kernel crate and its path dependencies. Cargo then no longer watches the
//! other files of the script's own package. A script that reads other files must name them with
//! `cargo::rerun-if-changed`.
//!
//! The build uses an installed toolchain, or fetches one into the user's cache folder: see
//! [`Toolchain`].
//!
//! A kernel crate is `no_std`, without `alloc`. `ptx-matrix` has its panic handler; a crate without
//! `ptx-matrix` writes one. `#[kernel]` writes a static with the kernel's threads, shared memory
//! and register limits, and the build reads it. The build also compiles `extern "ptx-kernel"`
//! functions without such a static.

#![warn(missing_docs)]

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod arch;
mod archive;
mod builder;
mod cache;
mod codegen;
mod fetch;
mod flags;
mod ir;
mod kernel_crate;
mod lock;
mod manifest;
mod newer;
mod optimiser;
mod package;
mod process;
mod ptxas;
mod refusal;
mod seal;
mod stamp;
mod sysroot;
mod target;
mod toolchain;
mod traps;
mod version;
mod watch;

pub use arch::{Arch, NoPtxVersion, PtxVersion, UnsupportedArch};
pub use builder::{Artifact, Builder};
pub use kernel_crate::CompileError;
pub use manifest::{KernelManifest, Manifest, ToolVersions};
pub use toolchain::{Incomplete, MIN_PTXAS, MIN_RUSTC, Origin, Tool, Toolchain};
pub use version::{NoVersion, Version};
