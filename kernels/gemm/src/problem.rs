//! A product as it is asked for, and whether it can be.

use std::marker::PhantomData;

use crate::kernels::{Activation, Kernel, Multiply, Number, Output};

use super::choose::{CACHE_LINE, Task, Way};
use super::layout::{Matrices, Operand, Repacked};
use super::plan::{CHUNK, piece};
use super::tuned::{Tuned, TunedProduct};
use super::{Choice, GemmDevice, GemmError, Layout, Order, Plan, Refusal};

/// The longest side: kernels count in 32 bits, and the driver takes grids up to this.
const LONGEST: usize = i32::MAX as usize;
/// The longest leading dimension of A and B: what 256 lines span is counted in 32 bits.
const LARGEST_STRIDE: usize = u32::MAX as usize / 512;
/// The largest batch, which is a dimension of the grid.
const LARGEST_BATCH: usize = 65_535;

/// D = f(alpha A x B + beta C + bias): what is to be computed, and where the matrices lie in their
/// buffers.
///
/// A and B have elements `T`; C, D and the bias have elements `O`:
///
/// | `T` | `O` | multiplied as | summed in | from |
/// | --- | --- | --- | --- | --- |
/// | `bf16` | `bf16`, `f32` | bf16 | `f32` | sm_80 |
/// | `f16` | `f16` | f16 | `f32` | sm_75 |
/// | `f16` | `f32` | f16 | `f32` | sm_80 |
/// | `f32` | `f32` | tf32: of the 23 bits behind the point the tensor cores cut off 13 | `f32` | sm_80 |
/// | `f64` | `f64` | f64 | `f64` | sm_80 |
/// | `i8` | `i32` | s8 | `i32`, which wraps around; the factors are integers too | sm_80 |
/// | `F8E4M3` | `bf16`, `f16`, `f32` | e4m3 | `f32` | sm_89 |
/// | `F8E5M2` | `bf16`, `f16`, `f32` | e5m2 | `f32` | sm_89 |
///
/// On sm_90a products go by `wgmma` where the lines of A and B start at multiples of 16 bytes (the
/// matrices of a batch too): of bf16 and f16 with A and B in any order; of tf32, s8, and, into 16
/// bits, of e4m3 and e5m2 with a row-major A and a column-major B. Where A or B lies otherwise,
/// they do with [copies](Self::copies_up_to). Large products of such matrices that `wgmma` does not
/// take, as on other GPUs from sm_90 on, go by `mma.sync` with tiles by tensor copies if the shared
/// memory is enough; what is left by `mma.sync` with tiles by `cp.async`.
///
/// Without a word, the matrices are row-major and dense, alpha is 1, there is no C, and f changes
/// nothing. As in BLAS,
/// - C is not read if beta is 0, and neither A nor B if alpha is 0: what is not a number there goes
///   nowhere;
/// - otherwise infinities, and what is not a number, are carried on, through activations too. There
///   is one exception: tf32 has 10 of the 23 bits of an `f32`'s fraction, so a NaN with all its set
///   bits among the lowest 13 is infinity. The NaNs of arithmetic, and `f32::NAN`, are none of
///   these.
///
/// C lies as D does, and may [be D](super::Operands::c_is_d). Sums are rounded once, to D.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm<T, O: Output = T> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) batches: usize,
    /// Groups of rows, each with a B of its own.
    pub(super) groups: Option<usize>,
    pub(super) a: Layout,
    pub(super) b: Layout,
    pub(super) d: Layout,
    pub(super) alpha: O::Sum,
    /// None where nothing was said of it, and there is no C.
    pub(super) beta: Option<O::Sum>,
    pub(super) bias_of_rows: bool,
    pub(super) activation: Activation,
    fast: bool,
    workspace: usize,
    copies: usize,
    choice: Option<Choice>,
    element: PhantomData<T>,
}

impl<T: Multiply<O>, O: Output> Gemm<T, O> {
    /// The product of an `m` x `k` matrix and a `k` x `n` matrix.
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
            alpha: O::Sum::ONE,
            beta: None,
            bias_of_rows: false,
            activation: Activation::Identity,
            fast: false,
            workspace: 0,
            copies: 0,
            choice: None,
            element: PhantomData,
        }
    }

    /// How A lies. Any leading dimension and start will do. Where lines start at multiples of 16
    /// bytes it is read fastest; then the buffer has the last line's last 16 bytes whole.
    pub fn a(self, layout: Layout) -> Self {
        Self { a: layout, ..self }
    }

    /// How B lies, likewise.
    pub fn b(self, layout: Layout) -> Self {
        Self { b: layout, ..self }
    }

    /// How D, and C, lie. Any leading dimension will do; D is stored fastest if its lines start at
    /// multiples of 16 bytes.
    pub fn d(self, layout: Layout) -> Self {
        Self { d: layout, ..self }
    }

    /// So many products of the same shape, whose matrices lie
    /// [`batch_stride`](Layout::batch_stride) apart. They are computed by one launch, as a
    /// dimension of its grid.
    pub fn batches(self, count: usize) -> Self {
        Self { batches: count, ..self }
    }

    /// The rows of A and D are in so many groups, each of which is multiplied by a B of its own:
    /// those lie [`batch_stride`](Layout::batch_stride) apart. Where groups end,
    /// [`group_ends`](super::Operands::group_ends) says: a buffer on the device, which is read
    /// when the product is computed, so that what finds it out may be in the same stream, and no
    /// host waits for it. A group has any number of rows, also none. Several groups need a
    /// batch stride of B: with one B for all, there is no need of groups.
    ///
    /// Such products are of bf16 and f16 into themselves, of f32 multiplied as tf32, of s8 into
    /// s32, and of e4m3 and e5m2 into bf16. A and D are row-major, K is not cut, and it is no
    /// batch. The [bias](super::Operands::bias) of columns is each group's own. On sm_90a they go
    /// by `wgmma` where the lines of A and B start at multiples of 16 bytes (B column-major,
    /// but of bf16 and f16), or with [copies](Self::copies_up_to); else, and on other GPUs from
    /// sm_80 on (e4m3 and e5m2: sm_89), by `mma.sync` in a kernel for whatever lines, which is
    /// slow.
    ///
    /// ```
    /// use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Layout, Operands};
    ///
    /// // A mixture of three experts: the first has two tokens, the second none, the third five, and one token is nobody's.
    /// let (tokens, n, k, experts) = (8, 16, 24, 3);
    /// let device = Simulator::default();
    /// let weights: Vec<bf16> = (0..experts * n * k).map(|i| bf16::from_f32((i / (n * k)) as f32 + 1.0)).collect();
    /// let (a, b) = (device.upload(&vec![bf16::ONE; tokens * k])?, device.upload(&weights)?);
    /// let (ends, mut d) = (device.upload(&[2u32, 2, 7])?, device.upload(&vec![bf16::ZERO; tokens * n])?);
    /// let gemm = Gemm::<bf16>::new(tokens, n, k).groups(experts).b(Layout::col_major(k).batch_stride(n * k));
    /// gemm.plan(&device)?.run(Operands::new(&device, &a, &b, &mut d).group_ends(&ends))?;
    /// let of_token = |token: usize| d[token * n].to_f32();
    /// assert_eq!([of_token(1), of_token(2), of_token(6), of_token(7)], [24.0, 72.0, 72.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn groups(self, count: usize) -> Self {
        Self { groups: Some(count), ..self }
    }

    /// The factor of the product.
    pub fn alpha(self, alpha: O::Sum) -> Self {
        Self { alpha, ..self }
    }

    /// The factor of C, which is [given](super::Operands::c), or [D
    /// itself](super::Operands::c_is_d).
    pub fn beta(self, beta: O::Sum) -> Self {
        Self { beta: Some(beta), ..self }
    }

    /// The bias, if there is one, has an element for each row of D, and not for each column.
    pub fn bias_of_rows(self) -> Self {
        Self { bias_of_rows: true, ..self }
    }

    /// What is done with each element, last of all.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// What is negative becomes zero, last of all.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// Sums of e4m3 and e5m2 may stay in the tensor cores' hands all along K: by `wgmma`, these add
    /// them up with 13 bits of fraction, and cut off the rest (`docs/NUMERICS.md`); else what
    /// 128 elements of K come to is added up in `f32`. It is faster, and cuBLAS's fast accumulation
    /// (`use_fast_accum` in PyTorch). Of other elements, of rows in groups, and of kernels on
    /// `mma.sync`, it changes nothing.
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
        Self { fast: true, ..self }
    }

    /// The product may use a workspace of up to so many sums: with that, K can be cut in parts, so
    /// that a product with few rows or columns keeps the whole GPU busy. How many it uses,
    /// [`Plan::workspace_len`] tells.
    pub fn workspace_up_to(self, elements: usize) -> Self {
        Self { workspace: elements, ..self }
    }

    /// A and B may be laid out anew first, in up to so many elements: with lines at multiples of
    /// 128 bytes, where they lie otherwise, or in the order that faster kernels take. How many
    /// it uses, [`Plan::copies_len`] tells. A matrix of odd lines is multiplied several times as
    /// fast so, if it is not small; and on sm_90a, tf32, s8, e4m3 and e5m2 come to `wgmma` in
    /// any order.
    ///
    /// ```
    /// use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Operands, Repacked};
    ///
    /// // Lines of 301 and of 201 elements.
    /// let (m, n, k) = (300, 201, 301);
    /// let device = Simulator::default();
    /// let plan = Gemm::<bf16>::new(m, n, k).copies_up_to(1 << 20).plan(&device)?;
    /// assert_eq!(plan.choice().unwrap().copied, Repacked::Both);
    /// assert_eq!(plan.copies_len(), 300 * 320 + 301 * 256);
    ///
    /// let (a, b) = (device.upload(&vec![bf16::ONE; m * k])?, device.upload(&vec![bf16::ONE; k * n])?);
    /// let (mut d, mut copies) = (device.upload(&vec![bf16::ZERO; m * n])?, device.upload(&vec![bf16::ZERO; plan.copies_len()])?);
    /// plan.run(Operands::new(&device, &a, &b, &mut d).copies(&mut copies))?;
    /// assert_eq!(d[m * n - 1], bf16::from_f32(301.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copies_up_to(self, elements: usize) -> Self {
        Self { copies: elements, ..self }
    }

    /// By this kernel, in so many parts, of such copies. Whatever workspace, and room for copies,
    /// this needs is meant to be given.
    pub fn choose(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }

    /// By what was measured to be the fastest for this product, if it was. Of rows in groups
    /// nothing is kept.
    pub fn tuned(self, tuned: &Tuned) -> Self {
        if self.groups.is_some() {
            return self;
        }
        let choice = tuned.find(&self.tuned_product(Choice::default())).cloned();
        Self { choice: choice.or(self.choice), ..self }
    }

    /// This product with a choice, as [`Tuned`] keeps it.
    pub fn tuned_product(&self, choice: Choice) -> TunedProduct {
        let Self { m, n, k, batches, fast, .. } = *self;
        TunedProduct {
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

    /// Checks what can be checked without the buffers, and chooses a kernel.
    pub fn plan<D: GemmDevice>(&self, device: &D) -> Result<Plan<T, O>, GemmError<D::Error>> {
        self.check()?;
        let way = if self.multiplies() { Some(self.way(device)?) } else { None };
        Ok(Plan { gemm: self.row_major(), transposed: self.d.order == Order::ColMajor, way })
    }

    /// Every kernel that computes this product on a device, with every number of parts that makes
    /// sense, and with every copy that does and has room. None where [`plan`](Self::plan)
    /// refuses it.
    pub fn choices<D: GemmDevice>(&self, device: &D) -> Vec<Choice> {
        if self.check().is_err() {
            return Vec::new();
        }
        let task = self.task(device.multiprocessors());
        task.in_parts(self.ways(device, self.copies)).map(Way::choice).collect()
    }

    /// Whether A and B are multiplied at all.
    fn multiplies(&self) -> bool {
        self.alpha != O::Sum::ZERO && self.k != 0 && self.elements_of_d() != 0
    }

    /// Elements of D, in all products.
    pub(super) fn elements_of_d(&self) -> usize {
        if self.groups == Some(0) { 0 } else { self.m * self.n * self.batches }
    }

    /// The rows of a product, and how many products: groups of rows are as a batch of their average
    /// size.
    fn like_a_batch(&self) -> (usize, usize) {
        self.groups
            .map_or((self.m, self.batches), |groups| (self.m.div_ceil(groups.max(1)), groups))
    }

    /// The same product with a row-major D: that of a column-major one, transposed, is B's
    /// transpose times A's.
    fn row_major(&self) -> Self {
        match self.d.order {
            Order::RowMajor => self.clone(),
            Order::ColMajor => Self {
                m: self.n,
                n: self.m,
                a: self.b.transposed(),
                b: self.a.transposed(),
                d: self.d.transposed(),
                bias_of_rows: !self.bias_of_rows,
                ..self.clone()
            },
        }
    }

    /// Where A, B and D lie.
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

    pub(super) fn task(&self, multiprocessors: u32) -> Task {
        let row_major = self.row_major();
        let [a, b, d] = row_major.matrices();
        let has_whole_lines = [a, b].map(|matrix| matrix.are_aligned(CACHE_LINE / size_of::<T>()));
        let (m, batches) = row_major.like_a_batch();
        let Self { n, k, groups, .. } = row_major;
        let bytes = [size_of::<T>(), size_of::<O>(), size_of::<O::Sum>()];
        let may_be_cut = groups.is_none();
        let elements = [a, b]
            .map(|matrix| matrix.different() as f64 * matrix.size.0 as f64 * matrix.size.1 as f64);
        let d_is_mapped = row_major.d_is_mapped(d);
        let products = T::PRODUCTS;
        Task {
            m,
            n,
            k,
            batches,
            bytes,
            products,
            multiprocessors,
            may_be_cut,
            has_whole_lines,
            elements,
            d_is_mapped,
        }
    }

    /// Whether there is a tensor map of D.
    pub(super) fn d_is_mapped(&self, d: Matrices) -> bool {
        let elements = CHUNK / size_of::<O>();
        self.groups.is_none() && self.n.is_multiple_of(elements) && d.are_aligned(elements)
    }

    /// The ways to compute it on a device, in one part: each kernel, with A and B as they lie, or
    /// copied first, in up to so many elements.
    fn ways<D: GemmDevice>(&self, device: &D, copies: usize) -> impl Iterator<Item = Way> {
        let row_major = self.row_major();
        let all = if self.groups.is_some() { T::GROUPED } else { T::KERNELS };
        let fast = self.fast;
        let may =
            move |kernel: &&Kernel| device.has(kernel.info) && (fast || !kernel.fast_accumulation);
        let kernels = all.iter().filter(may);
        let ways =
            kernels.flat_map(|kernel| Repacked::ALL.map(|copied| Way { kernel, parts: 1, copied }));
        ways.filter(move |way| {
            let Way { kernel, copied, .. } = *way;
            let matrices = row_major.factors(kernel, copied);
            let as_they_are = row_major.factors(kernel, Repacked::None);
            let fits = |of: Operand, matrix: Matrices| {
                let mapped = !kernel.uses_tma || matrix.are_different();
                let whole = matrix.have_whole_pieces(piece::<T>(kernel));
                // Copied to another order, lines are as far apart as there were lines.
                kernel.takes_operand(of, matrix.layout.order)
                    && mapped
                    && whole
                    && matrix.are_aligned(kernel.alignment / size_of::<T>())
                    && matrix.layout.stride <= LARGEST_STRIDE
            };
            let makes_sense = |of: Operand| {
                let matrix = as_they_are[of as usize];
                kernel.orders.is_some()
                    && !(fits(of, matrix) && matrix.are_aligned(CACHE_LINE / size_of::<T>()))
            };
            Operand::BOTH
                .iter()
                .all(|&of| fits(of, matrices[of as usize]) && (!copied.has(of) || makes_sense(of)))
                && row_major.copies_len(kernel, copied) <= copies
        })
    }

    /// A and B as a kernel is given them: as they lie, or copied to a buffer, A before B, in the
    /// order that the kernel takes.
    pub(super) fn factors(&self, kernel: &Kernel, copied: Repacked) -> [Matrices; 2] {
        let [a, b, _] = self.matrices();
        let copy = |of: Operand, matrix: Matrices, start| match kernel.orders {
            Some(orders) if copied.has(of) => {
                matrix.copied(orders.get(of), CACHE_LINE / size_of::<T>(), start)
            }
            _ => matrix,
        };
        let a = copy(Operand::A, a, 0);
        [a, copy(Operand::B, b, if copied.has(Operand::A) { a.copies_len() } else { 0 })]
    }

    /// Elements that copies for a kernel take.
    pub(super) fn copies_len(&self, kernel: &Kernel, copied: Repacked) -> usize {
        let factors = self.factors(kernel, copied).into_iter().zip(Operand::BOTH);
        factors
            .filter(|&(_, of)| copied.has(of))
            .fold(0, |sum, (matrix, _)| sum.saturating_add(matrix.copies_len()))
    }

    /// The elements, as [`Tuned`] has them: those of A and B, and, if they are others, those of D.
    pub fn name() -> String {
        if T::NAME == O::NAME { T::NAME.to_owned() } else { format!("{}-{}", T::NAME, O::NAME) }
    }

    /// Elements and orders, for messages.
    fn what(&self) -> String {
        let [a, b, d] = self.matrices().map(|matrix| matrix.layout.order);
        format!("{} x {} {} into {} D", a, b, Self::name(), d)
    }

    fn way<D: GemmDevice>(&self, device: &D) -> Result<Way, Refusal> {
        let task = self.task(device.multiprocessors());
        let Some(choice) = &self.choice else {
            let best = task.best(self.ways(device, self.copies), self.workspace);
            return best.ok_or_else(|| Refusal::NoKernel { what: self.what() });
        };
        let Choice { kernel: name, parts, copied } = choice;
        let way = self
            .ways(device, usize::MAX)
            .find(|way| way.kernel.name == name && way.copied == *copied);
        let way = way.ok_or_else(|| Refusal::NoSuchKernel {
            name: Choice { parts: 1, ..choice.clone() }.to_string(),
            what: self.what(),
            at_hand: self.ways(device, self.copies).map(|way| way.choice().to_string()).collect(),
        })?;
        let kernel = way.kernel;
        let refused = |reason: String| Refusal::Parts {
            kernel: kernel.name,
            k: self.k,
            parts: *parts,
            reason,
        };
        if *parts == 0 {
            return Err(refused("one is the least".to_owned()));
        }
        if self.groups.is_some() && *parts > 1 {
            return Err(refused("rows in groups are multiplied in one part".to_owned()));
        }
        if *parts > LARGEST_BATCH {
            return Err(refused(format!("{LARGEST_BATCH} is the most")));
        }
        let whole = self.k.div_ceil(task.k_part(kernel, *parts));
        if whole != *parts {
            return Err(refused(format!(
                "parts of whole steps of {} would be {whole}",
                kernel.tile.k
            )));
        }
        Ok(Way { parts: *parts, ..way })
    }

    fn check(&self) -> Result<(), Refusal> {
        let at_most = |side, given, limit| {
            if given > limit { Err(Refusal::TooLarge { side, given, limit }) } else { Ok(()) }
        };
        at_most("M", self.m, LONGEST)?;
        at_most("N", self.n, LONGEST)?;
        at_most("K", self.k, LONGEST)?;
        at_most("the number of products of a batch", self.batches, LARGEST_BATCH)?;
        self.check_groups()?;
        at_most("the number of groups", self.groups.unwrap_or(0), LARGEST_BATCH)?;
        let (m, n) = (self.row_major().m, self.row_major().n);
        at_most("M times N / 64, as many as blocks can be,", m * n.div_ceil(64), LONGEST)?;
        let of_floats = !matches!(self.activation, Activation::Identity | Activation::Relu);
        if of_floats && !O::Sum::HAS_EXP {
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
            if matrix == "D" {
                at_most("the leading dimension of D", stride, u32::MAX as usize)?;
                continue;
            }
            let side = if matrix == "A" {
                "the leading dimension of A"
            } else {
                "the leading dimension of B"
            };
            at_most(side, stride, LARGEST_STRIDE)?;
        }
        let (lines, length) = self.d.lines((self.m, self.n));
        let Layout { stride, batch_stride, .. } = self.d;
        let one_behind_the_other =
            lines.saturating_sub(1).saturating_mul(stride).saturating_add(length);
        let interleaved =
            self.batches.saturating_sub(1).saturating_mul(batch_stride).saturating_add(length)
                <= stride;
        let apart = batch_stride >= one_behind_the_other || batch_stride >= length && interleaved;
        if self.batches > 1 && !apart {
            return Err(Refusal::BatchOverlaps {
                given: batch_stride,
                needed: one_behind_the_other,
            });
        }
        Ok(())
    }

    /// Whether rows in groups are multiplied so.
    fn check_groups(&self) -> Result<(), Refusal> {
        let wrong = [
            (
                T::GROUPED.is_empty(),
                "no kernel multiplies these elements so: there are such of bf16 and f16 into themselves, of f32 as tf32, of s8 into s32, and of e4m3 and e5m2 into bf16",
            ),
            (self.batches != 1, "they are of one product, not of a batch: leave `batches` 1"),
            (!self.a.is_row_major(), "rows of A are not lines: make A row-major"),
            (!self.d.is_row_major(), "rows of D are not lines: make D row-major"),
            (
                self.groups > Some(1) && self.b.batch_stride == 0,
                "all would have the same B, as its batch stride is 0: say how far apart the groups' matrices lie, or, if one B is meant for all rows, leave the groups",
            ),
            (
                self.k == 0 || self.alpha == O::Sum::ZERO,
                "nothing is multiplied, as K or alpha is 0: leave the groups",
            ),
        ];
        match wrong.iter().find(|(is_wrong, _)| self.groups.is_some() && *is_wrong) {
            Some(&(_, reason)) => Err(Refusal::Groups { reason }),
            None => Ok(()),
        }
    }
}
