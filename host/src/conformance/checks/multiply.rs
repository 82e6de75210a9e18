//! `mma.sync`.

use super::{Check, upload, with_output};
use crate::conformance::data::{Float, Kind};
use crate::conformance::reference::Sum;
use crate::conformance::{bytes, data, elements, reference};
use half::{bf16, f16};
use ptx_matrix::launch::Device;
use ptx_matrix::{M16N8K8, M16N8K16, Mma, MmaForm};
use ptx_matrix_kernels::multiply as kernels;
use std::borrow::Borrow;

type Launch<D, F, C> = fn(
    &D,
    [&<D as Device>::Buffer<F>; 2],
    &<D as Device>::Buffer<C>,
    &mut <D as Device>::Buffer<C>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

type Form<S, F, C> = Mma<S, F, F, C>;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    Kind::ALL
        .into_iter()
        .flat_map(|kind| {
            [
                multiply::<D, f16, f16>(<Form<M16N8K8, f16, f16>>::PTX, 75, 8, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k8_f16_f16::launch(d, 1, a, b, c, out)
                }),
                multiply::<D, f16, f32>(<Form<M16N8K8, f16, f32>>::PTX, 75, 8, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k8_f16_f32::launch(d, 1, a, b, c, out)
                }),
                multiply::<D, bf16, f32>(<Form<M16N8K8, bf16, f32>>::PTX, 80, 8, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k8_bf16_f32::launch(d, 1, a, b, c, out)
                }),
                multiply::<D, f16, f16>(<Form<M16N8K16, f16, f16>>::PTX, 80, 16, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k16_f16_f16::launch(d, 1, a, b, c, out)
                }),
                multiply::<D, f16, f32>(<Form<M16N8K16, f16, f32>>::PTX, 80, 16, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k16_f16_f32::launch(d, 1, a, b, c, out)
                }),
                multiply::<D, bf16, f32>(<Form<M16N8K16, bf16, f32>>::PTX, 80, 16, kind, |d, [a, b], c, out| {
                    kernels::mma_m16n8k16_bf16_f32::launch(d, 1, a, b, c, out)
                }),
            ]
        })
        .collect()
}

/// Input: A, B and C, row by row.
fn multiply<D: Device + 'static, F: Float, C: Sum>(
    ptx: &str,
    needs: u32,
    k: usize,
    kind: Kind,
    launch: Launch<D, F, C>,
) -> Check<D> {
    let (m, n) = (16, 8);
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs,
        rounds: 64,
        element: size_of::<C>(),
        inputs: Box::new(move |rng| {
            let (a, b) = (data::matrix::<F>(rng, m * k, kind), data::matrix::<F>(rng, k * n, kind));
            vec![bytes(&a), bytes(&b), bytes(&data::matrix::<C>(rng, m * n, kind))]
        }),
        run: Box::new(move |device, inputs| {
            let (a, b) = (upload::<D, F>(device, &inputs[0])?, upload::<D, F>(device, &inputs[1])?);
            let c = upload::<D, C>(device, &inputs[2])?;
            with_output(device, m * n, |out| launch(device, [a.borrow(), b.borrow()], c.borrow(), out))
        }),
        reference: Box::new(move |inputs| {
            let (a, b, c) = (elements::<F>(&inputs[0]), elements::<F>(&inputs[1]), elements::<C>(&inputs[2]));
            let dot = if kind == Kind::Integers { reference::exact } else { reference::tensor_core };
            bytes(&reference::multiply((m, n, k), (&a, &b, &c), dot))
        }),
    }
}
