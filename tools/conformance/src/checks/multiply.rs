//! `mma.sync`.

use super::{Check, Inputs, Reference, RunOn, upload, with_output};
use crate::data::{Element, Kind, Rng, Scale};
use crate::reference::{Operand, ScaledOperand};
use crate::{Buffers, bytes, data, elements, reference};
use bytemuck::Pod;
use ptx_matrix::element::tf32;
use ptx_matrix::forms::{Needs, ptx};
use ptx_matrix::fragment::{M16N8K8, Shape};
use ptx_matrix::launch::Device;
use ptx_matrix::mma::{Mma, MmaForm, Plain};
use ptx_matrix::sim::{Arch, MmaArithmetic, Quad};
use ptx_matrix::target::{AtLeast, Requirement};
use ptx_matrix::{
    mma_element, mma_forms, mma_kind, mma_named, mma_ptx, mma_scaled_forms, mma_scaled_named,
    mma_scaled_ptx, mma_shape,
};
use ptx_matrix_conformance_kernels::multiply::{self as kernels, Bits};
use rand::RngExt;
use std::borrow::Borrow;
use std::ops::Range;

/// Launches a number of blocks for the form of a number. The elements of A and B are bits.
type Launch<D, A, B, C, R> = fn(
    &D,
    u32,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<B>,
    &<D as Device>::Buffer<C>,
    &mut <D as Device>::Buffer<R>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

type LaunchScaled<D, A, B, S> = fn(
    &D,
    u32,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<B>,
    &<D as Device>::Buffer<f32>,
    &<D as Device>::Buffer<S>,
    &<D as Device>::Buffer<S>,
    &mut <D as Device>::Buffer<f32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// The reference arithmetic of a form: its option, except for `m8n8k4` with f16.
macro_rules! arithmetic {
    (m8n8k4 f16 plain) => {
        Quad
    };
    ($shape:ident $a:ident $q:ident) => {
        ptx::$q
    };
}

pub fn checks<D: Device + 'static>(gpu: Arch) -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_form {
        ($($shape:ident $la:ident $lb:ident $q:ident $d:ident
            [($a:ident $b:ident) $($more:tt)*] $c:ident
            $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$(
            mma_named! { $q $shape $la $lb $d $a $b $c => of_each_form (
                [($a $b) $($more)*] $q $shape $la $lb $d $c $needs
                [mma_shape!($shape $la $lb $a)] [arithmetic!($shape $a $q)]
            ) }
        )*};
        (@named $kernel:ident ([$(($a:ident $b:ident))*] $q:ident $shape:ident $la:ident $lb:ident
            $d:ident $c:ident $needs:ident [$s:ty] [$o:ty])) => {
            let mut forms = 0..;
            $(
                let form = forms.next().expect("a number");
                for &kind in <mma_element!($q $a)>::KINDS {
                    checks.push(multiply::<
                        D, $s, mma_element!($q $a), mma_element!($q $b), ptx::$c, _, $o,
                    >(
                        gpu,
                        mma_ptx!($q $shape $la $lb $d $a $b $c),
                        <ptx::$needs as Requirement>::NEEDS,
                        kind,
                        form,
                        |d, blocks, form, a, b, c, out| {
                            kernels::$kernel::launch(d, blocks, form, a, b, c, out)
                        },
                    ));
                }
            )*
        };
    }
    mma_forms!(of_each_form);

    macro_rules! of_each_scaled_form {
        ($($shape:ident $kind:ident $vec:literal $scale:ident
            [($a:ident $b:ident) $($more:tt)*] $needs:ident $version:literal;)*) => {$(
            mma_scaled_named! { $shape $kind $vec $scale $a $b => of_each_scaled_form (
                [($a $b) $($more)*] $shape $kind $vec $scale $needs
            ) }
        )*};
        (@named $kernel:ident ([$(($a:ident $b:ident))*] $shape:ident $kind:ident $vec:literal
            $scale:ident $needs:ident)) => {
            let mut forms = 0..;
            $(
                let form = forms.next().expect("a number");
                for &kind in <mma_element!($kind $a)>::KINDS {
                    checks.push(multiply_scaled::<
                        D, ptx::$shape, mma_element!($kind $a), mma_element!($kind $b),
                        mma_kind!($kind $vec $scale),
                    >(
                        mma_scaled_ptx!($shape $kind $vec $scale $a $b),
                        $vec,
                        <ptx::$needs as Requirement>::NEEDS,
                        kind,
                        form,
                        |d, blocks, form, a, b, c, scales_a, scales_b, out| {
                            kernels::$kernel::launch(
                                d, blocks, form, a, b, c, scales_a, scales_b, out,
                            )
                        },
                    ));
                }
            )*
        };
    }
    mma_scaled_forms!(of_each_scaled_form);
    checks.extend(whole_registers(gpu));
    checks
}

/// The number of seeds in a run. Forms that no GPU of this project has run get fewer.
fn rounds(needs: Needs) -> u64 {
    if needs.specific { 8 } else { 64 }
}

/// M, N and K of a multiplication, and the number of multiplications of an instruction.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    n: usize,
    k: usize,
    count: usize,
}

/// Input: A, B and C, row by row. Forms with several multiplications have them concatenated.
fn multiply<D, S, A, B, C, R, O>(
    gpu: Arch,
    ptx: &str,
    needs: Needs,
    kind: Kind,
    form: u32,
    launch: Launch<D, Bits<A>, Bits<B>, C, R>,
) -> Check<D>
where
    D: Device + 'static,
    S: Shape,
    A: Operand<B, C, O, D = R> + MmaArithmetic<B, C, O, D = R> + ptx_matrix::element::Element,
    B: Element + ptx_matrix::element::Element,
    C: Element,
    R: Element,
{
    let size = Size { m: S::M, n: S::N, k: S::K, count: S::COUNT };
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs,
        rounds: rounds(needs),
        element: size_of::<R>(),
        inputs: inputs::<A, B, C>(size, kind),
        run: run::<D, Bits<A>, Bits<B>, C, R>(size, form, launch),
        reference: reference::<A, B, C, O>(gpu, size, kind),
        labels: None,
        arithmetic: Some(arithmetic::<A, B, C, O>(gpu, size)),
    }
}

// Separate functions, each with as few generic parameters as possible, because there are hundreds
// of forms.

fn inputs<A: Element, B: Element, C: Element>(Size { m, n, k, count }: Size, kind: Kind) -> Inputs {
    Box::new(move |rng| {
        let (a, b) = (
            data::operands::<A>(rng, count * m * k, kind),
            data::operands::<B>(rng, count * k * n, kind),
        );
        vec![bytes(&a), bytes(&b), bytes(&data::accumulators::<C>(rng, count * m * n, kind))]
    })
}

fn run<D: Device + 'static, A: Pod, B: Pod, C: Element, R: Element>(
    Size { m, n, k, count }: Size,
    form: u32,
    launch: Launch<D, A, B, C, R>,
) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let (a, b) = (upload::<D, A>(device, &inputs[0])?, upload::<D, B>(device, &inputs[1])?);
        let c = upload::<D, C>(device, &inputs[2])?;
        let blocks = inputs[0].len() / (count * m * k * size_of::<A>());
        with_output(device, blocks * count * m * n, |out| {
            launch(device, blocks as u32, form, a.borrow(), b.borrow(), c.borrow(), out)
        })
    })
}

fn reference<A: Operand<B, C, O>, B: Element, C: Element, O>(
    gpu: Arch,
    size: Size,
    kind: Kind,
) -> Reference {
    Box::new(move |inputs| {
        let is_exact = kind == Kind::Integers && A::MULTIPLIES;
        let dot = |a: &[A], b: &[B], c| {
            if is_exact { reference::exact(a, b, c) } else { A::dot(gpu, a, b, c) }
        };
        each_multiplication::<A, B, C, _>(size, inputs, &|a, b, c| {
            reference::multiply((size.m, size.n, size.k), (a, b, c), &dot)
        })
    })
}

fn arithmetic<A, B, C, O>(gpu: Arch, size: Size) -> Reference
where
    A: Element + MmaArithmetic<B, C, O, D: Element>,
    B: Element,
    C: Element,
{
    Box::new(move |inputs| {
        each_multiplication::<A, B, C, _>(size, inputs, &|a, b, c| {
            A::multiply(gpu, a, b, c, size.n, size.k)
        })
    })
}

/// Computes D from A, B and C.
type Matmul<'f, A, B, C, D> = &'f dyn Fn(&[A], &[B], &[C]) -> Vec<D>;

/// Computes D for all multiplications of an instruction; `matmul` computes one of them.
fn each_multiplication<A: Element, B: Element, C: Element, D: Element>(
    Size { m, n, k, count }: Size,
    inputs: &Buffers,
    matmul: Matmul<'_, A, B, C, D>,
) -> Vec<u8> {
    let (a, b, c) =
        (elements::<A>(&inputs[0]), elements::<B>(&inputs[1]), elements::<C>(&inputs[2]));
    let mut each = Vec::with_capacity(c.len());
    for which in 0..count {
        let columns = columns(&b, n * count, which * n..(which + 1) * n);
        each.extend(matmul(&a[which * m * k..][..m * k], &columns, &c[which * m * n..][..m * n]));
    }
    bytes(&each)
}

/// The columns `some` of a row-major matrix with `all` columns.
fn columns<T: Copy>(matrix: &[T], all: usize, some: Range<usize>) -> Vec<T> {
    let mut columns = Vec::with_capacity(matrix.len() / all * some.len());
    for row in matrix.chunks(all) {
        columns.extend_from_slice(&row[some.clone()]);
    }
    columns
}

/// Input: A, B and C, row by row, and the scales of A and B, row by row.
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
    let size = Scaled { m: S::M, n: S::N, k: S::K, scales };
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs,
        rounds: rounds(needs),
        element: size_of::<f32>(),
        inputs: scaled_inputs::<A, B, A::Scale>(size, kind),
        run: run_scaled::<D, Bits<A>, Bits<B>, A::Scale>(size, form, launch),
        reference: scaled_reference::<A, B, K>(size, kind),
        arithmetic: None,
        labels: None,
    }
}

/// M, N and K of a multiplication with block scaling, and the number of scales of each row of A and
/// column of B.
#[derive(Clone, Copy)]
struct Scaled {
    m: usize,
    n: usize,
    k: usize,
    scales: usize,
}

fn scaled_inputs<A: Element, B: Element, S: Scale>(
    Scaled { m, n, k, scales }: Scaled,
    kind: Kind,
) -> Inputs {
    Box::new(move |rng| {
        let (a, b) = (data::operands::<A>(rng, m * k, kind), data::operands::<B>(rng, k * n, kind));
        let c = data::accumulators::<f32>(rng, m * n, kind);
        let (scales_a, scales_b) =
            (data::scales::<S>(rng, m * scales, kind), data::scales::<S>(rng, n * scales, kind));
        vec![bytes(&a), bytes(&b), bytes(&c), bytes(&scales_a), bytes(&scales_b)]
    })
}

fn run_scaled<D: Device + 'static, A: Pod, B: Pod, S: Scale>(
    Scaled { m, n, k, .. }: Scaled,
    form: u32,
    launch: LaunchScaled<D, A, B, S>,
) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let (a, b) = (upload::<D, A>(device, &inputs[0])?, upload::<D, B>(device, &inputs[1])?);
        let c = upload::<D, f32>(device, &inputs[2])?;
        let (scales_a, scales_b) =
            (upload::<D, S>(device, &inputs[3])?, upload::<D, S>(device, &inputs[4])?);
        let blocks = inputs[0].len() / (m * k * size_of::<A>());
        with_output(device, blocks * m * n, |out| {
            let (scales_a, scales_b) = (scales_a.borrow(), scales_b.borrow());
            let (a, b, c) = (a.borrow(), b.borrow(), c.borrow());
            launch(device, blocks as u32, form, a, b, c, scales_a, scales_b, out)
        })
    })
}

fn scaled_reference<A, B, K>(Scaled { m, n, k, .. }: Scaled, kind: Kind) -> Reference
where
    A: Element + ScaledOperand<B, K>,
    B: Element + data::Float,
{
    Box::new(move |inputs| {
        let (a, b, c) =
            (elements::<A>(&inputs[0]), elements::<B>(&inputs[1]), elements::<f32>(&inputs[2]));
        let (scales_a, scales_b) =
            (elements::<A::Scale>(&inputs[3]), elements::<A::Scale>(&inputs[4]));
        bytes(&match kind {
            Kind::Integers => {
                reference::multiply((m, n, k), (&a, &b, &c), &reference::exact::<A, B, f32, f32>)
            }
            _ => reference::scaled((m, n, k), (&a, &scales_a), (&b, &scales_b), &c),
        })
    })
}

/// tf32 operands in registers whose low 13 bits are not zero. The instruction must ignore these
/// bits.
fn whole_registers<D: Device + 'static>(gpu: Arch) -> impl Iterator<Item = Check<D>> {
    type Form = Mma<M16N8K8, tf32, tf32, f32>;
    tf32::KINDS.iter().map(move |&kind| {
        let of_tf32 = multiply::<D, M16N8K8, tf32, tf32, f32, f32, Plain>(
            gpu,
            Form::PTX,
            AtLeast::<80>::NEEDS,
            kind,
            0,
            |d, blocks, form, a, b, c, out| {
                kernels::mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32::launch(
                    d, blocks, form, a, b, c, out,
                )
            },
        );
        Check {
            name: format!("{}, whole registers, {}", Form::PTX, kind.name()),
            arithmetic: None,
            labels: None,
            inputs: Box::new(move |rng| {
                let inputs = (of_tf32.inputs)(rng);
                vec![
                    with_low_bits(rng, &inputs[0]),
                    with_low_bits(rng, &inputs[1]),
                    inputs[2].clone(),
                ]
            }),
            run: Box::new(|device, inputs| {
                let [a, b, c] = [0, 1, 2].map(|input| upload::<D, f32>(device, &inputs[input]));
                let (a, b, c) = (a?, b?, c?);
                with_output(device, 16 * 8, |out| {
                    let (a, b, c) = (a.borrow(), b.borrow(), c.borrow());
                    kernels::mma_m16n8k8_tf32_whole_registers::launch(device, 1, a, b, c, out)
                })
            }),
            reference: Box::new(move |inputs| {
                let upper = |buffer| {
                    bytes(
                        &elements::<u32>(buffer)
                            .iter()
                            .map(|bits| bits & !LOW_BITS)
                            .collect::<Vec<_>>(),
                    )
                };
                (of_tf32.reference)(&vec![upper(&inputs[0]), upper(&inputs[1]), inputs[2].clone()])
            }),
            ..of_tf32
        }
    })
}

/// The bits of an f32 that tf32 lacks.
const LOW_BITS: u32 = (1 << 13) - 1;

fn with_low_bits(rng: &mut Rng, buffer: &[u8]) -> Vec<u8> {
    let bits =
        elements::<u32>(buffer).into_iter().map(|bits| bits | rng.random_range(0..=LOW_BITS));
    bytes(&bits.collect::<Vec<u32>>())
}
