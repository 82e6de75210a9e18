//! Attention. Its bits depend on the order of the kernel's instructions, so no other definition
//! exists. The reference is the simulator, whose instructions have their own checks.

use super::{Check, upload, with_output};
use crate::{bytes, data::Rng, elements};
use half::bf16;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::Simulator;
use ptx_matrix::target::{OnlyArch, Requirement};
use ptx_matrix_attention::{Attention, AttentionError};
use rand::RngExt;
use std::borrow::Borrow;

pub(super) fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![attention()]
}

/// Draws the sizes: queries for both consumers, and keys for two tiles, the second of them partial.
fn drawn(rng: &mut Rng) -> Vec<u8> {
    bytes(&[rng.random_range(60..=70_u32), rng.random_range(129..=150), rng.random_range(0..=1)])
}

fn of(sizes: &[u8]) -> Attention {
    let [queries, keys, causal] = elements::<u32>(sizes)[..] else {
        unreachable!("three numbers are drawn")
    };
    Attention {
        features: 64,
        queries: queries as usize,
        keys: keys as usize,
        heads: 1,
        key_heads: 1,
        scale: 0.125,
        causal: causal != 0,
    }
}

fn run<D: Device + 'static>(device: &D, inputs: &[Vec<u8>]) -> Result<Vec<u8>, D::Error> {
    let of = of(&inputs[0]);
    let [q, k, v] = [
        upload::<D, bf16>(device, &inputs[1])?,
        upload(device, &inputs[2])?,
        upload(device, &inputs[3])?,
    ];
    with_output::<D, bf16>(device, of.lens()[0], |out| {
        let launched =
            of.run(device, q.borrow(), k.borrow(), v.borrow(), out).map_err(|error| match error {
                AttentionError::Device(error) => error,
                error => panic!("the sizes and the buffers are right: {error}"),
            });
        launched.map(|report| report.expect("there are queries"))
    })
}

/// Input: the sizes; Q, K and V.
fn attention<D: Device + 'static>() -> Check<D> {
    Check {
        name: "attention, as the simulator computes it".into(),
        needs: <OnlyArch<90> as Requirement>::NEEDS,
        arithmetic: None,
        labels: None,
        rounds: 2,
        element: 2,
        inputs: Box::new(|rng| {
            let sizes = drawn(rng);
            let [of_queries, of_keys] = of(&sizes).lens();
            let mut numbers = |len, spread: f32| {
                bytes(
                    &(0..len)
                        .map(|_| bf16::from_f32(rng.random_range(-spread..spread)))
                        .collect::<Vec<_>>(),
                )
            };
            vec![sizes, numbers(of_queries, 3.0), numbers(of_keys, 3.0), numbers(of_keys, 1.0)]
        }),
        run: Box::new(|device, inputs| run(device, inputs)),
        reference: Box::new(|inputs| {
            run(&Simulator::default(), inputs).expect("the kernel makes no mistake")
        }),
    }
}
