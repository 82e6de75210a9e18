//! A product that was checked, with its kernel, and its launches.

use std::borrow::{Borrow, BorrowMut};

use crate::kernels::{Buffers, Kernel, Multiply, Number, Numbers, Output, Relaid};
use ptx_matrix::Element;
use ptx_matrix::launch::Device;

use super::choose::Way;
use super::layout::Matrices;
use super::slices::OnSlices;
use super::{Choice, Gemm, GemmDevice, GemmError, Refusal};

/// Bytes that are copied at a time where lines start at multiples of them, the last ones too.
pub(super) const CHUNK: usize = 16;

/// Elements of a line of A or B that a kernel reads at a time, the last ones too.
pub(super) fn piece<T>(kernel: &Kernel) -> usize {
    if kernel.alignment == CHUNK { CHUNK / size_of::<T>() } else { 1 }
}

/// A [`Gemm`] that was checked, and the kernel that computes it. It can be run any number of times, also on other devices of the
/// same kind.
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
    pub fn new(device: &'a D, a: &'a D::Buffer<T>, b: &'a D::Buffer<T>, d: &'a mut D::Buffer<O>) -> Self {
        Self { device, a, b, c: None, bias: None, ends: None, d, workspace: None, copies: None }
    }

    /// C, which lies as D does. It needs a factor: [`Gemm::beta`].
    pub fn c(self, c: &'a D::Buffer<O>) -> Self {
        Self { c: Some(C::Apart(c)), ..self }
    }

    /// C is D: D = f(alpha A x B + beta D + bias), in place. It needs a factor: [`Gemm::beta`].
    ///
    /// Any kernel can do it, in parts of K and with batches, groups and copies too. Each element of D is read
    /// before it is written, and what is around D stays.
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

    /// What is added to each row of D, an element for each column; or, if [so asked for](Gemm::bias_of_rows), to each column, an
    /// element for each row. Rows in [groups](Gemm::groups) have a bias for each group, of an element for each column, one behind the other.
    pub fn bias(self, bias: &'a D::Buffer<O>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// The row behind the last of each [group](Gemm::groups), which begins where the one before ends: as many as there are groups. The rows
    /// behind the last group are of none, and D keeps what it has there.
    ///
    /// They are read when the product is computed. An end before the one before it is taken for that, and one behind the last row for that:
    /// whatever the ends are, nothing but D is written.
    pub fn group_ends(self, ends: &'a D::Buffer<u32>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Room for [`Plan::workspace_len`] sums, whatever they are. What is in it afterwards means nothing.
    pub fn workspace(self, workspace: &'a mut D::Buffer<O::Sum>) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Room for copies of A and B, of [`Plan::copies_len`] elements, whatever they are. What is in it afterwards means nothing.
    pub fn copies(self, copies: &'a mut D::Buffer<T>) -> Self {
        Self { copies: Some(copies), ..self }
    }
}

impl<T: Multiply<O>, O: Output> Plan<T, O> {
    /// The kernel, what is copied for it first, and the parts that it cuts K in; none where A and B are not multiplied.
    pub fn choice(&self) -> Option<Choice> {
        self.way.map(Way::choice)
    }

    /// How many sums (`f32`; of f64, `f64`; of s8, `i32`) of workspace it takes; 0 if it takes none.
    pub fn workspace_len(&self) -> usize {
        let task = self.gemm.task(0);
        self.way.map_or(0, |way| task.workspace(way.parts))
    }

    /// How many elements copies of A and B take; 0 if they are multiplied as they lie.
    pub fn copies_len(&self) -> usize {
        self.way.map_or(0, |way| self.gemm.copies_len(way.kernel, way.copied))
    }

    /// Checks the buffers and computes the product: at once, or, on a device that is a stream, when its turn comes. No memory is
    /// taken. Returns the reports of the launches: of copies, if there are any; then one, or, where K is cut, two; where D has no elements, none.
    pub fn run<D: GemmDevice>(&self, operands: Operands<'_, D, T, O>) -> Result<Vec<D::Report>, GemmError<D::Error>> {
        self.check(&operands)?;
        let gemm = &self.gemm;
        if gemm.elements_of_d() == 0 {
            return Ok(Vec::new());
        }
        let Operands { device, a, b, c, bias, ends, d, workspace, copies } = operands;
        let (a, b) = if self.transposed { (b, a) } else { (a, b) };
        let none = device.empty::<O>().map_err(GemmError::Device)?;
        let mut no_d = device.empty::<O>().map_err(GemmError::Device)?;
        let mut no_sums = device.empty::<O::Sum>().map_err(GemmError::Device)?;
        let mut no_copies = device.empty::<T>().map_err(GemmError::Device)?;
        let sums = match workspace {
            Some(workspace) if self.workspace_len() > 0 => workspace,
            _ => no_sums.borrow_mut(),
        };
        let on = OnSlices(device);
        let (mut d, mut sums, mut no_d) = (on.write(d), on.write(sums), on.write(no_d.borrow_mut()));
        let mut copies = on.write(copies.unwrap_or_else(|| no_copies.borrow_mut()));
        let (a, b, bias) = (on.read(a), on.read(b), on.read(bias.unwrap_or(none.borrow())));
        let c = match c {
            Some(C::Apart(c)) => on.read(c),
            // SAFETY: in all kernels, an element of C is read by a thread of those that finish the tile of D which
            // has it, and that tile is written behind it: by the same thread, or by a copy that these threads have
            // met before. D is borrowed mutably, and nothing else is in its memory.
            Some(C::D) => unsafe { d.in_place() },
            None => on.read(none.borrow()),
        };
        let (c, bias) = (&c, &bias);
        let mut numbers = self.numbers(device.multiprocessors());
        let mut reports = Vec::new();
        if let Some(Way { kernel, copied, .. }) = self.way {
            let (as_they_lie, factors) = (gemm.matrices(), gemm.factors(kernel, copied));
            let relaid = [0, 1].map(|side| match copied[side] {
                true => relaid(as_they_lie[side], factors[side], CHUNK / size_of::<T>()),
                false => Relaid::default(),
            });
            if copied != [false; 2] {
                reports.push(T::lay_out(&on, [&a, &b], &mut copies, relaid).map_err(GemmError::Device)?);
            }
            let (a, b) = (if copied[0] { &copies } else { &a }, if copied[1] { &copies } else { &b });
            let buffers = Buffers { a, b, c, bias, d: &mut d, no_d: &mut no_d, sums: &mut sums };
            reports.push(match (gemm.groups, ends) {
                (Some(groups), Some(ends)) => {
                    T::launch_groups(&on, kernel, buffers, (&on.read(ends), groups as u32), &numbers)?
                }
                _ => T::launch(&on, kernel, buffers, &numbers)?,
            });
        } else {
            numbers.parts = 0;
        }
        if numbers.parts != 1 {
            let buffers = Buffers { a: &a, b: &b, c, bias, d: &mut d, no_d: &mut no_d, sums: &mut sums };
            reports.push(T::add_parts(&on, buffers, &numbers).map_err(GemmError::Device)?);
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
            let needed =
                |side: usize, matrix: Matrices| matrix.extent(if copied[side] { 1 } else { piece::<T>(kernel) });
            let needed = [needed(0, of_a), needed(1, of_b)];
            let [of_a, of_b] = if self.transposed { [needed[1], needed[0]] } else { needed };
            at_least("A", device.slice(*a).1, of_a)?;
            at_least("B", device.slice(*b).1, of_b)?;
        }
        at_least("D", device.slice(&**d).1, of_d.extent(1))?;
        match (c, gemm.beta) {
            (Some(_), None) => return Err(Refusal::NoBeta),
            (None, Some(beta)) if beta != O::Sum::ZERO => return Err(Refusal::NoC { beta: beta.to_string() }),
            (Some(C::Apart(c)), Some(beta)) if beta != O::Sum::ZERO => {
                at_least("C", device.slice(*c).1, of_d.extent(1))?;
            }
            _ => {}
        }
        if let Some(bias) = bias {
            let of_cols = gemm.n * gemm.groups.unwrap_or(1);
            at_least("the bias", device.slice(*bias).1, if gemm.bias_of_rows { gemm.m } else { of_cols })?;
        }
        match (gemm.groups, ends) {
            (None, None) => {}
            (None, Some(_)) => {
                let reason = "there are ends, and the product has no groups: say how many, or give no ends";
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

    fn numbers(&self, multiprocessors: u32) -> Numbers<O::Sum> {
        let Gemm { m, n, k, batches, alpha, beta, bias_of_rows, activation, .. } = self.gemm;
        let parts = self.way.map_or(1, |way| way.parts);
        let task = self.gemm.task(multiprocessors);
        let across = self.way.is_some_and(|way| task.across(way));
        let step = self.way.map_or(1, |way| way.kernel.tile[2]);
        let [a, b, d] = self.gemm.matrices();
        let [a, b] = self.way.map_or([a, b], |way| self.gemm.factors(way.kernel, way.copied));
        let matrices = [a, b, d];
        Numbers {
            sides: [m, n, k].map(|side| side as u32),
            k_part: k.div_ceil(parts).next_multiple_of(step) as u32,
            parts: parts as u32,
            batches: batches as u32,
            strides: matrices.map(|matrix| matrix.layout.stride_of(matrix.size) as u32),
            starts: matrices.map(|matrix| matrix.layout.start),
            batch_strides: matrices.map(|matrix| matrix.layout.batch_stride),
            alpha,
            beta: beta.unwrap_or(O::Sum::ZERO),
            row_major: [a, b].map(|matrix| matrix.layout.is_row_major()),
            bias_of_rows,
            activation,
            across,
            d_is_mapped: self.gemm.d_is_mapped(d),
            multiprocessors,
        }
    }
}

/// Matrices as they lie, and as they are to lie: with lines that end at a multiple of so many elements.
fn relaid(from: Matrices, to: Matrices, multiple: usize) -> Relaid {
    let (lines, length) = from.layout.lines(from.size);
    Relaid {
        count: from.different() as u32,
        lines: [lines, length].map(|side| side as u32),
        transposes: from.layout.order != to.layout.order,
        strides: [from.layout.stride_of(from.size), to.layout.stride].map(|stride| stride as u32),
        starts: [from, to].map(|matrix| matrix.layout.start),
        batch_strides: [from, to].map(|matrix| matrix.layout.batch_stride),
        length: to.layout.lines(to.size).1.next_multiple_of(multiple) as u32,
    }
}
