//! The description of a GEMM, and its checks.

use std::marker::PhantomData;

use crate::kernels::{Activation, ClusterAlong, Kernel, Multiply, Number, Output};

use super::layout::{Matrices, Operand, Repacked};
use super::plan::CHUNK;
use super::select::{CACHE_LINE, Candidate};
use super::{Choice, GemmDevice, GemmError, Layout, Order, Plan, Refusal, Tuned, TunedGemm};

/// The largest dimension. Kernels count in 32 bits, also the tiles of 16 x 64 in 2048 rows of D.
const LONGEST: usize = (1 << 31) - 64;
/// The most blocks in a grid.
const MOST_BLOCKS: usize = i32::MAX as usize;
/// The longest leading dimension of any matrix: kernels get it in 32 bits.
const LARGEST_STRIDE: usize = u32::MAX as usize;
/// The longest leading dimension of A and B without TMA: kernels count the elements of 256 rows in
/// 32 bits.
pub(crate) const LARGEST_STRIDE_WITHOUT_TMA: usize = u32::MAX as usize / 512;
/// The largest batch: in some kernels it is a dimension of the grid.
pub(crate) const LARGEST_BATCH: usize = 65_535;

/// A GEMM problem: D = f(alpha A x B + beta C + bias), with the layouts of the matrices.
///
/// A and B have elements `T`; C, D and the bias have elements `O`:
///
/// | `T` | `O` | multiplied as | accumulated in | from |
/// | --- | --- | --- | --- | --- |
/// | `bf16` | `bf16`, `f32` | bf16 | `f32` | sm_80 |
/// | `f16` | `f16` | f16 | `f32` | sm_75 |
/// | `f16` | `f32` | f16 | `f32` | sm_80 |
/// | `f32` | `f32` | tf32: the tensor cores truncate 13 of the 23 fraction bits | `f32` | sm_80 |
/// | `f64` | `f64` | f64 | `f64` | sm_80 |
/// | `i8` | `i32` | s8 | `i32`, with wrap-around; the scales are integers too | sm_80 |
/// | `F8E4M3` | `bf16`, `f16`, `f32` | e4m3 | `f32` | sm_89 |
/// | `F8E5M2` | `bf16`, `f16`, `f32` | e5m2 | `f32` | sm_89 |
///
/// # Kernels
/// On sm_90a, `wgmma` computes a GEMM if the rows of A and B (columns, if column-major) start at
/// multiples of 16 bytes. In a batch, each matrix must. bf16 and f16 take A and B in any order.
/// tf32, s8, e4m3 and e5m2 take a row-major A and a column-major B. With other orders they need
/// [repacking](Self::repack_workspace_up_to). On sm_90 and later, f64 with A and B in the same
/// order takes `mma.sync` with TMA loads. All other GEMMs take `mma.sync`, with `cp.async` where
/// the elements are aligned to 4 bytes, and with ordinary loads elsewhere and on sm_75. There, rows
/// that start elsewhere than at multiples of 16 bytes need repacking.
///
/// # Semantics
/// By default, the matrices are row-major and dense, alpha is 1, there is no C, and f
/// is the identity. As in BLAS,
/// - C is not read if beta is 0, and neither A nor B if alpha is 0: a NaN there has no effect;
/// - otherwise infinities and NaNs propagate, also through activations. There is one exception:
///   tf32 has the upper 10 of the 23 fraction bits of an `f32`. So a NaN whose upper 10 bits are
///   all zero becomes infinity. `f32::NAN` and the NaNs that arithmetic makes stay NaN.
///
/// C has the layout of D, and may [be D](super::Operands::c_is_d). Accumulators are rounded once,
/// to D.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm<T, O: Output = T> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) batches: usize,
    /// Groups of rows, each with its own B.
    pub(super) groups: Option<usize>,
    pub(super) a: Layout,
    pub(super) b: Layout,
    pub(super) d: Layout,
    pub(super) alpha: O::Acc,
    /// None if it was not set: there is no C.
    pub(super) beta: Option<O::Acc>,
    pub(super) bias_per_row: bool,
    pub(super) activation: Activation,
    pub(super) fast_accumulation: bool,
    pub(super) workspace: usize,
    pub(super) repack_workspace: usize,
    pub(super) choice: Option<Choice>,
    /// A measured choice, for the case that there is no other.
    pub(super) tuned: Option<Choice>,
    element: PhantomData<T>,
}

impl<T: Multiply<O>, O: Output> Gemm<T, O> {
    /// A GEMM of an `m` x `k` and a `k` x `n` matrix.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self {
            m,
            n,
            k,
            batches: 1,
            groups: None,
            a: Layout::row_major(k),
            b: Layout::row_major(n),
            d: Layout::row_major(n),
            alpha: O::Acc::ONE,
            beta: None,
            bias_per_row: false,
            activation: Activation::Identity,
            fast_accumulation: false,
            workspace: 0,
            repack_workspace: 0,
            choice: None,
            tuned: None,
            element: PhantomData,
        }
    }

    /// Sets the layout of A. Any offset is legal, and any leading dimension up to 8388607; kernels
    /// with TMA take one up to 4294967295. It is fastest if the rows (the columns, if
    /// column-major) start at multiples of 16 bytes. They are then read in pieces of 16 bytes, and
    /// the buffer must contain the last piece whole.
    pub fn a(self, layout: Layout) -> Self {
        Self { a: layout, ..self }
    }

    /// Sets the layout of B, likewise.
    pub fn b(self, layout: Layout) -> Self {
        Self { b: layout, ..self }
    }

    /// Sets the layout of D and C. Any leading dimension up to 4294967295 is legal; stores are
    /// fastest if rows or columns start at multiples of 16 bytes.
    pub fn d(self, layout: Layout) -> Self {
        Self { d: layout, ..self }
    }

    /// Sets the number of GEMMs of a batch. They have the same shape, and their matrices are
    /// [`batch_stride`](Layout::batch_stride) apart; 0 is one matrix for all. One launch computes
    /// them all.
    ///
    /// A batch with one B becomes one GEMM of all rows under three conditions. A and D are
    /// row-major, their matrices lie one after the other, and the bias is per column. Likewise in
    /// columns, with a column-major B and D, one A, and a [bias per row](Self::bias_per_row).
    ///
    /// ```
    /// use ptx_matrix::{launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Layout, Operands};
    ///
    /// // 3 x 20 rows, and one B.
    /// let device = Simulator::default();
    /// let (a, b) = (device.upload(&[1.0f32; 3 * 20 * 24])?, device.upload(&[0.5f32; 24 * 16])?);
    /// let mut d = device.upload(&[0.0f32; 3 * 20 * 16])?;
    /// let plan = Gemm::<f32>::new(20, 16, 24)
    ///     .batches(3)
    ///     .a(Layout::row_major(24).batch_stride(20 * 24))
    ///     .d(Layout::row_major(16).batch_stride(20 * 16))
    ///     .plan(&device)?;
    /// plan.run(Operands::new(&device, &a, &b, &mut d))?;
    /// assert_eq!(d, [12.0; 3 * 20 * 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batches(self, count: usize) -> Self {
        Self { batches: count, ..self }
    }

    /// Makes it a grouped GEMM: the rows of A and D are in `count` groups, and each group has its
    /// own B. These matrices B are [`batch_stride`](Layout::batch_stride) apart.
    /// [`group_ends`](super::Operands::group_ends) has the ends of the groups, in a device buffer.
    /// The GEMM reads it when it runs, so a kernel in the same stream can compute it without a sync
    /// of the host. A group can have any number of rows, also zero. Several groups need a batch
    /// stride of B; one B for all rows needs no groups.
    ///
    /// Elements: bf16 and f16 with D of the same type, f32 as tf32, s8 with s32 D, e4m3 and e5m2
    /// with bf16 D. A and D are row-major; there is no split-K and no batch. A
    /// [bias](super::Operands::bias) per column is separate for each group.
    ///
    /// sm_90a uses `wgmma` if the rows or columns of A and B start at multiples of 16 bytes, and B
    /// is column-major (any order for bf16 and f16). [Repacking](Self::repack_workspace_up_to)
    /// achieves that for other operands. Otherwise a slow `mma.sync` kernel for unaligned rows is
    /// used, as on other GPUs from sm_80 on (e4m3 and e5m2: sm_89).
    ///
    /// ```
    /// use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Layout, Operands};
    ///
    /// // A mixture of three experts. The first has two tokens, the second none, the third five.
    /// // The last token has no expert. The weights of an expert are all 1, 2 or 3.
    /// let (tokens, n, k, experts) = (8, 16, 24, 3);
    /// let device = Simulator::default();
    /// let weight = |i: usize| bf16::from_f32((i / (n * k)) as f32 + 1.0);
    /// let weights: Vec<bf16> = (0..experts * n * k).map(weight).collect();
    /// let (a, b) = (device.upload(&vec![bf16::ONE; tokens * k])?, device.upload(&weights)?);
    /// let ends = device.upload(&[2u32, 2, 7])?;
    /// let mut d = device.upload(&vec![bf16::ZERO; tokens * n])?;
    /// let of_experts = Layout::col_major(k).batch_stride(n * k);
    /// let gemm = Gemm::<bf16>::new(tokens, n, k).groups(experts).b(of_experts);
    /// gemm.plan(&device)?.run(Operands::new(&device, &a, &b, &mut d).group_ends(&ends))?;
    /// let of_token = |token: usize| d[token * n].to_f32();
    /// assert_eq!([of_token(1), of_token(2), of_token(6), of_token(7)], [24.0, 72.0, 72.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn groups(self, count: usize) -> Self {
        Self { groups: Some(count), ..self }
    }

    /// Sets alpha, the scale of A x B.
    pub fn alpha(self, alpha: O::Acc) -> Self {
        Self { alpha, ..self }
    }

    /// Sets beta, the scale of C, which is [a buffer](super::Operands::c) or [D
    /// itself](super::Operands::c_is_d).
    pub fn beta(self, beta: O::Acc) -> Self {
        Self { beta: Some(beta), ..self }
    }

    /// Makes the bias, if any, one element per row of D, and not per column.
    pub fn bias_per_row(self) -> Self {
        Self { bias_per_row: true, ..self }
    }

    /// Sets the activation: the last step of the epilogue.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Sets the activation to ReLU: negative elements become zero.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// Allows fast accumulation of e4m3 and e5m2 along all of K: by `wgmma`, the tensor cores
    /// accumulate with 13 bits of fraction and truncate the rest (`docs/NUMERICS.md`). Without it,
    /// partial accumulators of 128 elements of K are promoted to `f32`. cuBLAS has the same option
    /// under the same name (`use_fast_accum` in PyTorch). It has no effect on other elements, on
    /// grouped GEMMs, and on `mma.sync` kernels, which keep all bits.
    ///
    /// ```
    /// use ptx_matrix::{element::{F8E4M3, bf16}, launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Layout, Operands};
    ///
    /// let (m, n, k) = (128, 128, 640);
    /// let device = Simulator::default();
    /// let one = F8E4M3::from_bits(0x38);
    /// let (a, b) = (device.upload(&vec![one; m * k])?, device.upload(&vec![one; k * n])?);
    /// let mut d = device.upload(&vec![bf16::ZERO; m * n])?;
    /// let gemm = Gemm::<F8E4M3, bf16>::new(m, n, k).b(Layout::col_major(k)).fast_accumulation();
    /// let plan = gemm.plan(&device)?;
    /// assert_eq!(plan.choice().unwrap().kernel, "sm90_e4m3_bf16_nt_64x64x128_fast");
    /// plan.run(Operands::new(&device, &a, &b, &mut d))?;
    /// assert_eq!(d[0].to_f32(), 640.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fast_accumulation(self) -> Self {
        Self { fast_accumulation: true, ..self }
    }

    /// Allows a workspace of up to `elements` accumulators for split-K, so that a GEMM with few
    /// rows or columns keeps the whole GPU busy. [`Plan::workspace_len`] is the size it uses.
    pub fn workspace_up_to(self, elements: usize) -> Self {
        Self { workspace: elements, ..self }
    }

    /// Allows a repacking workspace of up to `elements` elements. A and B can then be repacked
    /// before the GEMM. Their rows or columns then start at multiples of 128 bytes, or they have
    /// the order of a faster kernel. [`Plan::repack_workspace_len`] is the size. With unaligned
    /// rows or columns this is several times faster, if the GEMM is not small. On sm_90a, tf32,
    /// s8, e4m3 and e5m2 then use `wgmma` in any order.
    ///
    /// ```
    /// use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Operands, Repacked};
    ///
    /// // Rows of 301 and of 201 elements.
    /// let (m, n, k) = (300, 201, 301);
    /// let device = Simulator::default();
    /// let plan = Gemm::<bf16>::new(m, n, k).repack_workspace_up_to(1 << 20).plan(&device)?;
    /// assert_eq!(plan.choice().unwrap().repacked, Repacked::Both);
    /// assert_eq!(plan.repack_workspace_len(), 300 * 320 + 301 * 256);
    ///
    /// let a = device.upload(&vec![bf16::ONE; m * k])?;
    /// let b = device.upload(&vec![bf16::ONE; k * n])?;
    /// let mut d = device.upload(&vec![bf16::ZERO; m * n])?;
    /// let mut workspace = device.upload(&vec![bf16::ZERO; plan.repack_workspace_len()])?;
    /// plan.run(Operands::new(&device, &a, &b, &mut d).repack_workspace(&mut workspace))?;
    /// assert_eq!(d[m * n - 1], bf16::from_f32(301.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repack_workspace_up_to(self, elements: usize) -> Self {
        Self { repack_workspace: elements, ..self }
    }

    /// Fixes the kernel, the splits of K and the repacked operands. The limits of
    /// [`workspace_up_to`](Self::workspace_up_to) and
    /// [`repack_workspace_up_to`](Self::repack_workspace_up_to) do not apply: the caller
    /// provides the workspaces that this choice needs.
    pub fn choose(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }

    /// Uses the fastest measured choice for this GEMM, if there is one. A choice by
    /// [`choose`](Self::choose) comes first. Grouped GEMMs are not tuned.
    ///
    /// Measurements are of dense matrices, with a row-major D. If the measured kernel cannot
    /// compute this GEMM, because of its leading dimensions for instance, [`plan`](Self::plan)
    /// selects another, as without a measurement.
    pub fn tuned(self, tuned: &Tuned) -> Self {
        if self.groups.is_some() {
            return self;
        }
        let choice = tuned.find(&self.tuned_gemm(Choice::default())).cloned();
        Self { tuned: choice, ..self }
    }

    /// This GEMM with a choice, as an entry of [`Tuned`].
    pub fn tuned_gemm(&self, choice: Choice) -> TunedGemm {
        let Self { m, n, k, batches, fast_accumulation: fast, .. } = *self;
        TunedGemm {
            element: Self::name(),
            a: self.a.order,
            b: self.b.order,
            m,
            n,
            k,
            batches,
            fast,
            choice,
        }
    }

    /// Checks everything that does not depend on the buffers, and selects a kernel.
    pub fn plan<D: GemmDevice>(&self, device: &D) -> Result<Plan<T, O>, GemmError<D::Error>> {
        self.check()?;
        let candidate = if self.multiplies() { Some(self.select(device)?) } else { None };
        let gemm = self.canonical();
        let workload = gemm.workload(device.multiprocessors());
        let cluster_along =
            candidate.map_or(ClusterAlong::M, |candidate| workload.cluster_along(candidate));
        if let Some(candidate) = candidate {
            let dimension = "the number of blocks, counted through batch and splits of K,";
            at_most(dimension, workload.blocks(candidate, cluster_along), MOST_BLOCKS)?;
        }
        Ok(Plan {
            transposed: self.d.order == Order::ColMajor,
            candidate,
            cluster_along,
            workspace_len: candidate.map_or(0, |candidate| workload.workspace(candidate.k_splits)),
            repack_workspace_len: candidate
                .map_or(0, |candidate| gemm.repack_len(candidate.kernel, candidate.repacked)),
            gemm,
        })
    }

    /// Every candidate on a device: each kernel, with each useful number of splits of K, and each
    /// useful repacking that fits the repacking workspace. Empty where [`plan`](Self::plan) refuses
    /// the GEMM, or nothing is multiplied.
    pub fn choices<D: GemmDevice>(&self, device: &D) -> Vec<Choice> {
        if self.check().is_err() || !self.multiplies() {
            return Vec::new();
        }
        let workload = self.workload(device.multiprocessors());
        let candidates = self.candidates(device, self.repack_workspace);
        workload.with_splits(candidates).map(Candidate::choice).collect()
    }

    /// Whether A and B are multiplied at all.
    fn multiplies(&self) -> bool {
        self.alpha != O::Acc::ZERO && self.k != 0 && self.elements_of_d() != 0
    }

    /// The elements of D, in all GEMMs of the batch.
    pub(super) fn elements_of_d(&self) -> usize {
        if self.groups == Some(0) { 0 } else { self.m * self.n * self.batches }
    }

    /// The rows of one GEMM, and the number of GEMMs. Groups count as a batch of their average
    /// size.
    pub(super) fn rows_and_batches(&self) -> (usize, usize) {
        self.groups
            .map_or((self.m, self.batches), |groups| (self.m.div_ceil(groups.max(1)), groups))
    }

    /// The same GEMM as kernels compute it: with a row-major D, and as one GEMM if it can be. A
    /// column-major D is computed as Dᵀ = BᵀAᵀ.
    pub(super) fn canonical(&self) -> Self {
        let with_row_major_d = match self.d.order {
            Order::RowMajor => self.clone(),
            Order::ColMajor => Self {
                m: self.n,
                n: self.m,
                a: self.b.transposed(),
                b: self.a.transposed(),
                d: self.d.transposed(),
                bias_per_row: !self.bias_per_row,
                ..self.clone()
            },
        };
        with_row_major_d.joined()
    }

    /// As one GEMM of all rows, if it is a batch with one B whose matrices A, and D, lie one after
    /// the other. Single rows of A may overlap in a batch, but not in one matrix.
    fn joined(self) -> Self {
        let Self { m, n, k, batches, a, b, d, bias_per_row, .. } = self;
        let rows = m.saturating_mul(batches);
        let is_contiguous =
            |of: Layout| of.is_row_major() && of.batch_stride == m.saturating_mul(of.stride);
        let joins = batches > 1
            && b.batch_stride == 0
            && [a, d].into_iter().all(is_contiguous)
            && a.stride >= k
            // Between single rows it is only a batch stride, which may be larger.
            && a.stride.max(d.stride) <= LARGEST_STRIDE
            && !bias_per_row
            && rows.saturating_mul(n.div_ceil(64)) <= LONGEST;
        if joins { Self { m: rows, batches: 1, ..self } } else { self }
    }

    /// A, B and D.
    pub(super) fn matrices(&self) -> [Matrices; 3] {
        let Self { m, n, k, batches, .. } = *self;
        let of_b = self.groups.unwrap_or(batches);
        [
            ("A", (m, k), self.a, batches),
            ("B", (k, n), self.b, of_b),
            ("D", (m, n), self.d, batches),
        ]
        .map(|(name, size, layout, count)| Matrices { name, size, layout, count })
    }

    /// Whether there is a tensor map of D.
    pub(super) fn tma_stores_d(&self, d: Matrices) -> bool {
        let elements = CHUNK / size_of::<O>();
        self.n.is_multiple_of(elements) && d.are_aligned(elements)
    }

    /// A and B as a kernel reads them: in their own layout, or repacked. A repacked A
    /// comes before a repacked B in the workspace.
    pub(super) fn operands(&self, kernel: &Kernel, repacked: Repacked) -> [Matrices; 2] {
        let [a, b, _] = self.matrices();
        let copy = |of: Operand, matrix: Matrices, start| match kernel.orders {
            Some(orders) if repacked.has(of) => {
                matrix.repacked(orders.get(of), CACHE_LINE / size_of::<T>(), start)
            }
            _ => matrix,
        };
        let a = copy(Operand::A, a, 0);
        [a, copy(Operand::B, b, if repacked.has(Operand::A) { a.repacked_len() } else { 0 })]
    }

    /// The elements of the repacked operands of a kernel.
    pub(super) fn repack_len(&self, kernel: &Kernel, repacked: Repacked) -> usize {
        let operands = self.operands(kernel, repacked).into_iter().zip(Operand::BOTH);
        operands
            .filter(|&(_, of)| repacked.has(of))
            .fold(0, |sum, (matrix, _)| sum.saturating_add(matrix.repacked_len()))
    }

    /// The name of the element types in [`Tuned`]: of A and B, and of D if it differs.
    pub fn name() -> String {
        if T::NAME == O::NAME { T::NAME.to_owned() } else { format!("{}-{}", T::NAME, O::NAME) }
    }

    /// Elements and orders, for messages.
    pub(super) fn elements_and_orders(&self) -> String {
        let [a, b, d] = self.matrices().map(|matrix| matrix.layout.order);
        format!("{} x {} {} into {} D", a, b, Self::name(), d)
    }

    fn check(&self) -> Result<(), Refusal> {
        at_most("M", self.m, LONGEST)?;
        at_most("N", self.n, LONGEST)?;
        at_most("K", self.k, LONGEST)?;
        at_most("the batch", self.batches, LARGEST_BATCH)?;
        self.check_groups()?;
        at_most("the number of groups", self.groups.unwrap_or(0), LARGEST_BATCH)?;
        let Self { m, n, .. } = self.canonical();
        at_most("M x N / 64, the number of blocks,", m * n.div_ceil(64), LONGEST)?;
        let of_floats = !matches!(self.activation, Activation::Identity | Activation::Relu);
        if of_floats && !O::Acc::IS_FLOAT {
            return Err(Refusal::NoActivation { activation: self.activation });
        }
        for Matrices { name: matrix, size: (rows, cols), layout, .. } in self.matrices() {
            let (lines, length) = layout.lines((rows, cols));
            let Layout { order, stride, .. } = layout;
            if lines > 1 && stride < length {
                return Err(Refusal::LinesOverlap {
                    matrix,
                    rows,
                    cols,
                    order,
                    length,
                    given: stride,
                });
            }
            at_most(leading_dimension(matrix), layout.stride_of((rows, cols)), LARGEST_STRIDE)?;
        }
        let (lines, length) = self.d.lines((self.m, self.n));
        let Layout { stride, batch_stride, .. } = self.d;
        // From a matrix's first element to its last.
        let extent = lines.saturating_sub(1).saturating_mul(stride).saturating_add(length);
        let interleaved =
            self.batches.saturating_sub(1).saturating_mul(batch_stride).saturating_add(length)
                <= stride;
        let disjoint = batch_stride >= extent || batch_stride >= length && interleaved;
        if self.batches > 1 && !disjoint {
            return Err(Refusal::BatchOverlaps { given: batch_stride, needed: extent });
        }
        Ok(())
    }

    /// Checks the conditions of a grouped GEMM.
    fn check_groups(&self) -> Result<(), Refusal> {
        let wrong = [
            (
                T::GROUPED.is_empty(),
                "no kernel has these elements: use bf16 or f16 throughout, f32 as tf32, s8 into \
                 s32, or e4m3 or e5m2 into bf16",
            ),
            (self.batches != 1, "it cannot be a batch as well: leave `batches` 1"),
            (!self.a.is_row_major(), "A is column-major: make it row-major"),
            (!self.d.is_row_major(), "D is column-major: make it row-major"),
            (
                self.groups > Some(1) && self.b.batch_stride == 0,
                "the batch stride of B is 0, so all groups have the same B: set the stride, or \
                 leave the groups if one B is meant for all rows",
            ),
            (
                self.k == 0 || self.alpha == O::Acc::ZERO,
                "K or alpha is 0, so nothing is multiplied: leave the groups",
            ),
        ];
        match wrong.iter().find(|(is_wrong, _)| self.groups.is_some() && *is_wrong) {
            Some(&(_, reason)) => Err(Refusal::Groups { reason }),
            None => Ok(()),
        }
    }
}

/// Refuses a dimension that is too large.
pub(crate) fn at_most(dimension: &'static str, given: usize, limit: usize) -> Result<(), Refusal> {
    if given > limit { Err(Refusal::TooLarge { dimension, given, limit }) } else { Ok(()) }
}

/// The leading dimension of a matrix, for messages.
pub(crate) fn leading_dimension(matrix: &str) -> &'static str {
    match matrix {
        "A" => "the leading dimension of A",
        "B" => "the leading dimension of B",
        _ => "the leading dimension of D",
    }
}
