//! The arguments of kernels that load their operand tiles by TMA.

use super::operand::{OperandA, OperandB};
use super::store::TmaStore;
use crate::parts::args::ProblemShape;
use crate::parts::epilogue::EpilogueArgs;
use crate::parts::number::Output;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::launch::{AheadEnded, Early};
use ptx_matrix::prelude::*;

/// The arguments of a kernel that loads its operand tiles by TMA.
#[derive(Clone, Copy, KernelArgs)]
pub struct TmaArgs<'k, A: OperandA, B: OperandB, Tile: BoxTile>
where
    Tile::Element: Output,
{
    /// A: along its lines, across them, and through the batch.
    pub a: Early<TensorMap<'k, A::Box, 3>>,
    /// B.
    pub b: Early<TensorMap<'k, B::Box, 3>>,
    /// D, if TMA stores can write it: else threads do.
    pub d: Early<Option<TensorMapMut<'k, Tile, 3>>>,
    /// The row behind the last of each group of a grouped GEMM.
    pub group_ends: Early<Global<'k, u32>>,
    /// What the epilogue needs. In a grouped GEMM, a bias per column has N elements for each
    /// group.
    pub epilogue: Early<EpilogueArgs<'k, Tile::Element>>,
    /// The sizes.
    pub shape: ProblemShape,
}

/// A and B as TMA loads see them.
pub struct TmaOperands<'k, A: OperandA, B: OperandB> {
    /// A.
    pub a: Early<TensorMap<'k, A::Box, 3>>,
    /// B.
    pub b: Early<TensorMap<'k, B::Box, 3>>,
}

impl<'k, A: OperandA, B: OperandB> TmaOperands<'k, A, B> {
    /// Prefetches both tensor maps.
    #[inline(always)]
    pub fn prefetch(&self, warp: Warp<'_>) {
        warp.elect(|lane| {
            self.a.prefetch(lane);
            self.b.prefetch(lane);
        });
    }

    /// The maps, once the preceding kernels have ended.
    #[inline(always)]
    pub fn get(
        self,
        ended: AheadEnded<'_>,
    ) -> (TensorMap<'k, A::Box, 3>, TensorMap<'k, B::Box, 3>) {
        (self.a.get(ended), self.b.get(ended))
    }
}

impl<'k, A: OperandA, B: OperandB, Tile: BoxTile<Element: Output>> TmaArgs<'k, A, B, Tile> {
    /// The arguments of a kernel's steps: operands, sizes, and the store of D, which passes `PART`
    /// columns of accumulators at a time through shared memory.
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "a closure, of what it makes")]
    pub fn split<const PART: usize>(
        self,
    ) -> (
        TmaOperands<'k, A, B>,
        ProblemShape,
        impl FnOnce(AheadEnded<'_>) -> TmaStore<'k, Tile, PART>,
    ) {
        let TmaArgs { a, b, d, epilogue, shape, .. } = self;
        let store = move |ended: AheadEnded<'_>| TmaStore {
            map: d.get(ended),
            args: epilogue.get(ended),
            size: (shape.m, shape.n),
        };
        (TmaOperands { a, b }, shape, store)
    }
}
