//! Compiles a Rust kernel crate to PTX, and keeps the compiler from breaking warp convergence.
//!
//! rustc compiles for NVIDIA GPUs, but it does not tell LLVM that inline asm may be convergent:
//! that all lanes of a warp must reach it together. LLVM then copies a `stmatrix` into both arms of
//! a lane-dependent branch, which is undefined behaviour made from correct source. This crate takes
//! the program from rustc before anything is optimised, marks what must be marked, and lets LLVM's
//! own tools do the rest:
//!
//! ```text
//! cargo rustc, for each target   unoptimised bitcode of the kernels and of all they use
//! llvm-link                      with what the compiler calls of its own accord
//! marked here                    convergent asm and calls, launch bounds, shared memory
//! opt, for each kernel           the same for all targets where its code is
//! checked here                   that no collective was copied, nor is anything inexact
//! llvm-link, llc                 PTX
//! ptxas                          cubin, and what each kernel takes: the manifest
//! ```
//!
//! A build script or an `xtask` says:
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
//! In a build script it also tells cargo to run the script again when the kernel crate, a path
//! dependency of it, or an output changes. With that, cargo no longer does so for each file of the
//! script's own package: a script that reads others has to name them, by `cargo::rerun-if-changed`.
//!
//! The toolchain is found or, if need be, fetched into the target folder: see [`Toolchain`].
//!
//! A kernel crate is `no_std`, without `alloc`, and needs a panic handler. What a kernel is
//! compiled for (threads, shared memory, register limits) stands in a static that `#[kernel]`
//! writes; functions that are `extern "ptx-kernel"` without one are compiled too.

#![warn(missing_docs)]

mod arch;
mod archive;
mod builder;
mod codegen;
mod fetch;
mod flags;
mod ir;
mod kernel_crate;
mod lock;
mod manifest;
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
