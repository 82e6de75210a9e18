//! `mma.sp`.

use super::{Check, Inputs, Reference, RunOn, upload, with_output};
use crate::data::{self, Element, Kind, Rng, Scale};
use crate::reference::{self, Dot, Granularity, Operand, ScaledOperand};
use crate::{Buffers, bytes, elements};
use bytemuck::Pod;
use ptx_matrix::element::Width;
use ptx_matrix::forms::{Needs, ptx};
use ptx_matrix::fragment::Shape;
use ptx_matrix::launch::Device;
use ptx_matrix::mma::{MmaSparse, MmaSparseForm};
use ptx_matrix::sim::{Arch, MmaArithmetic};
use ptx_matrix::target::Requirement;
use ptx_matrix::{
    mma_element, mma_kind, mma_sparse_forms, mma_sparse_named, mma_sparse_ordered_forms,
    mma_sparse_scaled_forms, mma_sparse_scaled_named, mma_sparse_scaled_ptx,
};
use ptx_matrix_conformance_kernels::multiply::Bits;
use ptx_matrix_conformance_kernels::multiply_sparse as kernels;
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::borrow::Borrow;

/// Launches a number of blocks for the form of a number. The elements of A and B are bits.
type Launch<D, A, B, C> = fn(
    &D,
    u32,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<u32>,
    &<D as Device>::Buffer<B>,
    &<D as Device>::Buffer<C>,
    &mut <D as Device>::Buffer<C>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

type LaunchScaled<D, A, B, S> = fn(
    &D,
    u32,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<u32>,
    &<D as Device>::Buffer<B>,
    &<D as Device>::Buffer<f32>,
    &<D as Device>::Buffer<S>,
    &<D as Device>::Buffer<S>,
    &mut <D as Device>::Buffer<f32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>(gpu: Arch) -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_form {
        ([$order:ident] $($shape:ident $q:ident $d:ident
            [($a:ident $b:ident) $($more:tt)*] $c:ident
            $registers:tt $selectors:literal
            $needs:ident $version:literal $nature:ident;)*) => {$(
            mma_sparse_named! { $order $q $shape $d $a $b $c => of_each_form (
                [($a $b) $($more)*] $q $selectors $order [ptx::$shape] [ptx::$c]
            ) }
        )*};
        (@named $kernel:ident ([$(($a:ident $b:ident))*] $q:ident $selectors:literal $order:ident
            [$s:ty] [$c:ty])) => {
            let mut numbers = 0..;
            $({
                type Form = MmaSparse<
                    $s, mma_element!($q $a), mma_element!($q $b), $c, ptx::$q, ptx::$order
                >;
                let form = Sparse {
                    ptx: Form::PTX,
                    needs: <<Form as MmaSparseForm>::Needs as Requirement>::NEEDS,
                    number: numbers.next().expect("a number"),
                    selectors: $selectors,
                    ordered: stringify!($order) == "ordered",
                };
                for &kind in <mma_element!($q $a) as Element>::KINDS {
                    checks.push(multiply::<
                        D, $s, mma_element!($q $a), mma_element!($q $b), $c, ptx::$q,
                    >(
                        gpu,
                        form,
                        kind,
                        |device, blocks, form, a, metadata, b, c, out| {
                            kernels::$kernel::launch(device, blocks, form, a, metadata, b, c, out)
                        },
                    ));
                }
            })*
        };
    }
    mma_sparse_forms!(of_each_form any);
    mma_sparse_forms!(of_each_form ordered);
    mma_sparse_ordered_forms!(of_each_form ordered);

    macro_rules! of_each_scaled_form {
        ($($shape:ident $kind:ident $vec:literal $scale:ident
            [($a:ident $b:ident) $($more:tt)*] $needs:ident $version:literal;)*) => {$(
            mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => of_each_scaled_form (
                [($a $b) $($more)*] $shape $kind $vec $scale $needs
            ) }
        )*};
        (@named $kernel:ident ([$(($a:ident $b:ident))*] $shape:ident $kind:ident $vec:literal
            $scale:ident $needs:ident)) => {
            let mut forms = 0..;
            $(
                let form = forms.next().expect("a number");
                for &kind in <mma_element!($kind $a) as Element>::KINDS {
                    checks.push(multiply_scaled::<
                        D, ptx::$shape, mma_element!($kind $a), mma_element!($kind $b),
                        mma_kind!($kind $vec $scale),
                    >(
                        mma_sparse_scaled_ptx!($shape $kind $vec $scale $a $b),
                        $vec,
                        <ptx::$needs as Requirement>::NEEDS,
                        kind,
                        form,
                        |d, blocks, form, a, metadata, b, c, scales_a, scales_b, out| {
                            kernels::$kernel::launch(
                                d, blocks, form, a, metadata, b, c, scales_a, scales_b, out,
                            )
                        },
                    ));
                }
            )*
        };
    }
    mma_sparse_scaled_forms!(of_each_scaled_form);
    checks
}

/// The properties of a form.
#[derive(Clone, Copy)]
struct Sparse {
    ptx: &'static str,
    needs: Needs,
    /// The number of the form in its kernel.
    number: u32,
    selectors: usize,
    ordered: bool,
}

/// The sizes of a multiplication, and its sparsity selectors.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    n: usize,
    k: usize,
    granularity: Granularity,
    selectors: usize,
}

/// Input: for each multiplication, the kept elements of A, the metadata, B and C, row by row.
fn multiply<D, S, A, B, C, O>(
    gpu: Arch,
    form: Sparse,
    kind: Kind,
    launch: Launch<D, Bits<A>, Bits<B>, C>,
) -> Check<D>
where
    D: Device + 'static,
    S: Shape,
    A: Operand<B, C, O, D = C> + MmaArithmetic<B, C, O, D = C> + ptx_matrix::element::Element,
    B: Element + ptx_matrix::element::Element,
    C: Element,
{
    let granularity = Granularity::of(A::Width::BITS);
    let size = Size { m: S::M, n: S::N, k: S::K, granularity, selectors: form.selectors };
    Check {
        name: format!("{}, {}", form.ptx, kind.name()),
        needs: form.needs,
        rounds: 8,
        element: size_of::<C>(),
        inputs: inputs::<A, B, C>(size, kind, form.ordered),
        run: run::<D, Bits<A>, Bits<B>, C>(size, form.number, launch),
        reference: reference::<A, B, C, O>(gpu, size, kind),
        labels: None,
        arithmetic: Some(arithmetic::<A, B, C, O>(gpu, size)),
    }
}

// Separate functions, each with as few generic parameters as possible, because there are dozens of
// forms.

fn inputs<A: Element, B: Element, C: Element>(size: Size, kind: Kind, ordered: bool) -> Inputs {
    let Size { m, n, k, granularity, .. } = size;
    Box::new(move |rng| {
        let a = data::operands::<A>(rng, m * k / 2, kind);
        let metadata: Vec<u32> = (0..32).map(|_| word(rng, granularity.codes(ordered))).collect();
        let b = data::operands::<B>(rng, k * n, kind);
        let mut c = data::accumulators::<C>(rng, m * n, kind);
        // Some multiplications have a C of zeros.
        if rng.random_range(0..8) == 0 {
            c.fill(C::from_integer(0));
        }
        vec![bytes(&a), bytes(&metadata), bytes(&b), bytes(&c)]
    })
}

fn run<D: Device + 'static, A: Pod, B: Pod, C: Element>(
    size: Size,
    form: u32,
    launch: Launch<D, A, B, C>,
) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let a = upload::<D, A>(device, &inputs[0])?;
        let metadata = upload::<D, u32>(device, &inputs[1])?;
        let (b, c) = (upload::<D, B>(device, &inputs[2])?, upload::<D, C>(device, &inputs[3])?);
        let blocks = inputs[1].len() / size_of::<[u32; 32]>();
        with_output(device, blocks * size.selectors * size.m * size.n, |out| {
            launch(
                device,
                blocks as u32,
                form,
                a.borrow(),
                metadata.borrow(),
                b.borrow(),
                c.borrow(),
                out,
            )
        })
    })
}

fn reference<A: Operand<B, C, O, D = C>, B: Element, C: Element, O>(
    gpu: Arch,
    size: Size,
    kind: Kind,
) -> Reference {
    Box::new(move |inputs| {
        let is_exact = kind == Kind::Integers && A::MULTIPLIES;
        let dot = |a: &[A], b: &[B], c| {
            if is_exact { reference::exact(a, b, c) } else { A::dot(gpu, a, b, c) }
        };
        each_selector::<A, B, C>(size, inputs, &dot)
    })
}

fn arithmetic<A, B, C, O>(gpu: Arch, size: Size) -> Reference
where
    A: Element + MmaArithmetic<B, C, O, D = C>,
    B: Element,
    C: Element,
{
    Box::new(move |inputs| {
        each_selector::<A, B, C>(size, inputs, &|a, b, c| {
            A::multiply(gpu, a, b, &[c], 1, a.len()).remove(0)
        })
    })
}

/// D for each selector. `dot(row of A, column of B, element of C)` computes an element.
fn each_selector<A: Element, B: Element, C: Element>(
    Size { m, n, k, granularity, selectors }: Size,
    inputs: &Buffers,
    dot: Dot<'_, A, B, C, C>,
) -> Vec<u8> {
    let (a, words) = (elements::<A>(&inputs[0]), elements::<u32>(&inputs[1]));
    let (b, c) = (elements::<B>(&inputs[2]), elements::<C>(&inputs[3]));
    let element = |a: &[A], b: &[B], (row, col): (usize, usize)| dot(a, b, c[row * n + col]);
    let mut d = Vec::with_capacity(selectors * m * n);
    for selector in 0..selectors {
        let metadata = (&words[..], selector);
        d.extend(reference::multiply_sparse((m, n, k), (&a, &b), granularity, metadata, &element));
    }
    bytes(&d)
}

/// Input: the kept elements of A, the metadata, B and C, row by row, and the scales of A and B, row
/// by row.
fn multiply_scaled<D, S, A, B, K>(
    ptx: &str,
    scales: usize,
    needs: Needs,
    kind: Kind,
    form: u32,
    launch: LaunchScaled<D, Bits<A>, Bits<B>, A::Scale>,
) -> Check<D>
where
    D: Device + 'static,
    S: Shape,
    A: Element + ScaledOperand<B, K, Scale: Scale> + ptx_matrix::element::Element,
    B: Element + data::Float + ptx_matrix::element::Element,
{
    let granularity = Granularity::of(A::Width::BITS);
    let size = Scaled { m: S::M, n: S::N, k: S::K, granularity, scales };
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs,
        rounds: 8,
        element: size_of::<f32>(),
        inputs: scaled_inputs::<A, B, A::Scale>(size, kind),
        run: run_scaled::<D, Bits<A>, Bits<B>, A::Scale>(size, form, launch),
        reference: scaled_reference::<A, B, K>(size, kind),
        arithmetic: None,
        labels: None,
    }
}

/// The sizes of a multiplication with block scaling, and the number of scales of each row of A and
/// column of B.
#[derive(Clone, Copy)]
struct Scaled {
    m: usize,
    n: usize,
    k: usize,
    granularity: Granularity,
    scales: usize,
}

fn scaled_inputs<A: Element, B: Element, S: Scale>(
    Scaled { m, n, k, granularity, scales }: Scaled,
    kind: Kind,
) -> Inputs {
    Box::new(move |rng| {
        let a = data::operands::<A>(rng, m * k / 2, kind);
        let metadata: Vec<u32> = (0..32).map(|_| word(rng, granularity.codes(true))).collect();
        let (b, c) =
            (data::operands::<B>(rng, k * n, kind), data::accumulators::<f32>(rng, m * n, kind));
        let (scales_a, scales_b) =
            (data::scales::<S>(rng, m * scales, kind), data::scales::<S>(rng, n * scales, kind));
        vec![bytes(&a), bytes(&metadata), bytes(&b), bytes(&c), bytes(&scales_a), bytes(&scales_b)]
    })
}

fn run_scaled<D: Device + 'static, A: Pod, B: Pod, S: Scale>(
    Scaled { m, n, .. }: Scaled,
    form: u32,
    launch: LaunchScaled<D, A, B, S>,
) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let a = upload::<D, A>(device, &inputs[0])?;
        let metadata = upload::<D, u32>(device, &inputs[1])?;
        let (b, c) = (upload::<D, B>(device, &inputs[2])?, upload::<D, f32>(device, &inputs[3])?);
        let (scales_a, scales_b) =
            (upload::<D, S>(device, &inputs[4])?, upload::<D, S>(device, &inputs[5])?);
        let blocks = inputs[1].len() / size_of::<[u32; 32]>();
        with_output(device, blocks * m * n, |out| {
            let (a, metadata, b, c) = (a.borrow(), metadata.borrow(), b.borrow(), c.borrow());
            let (scales_a, scales_b) = (scales_a.borrow(), scales_b.borrow());
            launch(device, blocks as u32, form, a, metadata, b, c, scales_a, scales_b, out)
        })
    })
}

fn scaled_reference<A, B, K>(size: Scaled, kind: Kind) -> Reference
where
    A: Element + ScaledOperand<B, K>,
    B: Element + data::Float,
{
    let Scaled { m, n, k, granularity, scales } = size;
    Box::new(move |inputs| {
        let (a, words) = (elements::<A>(&inputs[0]), elements::<u32>(&inputs[1]));
        let (b, c) = (elements::<B>(&inputs[2]), elements::<f32>(&inputs[3]));
        let (scales_a, scales_b) =
            (elements::<A::Scale>(&inputs[4]), elements::<A::Scale>(&inputs[5]));
        let scales_of_columns = reference::columns(&scales_b, n);
        let element = |a: &[A], b: &[B], (row, col): (usize, usize)| match kind {
            Kind::Integers => reference::exact(a, b, c[row * n + col]),
            _ => {
                let of_row = &scales_a[row * scales..][..scales];
                A::dot((a, of_row), (b, &scales_of_columns[col]), c[row * n + col])
            }
        };
        let metadata = (&words[..], 0);
        bytes(&reference::multiply_sparse((m, n, k), (&a, &b), granularity, metadata, &element))
    })
}

/// Draws metadata with random codes.
pub(crate) fn word(rng: &mut Rng, codes: &[u8]) -> u32 {
    (0..8).fold(0, |word, _| word << 4 | u32::from(*codes.choose(rng).expect("there are codes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::HashSet;

    #[test]
    fn every_code_occurs() {
        let mut rng = Rng::seed_from_u64(0);
        let mut drawn = |codes: &[u8]| {
            (0..64).map(|_| word(&mut rng, codes) & 0xf).collect::<HashSet<_>>().len()
        };
        assert_eq!(drawn(Granularity::OneOfTwo.codes(true)), 2);
        assert_eq!(drawn(Granularity::TwoOfFour.codes(true)), 6);
        assert_eq!(drawn(Granularity::TwoPairsOfFour.codes(false)), 12);
    }
}
