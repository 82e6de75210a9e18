//! What a PTX text says about itself: its target, its kernels and what each of them expects of a
//! launch.

mod parse;
mod seal;
mod tokens;

use thiserror::Error;

use crate::arch::{Arch, NotAnArch};
pub use seal::Seal;

/// The facts of a PTX text that loading and launching are checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The architecture of `.target`.
    pub target: Arch,
    /// The kernels, in the order of the text.
    pub entries: Vec<Entry>,
    /// The builder's lines behind the text, by which its kernels are known to be a program's own.
    pub seal: Option<Seal>,
}

impl Ptx {
    /// Whether the kernels are as the builder made them of a crate.
    ///
    /// # Errors
    /// They have no fingerprints, or the text was changed.
    pub(crate) fn check_seal(&self) -> Result<(), PtxError> {
        match &self.seal {
            None => Err(PtxError::NoFingerprints),
            Some(seal) if !seal.is_whole => Err(PtxError::Changed),
            Some(_) => Ok(()),
        }
    }
}

/// One kernel of a PTX text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name to launch it by.
    pub name: String,
    /// The size of each parameter in bytes.
    pub params: Vec<usize>,
    /// `.maxntid`: the most threads that a block may have, along x, y and z.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the threads that a block must have, along x, y and z.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the blocks of a cluster, along x, y and z.
    pub cluster: Option<[u32; 3]>,
    /// Whether it has a `griddepcontrol.wait`: it may be launched before the kernels ahead have
    /// ended, if it waits before all else.
    pub waits: bool,
    /// What the builder wrote of it: parameters, launch bounds, sources.
    pub fingerprint: Option<String>,
}

/// A text that is not PTX as a compiler writes it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PtxError {
    /// There is no `.target`.
    #[error("this is not PTX: it has no .target")]
    NoTarget,
    /// `.target` names something unknown.
    #[error(".target: {0}")]
    Target(#[from] NotAnArch),
    /// It has a nul, at which the driver would stop reading.
    #[error("this is not PTX: it has a nul byte")]
    Nul,
    /// Nothing says of which kernels it is.
    #[error(
        "this PTX has no fingerprints, by which its kernels are known to be this program's: build it with `ptx_matrix_build::Builder`, \
         or, if you know what it is, load it with `unsafe` `GpuDevice::new_unchecked`"
    )]
    NoFingerprints,
    /// Its text is not the one that was built.
    #[error("this PTX is not as it was built: it was changed, or is not all there; build it again")]
    Changed,
    /// The head of a kernel is not understood.
    #[error("the head of kernel `{kernel}`: {problem}")]
    Entry {
        /// The kernel.
        kernel: String,
        /// What is wrong with it.
        problem: String,
    },
}
