//! The kernel crates, and how each is built.

use clap::ValueEnum;
use ptx_matrix_build::Builder;

/// A kernel crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kernels {
    /// A kernel for each form of each instruction, and whole tiles
    Conformance,
    /// GEMM
    Gemm,
    /// Attention
    Attention,
    /// The GEMM tutorial: a kernel for each step
    Ladder,
    /// Kernels that time single instructions
    Timings,
    /// Random programs, and kernels with one misuse each
    Fuzz,
}

impl Kernels {
    /// All crates, those with the longest build first.
    pub const ALL: [Kernels; 6] =
        [Self::Gemm, Self::Conformance, Self::Timings, Self::Attention, Self::Ladder, Self::Fuzz];

    fn folder(self) -> &'static str {
        match self {
            Self::Conformance => "kernels/conformance",
            Self::Gemm => "kernels/gemm",
            Self::Attention => "kernels/attention",
            Self::Ladder => "kernels/ladder",
            Self::Timings => "kernels/timings",
            Self::Fuzz => "tools/fuzz/kernels",
        }
    }

    /// The build, into target/ptx. Local memory is an error, except in the fuzz kernels.
    pub fn builder(self) -> Builder {
        Builder::new(crate::root().join(self.folder()))
            .target_dir(crate::target())
            .deny_local_memory(self != Self::Fuzz)
    }
}
