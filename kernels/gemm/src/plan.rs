//! A product that was checked, with its kernel, and its launches.

use std::borrow::{Borrow, BorrowMut};

use crate::kernels::repack::Repack;
use crate::kernels::{Buffers, GemmLaunch, Kernel, Multiply, Number, Output};
use crate::parts::{MatrixArgs, ProblemShape};
use ptx_matrix::element::Element;
use ptx_matrix::launch::Device;

use super::choose::Way;
use super::layout::{Matrices, Operand};
use super::slices::OnSlices;
use super::{Choice, Gemm, GemmDevice, GemmError, Refusal};

/// Bytes that are copied at a time where lines start at multiples of them, the last ones too.
pub(super) const CHUNK: usize = 16;

/// Elements of a line of A or B that a kernel reads at a time, the last ones too.
pub(super) fn piece<T>(kernel: &Kernel) -> usize {
    if kernel.alignment == CHUNK { CHUNK / size_of::<T>() } else { 1 }
}

/// A [`Gemm`] that was checked, and the kernel that computes it. It can be run any number of times,
/// also on other devices of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<T, O: Output = T> {
    /// With a row-major D.
    pub(super) gemm: Gemm<T, O>,
    /// Whether the caller's D is column-major.
    pub(super) transposed: bool,
    /// None where nothing is multiplied.
    pub(super) way: Option<Way>,
}

/// Where a product is computed, and its buffers.
#[allow(missing_debug_implementations, reason = "buffers of any device")]
pub struct Operands<'a, D: Device, T: Element, O: Output = T> {
    device: &'a D,
    a: &'a D::Buffer<T>,
    b: &'a D::Buffer<T>,
    c: Option<C<'a, D::Buffer<O>>>,
    bias: Option<&'a D::Buffer<O>>,
    ends: Option<&'a D::Buffer<u32>>,
    d: &'a mut D::Buffer<O>,
    workspace: Option<&'a mut D::Buffer<O::Sum>>,
    copies: Option<&'a mut D::Buffer<T>>,
}

/// Where C is.
enum C<'a, B: ?Sized> {
    /// In a buffer of its own.
    Apart(&'a B),
    /// Where D is.
    D,
}

impl<'a, D: Device, T: Element, O: Output> Operands<'a, D, T, O> {
    /// A, B and D of a device.
    pub fn new(
        device: &'a D,
        a: &'a D::Buffer<T>,
        b: &'a D::Buffer<T>,
        d: &'a mut D::Buffer<O>,
    ) -> Self {
        Self { device, a, b, c: None, bias: None, ends: None, d, workspace: None, copies: None }
    }

    /// C, which lies as D does. It needs a factor: [`Gemm::beta`].
    pub fn c(self, c: &'a D::Buffer<O>) -> Self {
        Self { c: Some(C::Apart(c)), ..self }
    }

    /// C is D: D = f(alpha A x B + beta D + bias), in place. It needs a factor: [`Gemm::beta`].
    ///
    /// Any kernel can do it, in parts of K and with batches, groups and copies too. Each element of
    /// D is read before it is written, and what is around D stays.
    ///
    /// ```
    /// use ptx_matrix::{launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Operands};
    ///
    /// // Gradients of three steps are accumulated.
    /// let device = Simulator::default();
    /// let (a, b) = (device.upload(&[1.0f32; 20 * 24])?, device.upload(&[0.5f32; 24 * 16])?);
    /// let mut gradient = device.upload(&[1.0f32; 20 * 16])?;
    /// let plan = Gemm::<f32>::new(20, 16, 24).beta(1.0).plan(&device)?;
    /// for _ in 0..3 {
    ///     plan.run(Operands::new(&device, &a, &b, &mut gradient).c_is_d())?;
    /// }
    /// assert_eq!(gradient, [1.0 + 3.0 * 12.0; 20 * 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn c_is_d(self) -> Self {
        Self { c: Some(C::D), ..self }
    }

    /// What is added to each row of D, an element for each column; or, if [so asked
    /// for](Gemm::bias_of_rows), to each column, an element for each row. Rows in
    /// [groups](Gemm::groups) have a bias for each group, of an element for each column, one behind
    /// the other.
    pub fn bias(self, bias: &'a D::Buffer<O>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// The row behind the last of each [group](Gemm::groups), which begins where the one before
    /// ends: as many as there are groups. The rows behind the last group are of none, and D
    /// keeps what it has there.
    ///
    /// They are read when the product is computed. An end before the one before it is taken for
    /// that, and one behind the last row for that: whatever the ends are, nothing but D is
    /// written.
    pub fn group_ends(self, ends: &'a D::Buffer<u32>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Room for [`Plan::workspace_len`] sums, whatever they are. What is in it afterwards means
    /// nothing.
    pub fn workspace(self, workspace: &'a mut D::Buffer<O::Sum>) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Room for copies of A and B, of [`Plan::copies_len`] elements, whatever they are. What is in
    /// it afterwards means nothing.
    pub fn copies(self, copies: &'a mut D::Buffer<T>) -> Self {
        Self { copies: Some(copies), ..self }
    }
}

impl<T: Multiply<O>, O: Output> Plan<T, O> {
    /// The kernel, what is copied for it first, and the parts that it cuts K in; none where A and B
    /// are not multiplied.
    pub fn choice(&self) -> Option<Choice> {
        self.way.map(Way::choice)
    }

    /// How many sums (`f32`; of f64, `f64`; of s8, `i32`) of workspace it takes; 0 if it takes
    /// none.
    pub fn workspace_len(&self) -> usize {
        let task = self.gemm.task(0);
        self.way.map_or(0, |way| task.workspace(way.parts))
    }

    /// How many elements copies of A and B take; 0 if they are multiplied as they lie.
    pub fn copies_len(&self) -> usize {
        self.way.map_or(0, |way| self.gemm.copies_len(way.kernel, way.copied))
    }

    /// Checks the buffers and computes the product: at once, or, on a device that is a stream, when
    /// its turn comes. No memory is taken. Returns the reports of the launches: of copies, if
    /// there are any; then one, or, where K is cut, two; where D has no elements, none.
    pub fn run<D: GemmDevice>(
        &self,
        operands: Operands<'_, D, T, O>,
    ) -> Result<Vec<D::Report>, GemmError<D::Error>> {
        self.check(&operands)?;
        let gemm = &self.gemm;
        if gemm.elements_of_d() == 0 {
            return Ok(Vec::new());
        }
        let Operands { device, a, b, c, bias, ends, d, workspace, copies } = operands;
        let (a, b) = if self.transposed { (b, a) } else { (a, b) };
        let none = device.empty::<O>().map_err(GemmError::Device)?;
        let no_ends = device.empty::<u32>().map_err(GemmError::Device)?;
        let mut no_d = device.empty::<O>().map_err(GemmError::Device)?;
        let mut no_partials = device.empty::<O::Sum>().map_err(GemmError::Device)?;
        let mut no_copies = device.empty::<T>().map_err(GemmError::Device)?;
        let partials = match workspace {
            Some(workspace) if self.workspace_len() > 0 => workspace,
            _ => no_partials.borrow_mut(),
        };
        let on = OnSlices(device);
        let (mut d, mut partials, mut no_d) =
            (on.write(d), on.write(partials), on.write(no_d.borrow_mut()));
        let mut copies = on.write(copies.unwrap_or_else(|| no_copies.borrow_mut()));
        let (a, b, bias) = (on.read(a), on.read(b), on.read(bias.unwrap_or(none.borrow())));
        let group_ends = &on.read(ends.unwrap_or(no_ends.borrow()));
        let c = match c {
            Some(C::Apart(c)) => on.read(c),
            // SAFETY: in all kernels, the threads that store a tile of D read C's elements there
            // before: the same thread does, or a TMA store does behind a sync of these
            // threads. D is borrowed mutably, and nothing else is in its memory.
            Some(C::D) => unsafe { d.in_place() },
            None => on.read(none.borrow()),
        };
        let (c, bias) = (&c, &bias);
        let mut launch = self.launch(device.multiprocessors());
        let mut reports = Vec::new();
        if let Some(Way { kernel, copied, .. }) = self.way {
            let (as_they_lie, operands) = (gemm.matrices(), gemm.factors(kernel, copied));
            let [of_a, of_b] = Operand::BOTH.map(|of| match copied.has(of) {
                true => {
                    repack(as_they_lie[of as usize], operands[of as usize], CHUNK / size_of::<T>())
                }
                false => Repack::default(),
            });
            if !copied.is_none() {
                reports.push(
                    T::repack(&on, (&a, of_a), (&b, of_b), &mut copies)
                        .map_err(GemmError::Device)?,
                );
            }
            let (a, b) = (
                if copied.has(Operand::A) { &copies } else { &a },
                if copied.has(Operand::B) { &copies } else { &b },
            );
            let (d, no_d, partials) = (&mut d, &mut no_d, &mut partials);
            let buffers = Buffers { a, b, c, bias, group_ends, d, no_d, partials };
            reports.push(T::launch(&on, kernel, buffers, &launch)?);
        } else {
            launch.splits = 0;
        }
        if launch.splits != 1 {
            let (d, no_d, partials) = (&mut d, &mut no_d, &mut partials);
            let buffers = Buffers { a: &a, b: &b, c, bias, group_ends, d, no_d, partials };
            reports.push(T::reduce(&on, buffers, &launch).map_err(GemmError::Device)?);
        }
        Ok(reports)
    }

    fn check<D: GemmDevice>(&self, operands: &Operands<'_, D, T, O>) -> Result<(), Refusal> {
        let at_least = |what, given, needed| {
            if given < needed { Err(Refusal::TooShort { what, given, needed }) } else { Ok(()) }
        };
        let Operands { device, a, b, c, bias, ends, d, workspace, copies } = operands;
        let gemm = &self.gemm;
        let [of_a, of_b, of_d] = gemm.matrices();
        if let Some(Way { kernel, copied, .. }) = self.way {
            let needed = |of: Operand, matrix: Matrices| {
                matrix.extent(if copied.has(of) { 1 } else { piece::<T>(kernel) })
            };
            let needed = [needed(Operand::A, of_a), needed(Operand::B, of_b)];
            let [of_a, of_b] = if self.transposed { [needed[1], needed[0]] } else { needed };
            at_least("A", device.slice(*a).1, of_a)?;
            at_least("B", device.slice(*b).1, of_b)?;
        }
        at_least("D", device.slice(&**d).1, of_d.extent(1))?;
        match (c, gemm.beta) {
            (Some(_), None) => return Err(Refusal::NoBeta),
            (None, Some(beta)) if beta != O::Sum::ZERO => {
                return Err(Refusal::NoC { beta: beta.to_string() });
            }
            (Some(C::Apart(c)), Some(beta)) if beta != O::Sum::ZERO => {
                at_least("C", device.slice(*c).1, of_d.extent(1))?;
            }
            _ => {}
        }
        if let Some(bias) = bias {
            let of_cols = gemm.n * gemm.groups.unwrap_or(1);
            at_least(
                "the bias",
                device.slice(*bias).1,
                if gemm.bias_of_rows { gemm.m } else { of_cols },
            )?;
        }
        match (gemm.groups, ends) {
            (None, None) => {}
            (None, Some(_)) => {
                let reason =
                    "there are ends, and the product has no groups: say how many, or give no ends";
                return Err(Refusal::Groups { reason });
            }
            (Some(_), None) => {
                let reason = "nothing says where they end: give `group_ends`";
                return Err(Refusal::Groups { reason });
            }
            (Some(groups), Some(ends)) => {
                let given = device.slice(*ends).1;
                if given != groups {
                    return Err(Refusal::GroupEnds { given, groups });
                }
            }
        }
        let workspace = workspace.as_ref().map_or(0, |workspace| device.slice(&**workspace).1);
        at_least("the workspace", workspace, self.workspace_len())?;
        let copies = copies.as_ref().map_or(0, |copies| device.slice(&**copies).1);
        at_least("the room for copies of A and B", copies, self.copies_len())
    }

    fn launch(&self, sms: u32) -> GemmLaunch<O::Sum> {
        let Gemm { m, n, k, batches, groups, alpha, beta, bias_of_rows, activation, .. } =
            self.gemm;
        let splits = self.way.map_or(1, |way| way.parts);
        let step = self.way.map_or(1, |way| way.kernel.tile.k);
        let [a, b, d] = self.gemm.matrices();
        let tma_store = self.gemm.d_is_mapped(d);
        let [a, b] = self.way.map_or([a, b], |way| self.gemm.factors(way.kernel, way.copied));
        let [a, b, d] = [a, b, d].map(|matrix| MatrixArgs {
            offset: matrix.layout.start,
            batch_stride: matrix.layout.batch_stride,
            ld: matrix.layout.stride_of(matrix.size) as u32,
            row_major: matrix.layout.is_row_major(),
        });
        let shape = ProblemShape {
            m: m as u32,
            n: n as u32,
            k: k as u32,
            batches: batches as u32,
            k_per_split: k.div_ceil(splits).next_multiple_of(step) as u32,
            cluster_along_n: self.way.is_some_and(|way| self.gemm.task(sms).across(way)),
        };
        GemmLaunch {
            shape,
            splits: splits as u32,
            groups: groups.unwrap_or(0) as u32,
            a,
            b,
            d,
            alpha,
            beta: beta.unwrap_or(O::Sum::ZERO),
            bias_per_row: bias_of_rows,
            activation,
            tma_store,
            sms,
        }
    }
}

/// How a matrix is repacked: with lines that end at a multiple of so many elements.
fn repack(from: Matrices, to: Matrices, multiple: usize) -> Repack {
    let (lines, length) = from.layout.lines(from.size);
    Repack {
        offset: from.layout.start,
        offset_to: to.layout.start,
        batch_stride: from.layout.batch_stride,
        batch_stride_to: to.layout.batch_stride,
        count: from.different() as u32,
        lines: lines as u32,
        length: length as u32,
        length_to: to.layout.lines(to.size).1.next_multiple_of(multiple) as u32,
        ld: from.layout.stride_of(from.size) as u32,
        ld_to: to.layout.stride as u32,
        transposes: from.layout.order != to.layout.order,
    }
}
