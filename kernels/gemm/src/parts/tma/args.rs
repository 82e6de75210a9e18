//! The arguments of kernels that load their operand tiles by TMA.

use super::operand::{OperandA, OperandB};
use super::store::TmaStore;
use crate::parts::args::ProblemShape;
use crate::parts::epilogue::EpilogueArgs;
use crate::parts::number::Output;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::launch::{Dependent, PrecedingEnded};
use ptx_matrix::prelude::*;

/// The arguments of a kernel that loads its operand tiles by TMA.
#[derive(Clone, Copy, KernelArgs)]
pub struct TmaArgs<'k, A: OperandA, B: OperandB, Tile: BoxTile>
where
    Tile::Element: Output,
{
    /// A. The map's dimensions: contiguous, strided, batch.
    pub a: Dependent<TensorMap<'k, A::Box, 3>>,
    /// B.
    pub b: Dependent<TensorMap<'k, B::Box, 3>>,
    /// C, if TMA can load it; otherwise threads do, from the epilogue's arguments. None with beta
    /// = 0, for partial accumulators, and where threads store D: these need the staging tiles. In
    /// a grouped GEMM, C and D are [overlapping matrices](crate::kernels::sm90_grouped).
    pub c: Dependent<Option<TensorMap<'k, Tile, 3>>>,
    /// D, if TMA stores can write it; otherwise threads store it.
    pub d: Dependent<Option<TensorMapMut<'k, Tile, 3>>>,
    /// One row past the last of each group, in a grouped GEMM.
    pub group_ends: Dependent<Global<'k, u32>>,
    /// The epilogue's arguments. In a grouped GEMM, a bias per column has N elements for each
    /// group.
    pub epilogue: Dependent<EpilogueArgs<'k, Tile::Element>>,
    /// The sizes.
    pub shape: ProblemShape,
}

/// The tensor maps of A and B.
pub struct TmaOperands<'k, A: OperandA, B: OperandB> {
    /// A.
    pub a: Dependent<TensorMap<'k, A::Box, 3>>,
    /// B.
    pub b: Dependent<TensorMap<'k, B::Box, 3>>,
}

impl<'k, A: OperandA, B: OperandB> TmaOperands<'k, A, B> {
    /// Prefetches both tensor maps.
    #[inline]
    pub fn prefetch(&self, warp: Warp<'_>) {
        warp.elect(|lane| {
            self.a.prefetch(lane);
            self.b.prefetch(lane);
        });
    }

    /// Returns the maps, after the preceding kernels have ended (PDL).
    #[inline]
    pub fn get(
        self,
        ended: PrecedingEnded<'_>,
    ) -> (TensorMap<'k, A::Box, 3>, TensorMap<'k, B::Box, 3>) {
        (self.a.get(ended), self.b.get(ended))
    }
}

impl<'k, A: OperandA, B: OperandB, Tile: BoxTile<Element: Output>> TmaArgs<'k, A, B, Tile> {
    /// Splits the arguments into operands, sizes and the epilogue. Epilogue
    /// sub-tiles have `EPI_N` columns.
    #[inline]
    #[allow(clippy::type_complexity, reason = "a closure, of what it makes")]
    pub fn split<const EPI_N: usize>(
        self,
    ) -> (
        TmaOperands<'k, A, B>,
        ProblemShape,
        impl FnOnce(PrecedingEnded<'_>) -> TmaStore<'k, Tile, EPI_N>,
    ) {
        let TmaArgs { a, b, c, d, epilogue, shape, .. } = self;
        let store = move |ended: PrecedingEnded<'_>| {
            let (c, map, args) = (c.get(ended), d.get(ended), epilogue.get(ended));
            TmaStore { c, map, args, m: shape.m, n: shape.n }
        };
        (TmaOperands { a, b }, shape, store)
    }
}
