//! The epilogue: D = f(alpha A x B + beta C + bias).

use super::args::MatrixArgs;
use super::number::{Activation, Number, Output};
use super::scheduler::MatrixCoord;
use ptx_matrix::element::Bits32;
use ptx_matrix::fragment::{FragmentShape, Order, RoleC};
use ptx_matrix::memory::{GlobalMatrix, GlobalMatrixMut, Swizzle};
use ptx_matrix::mma::{GroupAccumulator, M64, WgmmaColumns};
use ptx_matrix::prelude::*;

/// The epilogue's scalars.
#[derive(Clone, Copy, Debug, KernelArgs)]
#[repr(C)]
pub struct EpilogueScalars<S: Number> {
    /// The scale of A x B. 0 is no special case in a kernel: 0 x NaN is NaN.
    pub alpha: S,
    /// The scale of C. With 0, C is not read.
    pub beta: S,
    /// Whether the bias has an element for each row: 0 or 1.
    pub bias_per_row: u32,
    /// An [`Activation`].
    pub activation: u32,
}

impl<S: Number> EpilogueScalars<S> {
    /// The scales, without an activation; a bias has an element for each column.
    pub const fn new(alpha: S, beta: S) -> Self {
        EpilogueScalars { alpha, beta, bias_per_row: 0, activation: 0 }
    }

    /// Returns alpha times an accumulator.
    #[inline]
    pub fn scaled(&self, accumulator: S) -> S {
        accumulator.times(self.alpha)
    }
}

/// The epilogue's memory and scalars: D = f(alpha A x B + beta C + bias).
#[derive(Clone, Copy, KernelArgs)]
pub struct EpilogueArgs<'k, O: Output> {
    /// C, with D's layout. It is read if `beta` is not zero.
    pub c: Global<'k, O>,
    /// An element for each column of D, or for each row. Empty for no bias.
    pub bias: Global<'k, O>,
    /// D, for threads that store it.
    pub d: GlobalMut<'k, O>,
    /// The accumulators of each split of K, as M x N matrices without gaps. Empty without split-K;
    /// else they replace D.
    pub partials: GlobalMut<'k, O::Acc>,
    /// Where C and D lie.
    pub d_layout: MatrixArgs,
    /// The scalars.
    pub scalars: EpilogueScalars<O::Acc>,
}

impl<'k, O: Output> EpilogueArgs<'k, O> {
    /// The epilogue for one matrix of the batch, of `rows` x `cols`.
    #[inline]
    pub fn epilogue<L: Order>(&self, batch: usize, rows: usize, cols: usize) -> Epilogue<'k, O, L> {
        let scalars = self.scalars;
        Epilogue {
            c: self.matrix_c(batch, rows, cols),
            bias: self.bias,
            bias_per_row: scalars.bias_per_row != 0,
            alpha: scalars.alpha,
            beta: scalars.beta,
            activation: Activation::of(scalars.activation),
        }
    }

    /// Whether the epilogue reads C: not with beta = 0, and not for partial accumulators.
    #[inline]
    pub fn reads_c(&self) -> bool {
        self.scalars.beta != O::Acc::ZERO && self.partials.is_empty()
    }

    /// One matrix C of the batch, of `rows` x `cols`; none with beta = 0.
    #[inline]
    pub fn matrix_c<L: Order>(
        &self,
        batch: usize,
        rows: usize,
        cols: usize,
    ) -> Option<GlobalMatrix<'k, O, L>> {
        let layout = self.d_layout;
        (self.scalars.beta != O::Acc::ZERO).then(|| {
            GlobalMatrix::new(self.c.skip(layout.start(batch)), rows, cols, layout.ld as usize)
        })
    }

    /// One matrix D of the batch, of `rows` x `cols`.
    #[inline]
    pub fn matrix_d<L: Order>(
        &self,
        batch: usize,
        rows: usize,
        cols: usize,
    ) -> GlobalMatrixMut<'k, O, L> {
        let layout = self.d_layout;
        GlobalMatrixMut::new(self.d.skip(layout.start(batch)), rows, cols, layout.ld as usize)
    }

    /// Whether D is alpha times the accumulators: no C (beta is 0), no bias, no activation, and no
    /// partial accumulators of split-K.
    #[inline]
    pub fn only_scales(&self) -> bool {
        self.partials.is_empty()
            && self.scalars.beta == O::Acc::ZERO
            && self.bias.is_empty()
            && Activation::of(self.scalars.activation) == Activation::Identity
    }

    /// The bias of a part of D, of `rows` x `cols`, whose first element is at `at`; none without a
    /// bias. It is loaded here, and [`apply_group`](Self::apply_group) needs it later.
    #[inline]
    pub fn group_bias<const N: usize>(
        &self,
        group: WarpGroup<'_>,
        at: MatrixCoord,
        (rows, cols): (u32, u32),
    ) -> Option<GroupAccumulator<N, O>>
    where
        M64<N>: WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
    {
        if self.bias.is_empty() {
            return None;
        }
        // Beyond the end, the last element stands for others. Without branches, the compiler loads
        // each element once.
        let bias = |index: u32, len: u32| self.bias.get(index.min(len - 1) as usize);
        Some(if group.block().opaque(self.scalars.bias_per_row) != 0 {
            GroupAccumulator::from_fn(group, |row, _| bias(at.row + row as u32, rows))
        } else {
            GroupAccumulator::from_fn(group, |_, col| bias(at.col + col as u32, cols))
        })
    }

    /// Applies the epilogue to accumulators of `wgmma`, with the elements of C and of the bias for
    /// them.
    #[inline]
    pub fn apply_group<const N: usize>(
        &self,
        group: WarpGroup<'_>,
        accumulators: GroupAccumulator<N, O::Acc>,
        c: Option<GroupAccumulator<N, O>>,
        bias: Option<GroupAccumulator<N, O>>,
    ) -> GroupAccumulator<N, O>
    where
        O::Acc: Element<Width = Bits32>,
        M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<O::Width>,
        M16N8K16: FragmentShape<RoleC, O::Width>,
    {
        let scalars = self.scalars;
        let mut sum = accumulators.map(group, |_, _, acc| scalars.scaled(acc));
        if let Some(c) = c {
            sum = sum.zip(group, 0, &c, |sum, c| sum.plus(scalars.beta, c.widen()));
        }
        if let Some(bias) = bias {
            sum = sum.zip(group, 0, &bias, |sum, bias| sum.plus(O::Acc::ONE, bias.widen()));
        }
        // Opaque to the compiler, which would make a jump table, and spill registers for it.
        let is = |of: Activation| group.block().opaque(scalars.activation) == of as u32;
        if is(Activation::Relu) {
            sum = sum.map(group, |_, _, sum| sum.activate(Activation::Relu));
        }
        if is(Activation::Gelu) {
            sum = sum.map(group, |_, _, sum| sum.activate(Activation::Gelu));
        }
        if is(Activation::Silu) {
            sum = sum.map(group, |_, _, sum| sum.activate(Activation::Silu));
        }
        O::narrow_group(group, &sum)
    }
}

/// The epilogue of one matrix.
#[derive(Clone, Copy)]
pub struct Epilogue<'k, D: Output, L = RowMajor> {
    /// C, M x N; none for `beta` = 0. It may be D's memory: so the threads that store a tile of D
    /// read C's elements there before, and no others.
    pub c: Option<GlobalMatrix<'k, D, L>>,
    /// An element for each column, or row. Empty for no bias.
    pub bias: Global<'k, D>,
    /// Whether the bias has an element for each row.
    pub bias_per_row: bool,
    /// The scale of A x B.
    pub alpha: D::Acc,
    /// The scale of C.
    pub beta: D::Acc,
    /// The activation.
    pub activation: Activation,
}

impl<D: Output, L: Order> Epilogue<'_, D, L> {
    /// Returns alpha times an accumulator.
    #[inline]
    pub fn scaled(&self, accumulator: D::Acc) -> D::Acc {
        accumulator.times(self.alpha)
    }

    /// Whether D is alpha times the accumulators.
    #[inline]
    pub fn only_scales(&self) -> bool {
        self.c.is_none() && self.bias.is_empty() && self.activation == Activation::Identity
    }

    /// Applies the epilogue to a tile of accumulators, whose first element is at (row, column) `at`
    /// of D.
    ///
    /// Calls `put(place, to, element)` with each element's place in the tile, and its place in D.
    /// Elements out of D's bounds are zero, and their `to` is `None`. A thread handles `BATCH`
    /// elements at a time.
    #[inline]
    #[track_caller]
    pub fn apply<const BATCH: usize, const ROWS: usize, const COLS: usize, S: Swizzle>(
        &self,
        threads: impl Threads,
        accumulators: SharedTile<D::Acc, ROWS, COLS, S, L>,
        at: (usize, usize),
        (rows, cols): (usize, usize),
        put: impl Fn((usize, usize), Option<(usize, usize)>, D) + LaneCapture,
    ) {
        accumulators.for_each_together::<BATCH>(threads, |places, accumulators| {
            let (to, elements) = self.apply_at(places, accumulators, at, (rows, cols));
            for i in 0..BATCH {
                put(places[i], to[i], elements[i]);
            }
        });
    }

    /// Applies the epilogue to the accumulators at some places of a tile: returns their places in
    /// D, and D's elements. It is generic over no tile's shape.
    #[inline]
    fn apply_at<const N: usize>(
        &self,
        places: [(usize, usize); N],
        mut accumulators: [D::Acc; N],
        at: (usize, usize),
        (rows, cols): (usize, usize),
    ) -> ([Option<(usize, usize)>; N], [D; N]) {
        let (mut all, mut inside, mut is_inside) = (places, [None; N], [false; N]);
        for i in 0..N {
            let (row, col) = (at.0 + places[i].0, at.1 + places[i].1);
            all[i] = (row, col);
            is_inside[i] = row < rows && col < cols;
            inside[i] = is_inside[i].then_some((row, col));
            accumulators[i] = self.scaled(accumulators[i]);
        }
        let mut elements = self.apply_scaled(all, is_inside, accumulators);
        for i in 0..N {
            if !is_inside[i] {
                elements[i] = Zeroable::zeroed();
            }
        }
        (inside, elements)
    }

    /// Applies the rest of the epilogue to accumulators that are already multiplied by alpha.
    /// Elements out of bounds have no C and no bias. The branches are taken once for all of them.
    ///
    /// The loads of C and of the bias come before the first use of one, so that they overlap.
    #[inline]
    pub fn apply_scaled<const N: usize>(
        &self,
        places: [(usize, usize); N],
        is_inside: [bool; N],
        mut accumulators: [D::Acc; N],
    ) -> [D; N] {
        let (has_c, has_bias) = (self.c.is_some(), !self.bias.is_empty());
        if has_c || has_bias {
            let (mut c, mut bias) = ([D::zeroed(); N], [D::zeroed(); N]);
            if let Some(matrix) = self.c {
                for i in 0..N {
                    if is_inside[i] {
                        c[i] = matrix.get(places[i].0, places[i].1);
                    }
                }
            }
            if has_bias {
                for i in 0..N {
                    if is_inside[i] {
                        let (row, col) = places[i];
                        bias[i] = self.bias.get(if self.bias_per_row { row } else { col });
                    }
                }
            }
            for i in 0..N {
                if has_c {
                    accumulators[i] = accumulators[i].plus(self.beta, c[i].widen());
                }
                if has_bias {
                    accumulators[i] = accumulators[i].plus(D::Acc::ONE, bias[i].widen());
                }
            }
        }
        match self.activation {
            Activation::Identity => accumulators,
            Activation::Relu => accumulators.map(|acc| acc.activate(Activation::Relu)),
            Activation::Gelu => accumulators.map(|acc| acc.activate(Activation::Gelu)),
            Activation::Silu => accumulators.map(|acc| acc.activate(Activation::Silu)),
        }
        .map(D::narrow)
    }
}
