//! `mma.sp` of a warp, on all 32 lanes at once.
//!
//! An H200 multiplies each stored element with the row of B that its code names. It sums like a
//! dense A with as many columns as are stored. This holds for all codes, also for invalid ones,
//! which are a finding.

use crate::element::Element;
use crate::engine::{
    arithmetic::{
        MmaArithmetic, ScaledMmaArithmetic,
        multiply::{MmaDescription, MmaOperands, Size, Sparsity, Words, described},
    },
    findings::Misuse,
    memory::race::Lanes,
    warps::context::{simulated_gpu, with_block},
};
use crate::fragment::{
    FragmentShape, Kept, RoleB, RoleC, RoleSparseA, ScaledKind, Shape, SparseWidth,
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

impl MmaDescription {
    /// D = A x B + C with a sparse A and the option `O`. C and D have the same elements.
    pub(crate) const fn sparse<S, A, B, C, O, Order>() -> Self
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
        let form = described::<RoleSparseA, S, A, B, C, C>(sparse::<A, B, C, O>);
        let sparsity = Some(Sparsity { is_ordered: Order::ORDERED });
        MmaDescription { sparsity, ..form }
    }

    /// D = A x B + C with a sparse A and block scaling.
    pub(crate) const fn sparse_scaled<S, A, B, K>() -> Self
    where
        S: Shape
            + FragmentShape<RoleSparseA, A::Width>
            + FragmentShape<RoleB, B::Width>
            + FragmentShape<RoleC, <f32 as Element>::Width>,
        A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
        B: Element<Width = A::Width>,
        K: ScaledKind,
    {
        let form = described::<RoleSparseA, S, A, B, f32, f32>(sparse_scaled::<A, B, K>);
        let sparsity = Some(Sparsity { is_ordered: true });
        MmaDescription { sparsity, is_scaled: true, ..form }
    }

    /// The codes of A, which are checked.
    fn kept<W: SparseWidth>(
        &self,
        site: Site,
        form: &'static str,
        operands: &MmaOperands<'_>,
    ) -> Vec<Kept> {
        let chunks = self.size.k / W::CHUNK;
        let first = operands.selectors.metadata as usize * chunks;
        let kept = codes::<W>(first..first + chunks, &operands.metadata);
        let is_ordered = self.sparsity.is_some_and(|of| of.is_ordered);
        check_codes::<W>(site, form, is_ordered, 0, first, &kept);
        kept
    }
}

fn sparse<A, B, C, O>(
    form: &MmaDescription,
    site: Site,
    name: &'static str,
    operands: &MmaOperands<'_>,
) -> Words
where
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
{
    let kept = form.kept::<A::Width>(site, name, operands);
    let (a, b, c) = form.matrices::<A, B, C>(operands);
    let Size { n, k, .. } = form.size;
    form.d.scatter(&sparse_mma::<A, B, C, O>(simulated_gpu(), (&a, &kept), &b, &c, n, k))
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
    let mut d = Vec::with_capacity(c.len());
    let (row_of_a, row_of_kept) = (k / 2, k / A::Width::CHUNK);
    for row in 0..c.len() / n {
        let b = picked(b, n, &kept[row * row_of_kept..][..row_of_kept]);
        let (a, c) = (&a[row * row_of_a..][..row_of_a], &c[row * n..][..n]);
        d.extend_from_slice(&A::multiply(gpu, a, &b, c, n, row_of_a));
    }
    d
}

/// With block scaling, a metadata register has the metadata of one matrix. The published arithmetic
/// is that of a dense A.
fn sparse_scaled<A, B, K>(
    form: &MmaDescription,
    site: Site,
    name: &'static str,
    operands: &MmaOperands<'_>,
) -> Words
where
    A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    let kept = form.kept::<A::Width>(site, name, operands);
    let (a, b, c) = form.matrices::<A, B, f32>(operands);
    let (scales_a, scales_b) = operands.scales::<K>();
    let Size { n, k, .. } = form.size;
    let mut d = Vec::with_capacity(c.len());
    let (row_of_a, row_of_kept) = (k / 2, k / A::Width::CHUNK);
    for row in 0..c.len() / n {
        let b = picked(&b, n, &kept[row * row_of_kept..][..row_of_kept]);
        let (a, c) = (&a[row * row_of_a..][..row_of_a], &c[row * n..][..n]);
        let scales_a = &scales_a[row * K::SCALES..][..K::SCALES];
        d.extend_from_slice(&A::multiply(a, &b, c, scales_a, &scales_b, n, row_of_a));
    }
    form.d.scatter(&d)
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

/// The rows of B, of `n` elements, that are multiplied with the stored elements of a row of A.
fn picked<B: Element<Width: SparseWidth>>(b: &[B], n: usize, kept: &[Kept]) -> Vec<B> {
    let mut picked = Vec::with_capacity(kept.len() * B::Width::KEPT * n);
    for (chunk, &kept) in b.chunks(B::Width::CHUNK * n).zip(kept) {
        for which in 0..B::Width::KEPT {
            for col in 0..n {
                let element = |row: usize| chunk[row * n + col].to_bits();
                picked.push(B::from_bits(B::Width::pick(element, kept, which)));
            }
        }
    }
    picked
}
