//! Whole tiles: matrix products through shared memory, and a kernel with 64 KiB of shared memory.

use super::{Check, upload, with_output};
use crate::data::Kind;
use crate::reference::Operand;
use crate::{bytes, data, elements, reference};
use half::bf16;
use ptx_matrix::forms::{Needs, ptx};
use ptx_matrix::launch::Device;
use ptx_matrix::mma::Plain;
use ptx_matrix::sim::Arch;
use ptx_matrix::target::Requirement;
use ptx_matrix_conformance_kernels::products as kernels;
use ptx_matrix_conformance_kernels::shared_memory::{
    NUMBERS, SIDE, SIZES, mirror_vectors, transpose,
};
use std::borrow::Borrow;

type Launch<D> = fn(
    &D,
    &<D as Device>::Buffer<bf16>,
    &<D as Device>::Buffer<bf16>,
    &mut <D as Device>::Buffer<f32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>(gpu: Arch) -> Vec<Check<D>> {
    let kinds = [Kind::Integers, Kind::Normal, Kind::Wide];
    let (mma, wgmma) = (Needs::at_least(80), <ptx::sm_90a as Requirement>::NEEDS);
    let gemms = kinds.into_iter().flat_map(|kind| {
        [
            gemm::<D>(gpu, "multiply_tile", (16, 8, 16), mma, kind, |d, a, b, o| {
                kernels::multiply_tile::launch(d, 1, a, b, o)
            }),
            gemm::<D>(
                gpu,
                "product 64x64x64, unswizzled",
                (64, 64, 64),
                mma,
                kind,
                |d, a, b, o| kernels::product_64_unswizzled::launch(d, 1, a, b, o),
            ),
            gemm::<D>(
                gpu,
                "product 64x64x64, 32-byte swizzle",
                (64, 64, 64),
                mma,
                kind,
                |d, a, b, o| kernels::product_64_swizzle_32::launch(d, 1, a, b, o),
            ),
            gemm::<D>(
                gpu,
                "product 64x64x64, 64-byte swizzle",
                (64, 64, 64),
                mma,
                kind,
                |d, a, b, o| kernels::product_64_swizzle_64::launch(d, 1, a, b, o),
            ),
            gemm::<D>(
                gpu,
                "product 64x64x64, 128-byte swizzle",
                (64, 64, 64),
                mma,
                kind,
                |d, a, b, o| kernels::product_64_swizzle_128::launch(d, 1, a, b, o),
            ),
            gemm::<D>(
                gpu,
                "product 64x128x64, in halves",
                (64, 128, 64),
                wgmma,
                kind,
                |d, a, b, o| kernels::product_in_halves::launch(d, 1, a, b, o),
            ),
        ]
    });
    gemms.chain([transposition(), vectors()]).collect()
}

/// Input: A and B, row by row. The kernels sum 16 products at a time.
fn gemm<D: Device + 'static>(
    gpu: Arch,
    name: &str,
    (m, n, k): (usize, usize, usize),
    needs: Needs,
    kind: Kind,
    launch: Launch<D>,
) -> Check<D> {
    Check {
        name: format!("{name}, {}", kind.name()),
        needs,
        rounds: 8,
        element: 4,
        inputs: Box::new(move |rng| {
            let (a, b) = (
                data::operands::<bf16>(rng, m * k, kind),
                data::operands::<bf16>(rng, k * n, kind),
            );
            vec![bytes(&a), bytes(&b)]
        }),
        run: Box::new(move |device, inputs| {
            let (a, b) =
                (upload::<D, bf16>(device, &inputs[0])?, upload::<D, bf16>(device, &inputs[1])?);
            with_output(device, m * n, |out| launch(device, a.borrow(), b.borrow(), out))
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(move |inputs| {
            bytes(&gemm_by_16(
                gpu,
                (m, n),
                kind,
                &elements::<bf16>(&inputs[0]),
                &elements::<bf16>(&inputs[1]),
            ))
        }),
    }
}

/// The product of row-major matrices, m x n. Each `mma` adds 16 products to the accumulator.
pub(super) fn gemm_by_16(
    gpu: Arch,
    (m, n): (usize, usize),
    kind: Kind,
    a: &[bf16],
    b: &[bf16],
) -> Vec<f32> {
    let dot = |a: &[bf16], b: &[bf16], c: f32| {
        a.chunks(16).zip(b.chunks(16)).fold(c, |c, (a, b)| match kind {
            Kind::Integers => reference::exact(a, b, c),
            _ => <bf16 as Operand<bf16, f32, Plain>>::dot(gpu, a, b, c),
        })
    };
    reference::multiply((m, n, a.len() / m), (a, b, &vec![0.0; m * n]), &dot)
}

/// Input: the matrix, row by row.
fn transposition<D: Device + 'static>() -> Check<D> {
    Check {
        name: format!(
            "transposition through {} KiB of shared memory",
            transpose::INFO.shared_bytes / 1024
        ),
        needs: Needs::at_least(75),
        rounds: 4,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, SIDE * SIDE))]),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            with_output::<D, u16>(device, SIDE * SIDE, |out| {
                transpose::launch(device, 1, source.borrow(), out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(|inputs| {
            let source = elements::<u16>(&inputs[0]);
            let index = |index: usize| index % SIDE * SIDE + index / SIDE;
            bytes(&(0..SIDE * SIDE).map(|i| source[index(i)]).collect::<Vec<u16>>())
        }),
    }
}

/// Vectors of 2 to 16 bytes, through global and shared memory.
fn vectors<D: Device + 'static>() -> Check<D> {
    Check {
        name: "vectors of each size in the reverse order".into(),
        needs: Needs::at_least(75),
        rounds: 4,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, NUMBERS))]),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            with_output::<D, u16>(device, SIZES.len() * NUMBERS, |out| {
                mirror_vectors::launch(device, 1, source.borrow(), out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(|inputs| {
            let source = elements::<u16>(&inputs[0]);
            let mirrored = |size| source.chunks(size).rev().flatten().copied();
            bytes(&SIZES.into_iter().flat_map(mirrored).collect::<Vec<u16>>())
        }),
    }
}
