//! What the tensor cores of each GPU compute: the table of all parameters.
//!
//! `docs/NUMERICS.md` has the same table in words. [`fused`](super::fused) is the sum that they are
//! parameters of.

use crate::target::Arch;

/// One fused sum of products and C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fused {
    /// Bits behind the point that a term keeps, next to the largest one.
    pub(super) fraction_bits: i32,
    /// The least exponent of the largest term, of sums into f32 and into f16. A smaller one counts
    /// as this.
    pub(super) floor: (i32, i32),
    /// Bytes of a row of A whose products are one sum. Further products are added by further sums,
    /// each rounded.
    pub(super) row_bytes: usize,
    /// Bits behind the point of a sum in f32; the others are cut off.
    pub(super) f32_bits: i32,
}

/// How fp8 is multiplied by `mma` without a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fp8 {
    /// By one instruction.
    Fused(Fused),
    /// In f16, by two instructions and an addition.
    InF16,
}

/// How `m8n8k4` with f16 is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quad {
    /// By the tensor cores, as the other shapes.
    Fused,
    /// By fused multiply-adds of f32.
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

/// No bound on the largest exponent: less than that of any sum.
const NO_FLOOR: (i32, i32) = (-1000, -1000);

/// The published model (MMA-Sim, arXiv 2511.10909) takes a C of zero for one with this exponent.
const PUBLISHED_FLOOR: (i32, i32) = (-126, -126);

/// One sum, however long the rows are.
const WHOLE_ROW: usize = usize::MAX;

const fn fused(fraction_bits: i32, floor: (i32, i32), row_bytes: usize) -> Fused {
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

/// Published; that `m8n8k4` is computed in f32 is in ptxas's machine code.
const AMPERE: TensorCores =
    TensorCores { floats: fused(24, PUBLISHED_FLOOR, 16), fp8: Fp8::InF16, quad: Quad::InF32 };

/// Published, likewise.
const ADA: TensorCores =
    TensorCores { fp8: Fp8::Fused(Fused { f32_bits: 13, ..fused(13, NO_FLOOR, 16) }), ..AMPERE };

/// Verified on an H200.
const HOPPER: TensorCores =
    TensorCores { floats: fused(25, (-133, -21), WHOLE_ROW), fp8: Fp8::InF16, quad: Quad::InF32 };

/// Published; that fp8 is computed in f16 is in ptxas's machine code.
const BLACKWELL: TensorCores =
    TensorCores { floats: fused(25, PUBLISHED_FLOOR, WHOLE_ROW), ..HOPPER };

/// Published.
const RTX_BLACKWELL: TensorCores = TensorCores { fp8: Fp8::Fused(BLACKWELL_KINDS), ..BLACKWELL };

/// `wgmma` of fp8, on Hopper alone: published, and verified on an H200.
pub(super) const HOPPER_WGMMA_FP8: Fused = Fused { f32_bits: 13, ..fused(13, NO_FLOOR, WHOLE_ROW) };

/// `kind::f8f6f4` and `kind::mxf8f6f4`, on Blackwell alone: published.
pub(super) const BLACKWELL_KINDS: Fused = fused(25, NO_FLOOR, WHOLE_ROW);

impl TensorCores {
    /// Those of a GPU.
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
