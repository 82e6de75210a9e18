//! `mma` and `mma.sp` of a warp, on all 32 lanes at once.
//!
//! There are hundreds of forms. A [`MmaDescription`] describes one by values. Only its `compute` is
//! generic, over the element types. So little is compiled for each form.

use crate::element::Element;
use crate::engine::{
    arithmetic::{
        MmaArithmetic, ScaledMmaArithmetic,
        matrix::{Offsets, Register, gathered, scatter},
        operands::{Matrix, Operand, check_operands, remember_result},
    },
    record::note_collective,
    warps::context::simulated_gpu,
};
use crate::fragment::{
    Fragment, FragmentShape, Role, RoleA, RoleB, RoleC, ScaleA, ScaleB, ScaledKind, Shape,
};
use crate::isa::Selectors;
use crate::lane::{LANES, PerLane, Site};
use bytemuck::Zeroable;
use core::ops::{Deref, DerefMut, Range};
use std::vec;
use std::vec::Vec;

/// A form of `mma` or `mma.sp`.
pub(crate) struct MmaDescription {
    pub(crate) a: RegisterMatrix,
    pub(crate) b: RegisterMatrix,
    pub(crate) c: RegisterMatrix,
    pub(crate) d: RegisterMatrix,
    pub(super) size: Size,
    /// The properties of a form with a sparse A.
    pub(crate) sparsity: Option<Sparsity>,
    /// Whether it has block scaling.
    pub(crate) is_scaled: bool,
    pub(super) compute: Compute,
}

/// Computes D's registers. The site and the form's name are for findings.
pub(super) type Compute = fn(&MmaDescription, Site, &'static str, &MmaOperands<'_>) -> Words;

/// M, N and K, and the number of multiplications of one instruction: see [`Shape`].
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) count: usize,
}

/// The metadata that a form with a sparse A takes.
#[derive(Clone, Copy)]
pub(crate) struct Sparsity {
    /// Whether its codes name the parts of a chunk in ascending order.
    pub(super) is_ordered: bool,
}

/// A matrix in registers: its role and elements, and where the elements are.
#[derive(Clone, Copy)]
pub(crate) struct RegisterMatrix {
    matrix: Matrix,
    offsets: &'static Offsets,
    /// Words of a lane.
    pub(crate) words: usize,
}

/// The operands of all lanes, lane by lane. Those that a form lacks are zeros.
pub(crate) struct MmaOperands<'a> {
    pub(crate) a: &'a [u32],
    pub(crate) b: &'a [u32],
    pub(crate) c: &'a [u32],
    pub(crate) metadata: PerLane<u32>,
    pub(crate) scales_a: PerLane<u32>,
    pub(crate) scales_b: PerLane<u32>,
    pub(crate) selectors: Selectors,
}

impl<'a> MmaOperands<'a> {
    /// A, B and C alone.
    pub(crate) fn new(a: &'a [u32], b: &'a [u32], c: &'a [u32]) -> Self {
        let (none, selectors) = (PerLane::splat(0), Selectors::default());
        MmaOperands { a, b, c, metadata: none, scales_a: none, scales_b: none, selectors }
    }
}

/// The registers of all lanes as words, lane by lane, aligned for registers of 64 bits.
pub(crate) struct Words(Vec<u64>);

impl Words {
    /// Zeros.
    pub(crate) fn new(per_lane: usize) -> Self {
        Words(vec![0; LANES * per_lane / 2])
    }
}

impl Deref for Words {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        bytemuck::must_cast_slice(&self.0)
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u32] {
        bytemuck::must_cast_slice_mut(&mut self.0)
    }
}

impl Size {
    const fn of<S: Shape>() -> Self {
        Size { m: S::M, n: S::N, k: S::K, count: S::COUNT }
    }
}

impl RegisterMatrix {
    const fn of<R: Role, S: FragmentShape<R, T::Width>, T: Element>() -> Self {
        let words = size_of::<S::Registers>() / size_of::<u32>();
        let offsets = const { &Offsets::new(S::LAYOUT) };
        RegisterMatrix { matrix: Matrix::of::<R, T>(), offsets, words }
    }

    /// The matrix in the registers of all lanes.
    fn gather<T: Element>(self, words: &[u32]) -> Vec<T> {
        gathered::<T>(self.offsets, bytemuck::cast_slice(words))
    }

    /// The registers of all lanes with this matrix.
    pub(super) fn scatter<T: Element>(self, matrix: &[T]) -> Words {
        let mut words = Words::new(self.words);
        scatter(self.offsets, matrix, bytemuck::cast_slice_mut::<_, Register<T>>(&mut words));
        words
    }

    fn operand(self, words: &[u32]) -> Operand<'_> {
        Operand { matrix: self.matrix, words }
    }
}

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    /// The registers of all lanes as words, lane by lane.
    pub(crate) fn words(&self) -> &[u32] {
        bytemuck::must_cast_slice(self.registers.array())
    }

    pub(crate) fn from_words(words: &[u32]) -> Self {
        let mut of_lanes: [S::Registers; LANES] = Zeroable::zeroed();
        bytemuck::must_cast_slice_mut::<_, u32>(&mut of_lanes).copy_from_slice(words);
        Self::from_registers(PerLane::from_array(of_lanes))
    }
}

/// The form of these matrices, computed by `compute`.
pub(super) const fn described<R: Role, S, A, B, C, D>(compute: Compute) -> MmaDescription
where
    S: Shape
        + FragmentShape<R, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>
        + FragmentShape<RoleC, D::Width>,
    A: Element,
    B: Element,
    C: Element,
    D: Element,
{
    MmaDescription {
        a: RegisterMatrix::of::<R, S, A>(),
        b: RegisterMatrix::of::<RoleB, S, B>(),
        c: RegisterMatrix::of::<RoleC, S, C>(),
        d: RegisterMatrix::of::<RoleC, S, D>(),
        size: Size::of::<S>(),
        sparsity: None,
        is_scaled: false,
        compute,
    }
}

impl MmaDescription {
    /// D = A x B + C with the option `O`.
    pub(crate) const fn dense<S, A, B, C, D, O>() -> Self
    where
        S: Shape
            + FragmentShape<RoleA, A::Width>
            + FragmentShape<RoleB, B::Width>
            + FragmentShape<RoleC, C::Width>
            + FragmentShape<RoleC, D::Width>,
        A: Element + MmaArithmetic<B, C, O, D = D>,
        B: Element,
        C: Element,
        D: Element,
    {
        let compute = if S::COUNT == 1 { dense::<A, B, C, D, O> } else { several::<A, B, C, D, O> };
        described::<RoleA, S, A, B, C, D>(compute)
    }

    /// D = A x B + C with block scaling.
    pub(crate) const fn scaled<S, A, B, K>() -> Self
    where
        S: Shape
            + FragmentShape<RoleA, A::Width>
            + FragmentShape<RoleB, B::Width>
            + FragmentShape<RoleC, <f32 as Element>::Width>,
        A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
        B: Element,
        K: ScaledKind,
    {
        let form = described::<RoleA, S, A, B, f32, f32>(scaled::<A, B, K>);
        MmaDescription { is_scaled: true, ..form }
    }

    /// A, B and C.
    pub(super) fn matrices<A: Element, B: Element, C: Element>(
        &self,
        operands: &MmaOperands<'_>,
    ) -> (Vec<A>, Vec<B>, Vec<C>) {
        (self.a.gather(operands.a), self.b.gather(operands.b), self.c.gather(operands.c))
    }

    /// Executes the form of this name at `site`, with A, B and C. Returns D's registers.
    pub(crate) fn multiply(&self, site: Site, form: &'static str, [a, b, c]: [&[u32]; 3]) -> Words {
        self.execute(site, form, &MmaOperands::new(a, b, c))
    }

    /// The same with a sparse A: its metadata and their selector.
    pub(crate) fn multiply_sparse(
        &self,
        site: Site,
        form: &'static str,
        [a, b, c]: [&[u32]; 3],
        metadata: PerLane<u32>,
        selector: u32,
    ) -> Words {
        let selectors = Selectors { metadata: selector, ..Selectors::default() };
        let operands = MmaOperands { metadata, selectors, ..MmaOperands::new(a, b, c) };
        self.execute(site, form, &operands)
    }

    /// The same with block scaling: the metadata (zeros for a dense A), and the scales of A and B.
    pub(crate) fn multiply_scaled(
        &self,
        site: Site,
        form: &'static str,
        [a, b, c]: [&[u32]; 3],
        [metadata, scales_a, scales_b]: [PerLane<u32>; 3],
        selectors: Selectors,
    ) -> Words {
        let operands =
            MmaOperands { metadata, scales_a, scales_b, selectors, ..MmaOperands::new(a, b, c) };
        self.execute(site, form, &operands)
    }

    /// Executes the form of this name at `site`. Returns D's registers.
    pub(crate) fn execute(
        &self,
        site: Site,
        form: &'static str,
        operands: &MmaOperands<'_>,
    ) -> Words {
        note_collective(site, form);
        let matrices =
            [self.a.operand(operands.a), self.b.operand(operands.b), self.c.operand(operands.c)];
        check_operands(site, &matrices);
        let d = (self.compute)(self, site, form, operands);
        remember_result(site, &self.d.operand(&d));
        d
    }
}

fn dense<A, B, C, D, O>(
    form: &MmaDescription,
    _: Site,
    _: &'static str,
    operands: &MmaOperands<'_>,
) -> Words
where
    A: Element + MmaArithmetic<B, C, O, D = D>,
    B: Element,
    C: Element,
    D: Element,
{
    let (a, b, c) = form.matrices::<A, B, C>(operands);
    form.d.scatter(&A::multiply(simulated_gpu(), &a, &b, &c, form.size.n, form.size.k))
}

/// Several multiplications by one instruction.
fn several<A, B, C, D, O>(
    form: &MmaDescription,
    _: Site,
    _: &'static str,
    operands: &MmaOperands<'_>,
) -> Words
where
    A: Element + MmaArithmetic<B, C, O, D = D>,
    B: Element,
    C: Element,
    D: Element,
{
    let Size { m, n, k, count } = form.size;
    let (a, b, c) = form.matrices::<A, B, C>(operands);
    let mut d = Vec::with_capacity(c.len());
    for (which, (a, c)) in a.chunks(m * k).zip(c.chunks(m * n)).enumerate() {
        let b = columns(&b, n * count, which * n..(which + 1) * n);
        d.extend(A::multiply(simulated_gpu(), a, &b, c, n, k));
    }
    form.d.scatter(&d)
}

/// The columns `some` of a matrix with `all` columns.
fn columns<T: Copy>(matrix: &[T], all: usize, some: Range<usize>) -> Vec<T> {
    let mut columns = Vec::with_capacity(matrix.len() / all * some.len());
    for row in matrix.chunks(all) {
        columns.extend_from_slice(&row[some.clone()]);
    }
    columns
}

fn scaled<A, B, K>(
    form: &MmaDescription,
    _: Site,
    _: &'static str,
    operands: &MmaOperands<'_>,
) -> Words
where
    A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    let (a, b, c) = form.matrices::<A, B, f32>(operands);
    let (scales_a, scales_b) = operands.scales::<K>();
    form.d.scatter(&A::multiply(&a, &b, &c, &scales_a, &scales_b, form.size.n, form.size.k))
}

impl MmaOperands<'_> {
    /// The selected scales of A and B.
    pub(super) fn scales<K: ScaledKind>(&self) -> (Vec<K::Scale>, Vec<K::Scale>) {
        let Selectors { scales_a, scales_b, .. } = self.selectors;
        let (of_a, of_b) = (
            ScaleA::<K>::from_registers(self.scales_a),
            ScaleB::<K>::from_registers(self.scales_b),
        );
        (of_a.matrix(scales_a), of_b.matrix(scales_b))
    }
}
