//! A warp that multiplies: it waits for each stage's tiles, adds their products up, and gives the stage back.

use super::pipeline::Pipeline;
use crate::gemm::by_maps::{Left, Right};
use crate::gemm::product::{Product, Sums};
use ptx_matrix::*;

/// Slices of a stage along K: lines of 128 bytes, of which an `mma` takes 32.
const SLICES: usize = 4;

/// Fragments of B that are loaded together.
const PAIR: usize = 2;

/// What a warp has summed: `I` rows of `J` pairs of fragments.
pub type Summed<P, const I: usize, const J: usize> = [[[Sums<P>; PAIR]; J]; I];

/// One of those of a block, and where it is in the pipeline.
pub struct Consumer<'k, A, B, const STAGES: usize> {
    /// The warp.
    pub warp: Warp<'k>,
    /// Where its part of the block's tile starts.
    pub at: (usize, usize),
    /// The stages.
    pub pipeline: Pipeline<A, B, STAGES>,
    /// The next stage.
    pub turn: Turn<STAGES>,
}

impl<A: Left, B: Right, const STAGES: usize> Consumer<'_, A, B, STAGES> {
    /// The sums of so many steps, at least one.
    ///
    /// There are two sets of fragments: while those of one slice are multiplied, the next one's are loaded, also from one stage to the next.
    /// In each step, `produce` is called when the other warps have had time to give back the stage of the step before.
    #[inline(always)]
    pub fn sum<P: Product, const I: usize, const J: usize>(
        &mut self,
        steps: u32,
        mut produce: impl FnMut(),
    ) -> Summed<P, I, J>
    where
        A: Left<Element = P::Input>,
        B: Right<Element = P::Input>,
    {
        let (warp, (down, right)) = (self.warp, self.at);
        let long = P::Shape::K;
        let load = |(a, b): (A, B), slice: usize| -> ([P::A; I], [[P::B; PAIR]; J]) {
            (a.fragments::<P, I>(warp, down, slice * long), b.fragments::<P, J>(warp, slice * long, right))
        };
        let mut sums: Summed<P, I, J> = Zeroable::zeroed();
        let mut tiles = self.wait();
        let mut fragments = load(tiles, 0);
        for step in 0..steps {
            for slice in 0..SLICES {
                if slice == SLICES / 2 {
                    produce();
                }
                let mut next = fragments;
                let (a, b) = &fragments;
                for i in 0..I {
                    // Behind the first of many rows, so that not all warps of a multiprocessor wait for their loads at the same time.
                    if i == I / 4 {
                        let before = self.turn;
                        if slice == SLICES - 1 && step + 1 < steps {
                            self.turn = self.turn.next();
                            tiles = self.wait();
                        }
                        // Behind the last step, what is loaded once more is not used.
                        next = load(tiles, (slice + 1) % SLICES);
                        if slice == SLICES - 1 {
                            self.leave(before);
                        }
                    }
                    // There and back again: the last fragment of B is the next row's first.
                    for j in 0..PAIR * J {
                        let j = if i % 2 == 0 { j } else { PAIR * J - 1 - j };
                        P::multiply(warp, &mut sums[i][j / PAIR][j % PAIR], &a[i], &b[j / PAIR][j % PAIR]);
                    }
                }
                fragments = next;
            }
        }
        self.turn = self.turn.next();
        sums
    }

    /// The tiles of this turn's stage, when they have come.
    #[inline(always)]
    fn wait(&self) -> (A, B) {
        self.pipeline.full.stage(self.turn.index()).wait(self.warp, self.turn.phase());
        self.pipeline.stages.stage(self.turn.index())
    }

    /// Says that this warp has loaded the stage of a turn.
    #[inline(always)]
    fn leave(&self, turn: Turn<STAGES>) {
        let empty = self.pipeline.empty.stage(turn.index());
        self.warp.sync();
        self.warp.elect(|lane| {
            empty.arrive(lane);
        });
    }
}
