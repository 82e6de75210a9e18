//! `wgmma.mma_async.sp`.

use super::multiply_sparse::word;
use super::wgmma::Prepare;
use super::{Check, Inputs, Reference, RunOn, upload, with_output};
use crate::data::{Element, Kind, operands};
use crate::reference::{self, Granularity, Operand};
use crate::{bytes, elements};
use ptx_matrix::element::Width;
use ptx_matrix::forms::ptx;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::{Arch, MmaArithmetic};
use ptx_matrix::target::Requirement;
use ptx_matrix::{wgmma_arithmetic, wgmma_columns, wgmma_named, wgmma_ptx, wgmma_sparse_forms};
use ptx_matrix_conformance_kernels::{wgmma_sparse as kernels, wgmma_sparse_with_kernel};
use std::borrow::Borrow;
use std::ops::Neg;

type Launch<D, A, B, R> = fn(
    &D,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<u32>,
    &<D as Device>::Buffer<B>,
    &mut <D as Device>::Buffer<R>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// The checks of each kernel. Kernels with 16 columns run with all kinds of data. The others differ
/// only in N, and run with small integers.
pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_kernel {
        ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
            $behind:ident $selectors:tt $version:literal;)*) => {$($(
            wgmma_columns! { $columns => of_each_kernel ($d $a $b $k $option $selectors) }
        )*)*};
        (@form $n:tt $form:tt) => {
            wgmma_sparse_with_kernel! { $n $form => of_each_kernel }
        };
        (@kernel $n:tt ($d:ident $a:ident $b:ident $k:literal $option:ident $selectors:tt)) => {
            wgmma_named! { $selectors $n $d $a $b $k $option =>
                of_each_kernel ($n $d $a $b $k $option $selectors) }
        };
        (@named $kernel:ident ($n:literal $d:ident $a:ident $b:ident $k:literal $option:ident
            $selectors:tt)) => {
            let form = Form {
                ptx: wgmma_ptx!($selectors $n $d $a $b $k $option),
                n: $n,
                k: $k,
                selectors: $selectors,
            };
            let kinds = if $n == 16 { <ptx::$a as Element>::KINDS } else { &[Kind::Integers] };
            checks.extend(kinds.iter().map(|&kind| {
                multiply::<D, ptx::$a, ptx::$b, ptx::$d, wgmma_arithmetic!($a $option)>(
                    form,
                    kind,
                    |a| a,
                    |device, blocks, a, metadata, b, d| {
                        kernels::$kernel::launch(device, blocks, a, metadata, b, d)
                    },
                )
            }));
        };
    }
    wgmma_sparse_forms!(of_each_kernel);
    let ptx = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16, across K, negated";
    checks.extend(<ptx::f16 as Element>::KINDS.iter().map(|&kind| {
        multiply::<D, ptx::f16, ptx::f16, ptx::f32, ptx::plain>(
            Form { ptx, n: 16, k: 32, selectors: 2 },
            kind,
            |a| a.into_iter().map(Neg::neg).collect(),
            |device, blocks, a, metadata, b, d| {
                kernels::wgmma_mma_async_sp_sync_aligned_m64n16k32_f32_f16_f16_across_k::launch(
                    device, blocks, a, metadata, b, d,
                )
            },
        )
    }));
    checks
}

/// A form: columns of B (`n`), and of A (`k`), half of which are kept.
#[derive(Clone, Copy)]
struct Form {
    ptx: &'static str,
    n: usize,
    k: usize,
    selectors: usize,
}

/// Rows of a warp's part of A. The warp's lanes hold their metadata.
const ROWS: usize = 16;
const LANES: usize = 32;

/// Input, for each multiplication: the kept elements of A and of A' below it, 2 x 64 rows; the
/// metadata of these rows, warp by warp; and B. For each selector, D is the product of the
/// transformed A with B, plus that of the transformed A' with B.
fn multiply<D, A, B, R, O>(
    form: Form,
    kind: Kind,
    prepare: Prepare<A>,
    launch: Launch<D, A, B, R>,
) -> Check<D>
where
    D: Device + 'static,
    A: Operand<B, R, O, D = R> + MmaArithmetic<B, R, O, D = R> + ptx_matrix::element::Element,
    B: Element,
    R: Element,
{
    let granularity = Granularity::of(A::Width::BITS);
    Check {
        name: format!("{}, {}", form.ptx, kind.name()),
        needs: <ptx::sm_90a as Requirement>::NEEDS,
        rounds: if form.n == 16 { 4 } else { 1 },
        element: size_of::<R>(),
        inputs: inputs::<A, B>(form, kind, granularity),
        run: run::<D, A, B, R>(form, launch),
        reference: of_both::<A, B, R>(form, granularity, prepare, |a, b, c| {
            A::dot(Arch::SM_90, a, b, c)
        }),
        labels: None,
        arithmetic: Some(of_both::<A, B, R>(form, granularity, prepare, |a, b, c| {
            <A as MmaArithmetic<B, R, O>>::multiply(Arch::SM_90, a, b, &[c], 1, a.len()).remove(0)
        })),
    }
}

// Separate functions, each with as few generic parameters as possible, as for `mma`.

fn inputs<A: Element, B: Element>(
    Form { n, k, .. }: Form,
    kind: Kind,
    granularity: Granularity,
) -> Inputs {
    Box::new(move |rng| {
        let a = operands::<A>(rng, 128 * k / 2, kind);
        let metadata: Vec<u32> =
            (0..128 / ROWS * LANES).map(|_| word(rng, granularity.codes(false))).collect();
        vec![bytes(&a), bytes(&metadata), bytes(&operands::<B>(rng, k * n, kind))]
    })
}

fn run<D: Device + 'static, A: Element, B: Element, R: Element>(
    form: Form,
    launch: Launch<D, A, B, R>,
) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let a = upload::<D, A>(device, &inputs[0])?;
        let (metadata, b) =
            (upload::<D, u32>(device, &inputs[1])?, upload::<D, B>(device, &inputs[2])?);
        let blocks = inputs[1].len() / size_of::<[[u32; LANES]; 128 / ROWS]>();
        with_output(device, blocks * form.selectors * 64 * form.n, |d| {
            launch(device, blocks as u32, a.borrow(), metadata.borrow(), b.borrow(), d)
        })
    })
}

/// Computes D for A and A'. `dot` takes the kept elements of a row of A, the matching elements of a
/// column of B, and an element of D.
fn of_both<A: Element, B: Element, R: Element>(
    Form { n, k, selectors, .. }: Form,
    granularity: Granularity,
    prepare: Prepare<A>,
    dot: fn(&[A], &[B], R) -> R,
) -> Reference {
    Box::new(move |inputs| {
        let (a, b) = (prepare(elements::<A>(&inputs[0])), elements::<B>(&inputs[2]));
        let words = elements::<u32>(&inputs[1]);
        let onto = |acc: &[R], first: usize, selector: usize| -> Vec<R> {
            let mut sums = Vec::with_capacity(64 * n);
            for warp in 0..64 / ROWS {
                let (a, words) =
                    (&a[(first + warp * ROWS) * k / 2..], &words[(first / ROWS + warp) * LANES..]);
                let acc = &acc[warp * ROWS * n..];
                let element =
                    |a: &[A], b: &[B], (row, col): (usize, usize)| dot(a, b, acc[row * n + col]);
                let metadata = (words, selector);
                let of_warp = reference::multiply_sparse(
                    (ROWS, n, k),
                    (a, &b),
                    granularity,
                    metadata,
                    &element,
                );
                sums.extend(of_warp);
            }
            sums
        };
        let zeros = vec![R::from_integer(0); 64 * n];
        let mut results = Vec::with_capacity(selectors * 64 * n);
        for selector in 0..selectors {
            results.extend(onto(&onto(&zeros, 0, selector), 64, selector));
        }
        bytes(&results)
    })
}
