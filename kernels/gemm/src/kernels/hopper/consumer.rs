//! A warpgroup that multiplies: it waits for each stage's tiles, adds their products up, and gives the stage back.

use super::heights::{Heights, High};
use crate::kernels::by_maps::{Columns, Multiplied, Right, Rows};
use crate::kernels::epilogue::Number;
use core::mem::replace;
use ptx_matrix::*;

/// Slices of a stage along K: lines of 128 bytes, of which a `wgmma` takes 32.
const SLICES: usize = 4;

/// Whether tensor cores add products up with 13 bits of fraction: those of elements of 8 bits with an exponent, whose sums are floats.
pub const fn loses_bits<E: Element, T: Number>() -> bool {
    size_of::<E>() == 1 && T::HAS_EXP
}

/// Whether a consumer whose sums have so many columns, of all its rows together, has registers left to be quick with between two steps: to ask for the
/// next tiles while it multiplies, to have where they are in uniform registers, and to know which lane gives them back.
const fn has_registers_left(columns: usize) -> bool {
    columns <= 264
}

/// One of those of a block, and where it is in the pipeline.
pub struct Consumer<'k, A, B, const STAGES: usize, const BLOCKS: usize> {
    /// The warpgroup.
    pub group: WarpGroup<'k>,
    /// The tile of A, and the row of it, that its own begin with.
    pub rows: (usize, usize),
    /// The tile of B that its columns begin with.
    pub columns: usize,
    /// The tiles on their way, and those that are multiplied.
    pub stages: SharedRing<(A, B), STAGES>,
    /// Whether a stage's tiles have come.
    pub full: BarrierRing<STAGES>,
    /// Whether they have been multiplied, of each block of the cluster: all bring some of them.
    pub empty: [PeerBarrierRing<STAGES>; BLOCKS],
    /// The next stage.
    pub turn: Turn<STAGES>,
}

impl<A: Rows, B: Right, const STAGES: usize, const BLOCKS: usize> Consumer<'_, A, B, STAGES, BLOCKS> {
    /// The sums of so many steps, of `HIGH` times 64 rows and `N` columns, of which `PART` are multiplied at once.
    ///
    /// All columns at once stay in the tensor cores' hands from the first step to the last. But where tensor cores lose bits (`loses_bits`),
    /// and not all that is asked for is to be `FAST`, a step's sums are taken out of their hands, part by part of the columns, and added to those
    /// before with all bits of an `f32`.
    #[inline(always)]
    pub fn sum<
        T: Number + Element<Width = Bits32>,
        const N: usize,
        const HIGH: usize,
        const PART: usize,
        const FAST: bool,
    >(
        &mut self,
        steps: u32,
    ) -> [GroupAccumulator<N, T>; HIGH]
    where
        High<HIGH>: Heights<HIGH>,
        B: Columns<N> + Columns<PART>,
        M64<N>: WgmmaColumns<Bits32>,
        M64<PART>: WgmmaColumns<Bits32>,
        Wgmma<N, Multiplied<A::Element>, Multiplied<B::Element>, T>:
            WgmmaForm<Registers = <M64<N> as WgmmaColumns<Bits32>>::Registers>,
        Wgmma<PART, Multiplied<A::Element>, Multiplied<B::Element>, T>:
            WgmmaForm<Registers = <M64<PART> as WgmmaColumns<Bits32>>::Registers>,
    {
        if loses_bits::<A::Element, T>() && !FAST {
            let mut sums = Some(self.sum_by_steps::<T, N, PART>(steps));
            High::<HIGH>::each(
                #[inline(always)]
                |_| sums.take().expect("`product` checks that it is one"),
            )
        } else {
            self.sum_at_once(steps)
        }
    }

    /// All in registers which multiplications are in flight to from the first step to the last.
    #[inline(always)]
    fn sum_at_once<T: Number + Element<Width = Bits32>, const N: usize, const HIGH: usize>(
        &mut self,
        steps: u32,
    ) -> [GroupAccumulator<N, T>; HIGH]
    where
        High<HIGH>: Heights<HIGH>,
        B: Columns<N>,
        M64<N>: WgmmaColumns<Bits32>,
        Wgmma<N, Multiplied<A::Element>, Multiplied<B::Element>, T>:
            WgmmaForm<Registers = <M64<N> as WgmmaColumns<Bits32>>::Registers>,
    {
        let group = self.group;
        let mut sums = High::<HIGH>::each(
            #[inline(always)]
            |_| GroupAccumulator::<N, T>::zero().begin(group),
        );
        let mut before = self.turn;
        let quick = has_registers_left(HIGH * N);
        let mut look = quick.then(|| self.look_for(self.turn));
        for step in 0..steps {
            match look {
                Some(look) => _ = look.wait(group.warp()),
                None => self.wait(),
            }
            let index = self.turn.index();
            let (a, b) = self.stages.stage(if quick { index.uniform(group.warp()) } else { index });
            let (rows, columns) = (self.rows, self.columns);
            High::<HIGH>::map(
                sums.each_mut(),
                #[inline(always)]
                |block, sums| {
                    Wgmma::<N, Multiplied<A::Element>, Multiplied<B::Element>, T>::issue(group, sums, |issue| {
                        for slice in 0..SLICES {
                            issue.accumulate(a.matrix(rows, block, slice), b.matrix(columns, 0, slice));
                        }
                    });
                    if block == 0 {
                        look = quick.then(|| self.look_for(self.turn.next()));
                        // The tensor cores go on to this stage while the one before is given back.
                        sums.wait::<1>(group);
                        if step > 0 {
                            self.leave(before, quick);
                        }
                    }
                },
            );
            before = self.turn;
            self.turn = self.turn.next();
        }
        let sums = High::<HIGH>::map(
            sums,
            #[inline(always)]
            |_, sums| sums.finish(group),
        );
        self.leave(before, quick);
        sums
    }

    /// The sums of each step taken out, and added to those before, part by part of the columns.
    ///
    /// While it adds, the tensor cores multiply for the other consumer. That is enough for them if from the end of a part's products to the
    /// start of the next one's takes no longer than a part: so all that is not adding is done while products are on their way.
    #[inline(always)]
    fn sum_by_steps<T: Number + Element<Width = Bits32>, const N: usize, const PART: usize>(
        &mut self,
        steps: u32,
    ) -> GroupAccumulator<N, T>
    where
        B: Columns<PART>,
        M64<N>: WgmmaColumns<Bits32>,
        M64<PART>: WgmmaColumns<Bits32>,
        Wgmma<PART, Multiplied<A::Element>, Multiplied<B::Element>, T>:
            WgmmaForm<Registers = <M64<PART> as WgmmaColumns<Bits32>>::Registers>,
    {
        let group = self.group;
        let mut sums = GroupAccumulator::<N, T>::zero();
        let mut products = GroupAccumulator::<PART, T>::zero();
        if steps > 0 {
            self.wait();
        }
        let mut before = self.turn;
        for step in 0..steps {
            let (a, b) = self.stages.stage(self.turn.index());
            let next = self.turn.next();
            for first in (0..N).step_by(PART) {
                let mut multiplied = products.begin(group);
                self.multiply(&mut multiplied, a, b, first);
                if first == 0 && step > 0 {
                    self.leave(before, false);
                }
                if first + PART == N {
                    before = replace(&mut self.turn, next);
                    if step + 1 < steps {
                        self.wait();
                    }
                }
                products = multiplied.finish(group);
                sums = sums.zip(group, first, &products, |sum, product| sum.plus(T::ONE, product)).settled(group);
            }
        }
        if steps > 0 {
            self.leave(before, false);
        }
        sums
    }

    /// The products of a stage's tiles, of columns `first` on.
    #[inline(always)]
    fn multiply<T: Number + Element<Width = Bits32>, const COLS: usize>(
        &self,
        products: &mut InFlight<COLS, T>,
        a: A,
        b: B,
        first: usize,
    ) where
        B: Columns<COLS>,
        M64<COLS>: WgmmaColumns<Bits32>,
        Wgmma<COLS, Multiplied<A::Element>, Multiplied<B::Element>, T>:
            WgmmaForm<Registers = <M64<COLS> as WgmmaColumns<Bits32>>::Registers>,
    {
        let (rows, columns) = (self.rows, self.columns);
        Wgmma::<COLS, Multiplied<A::Element>, Multiplied<B::Element>, T>::issue(self.group, products, |issue| {
            issue.multiply(a.matrix(rows, 0, 0), b.matrix(columns, first, 0));
            for slice in 1..SLICES {
                issue.accumulate(a.matrix(rows, 0, slice), b.matrix(columns, first, slice));
            }
        });
    }

    /// Until the tiles of this turn's stage have come.
    #[inline(always)]
    fn wait(&self) {
        self.full.stage(self.turn.index()).wait(self.group.warp(), self.turn.phase());
    }

    /// Asks whether a turn's have.
    #[inline(always)]
    fn look_for(&self, turn: Turn<STAGES>) -> Look {
        self.full.stage(turn.index()).look(self.group.warp(), turn.phase())
    }

    /// Says that the stage of a turn has been multiplied, by this consumer: `quick`ly by a lane that is known from the start, with no branch, else by an
    /// elected one.
    #[inline(always)]
    fn leave(&self, turn: Turn<STAGES>, quick: bool) {
        let (empty, is_first) = (self.empty, self.group.warp_rank() == 0);
        let tell = |lane: Lane<'_>| {
            for empty in empty {
                empty.stage(turn.index()).arrive_having_read(lane);
            }
        };
        if quick {
            self.group.warp().each(|lane| {
                if is_first && lane.id() == 0 {
                    tell(lane);
                }
            });
        } else if is_first {
            self.group.warp().elect(tell);
        }
    }
}
