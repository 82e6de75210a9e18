//! A warp that multiplies: it waits for each stage's tiles, adds their products up, and gives the stage back.

use super::pipeline::Pipeline;
use crate::kernels::by_maps::{Left, Right};
use crate::kernels::product::{Product, Sums};
use ptx_matrix::*;

/// Bytes of a stage along K.
const LINE: usize = 128;

/// Bytes that a lane may have of fragments of one slice, if there are to be two sets.
const OF_ONE_SET: usize = 128;

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
    /// There are two sets of fragments, if they find room: while those of one slice are multiplied, the next one's are loaded, also from one stage
    /// to the next.
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
        if const { (I * P::Shape::M + J * PAIR * P::Shape::N) * P::Shape::K * size_of::<P::Input>() / LANES > OF_ONE_SET }
        {
            return self.sum_by_rows::<P, I, J>(steps, produce);
        }
        let (warp, (down, right)) = (self.warp, self.at);
        let long = P::Shape::K;
        let slices = LINE / (long * size_of::<P::Input>());
        let load = |(a, b): (A, B), slice: usize| -> ([P::A; I], [[P::B; PAIR]; J]) {
            (a.fragments::<P, I>(warp, down, slice * long), b.fragments::<P, J>(warp, slice * long, right))
        };
        let mut sums: Summed<P, I, J> = Zeroable::zeroed();
        let mut tiles = self.wait();
        let mut fragments = load(tiles, 0);
        for step in 0..steps {
            for slice in 0..slices {
                if slice == slices / 2 {
                    produce();
                }
                let mut next = fragments;
                let (a, b) = &fragments;
                for i in 0..I {
                    // Behind the first of many rows, so that not all warps of a multiprocessor wait for their loads at the same time.
                    if i == I / 4 {
                        let before = self.turn;
                        if slice == slices - 1 && step + 1 < steps {
                            self.turn = self.turn.next();
                            tiles = self.wait();
                        }
                        // Behind the last step, what is loaded once more is not used.
                        next = load(tiles, (slice + 1) % slices);
                        if slice == slices - 1 {
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

    /// The same with one set, and a row of A's: while one row is multiplied, the next one's is loaded, and B's of the next slice when the last row
    /// has multiplied this one's. The next stage is waited for a row ahead of its loads, so that there is enough left to multiply meanwhile.
    #[inline(always)]
    fn sum_by_rows<P: Product, const I: usize, const J: usize>(
        &mut self,
        steps: u32,
        mut produce: impl FnMut(),
    ) -> Summed<P, I, J>
    where
        A: Left<Element = P::Input>,
        B: Right<Element = P::Input>,
    {
        const { assert!(I > 1, "the next stage is waited for in the last row but one") }
        let (warp, (down, right)) = (self.warp, self.at);
        let (tall, wide, long) = (P::Shape::M, PAIR * P::Shape::N, P::Shape::K);
        let slices = LINE / (long * size_of::<P::Input>());
        let load_a = |(a, _): (A, B), i: usize, slice: usize| {
            let [a] = a.fragments::<P, 1>(warp, down + i * tall, slice * long);
            a
        };
        let load_b = |(_, b): (A, B), j: usize, slice: usize| {
            let [pair] = b.fragments::<P, 1>(warp, slice * long, right + j * wide);
            pair
        };
        let mut sums: Summed<P, I, J> = Zeroable::zeroed();
        let mut tiles = self.wait();
        let (mut before, mut next_tiles) = (self.turn, tiles);
        let mut a = load_a(tiles, 0, 0);
        let mut b: [[P::B; PAIR]; J] = core::array::from_fn(
            #[inline(always)]
            |j| load_b(tiles, j, 0),
        );
        for step in 0..steps {
            for slice in 0..slices {
                for (i, sums) in sums.iter_mut().enumerate() {
                    if i == I / 2 && slice == slices / 2 {
                        produce();
                    }
                    let is_last = i == I - 1;
                    let goes_on = slice == slices - 1 && step + 1 < steps;
                    let next = if is_last { (slice + 1) % slices } else { slice };
                    let mut next_a = a;
                    for count in 0..J {
                        let j = if i % 2 == 0 || is_last { count } else { J - 1 - count };
                        for half in 0..PAIR {
                            P::multiply(warp, &mut sums[j][half], &a, &b[j][half]);
                        }
                        if count == 0 {
                            if is_last && goes_on {
                                self.leave(before);
                                tiles = next_tiles;
                            }
                            // Behind the last step, what is loaded once more is not used.
                            next_a = load_a(tiles, (i + 1) % I, next);
                            if i == I - 2 && goes_on {
                                before = self.turn;
                                self.turn = self.turn.next();
                                next_tiles = self.wait();
                            }
                        }
                        if is_last {
                            b[j] = load_b(tiles, j, next);
                        }
                    }
                    a = next_a;
                }
            }
        }
        self.leave(self.turn);
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
