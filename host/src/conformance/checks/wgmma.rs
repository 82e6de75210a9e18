//! `wgmma.mma_async`.

use super::{Check, upload, with_output};
use crate::conformance::data::{Element, Kind, factors};
use crate::conformance::{bytes, elements};
use bytemuck::Pod;
use ptx_matrix::forms::ptx;
use ptx_matrix::launch::Device;
use ptx_matrix::target::Requirement;
use ptx_matrix::{b1, wgmma_columns, wgmma_forms, wgmma_named, wgmma_ptx, wgmma_stored};
use ptx_matrix_kernels::{wgmma as kernels, wgmma_with_kernel};
use std::borrow::Borrow;

type Launch<D, A, B, R> = fn(
    &D,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<B>,
    &mut <D as Device>::Buffer<R>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// A check for each kernel.
pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_kernel {
        ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt $behind:ident $version:literal;)*) => {$($(
            wgmma_columns! { $columns $per => of_each_kernel ($d $a $b $k $option) }
        )*)*};
        (@form $n:tt $r:tt $form:tt) => { wgmma_with_kernel! { $n $form => of_each_kernel } };
        (@kernel $n:tt ($d:ident $a:ident $b:ident $k:literal $option:ident)) => {
            wgmma_named! { $n $d $a $b $k $option => of_each_kernel ($n $d $a $b $k $option) }
        };
        (@named $kernel:ident ($n:literal $d:ident $a:ident $b:ident $k:literal $option:ident)) => {
            checks.push(multiply::<D, ptx::$a, ptx::$b, ptx::$d, wgmma_stored!($a), wgmma_stored!($b)>(
                wgmma_ptx!($n $d $a $b $k $option),
                ($n, $k),
                |device, a, b, d| kernels::$kernel::launch(device, 1, a, b, d),
            ));
        };
    }
    wgmma_forms!(of_each_kernel);
    checks
}

/// Elements as a matrix has them in memory: as they are, or bits in words.
trait Memory: Element {
    /// The rows, or columns, of so many elements each, behind each other.
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
        elements.chunks(8).map(|bits| (0..8).map(|bit| (bits[bit].to_integer() as u8) << bit).sum()).collect()
    }
    fn from_memory(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().flat_map(|byte| (0..8).map(move |bit| b1::from_integer(i64::from(byte >> bit & 1)))).collect()
    }
}

/// Input: A, whose rows are twice 64, and the columns of B; small integers, whose sums are exact, however they are rounded. D is the sum of the products of B
/// with each half of A.
fn multiply<D, A, B, R, InA, InB>(ptx: &str, (n, k): (usize, usize), launch: Launch<D, InA, InB, R>) -> Check<D>
where
    D: Device + 'static,
    A: Memory,
    B: Memory,
    R: Element,
    InA: Pod,
    InB: Pod,
{
    Check {
        name: ptx.into(),
        needs: <ptx::sm_90a as Requirement>::NEEDS,
        arithmetic: None,
        rounds: 8,
        element: size_of::<R>(),
        inputs: Box::new(move |rng| {
            let (a, b) = (factors::<A>(rng, 128 * k, Kind::Integers), factors::<B>(rng, n * k, Kind::Integers));
            vec![A::to_memory(&a), B::to_memory(&b)]
        }),
        run: Box::new(move |device, inputs| {
            // The kernel takes B row by row: units of memory, which are elements or words, change places.
            let columns: Vec<InB> = elements(&inputs[1]);
            let along = columns.len() / n;
            let rows: Vec<InB> = (0..columns.len()).map(|i| columns[i % n * along + i / n]).collect();
            let (a, b) = (upload::<D, InA>(device, &inputs[0])?, upload::<D, InB>(device, &bytes(&rows))?);
            with_output::<D, R>(device, 64 * n, |d| launch(device, a.borrow(), b.borrow(), d))
        }),
        reference: Box::new(move |inputs| {
            let (a, b) = (A::from_memory(&inputs[0]), B::from_memory(&inputs[1]));
            let a: Vec<i64> = a.into_iter().map(A::to_integer).collect();
            let b: Vec<i64> = b.into_iter().map(B::to_integer).collect();
            let dot = |row: usize, col: usize| (0..k).map(|i| a[row * k + i] * b[col * k + i]).sum::<i64>();
            let sum = |i: usize| R::from_integer(dot(i / n, i % n) + dot(64 + i / n, i % n));
            bytes(&(0..64 * n).map(sum).collect::<Vec<R>>())
        }),
    }
}
