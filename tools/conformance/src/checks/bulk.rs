//! Bulk copies.

use super::{Check, upload, with_output};
use crate::{bytes, data, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::bulk::{STEP, bulk_copy, bulk_stages};
use rand::RngExt;
use std::borrow::Borrow;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![copy(), stages()]
}

/// Elements of a tile.
const TILE: usize = 8 * 64;
/// Elements of the source.
const SOURCE: usize = 2048;
/// Elements of the output: the tile, and the buffer that it is copied to.
const OUTPUT: usize = TILE + 1024;

/// Input: the source; the offset of the tile in the source, and the offset in the output. Both
/// offsets are multiples of eight elements.
fn copy<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk, to shared memory and from it".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 32,
        element: 2,
        inputs: Box::new(|rng| {
            let from = rng.random_range(0..=(SOURCE - TILE) as u32 / 8) * 8;
            let to = rng.random_range(TILE as u32 / 8..=(OUTPUT - TILE) as u32 / 8) * 8;
            vec![bytes(&data::distinct(rng, SOURCE)), bytes(&[from, to])]
        }),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            let [from, to] = elements::<u32>(&inputs[1])[..] else { panic!("two places") };
            with_output::<D, u16>(device, OUTPUT, |out| {
                bulk_copy::launch(device, 1, source.borrow(), from, to, out)
            })
        }),
        reference: Box::new(|inputs| {
            let [from, to] = elements::<u32>(&inputs[1])[..] else { panic!("two places") };
            let source = elements::<u16>(&inputs[0]);
            let tile = &source[from as usize..][..TILE];
            let mut out = vec![0xffff; OUTPUT];
            for (index, value) in tile.iter().enumerate() {
                out[(7 - index / 64) * 64 + index % 64] = *value;
                out[to as usize + index] = *value;
            }
            bytes(&out)
        }),
    }
}

/// Input: the numbers.
fn stages<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk, numbers through stages".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| {
            let steps = rng.random_range(1..=10);
            vec![bytes(&(0..steps * STEP).map(|_| rng.random::<u32>()).collect::<Vec<u32>>())]
        }),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            let len = inputs[0].len() / 4;
            with_output::<D, u32>(device, len, |out| {
                bulk_stages::launch(device, 1, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            bytes(&(0..a.len()).map(|i| a[i ^ 5].wrapping_mul(a[i ^ 5])).collect::<Vec<u32>>())
        }),
    }
}
