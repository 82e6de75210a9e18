//! Approximate special functions. Only hardware defines their last bits. So the reference is the
//! simulator's model, which was compared with an H100 for every argument (`tests/approx.rs`).

use super::{Check, RunOn, upload, with_output};
use crate::{bytes, data::Rng, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::approx as kernels;
use ptx_matrix_conformance_kernels::special_functions;
use rand::RngExt;
use std::borrow::Borrow;

/// Launches a kernel on operands in registers: the device, the blocks, the operands, the results.
pub(super) type Launch<D> = fn(
    &D,
    u32,
    &<D as Device>::Buffer<u32>,
    &mut <D as Device>::Buffer<u32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub(super) fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    macro_rules! checks {
        ($($kernel:ident $target:literal $ptx:literal $function:ident;)*) => {
            vec![$(check($ptx, least($target), |device, blocks, x, d| {
                kernels::$kernel::launch(device, blocks, x, d)
            })),*]
        };
    }
    special_functions!(checks)
}

pub(super) fn least(target: &str) -> Needs {
    Needs::at_least(target["sm_".len()..].parse().expect("a number"))
}

/// Runs a kernel with this number of operands in each lane.
pub(super) fn run<D: Device + 'static>(launch: Launch<D>, operands: usize) -> RunOn<D> {
    Box::new(move |device, inputs| {
        let x = upload::<D, u32>(device, &inputs[0])?;
        let count = inputs[0].len() / (4 * operands);
        with_output::<D, u32>(device, count, |d| launch(device, (count / 32) as u32, x.borrow(), d))
    })
}

/// Arguments in a round.
const ARGUMENTS: usize = 1024;

/// Zeros, the smallest and the largest numbers, infinities and NaNs, and the ends of the ranges of
/// `ex2` and `tanh`. Each is an f32, or a pair of 16-bit numbers.
const SPECIAL: [u32; 20] = [
    0,
    1,
    0x0000_8000,
    0x007f_ffff,
    0x0080_0000,
    0x0400_7bff,
    0x3b80_0000,
    0x3c00_3f80,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x40ff_ffff,
    0x42fe_0000,
    0x4300_0000,
    0x7e80_0000,
    0x7e80_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_7c00,
    0x7fc0_7e01,
];

/// Draws special numbers of both signs, any bits, or numbers of moderate size.
fn draw(rng: &mut Rng) -> u32 {
    match rng.random_range(0..4) {
        0 => {
            SPECIAL[rng.random_range(0..SPECIAL.len())] ^ if rng.random() { 0x8000_8000 } else { 0 }
        }
        1 => rng.random(),
        // As an f32, from 2^-12 to 2^12; each half is moderate too.
        _ => rng.random::<u32>() & 0x8fff_bfff | 0x3000_2000,
    }
}

fn check<D: Device + 'static>(ptx: &'static str, needs: Needs, launch: Launch<D>) -> Check<D> {
    let value = move |x: u32| kernels::value(ptx, x);
    let reference = move |inputs: &Vec<Vec<u8>>| {
        bytes(&elements::<u32>(&inputs[0]).into_iter().map(value).collect::<Vec<_>>())
    };
    Check {
        name: format!("special function {ptx}"),
        needs,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| {
            vec![bytes(&(0..ARGUMENTS).map(|_| draw(rng)).collect::<Vec<u32>>())]
        }),
        run: run(launch, 1),
        reference: Box::new(reference),
        arithmetic: Some(Box::new(reference)),
        labels: None,
    }
}
