//! `mma.sp` of a warp, on all 32 lanes at once.
//!
//! An H200 multiplies each stored element with the row of B that its code names. It sums like a
//! dense A with as many columns as are stored. This holds for all codes, also for invalid ones,
//! which are a finding.

use crate::element::{Element, Width};
use crate::engine::{
    arithmetic::{
        MmaArithmetic, ScaledMmaArithmetic,
        operands::{Operand, check_operands, remember_result},
    },
    findings::Misuse,
    memory::race::Lanes,
    record::note_collective,
    warps::context::{simulated_gpu, with_block},
};
use crate::fragment::{
    Accumulator, FragmentB, FragmentShape, FragmentSparseA, Kept, RoleB, RoleC, RoleSparseA,
    ScaleA, ScaleB, ScaledKind, Selected, Shape, SparseWidth,
};
use crate::isa::{AnyOrder, Ordered};
use crate::lane::{PerLane, Site};
use crate::target::Arch;
use std::ops::Range;
use std::vec::Vec;

/// The valid codes of a form.
pub(crate) trait MetadataOrder {
    /// Whether the code names the parts of a chunk in ascending order.
    const ORDERED: bool;
}
impl MetadataOrder for Ordered {
    const ORDERED: bool = true;
}
impl MetadataOrder for AnyOrder {
    const ORDERED: bool = false;
}

/// `acc += a x b` with the option `O`, by an instruction of this form at `site`.
pub(crate) fn multiply_sparse<S, A, B, C, O, Order>(
    site: Site,
    form: &'static str,
    selector: usize,
    acc: &mut Accumulator<S, C>,
    a: &FragmentSparseA<S, A>,
    b: &FragmentB<S, B>,
    metadata: &PerLane<u32>,
) where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
    Order: MetadataOrder,
{
    note_collective(site, form);
    check_operands(site, &[Operand::of(a), Operand::of(b), Operand::of(acc)]);
    let chunks = S::K / A::Width::CHUNK;
    let kept = codes::<A::Width>(selector * chunks..(selector + 1) * chunks, metadata);
    check_codes::<A::Width>(site, form, Order::ORDERED, 0, selector * chunks, &kept);
    let d = sparse_mma::<A, B, C, O>(
        simulated_gpu(),
        (&a.matrix(), &kept),
        &b.matrix(),
        &acc.matrix(),
        S::N,
        S::K,
    );
    *acc = Accumulator::from_matrix(&d);
    remember_result(site, &Operand::of(acc));
}

/// A x B + C with `n` columns. A has only its stored elements; its uncompressed rows have `k`.
pub(crate) fn sparse_mma<A, B, C, O>(
    gpu: Arch,
    (a, kept): (&[A], &[Kept]),
    b: &[B],
    c: &[C],
    n: usize,
    k: usize,
) -> Vec<C>
where
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
{
    let columns = columns(b, n);
    let mut d = Vec::with_capacity(c.len());
    for ((a, kept), c) in a.chunks(k / 2).zip(kept.chunks(k / A::Width::CHUNK)).zip(c.chunks(n)) {
        d.extend(A::multiply(gpu, a, &picked(&columns, kept), c, n, k / 2));
    }
    d
}

/// The same with block scaling. A metadata register has the metadata of one matrix. The published
/// arithmetic is that of a dense A.
pub(crate) fn multiply_sparse_scaled<S, A, B, K>(
    site: Site,
    form: &'static str,
    acc: &mut Accumulator<S, f32>,
    (a, metadata, scales_a, select_a): (
        &FragmentSparseA<S, A>,
        &PerLane<u32>,
        &ScaleA<K>,
        Selected,
    ),
    (b, scales_b, select_b): (&FragmentB<S, B>, &ScaleB<K>, Selected),
) where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, <f32 as Element>::Width>,
    A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    note_collective(site, form);
    check_operands(site, &[Operand::of(a), Operand::of(b), Operand::of(acc)]);
    let chunks = S::K / A::Width::CHUNK;
    let kept = codes::<A::Width>(0..chunks, metadata);
    check_codes::<A::Width>(site, form, Ordered::ORDERED, 0, 0, &kept);
    let (a, b, c) = (a.matrix(), b.matrix(), acc.matrix());
    let (scales_a, scales_b) = (scales_a.matrix(select_a), scales_b.matrix(select_b));
    let columns = columns(&b, S::N);
    let rows = a
        .chunks(S::K / 2)
        .zip(kept.chunks(chunks))
        .zip(c.chunks(S::N))
        .zip(scales_a.chunks(K::SCALES));
    let mut d = Vec::with_capacity(c.len());
    for (((a, kept), c), scales_a) in rows {
        d.extend(A::multiply(a, &picked(&columns, kept), c, scales_a, &scales_b, S::N, S::K / 2));
    }
    *acc = Accumulator::from_matrix(&d);
    remember_result(site, &Operand::of(acc));
}

/// The codes of these chunks of 16 rows, row by row.
pub(crate) fn codes<W: SparseWidth>(chunks: Range<usize>, metadata: &PerLane<u32>) -> Vec<Kept> {
    let code = |row: usize, chunk: usize| {
        let (lane, index) = W::METADATA.owner(row, chunk);
        Kept::from_code((metadata.array()[lane] >> (4 * index)) as u8)
    };
    (0..W::METADATA.rows())
        .flat_map(|row| chunks.clone().map(move |chunk| code(row, chunk)))
        .collect()
}

/// Reports an invalid code in 16 rows from `first_row` on.
pub(crate) fn check_codes<W: SparseWidth>(
    site: Site,
    form: &'static str,
    is_ordered: bool,
    first_row: usize,
    first_chunk: usize,
    kept: &[Kept],
) {
    let chunks = kept.len() / W::METADATA.rows();
    for (index, &kept) in kept.iter().enumerate() {
        let Some(why) = fault::<W>(kept, is_ordered) else { continue };
        let (row, chunk) = (index / chunks, index % chunks);
        let lane = W::METADATA.owner(row, first_chunk + chunk).0;
        let cols = chunk * W::CHUNK..=(chunk + 1) * W::CHUNK - 1;
        let misuse = Misuse::Metadata { form, code: kept.code(), row: first_row + row, cols, why };
        with_block(|block| {
            block.findings.note(block.access_by(Lanes::together(lane), site), misuse)
        });
    }
}

/// The reason why a code is invalid.
fn fault<W: SparseWidth>(kept: Kept, ordered: bool) -> Option<&'static str> {
    let (first, second) = (kept.first(), kept.second());
    if W::CHUNK < 4 && kept != Kept::half(0) && kept != Kept::half(1) {
        Some("it is not that of one of two tf32")
    } else if first == second {
        Some("it names one part twice")
    } else if ordered && first > second {
        Some("it names the later part first, and the instruction is that for ordered metadata")
    } else {
        None
    }
}

/// The bits of an element of B.
type BitsOf<B> = <<B as Element>::Width as Width>::Bits;

/// The columns of B, which has `n` columns.
fn columns<B: Element>(b: &[B], n: usize) -> Vec<Vec<BitsOf<B>>> {
    (0..n).map(|col| b[col..].iter().step_by(n).map(|b| b.to_bits()).collect()).collect()
}

/// The elements of B that are multiplied with the stored elements of a row of A, column by column.
fn picked<B: Element<Width: SparseWidth>>(columns: &[Vec<BitsOf<B>>], kept: &[Kept]) -> Vec<B> {
    let chunk = B::Width::CHUNK;
    let mut picked = Vec::with_capacity(kept.len() * B::Width::KEPT * columns.len());
    for (index, &kept) in kept.iter().enumerate() {
        for which in 0..B::Width::KEPT {
            let of = |column: &Vec<_>| {
                B::from_bits(B::Width::pick(&column[index * chunk..][..chunk], kept, which))
            };
            picked.extend(columns.iter().map(of));
        }
    }
    picked
}
