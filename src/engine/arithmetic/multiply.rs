//! `mma` of a warp, on all 32 lanes at once.

use crate::element::Element;
use crate::engine::{
    arithmetic::{
        MmaArithmetic, ScaledMmaArithmetic,
        operands::{Operand, check_operands, remember_result},
    },
    record::note_collective,
    warps::context::simulated_gpu,
};
use crate::fragment::{
    Accumulator, FragmentA, FragmentB, FragmentShape, RoleA, RoleB, RoleC, ScaleA, ScaleB,
    ScaledKind, Selected, Shape,
};
use crate::lane::Site;
use core::ops::Range;
use std::vec::Vec;

/// `a x b + c` with the option `O`, by an instruction at `site`.
pub(crate) fn multiply<S, A, B, C, D, O>(
    site: Site,
    form: &'static str,
    a: &FragmentA<S, A>,
    b: &FragmentB<S, B>,
    c: &Accumulator<S, C>,
) -> Accumulator<S, D>
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
    note_collective(site, form);
    check_operands(site, &[Operand::of(a), Operand::of(b), Operand::of(c)]);
    let (gpu, a, b, c) = (simulated_gpu(), a.matrix(), b.matrix(), c.matrix());
    let d = if const { S::COUNT == 1 } {
        A::multiply(gpu, &a, &b, &c, S::N, S::K)
    } else {
        let mut d = Vec::with_capacity(c.len());
        for (which, (a, c)) in a.chunks(S::M * S::K).zip(c.chunks(S::M * S::N)).enumerate() {
            let b = columns(&b, S::N * S::COUNT, which * S::N..(which + 1) * S::N);
            d.extend(A::multiply(gpu, a, &b, c, S::N, S::K));
        }
        d
    };
    let d = Accumulator::from_matrix(&d);
    remember_result(site, &Operand::of(&d));
    d
}

/// The columns `some` of a matrix with `all` columns.
fn columns<T: Copy>(matrix: &[T], all: usize, some: Range<usize>) -> Vec<T> {
    let mut columns = Vec::with_capacity(matrix.len() / all * some.len());
    for row in matrix.chunks(all) {
        columns.extend_from_slice(&row[some.clone()]);
    }
    columns
}

/// `a x b + c` with block scaling, by an instruction at `site`.
pub(crate) fn multiply_scaled<S, A, B, K>(
    site: Site,
    form: &'static str,
    (a, scales_a, select_a): (&FragmentA<S, A>, &ScaleA<K>, Selected),
    (b, scales_b, select_b): (&FragmentB<S, B>, &ScaleB<K>, Selected),
    c: &Accumulator<S, f32>,
) -> Accumulator<S, f32>
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    note_collective(site, form);
    check_operands(site, &[Operand::of(a), Operand::of(b), Operand::of(c)]);
    let (scales_a, scales_b) = (scales_a.matrix(select_a), scales_b.matrix(select_b));
    let d = A::multiply(&a.matrix(), &b.matrix(), &c.matrix(), &scales_a, &scales_b, S::N, S::K);
    let d = Accumulator::from_matrix(&d);
    remember_result(site, &Operand::of(&d));
    d
}
