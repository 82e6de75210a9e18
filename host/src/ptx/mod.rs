//! The facts in a PTX text: its target, its kernels and their requirements on a launch.

mod parse;
mod seal;
mod tokens;

use thiserror::Error;

use crate::arch::{Arch, NotAnArch};
pub use seal::Seal;

/// The facts of a PTX text that loading and launching check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The architecture of `.target`.
    pub target: Arch,
    /// The kernels, in the order of the text.
    pub entries: Vec<Entry>,
    /// The lines with the kernels' fingerprints, which the builder appended to the text.
    pub seal: Option<Seal>,
}

impl Ptx {
    /// Checks that the kernels are unchanged since the builder made them from a crate.
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
    /// The name for launches.
    pub name: String,
    /// The size of each parameter in bytes.
    pub params: Vec<usize>,
    /// `.maxntid`: the maximum number of threads in a block, along x, y and z.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the required number of threads in a block, along x, y and z.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the number of blocks in a cluster, along x, y and z.
    pub cluster: Option<[u32; 3]>,
    /// Whether it contains a `griddepcontrol.wait`. If it waits before everything else, it can use
    /// programmatic dependent launch (PDL).
    pub waits: bool,
    /// The builder's fingerprint: parameters, launch bounds, sources.
    pub fingerprint: Option<String>,
}

/// Error: the text is not PTX in a compiler's form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PtxError {
    /// There is no `.target`.
    #[error("this is not PTX: it has no .target")]
    NoTarget,
    /// `.target` names an unknown architecture.
    #[error(".target: {0}")]
    Target(#[from] NotAnArch),
    /// The text has a nul byte, where the driver would stop reading.
    #[error("this is not PTX: it has a nul byte")]
    Nul,
    /// The PTX has no fingerprints, so its kernels are unknown.
    #[error(
        "this PTX has no fingerprints, by which its kernels are known to be this program's: build \
         it with `ptx_matrix_build::Builder`, or, if you know what it is, load it with `unsafe` \
         `GpuDevice::new_unchecked`"
    )]
    NoFingerprints,
    /// The text has changed since the build.
    #[error("this PTX is not as it was built: it was changed, or is not all there; build it again")]
    Changed,
    /// The head of a kernel cannot be parsed.
    #[error("the head of kernel `{kernel}`: {problem}")]
    Entry {
        /// The kernel.
        kernel: String,
        /// The problem with it.
        problem: String,
    },
}
