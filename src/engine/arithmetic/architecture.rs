//! The arithmetic of each GPU's tensor cores: the table of all parameters.
//!
//! `docs/NUMERICS.md` has the same table in words. [`fused`](super::fused) has the algorithm.

use crate::target::Arch;

/// The smallest exponent of the largest term of a sum. A smaller exponent is replaced by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Floor {
    /// For accumulators of f32.
    pub(super) f32: i32,
    /// For accumulators of f16.
    pub(super) f16: i32,
}

/// The parameters of a fused sum of products and C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fused {
    /// Fraction bits that a term keeps, relative to the largest term.
    pub(super) fraction_bits: i32,
    pub(super) floor: Floor,
    /// Bytes of a row of A whose products form one sum. Further products are added by further
    /// sums, each of which is rounded.
    pub(super) row_bytes: usize,
    /// Fraction bits of a sum in f32; the others are truncated.
    pub(super) f32_bits: i32,
}

/// The arithmetic of fp8 in `mma` without a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fp8 {
    /// One instruction.
    Fused(Fused),
    /// Two f16 instructions and an addition.
    InF16,
}

/// The arithmetic of `m8n8k4` with f16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quad {
    /// The tensor cores, as for the other shapes.
    Fused,
    /// Fused multiply-adds in f32.
    InF32,
}

/// The arithmetic of a GPU's tensor cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorCores {
    /// f16, bf16 and tf32.
    pub(super) floats: Fused,
    pub(super) fp8: Fp8,
    pub(super) quad: Quad,
}

/// No floor: smaller than the exponent of any sum.
const NO_FLOOR: Floor = Floor { f32: -1000, f16: -1000 };

/// The published model (MMA-Sim, arXiv 2511.10909) gives a zero C this exponent.
const PUBLISHED_FLOOR: Floor = Floor { f32: -126, f16: -126 };

/// One sum for rows of any length.
const WHOLE_ROW: usize = usize::MAX;

const fn fused(fraction_bits: i32, floor: Floor, row_bytes: usize) -> Fused {
    Fused { fraction_bits, floor, row_bytes, f32_bits: 23 }
}

/// Published.
const VOLTA: TensorCores = TensorCores {
    floats: fused(23, PUBLISHED_FLOOR, WHOLE_ROW),
    fp8: Fp8::InF16,
    quad: Quad::Fused,
};

/// Published.
const TURING: TensorCores = TensorCores {
    floats: fused(24, PUBLISHED_FLOOR, WHOLE_ROW),
    fp8: Fp8::InF16,
    quad: Quad::Fused,
};

/// Published. The arithmetic of `m8n8k4` in f32 is from ptxas's machine code.
const AMPERE: TensorCores =
    TensorCores { floats: fused(24, PUBLISHED_FLOOR, 16), fp8: Fp8::InF16, quad: Quad::InF32 };

/// Published. The arithmetic of `m8n8k4` in f32 is from ptxas's machine code.
const ADA: TensorCores =
    TensorCores { fp8: Fp8::Fused(Fused { f32_bits: 13, ..fused(13, NO_FLOOR, 16) }), ..AMPERE };

/// Verified on an H200.
const HOPPER: TensorCores = TensorCores {
    floats: fused(25, Floor { f32: -133, f16: -21 }, WHOLE_ROW),
    fp8: Fp8::InF16,
    quad: Quad::InF32,
};

/// Published. The arithmetic of fp8 in f16 is from ptxas's machine code.
const BLACKWELL: TensorCores =
    TensorCores { floats: fused(25, PUBLISHED_FLOOR, WHOLE_ROW), ..HOPPER };

/// Published.
const RTX_BLACKWELL: TensorCores = TensorCores { fp8: Fp8::Fused(BLACKWELL_KINDS), ..BLACKWELL };

/// `wgmma` of fp8, on Hopper only: published, and verified on an H200.
pub(super) const HOPPER_WGMMA_FP8: Fused = Fused { f32_bits: 13, ..fused(13, NO_FLOOR, WHOLE_ROW) };

/// `kind::f8f6f4` and `kind::mxf8f6f4`, on Blackwell only: published.
pub(super) const BLACKWELL_KINDS: Fused = fused(25, NO_FLOOR, WHOLE_ROW);

impl TensorCores {
    /// The tensor cores of a GPU.
    pub(super) const fn of(arch: Arch) -> &'static Self {
        match arch.sm() {
            70 => &VOLTA,
            75 => &TURING,
            80 | 86 | 87 => &AMPERE,
            89 => &ADA,
            90 => &HOPPER,
            100 | 103 | 110 => &BLACKWELL,
            120 | 121 => &RTX_BLACKWELL,
            _ => unreachable!(),
        }
    }
}
