//! Selects the kernel of a GEMM: every candidate that fits, and the one with the lowest expected
//! cost.
//!
//! A candidate is a kernel, with A and B repacked or not, and a number of splits of K.
//! [`cost_model`] estimates its cycles. A user's [`Choice`], or a measured one of [`Tuned`], takes
//! precedence.

mod choice;
mod cost_model;
mod tuned;

pub use choice::{Choice, ParseChoiceError};
pub(crate) use cost_model::{CACHE_LINE, Workload};
pub use tuned::{Tuned, TunedError, TunedGemm};

use crate::kernels::{Kernel, Multiply, Output};
use crate::layout::{Matrices, Operand, Repacked};
use crate::plan::piece;
use crate::problem::{LARGEST_BATCH, LARGEST_STRIDE_WITHOUT_TMA, at_most, leading_dimension};
use crate::{Gemm, GemmDevice, Refusal};
use cost_model::{ElementBytes, PerOperand};
use std::collections::BTreeSet;

/// A kernel, the operands that are repacked for it, and its splits of K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) kernel: &'static Kernel,
    pub(crate) k_splits: usize,
    pub(crate) repacked: Repacked,
}

impl Candidate {
    pub(crate) fn choice(self) -> Choice {
        let Self { kernel, k_splits, repacked } = self;
        Choice { kernel: kernel.name.to_owned(), k_splits, repacked }
    }
}

impl Workload {
    /// Candidates, each with every number of splits that makes sense.
    pub(crate) fn with_splits(
        &self,
        candidates: impl Iterator<Item = Candidate>,
    ) -> impl Iterator<Item = Candidate> {
        candidates.flat_map(|candidate| {
            let splits = self.k_splits(candidate.kernel);
            splits.map(move |k_splits| Candidate { k_splits, ..candidate })
        })
    }

    /// The candidate of the lowest expected cost whose partial accumulators fit `workspace`.
    ///
    /// Of candidates that take as many cycles, it has the fewest bytes from L2; of these, it is the
    /// first of the table, with the fewest splits.
    pub(crate) fn best(
        &self,
        candidates: impl Iterator<Item = Candidate>,
        workspace: usize,
    ) -> Option<Candidate> {
        let fitting = self
            .with_splits(candidates)
            .filter(|candidate| self.workspace(candidate.k_splits) <= workspace);
        let costs = fitting.map(|candidate| {
            let cost = self.cost(candidate, self.cluster_along(candidate));
            // With repacked operands, the table's order says which order is repacked faster.
            let bytes = if candidate.repacked.is_none() { cost.all_l2_bytes() } else { 0.0 };
            (candidate, cost.cycles, bytes)
        });
        costs
            .min_by(|(_, cycles, bytes), (_, other_cycles, other_bytes)| {
                cycles.total_cmp(other_cycles).then(bytes.total_cmp(other_bytes))
            })
            .map(|(candidate, ..)| candidate)
    }
}

impl<T: Multiply<O>, O: Output> Gemm<T, O> {
    /// This GEMM as the cost model sees it.
    pub(crate) fn workload(&self, sms: u32) -> Workload {
        let gemm = self.canonical();
        let [a, b, d] = gemm.matrices();
        let operands = PerOperand { a, b };
        let (m, batches) = gemm.rows_and_batches();
        Workload {
            m,
            n: gemm.n,
            k: gemm.k,
            batches,
            element_bytes: ElementBytes {
                operand: size_of::<T>(),
                output: size_of::<O>(),
                accumulator: size_of::<O::Acc>(),
            },
            mma_rate: T::PRODUCTS,
            sms,
            can_split_k: gemm.groups.is_none(),
            starts_with_lines: PerOperand::of(|of| {
                operands.get(of).are_aligned(CACHE_LINE / size_of::<T>())
            }),
            elements: PerOperand::of(|of| {
                let Matrices { size: (rows, cols), .. } = operands.get(of);
                operands.get(of).different() as f64 * rows as f64 * cols as f64
            }),
            tma_stores_d: gemm.tma_stores_d(d),
        }
    }

    /// The candidates on a device, without splits of K, whose repacked operands fit
    /// `repack_workspace` elements.
    pub(crate) fn candidates<D: GemmDevice>(
        &self,
        device: &D,
        repack_workspace: usize,
    ) -> impl Iterator<Item = Candidate> {
        let gemm = self.canonical();
        let all = if self.groups.is_some() { T::GROUPED } else { T::KERNELS };
        let fast = self.fast_accumulation;
        let usable =
            move |kernel: &&Kernel| device.has(kernel.info) && (fast || !kernel.fast_accumulation);
        let candidates = all.iter().filter(usable).flat_map(|kernel| {
            Repacked::ALL.map(|repacked| Candidate { kernel, k_splits: 1, repacked })
        });
        candidates.filter(move |&Candidate { kernel, repacked, .. }| {
            let operands = gemm.operands(kernel, repacked);
            let as_they_lie = gemm.operands(kernel, Repacked::None);
            let fits = |of: Operand, matrix: Matrices| {
                let whole = matrix.have_whole_pieces(piece::<T>(kernel));
                // Repacked in another order, the leading dimension is the number of rows.
                kernel.takes_operand(of, matrix.layout.order)
                    && whole
                    && matrix.are_aligned(kernel.alignment / size_of::<T>())
            };
            // What is repacked is read, and written, without TMA.
            let is_short = |of: Operand| {
                kernel.uses_tma && !repacked.has(of)
                    || [as_they_lie, operands].iter().all(|operands| {
                        let Matrices { layout, size, .. } = operands[of as usize];
                        layout.stride_of(size) <= LARGEST_STRIDE_WITHOUT_TMA
                    })
            };
            let gains = |of: Operand| {
                let matrix = as_they_lie[of as usize];
                kernel.orders.is_some()
                    && !(fits(of, matrix) && matrix.are_aligned(CACHE_LINE / size_of::<T>()))
            };
            Operand::BOTH.iter().all(|&of| {
                fits(of, operands[of as usize]) && is_short(of) && (!repacked.has(of) || gains(of))
            }) && gemm.repack_len(kernel, repacked) <= repack_workspace
        })
    }

    /// The user's choice, the measured one, or the best candidate.
    pub(crate) fn select<D: GemmDevice>(&self, device: &D) -> Result<Candidate, Refusal> {
        let workload = self.workload(device.multiprocessors());
        if let Some(choice) = &self.choice {
            return self.chosen(choice, device, &workload);
        }
        if let Some(tuned) = &self.tuned {
            match self.chosen(tuned, device, &workload) {
                // The measured GEMM had other leading dimensions, or another order of D.
                Err(Refusal::NoSuchKernel { is_known: true, .. }) => {}
                chosen => return chosen,
            }
        }
        let candidates = self.candidates(device, self.repack_workspace);
        match workload.best(candidates, self.workspace) {
            Some(best) => Ok(best),
            None => Err(self.no_kernel(device, &workload)),
        }
    }

    /// Says why no kernel computes this GEMM: with repacking one may, or a leading dimension is too
    /// long.
    fn no_kernel<D: GemmDevice>(&self, device: &D, workload: &Workload) -> Refusal {
        let all = if self.groups.is_some() { T::GROUPED } else { T::KERNELS };
        if !all.iter().any(|kernel| device.has(kernel.info)) {
            let targets = all.iter().flat_map(|kernel| kernel.info.targets).copied();
            // `sm_90a` is before `sm_100`.
            let number = |of: &str| of.trim_end_matches('a').len();
            let targets: BTreeSet<_> = targets.map(|of| (number(of), of)).collect();
            let targets = targets.into_iter().map(|(_, of)| of).collect();
            return Refusal::NoKernelForElements { elements: Self::name(), targets };
        }
        let repacking = workload.best(self.candidates(device, usize::MAX), self.workspace);
        let repack_len = repacking
            .map(|candidate| self.canonical().repack_len(candidate.kernel, candidate.repacked));
        let [a, b, _] = self.matrices();
        let short = |matrix: Matrices| {
            let given = matrix.layout.stride_of(matrix.size);
            at_most(leading_dimension(matrix.name), given, LARGEST_STRIDE_WITHOUT_TMA)
        };
        match short(a).and_then(|()| short(b)) {
            Err(too_long) if repack_len.is_none() => too_long,
            _ => Refusal::NoKernel { gemm: self.elements_and_orders(), repack_len },
        }
    }

    /// The candidate of a choice.
    fn chosen<D: GemmDevice>(
        &self,
        choice: &Choice,
        device: &D,
        workload: &Workload,
    ) -> Result<Candidate, Refusal> {
        let Choice { kernel: name, k_splits, repacked } = choice;
        let (k_splits, repacked) = (*k_splits, *repacked);
        let found = self
            .candidates(device, usize::MAX)
            .find(|candidate| candidate.kernel.name == name && candidate.repacked == repacked);
        let Candidate { kernel, .. } = found.ok_or_else(|| Refusal::NoSuchKernel {
            name: Choice { k_splits: 1, ..choice.clone() }.to_string(),
            is_known: T::KERNELS.iter().chain(T::GROUPED).any(|kernel| kernel.name == name),
            gemm: self.elements_and_orders(),
            at_hand: self
                .candidates(device, self.repack_workspace)
                .map(|candidate| candidate.choice().to_string())
                .collect(),
        })?;
        let refused =
            |reason: String| Refusal::KSplits { kernel: kernel.name, k: self.k, k_splits, reason };
        if k_splits == 0 {
            return Err(refused("1 is the least".to_owned()));
        }
        if self.groups.is_some() && k_splits > 1 {
            return Err(refused("a grouped GEMM has no split-K: 1 is the most".to_owned()));
        }
        if k_splits > LARGEST_BATCH {
            return Err(refused(format!("{LARGEST_BATCH} is the most")));
        }
        let whole = self.k.div_ceil(workload.k_per_split(kernel, k_splits));
        if whole != k_splits {
            let step = kernel.tile.k;
            return Err(refused(format!("with whole steps of {step} there are {whole} splits")));
        }
        Ok(Candidate { kernel, k_splits, repacked })
    }
}
