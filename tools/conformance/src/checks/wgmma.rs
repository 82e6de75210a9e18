//! `wgmma.mma_async`.

use super::{Check, Inputs, Reference, RunOn, upload, with_output};
use crate::data::{Element, Kind, operands};
use crate::reference::Operand;
use crate::{bytes, elements};
use bytemuck::Pod;
use ptx_matrix::element::b1;
use ptx_matrix::forms::ptx;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::{Arch, MmaArithmetic};
use ptx_matrix::target::Requirement;
use ptx_matrix::{
    wgmma_arithmetic, wgmma_columns, wgmma_forms, wgmma_named, wgmma_ptx, wgmma_stored,
};
use ptx_matrix_conformance_kernels::{wgmma as kernels, wgmma_with_kernel};
use std::borrow::Borrow;

type Launch<D, A, B, R> = fn(
    &D,
    u32,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<B>,
    &mut <D as Device>::Buffer<R>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// The checks of each kernel. Kernels with 32 columns run with all kinds of data. The others differ
/// only in N, and run with small integers.
pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_subtraction {
        ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
            $behind:ident 0 $version:literal;)*) => {$($(
            of_each_subtraction! { $behind $d $a $b $k $option }
        )*)*};
        (nothing $($form:tt)*) => {};
        ($behind:ident $d:ident $a:ident $b:ident $k:literal $option:ident) => {
            wgmma_named! { 0 32 $d $a $b $k $option => of_each_subtraction ($d $a $b $k $option) }
        };
        (@named $name:ident ($d:ident $a:ident $b:ident $k:literal $option:ident)) => {
            checks.extend(<ptx::$a as Element>::KINDS.iter().map(|&kind| {
                multiply::<
                    D,
                    ptx::$a,
                    ptx::$b,
                    ptx::$d,
                    wgmma_stored!($a),
                    wgmma_stored!($b),
                    wgmma_arithmetic!($a $option),
                >(
                    concat!(wgmma_ptx!(0 32 $d $a $b $k $option), ", negated"),
                    kind,
                    (32, $k),
                    negated,
                    |device, blocks, a, b, d| {
                        pastey::paste!(kernels::[<$name _negated>]::launch)(device, blocks, a, b, d)
                    },
                )
            }));
        };
    }
    wgmma_forms!(of_each_subtraction);
    macro_rules! of_each_kernel {
        ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
            $behind:ident 0 $version:literal;)*) => {$($(
            wgmma_columns! { $columns => of_each_kernel ($d $a $b $k $option) }
        )*)*};
        (@form $n:tt $form:tt) => { wgmma_with_kernel! { $n $form => of_each_kernel } };
        (@kernel $n:tt ($d:ident $a:ident $b:ident $k:literal $option:ident)) => {
            wgmma_named! { 0 $n $d $a $b $k $option => of_each_kernel ($n $d $a $b $k $option) }
        };
        (@named $kernel:ident ($n:literal $d:ident $a:ident $b:ident $k:literal $option:ident)) => {
            let kinds = if $n == 32 { <ptx::$a as Element>::KINDS } else { &[Kind::Integers] };
            checks.extend(kinds.iter().map(|&kind| {
                multiply::<
                    D,
                    ptx::$a,
                    ptx::$b,
                    ptx::$d,
                    wgmma_stored!($a),
                    wgmma_stored!($b),
                    wgmma_arithmetic!($a $option),
                >(
                    wgmma_ptx!(0 $n $d $a $b $k $option),
                    kind,
                    ($n, $k),
                    as_it_is,
                    |device, blocks, a, b, d| kernels::$kernel::launch(device, blocks, a, b, d),
                )
            }));
        };
    }
    wgmma_forms!(of_each_kernel);
    checks
}

/// An element as it is in shared memory: as itself, or as a bit of a word.
trait Memory: Element {
    /// Packs rows, or columns, contiguously.
    fn to_memory(elements: &[Self]) -> Vec<u8>;
    fn from_memory(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! as_they_are {
    ($($element:ident)*) => {$(
        impl Memory for ptx::$element {
            fn to_memory(elements: &[Self]) -> Vec<u8> {
                bytes(elements)
            }
            fn from_memory(bytes: &[u8]) -> Vec<Self> {
                elements(bytes)
            }
        }
    )*};
}
as_they_are!(f16 bf16 tf32 e4m3 e5m2 s8 u8);

impl Memory for b1 {
    fn to_memory(elements: &[Self]) -> Vec<u8> {
        elements
            .chunks(8)
            .map(|bits| (0..8).map(|bit| (bits[bit].to_integer() as u8) << bit).sum())
            .collect()
    }
    fn from_memory(bytes: &[u8]) -> Vec<Self> {
        bytes
            .iter()
            .flat_map(|byte| (0..8).map(move |bit| b1::from_integer(i64::from(byte >> bit & 1))))
            .collect()
    }
}

/// A transformation of A by the instruction: none, or negation.
pub(super) type Prepare<A> = fn(Vec<A>) -> Vec<A>;

fn as_it_is<A>(a: Vec<A>) -> Vec<A> {
    a
}

/// Negates each element by flipping its highest bit.
fn negated<A: Memory>(a: Vec<A>) -> Vec<A> {
    let mut memory = A::to_memory(&a);
    for element in memory.chunks_mut(size_of::<A>()) {
        element[size_of::<A>() - 1] ^= 0x80;
    }
    A::from_memory(&memory)
}

/// Input, for each multiplication: A with 2 x 64 rows, and the columns of B. D is the product of
/// the first half of the transformed A with B, plus that of the second half.
fn multiply<D, A, B, R, InA, InB, O>(
    ptx: &str,
    kind: Kind,
    (n, k): (usize, usize),
    prepare: Prepare<A>,
    launch: Launch<D, InA, InB, R>,
) -> Check<D>
where
    D: Device + 'static,
    A: Memory + Operand<B, R, O, D = R> + MmaArithmetic<B, R, O, D = R>,
    B: Memory,
    R: Element,
    InA: Pod,
    InB: Pod,
{
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs: <ptx::sm_90a as Requirement>::NEEDS,
        rounds: 8,
        element: size_of::<R>(),
        inputs: inputs::<A, B>((n, k), kind),
        run: run::<D, InA, InB, R>(n, launch),
        reference: of_both_halves::<A, B, R>((n, k), prepare, |a, b, c| {
            A::dot(Arch::SM_90, a, b, c)
        }),
        labels: None,
        arithmetic: Some(of_both_halves::<A, B, R>((n, k), prepare, |a, b, c| {
            <A as MmaArithmetic<B, R, O>>::multiply(Arch::SM_90, a, b, &[c], 1, a.len()).remove(0)
        })),
    }
}

// Separate functions, each with as few generic parameters as possible, as for `mma`.

fn inputs<A: Memory, B: Memory>((n, k): (usize, usize), kind: Kind) -> Inputs {
    Box::new(move |rng| {
        let (a, b) = (operands::<A>(rng, 128 * k, kind), operands::<B>(rng, n * k, kind));
        vec![A::to_memory(&a), B::to_memory(&b)]
    })
}

fn run<D, InA, InB, R>(n: usize, launch: Launch<D, InA, InB, R>) -> RunOn<D>
where
    D: Device + 'static,
    InA: Pod,
    InB: Pod,
    R: Element,
{
    Box::new(move |device, inputs| {
        // The kernel takes B row by row. This transposes units of memory, which are elements or
        // words.
        let columns: Vec<InB> = elements(&inputs[1]);
        let blocks = inputs[1].len() / (32 * n);
        let along = columns.len() / (blocks * n);
        let rows = columns
            .chunks(along * n)
            .flat_map(|of| (0..of.len()).map(move |i| of[i % n * along + i / n]));
        let rows: Vec<InB> = rows.collect();
        let (a, b) =
            (upload::<D, InA>(device, &inputs[0])?, upload::<D, InB>(device, &bytes(&rows))?);
        with_output::<D, R>(device, blocks * 64 * n, |d| {
            launch(device, blocks as u32, a.borrow(), b.borrow(), d)
        })
    })
}

/// Computes D for both halves of A. `dot` takes a row of A, a column of B and an element of D.
fn of_both_halves<A: Memory, B: Memory, R: Element>(
    (n, k): (usize, usize),
    prepare: Prepare<A>,
    dot: fn(&[A], &[B], R) -> R,
) -> Reference {
    Box::new(move |inputs| {
        let (a, b) = (prepare(A::from_memory(&inputs[0])), B::from_memory(&inputs[1]));
        let element = |i: usize| {
            let column = &b[i % n * k..][..k];
            let half = |first: usize, sum: R| dot(&a[(first + i / n) * k..][..k], column, sum);
            half(64, half(0, R::from_integer(0)))
        };
        bytes(&(0..64 * n).map(element).collect::<Vec<R>>())
    })
}
