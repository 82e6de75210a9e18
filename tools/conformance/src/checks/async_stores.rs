//! `st.async` to other blocks, and `cp.async` with completion on an mbarrier.

use super::{Check, upload, with_output};
use crate::data::{Rng, distinct};
use crate::{bytes, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::async_stores::{self as kernels, ELEMENTS, STAGE};
use rand::RngExt;
use std::borrow::Borrow;

/// Blocks in a launch, in clusters of four.
const BLOCKS: usize = 12;

/// 64-bit elements that each block sends.
const OF_64_BITS: usize = 96;

type Launch<D> = fn(
    &D,
    &<D as Device>::Buffer<u16>,
    u32,
    &mut <D as Device>::Buffer<u16>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![
        send::<D>("b32", |d, a, by, o| {
            kernels::cluster_send_b32::launch(d, BLOCKS as u32, a, by, o)
        }),
        send::<D>("v2.b32", |d, a, by, o| {
            kernels::cluster_send_v2_b32::launch(d, BLOCKS as u32, a, by, o)
        }),
        send::<D>("v4.b32", |d, a, by, o| {
            kernels::cluster_send_v4_b32::launch(d, BLOCKS as u32, a, by, o)
        }),
        send_of_64_bits(),
        copies("cp.async.mbarrier.arrive.noinc.shared::cta.b64", 0),
        copies("cp.async.mbarrier.arrive.shared::cta.b64", 1),
    ]
}

/// The block that sends its matrix to `block`.
fn sender(block: usize, by: usize) -> usize {
    block / 4 * 4 + (block + 4 - by) % 4
}

/// Input: each block's matrix; the distance to the receiving block.
fn send<D: Device + 'static>(form: &str, launch: Launch<D>) -> Check<D> {
    Check {
        name: format!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{form}"),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: 2,
        inputs: Box::new(|rng| {
            vec![bytes(&distinct(rng, BLOCKS * ELEMENTS)), bytes(&[rng.random_range(0..4u32)])]
        }),
        run: Box::new(move |device, inputs| {
            let a = upload::<D, u16>(device, &inputs[0])?;
            let [by] = elements::<u32>(&inputs[1])[..] else { panic!("one number") };
            with_output::<D, u16>(device, BLOCKS * ELEMENTS, |out| {
                launch(device, a.borrow(), by, out)
            })
        }),
        reference: Box::new(|inputs| {
            let (a, by) = (elements::<u16>(&inputs[0]), elements::<u32>(&inputs[1])[0] as usize);
            let from = |i: usize| a[sender(i / ELEMENTS, by) * ELEMENTS + i % ELEMENTS];
            bytes(&(0..a.len()).map(from).collect::<Vec<u16>>())
        }),
    }
}

/// Input: each block's numbers.
fn send_of_64_bits<D: Device + 'static>() -> Check<D> {
    Check {
        name: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64, .v2.b64".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: 8,
        inputs: Box::new(|rng: &mut Rng| {
            vec![bytes(&(0..BLOCKS * OF_64_BITS).map(|_| rng.random()).collect::<Vec<u64>>())]
        }),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u64>(device, &inputs[0])?;
            with_output::<D, u64>(device, BLOCKS * OF_64_BITS, |out| {
                kernels::cluster_send_b64::launch(device, BLOCKS as u32, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u64>(&inputs[0]);
            let from = |i: usize| a[sender(i / OF_64_BITS, 1) * OF_64_BITS + i % OF_64_BITS];
            bytes(&(0..a.len()).map(from).collect::<Vec<u64>>())
        }),
    }
}

/// Input: a matrix of some stages.
fn copies<D: Device + 'static>(name: &str, held: u32) -> Check<D> {
    Check {
        name: name.into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: 2,
        inputs: Box::new(|rng| {
            let stages = rng.random_range(1..=9);
            vec![bytes(&distinct(rng, stages * STAGE))]
        }),
        run: Box::new(move |device, inputs| {
            let a = upload::<D, u16>(device, &inputs[0])?;
            with_output::<D, u16>(device, inputs[0].len() / 2, |out| {
                kernels::copy_to_barrier::launch(device, 1, a.borrow(), held, out)
            })
        }),
        reference: Box::new(|inputs| inputs[0].clone()),
    }
}
