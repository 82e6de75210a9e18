//! The crates with kernels, and how each is built.

use clap::ValueEnum;
use ptx_matrix_build::{Arch, Builder};

/// A crate with kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kernels {
    /// One for each form of each instruction, and whole tiles
    Conformance,
    /// Matrix products
    Gemm,
    /// Attention
    Attention,
    /// The tutorial's
    Ladder,
    /// Those that time single instructions
    Timings,
    /// Random programs, and misuses
    Fuzz,
}

impl Kernels {
    /// All of them, with those that take longest to build first.
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

    /// The targets that it has kernels for.
    pub fn archs(self) -> Vec<Arch> {
        match self {
            Self::Attention => vec![Arch::SM_90A],
            _ => Arch::ALL.to_vec(),
        }
    }

    /// The build, as every command does it: into target/ptx, and, but for misuses, without local
    /// memory.
    pub fn builder(self) -> Builder {
        let builder = Builder::new(crate::root().join(self.folder())).target_dir(crate::target());
        let builder = builder.deny_local_memory(self != Self::Fuzz);
        match self {
            Self::Attention => builder.archs(self.archs()),
            // Some have none for the oldest.
            _ => builder,
        }
    }
}
