//! Arithmetic of pairs of 16-bit floats, and `prmt`.

use super::approx::{Launch, least, run};
use super::{Check, Reference};
use crate::{bytes, data::Rng, elements};
use half::{bf16, f16};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::pair_functions;
use ptx_matrix_conformance_kernels::pairs as kernels;
use ptx_matrix_reference::data::{Element, Float, operands};
use ptx_matrix_reference::fused;
use rand::RngExt;

/// An operation on the halves of three registers.
enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
}

impl Operation {
    /// The exact result, rounded once.
    fn of<F: Float>(&self, registers: [u32; 3]) -> u32 {
        let half = |shift: u32| {
            let of = |code: u32| F::from_code((code >> shift & 0xffff).into());
            let [a, b, c] = registers.map(of);
            let negative = |value: F| F::from_code(value.code() ^ 0x8000);
            let one = F::from_f64(1.0);
            let result = match self {
                Operation::Add => fused(a, one, b),
                Operation::Sub => fused(a, one, negative(b)),
                Operation::Mul => fused(a, b, F::from_f64(-0.0)),
                Operation::Fma => fused(a, b, c),
            };
            (result.code() as u32) << shift
        };
        half(0) | half(16)
    }
}

/// The bytes that the digits of the selector choose.
fn permuted([low, high, selector]: [u32; 3]) -> u32 {
    let bytes = [low.to_le_bytes(), high.to_le_bytes()].concat();
    u32::from_le_bytes([0, 1, 2, 3].map(|index| {
        let digit = (selector as usize >> (4 * index)) % 16;
        let byte = bytes[digit % 8];
        match digit {
            0..8 => byte,
            _ if byte < 0x80 => 0,
            _ => 0xff,
        }
    }))
}

pub(super) fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    macro_rules! checks {
        ($($kernel:ident $target:literal $ptx:literal $function:ident $element:ident
            $operation:ident ($($operand:ident)+);)*) => {
            vec![$(check(
                $ptx,
                least($target),
                draw::<$element>,
                |registers| Operation::$operation.of::<$element>(registers),
                |device, blocks, x, d| kernels::$kernel::launch(device, blocks, x, d),
            )),*]
        };
    }
    let mut checks = pair_functions!(checks);
    checks.push(check(
        "prmt.b32",
        Needs::at_least(75),
        |rng| rng.random(),
        permuted,
        |device, blocks, x, d| kernels::prmt_b32::launch(device, blocks, x, d),
    ));
    checks
}

/// Draws three registers: any bits, or numbers of some kinds.
fn draw<F: Element + Float>(rng: &mut Rng) -> [u32; 3] {
    if rng.random_range(0..4) == 0 {
        return rng.random();
    }
    std::array::from_fn(|_| {
        let kind = F::KINDS[rng.random_range(0..F::KINDS.len())];
        let numbers: Vec<F> = operands(rng, 2, kind);
        numbers[0].code() as u32 | (numbers[1].code() as u32) << 16
    })
}

/// Lanes in a round.
const LANES: usize = 1024;

fn check<D: Device + 'static>(
    ptx: &'static str,
    needs: Needs,
    draw: fn(&mut Rng) -> [u32; 3],
    of: fn([u32; 3]) -> u32,
    launch: Launch<D>,
) -> Check<D> {
    fn by_lane(of: impl Fn([u32; 3]) -> u32 + Send + Sync + 'static) -> Reference {
        Box::new(move |inputs| {
            let registers = elements::<u32>(&inputs[0]);
            bytes(&registers.as_chunks().0.iter().map(|&lane| of(lane)).collect::<Vec<_>>())
        })
    }
    Check {
        name: format!("pair {ptx}"),
        needs,
        rounds: 16,
        element: 4,
        inputs: Box::new(move |rng| {
            vec![bytes(&(0..LANES).flat_map(|_| draw(rng)).collect::<Vec<u32>>())]
        }),
        run: run(launch, 3),
        reference: by_lane(of),
        arithmetic: Some(by_lane(move |registers| kernels::value(ptx, registers))),
        labels: None,
    }
}
