//! `mma` in one lane.
//!
//! There are hundreds of forms. A lane passes its registers as words, and one function of each form
//! computes the results of all lanes. So only that function is compiled for each form.

use crate::element::Element;
use crate::engine::{
    arithmetic::{
        MetadataOrder, MmaArithmetic, ScaledMmaArithmetic, multiply, multiply_scaled,
        multiply_sparse, multiply_sparse_scaled,
    },
    findings::Misuse,
    warps::{context::fail, lanes::collective_of_words},
};
use crate::fragment::{
    Fragment, FragmentShape, Registers, Role, RoleA, RoleB, RoleC, RoleSparseA, ScaleA, ScaleB,
    ScaledKind, Selected, Shape, SparseWidth,
};
use crate::isa::Selectors;
use crate::lane::{LANES, PerLane, Site};
use bytemuck::{Pod, Zeroable};
use std::vec::Vec;

/// Executes a form for all lanes: returns each lane's words of D.
pub(crate) type Execute = fn(Site, &'static str, Selectors, &mut Operands) -> Vec<Vec<u32>>;

/// Executes a form of `mma`. The words are the lane's registers, in the order of the form's
/// kernel. Returns no words while a failed run is unwound.
#[track_caller]
pub(crate) fn in_lane(
    form: &'static str,
    execute: Execute,
    selectors: Selectors,
    mut words: Vec<u32>,
) -> Vec<u32> {
    // In `raw`, lanes may have different selectors of metadata: then that is the finding.
    words.push(selectors.metadata);
    collective_of_words(Site::here(), form, words, move |site, lanes| {
        execute(site, form, selectors, &mut Operands { lanes, taken: 0 })
    })
}

/// The operands of all lanes.
pub(crate) struct Operands {
    /// Each lane's words.
    lanes: Vec<Vec<u32>>,
    /// The number of words that have been taken.
    taken: usize,
}

impl Operands {
    /// Takes the next words of each lane, lane by lane.
    fn take(&mut self, words: &mut [u32]) {
        let count = words.len() / LANES;
        for (words, lane) in words.chunks_mut(count).zip(&self.lanes) {
            words.copy_from_slice(&lane[self.taken..][..count]);
        }
        self.taken += count;
    }

    fn fragment<R: Role, S: FragmentShape<R, T::Width>, T: Element>(
        &mut self,
    ) -> Fragment<R, S, T> {
        let mut registers: [S::Registers; LANES] = Zeroable::zeroed();
        self.take(bytemuck::must_cast_slice_mut(&mut registers));
        Fragment::from_registers(PerLane::from_array(registers))
    }

    fn word(&mut self) -> PerLane<u32> {
        let mut words = [0; LANES];
        self.take(&mut words);
        PerLane::from_array(words)
    }

    /// The selector of the metadata, which is the last word of each lane.
    fn selector(&self, site: Site, form: &'static str) -> usize {
        let selectors = || self.lanes.iter().filter_map(|words| words.last().copied());
        let first = selectors().next().unwrap_or_default();
        if let Some(other) = selectors().find(|&other| other != first) {
            fail(site, Misuse::SelectorsDiffer { form, first, other });
        }
        first as usize
    }
}

/// The words of each lane.
fn by_lane<R: Role, S: FragmentShape<R, T::Width>, T: Element>(
    results: &Fragment<R, S, T>,
) -> Vec<Vec<u32>> {
    let words = results.words();
    words.chunks(words.len() / LANES).map(Vec::from).collect()
}

/// `mma` of one shape, element types and option.
pub(crate) fn dense<S, A, B, C, D, O>(
    site: Site,
    form: &'static str,
    _: Selectors,
    operands: &mut Operands,
) -> Vec<Vec<u32>>
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
    let (a, b, c) = (operands.fragment(), operands.fragment(), operands.fragment());
    by_lane(&multiply::<S, A, B, C, D, O>(site, form, &a, &b, &c))
}

/// `mma` with block scaling.
pub(crate) fn scaled<S, A, B, K>(
    site: Site,
    form: &'static str,
    selectors: Selectors,
    operands: &mut Operands,
) -> Vec<Vec<u32>>
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    let (a, b, c) = (operands.fragment(), operands.fragment(), operands.fragment());
    let (of_a, of_b) =
        (ScaleA::from_registers(operands.word()), ScaleB::from_registers(operands.word()));
    let (a, b) = ((&a, &of_a, selectors.scales_a), (&b, &of_b, selectors.scales_b));
    by_lane(&multiply_scaled::<S, A, B, K>(site, form, a, b, &c))
}

/// `mma.sp` of one shape and element types.
pub(crate) fn sparse<S, A, B, C, O, Order>(
    site: Site,
    form: &'static str,
    _: Selectors,
    operands: &mut Operands,
) -> Vec<Vec<u32>>
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
    Order: MetadataOrder,
{
    let selector = operands.selector(site, form);
    let (a, b, mut acc) = (operands.fragment(), operands.fragment(), operands.fragment());
    let metadata = operands.word();
    multiply_sparse::<S, A, B, C, O, Order>(site, form, selector, &mut acc, &a, &b, &metadata);
    by_lane(&acc)
}

/// `mma.sp` with block scaling.
pub(crate) fn sparse_scaled<S, A, B, K>(
    site: Site,
    form: &'static str,
    selectors: Selectors,
    operands: &mut Operands,
) -> Vec<Vec<u32>>
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    let (a, b, mut acc) = (operands.fragment(), operands.fragment(), operands.fragment());
    let metadata = operands.word();
    let (of_a, of_b) =
        (ScaleA::from_registers(operands.word()), ScaleB::from_registers(operands.word()));
    let a = (&a, &metadata, &of_a, selectors.scales_a);
    multiply_sparse_scaled::<S, A, B, K>(site, form, &mut acc, a, (&b, &of_b, selectors.scales_b));
    by_lane(&acc)
}

/// The registers of a matrix of role `R` in shape `S`, with elements of type `T`.
type RegistersOf<S, R, T> = <S as FragmentShape<R, <T as Element>::Width>>::Registers;

/// The words of a register operand.
fn words<T: Pod>(registers: &T) -> &[u32] {
    bytemuck::must_cast_slice(core::slice::from_ref(registers))
}

/// The registers of these words: zeros if there are none.
fn registers<R: Registers>(words: &[u32]) -> R {
    let mut registers = R::zeroed();
    let to: &mut [u32] = bytemuck::must_cast_slice_mut(core::slice::from_mut(&mut registers));
    if !words.is_empty() {
        to.copy_from_slice(words);
    }
    registers
}

/// `mma` of one shape, element types and option, in a lane.
#[track_caller]
pub(crate) fn multiply_registers<S, A, B, C, D, O>(
    form: &'static str,
    a: RegistersOf<S, RoleA, A>,
    b: RegistersOf<S, RoleB, B>,
    c: RegistersOf<S, RoleC, C>,
) -> RegistersOf<S, RoleC, D>
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
    let words = [words(&a), words(&b), words(&c)].concat();
    registers(&in_lane(form, dense::<S, A, B, C, D, O>, Selectors::default(), words))
}

/// `mma` with block scaling, in a lane.
#[track_caller]
pub(crate) fn multiply_scaled_registers<S, A, B, K>(
    form: &'static str,
    (a, of_a, scales_a): (RegistersOf<S, RoleA, A>, u32, Selected),
    (b, of_b, scales_b): (RegistersOf<S, RoleB, B>, u32, Selected),
    c: RegistersOf<S, RoleC, f32>,
) -> RegistersOf<S, RoleC, f32>
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    let words = [words(&a), words(&b), words(&c), &[of_a, of_b]].concat();
    let selectors = Selectors { metadata: 0, scales_a, scales_b };
    registers(&in_lane(form, scaled::<S, A, B, K>, selectors, words))
}

/// `mma.sp` of one shape and element types, in a lane.
#[track_caller]
pub(crate) fn multiply_sparse_registers<S, A, B, C, O, Order>(
    form: &'static str,
    selector: u32,
    a: RegistersOf<S, RoleSparseA, A>,
    b: RegistersOf<S, RoleB, B>,
    c: RegistersOf<S, RoleC, C>,
    metadata: u32,
) -> RegistersOf<S, RoleC, C>
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
    Order: MetadataOrder,
{
    let words = [words(&a), words(&b), words(&c), &[metadata]].concat();
    let selectors = Selectors { metadata: selector, ..Selectors::default() };
    registers(&in_lane(form, sparse::<S, A, B, C, O, Order>, selectors, words))
}

/// `mma.sp` with block scaling, in a lane.
#[track_caller]
pub(crate) fn multiply_sparse_scaled_registers<S, A, B, K>(
    form: &'static str,
    (a, metadata, of_a, scales_a): (RegistersOf<S, RoleSparseA, A>, u32, u32, Selected),
    (b, of_b, scales_b): (RegistersOf<S, RoleB, B>, u32, Selected),
    c: RegistersOf<S, RoleC, f32>,
) -> RegistersOf<S, RoleC, f32>
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    let words = [words(&a), words(&b), words(&c), &[metadata, of_a, of_b]].concat();
    let selectors = Selectors { metadata: 0, scales_a, scales_b };
    registers(&in_lane(form, sparse_scaled::<S, A, B, K>, selectors, words))
}
