//! Arithmetic and conversions of `core`: a GPU must return the results of Rust on a CPU.
//!
//! The operands are pairs of special values, and random values of every magnitude. Results are
//! compared bit for bit, except where Rust leaves a choice. It leaves open the bits of a NaN that
//! arithmetic returns. It also leaves open the sign of a zero that `min` or `max` selects from two
//! zeros.

use super::{Check, Labels, upload, with_output};
use crate::{Buffers, bytes, data::Rng, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::arithmetic::{
    self as kernels, BLOCK_ITEMS, DOUBLE, OPERAND_WORDS, OPERANDS, RESULT_WORDS, SINGLE,
};
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::borrow::Borrow;

/// Items in a launch.
const ITEMS: usize = 256;
const BLOCKS: u32 = (ITEMS / BLOCK_ITEMS) as u32;

type Launch<D> = fn(
    &D,
    u32,
    &<D as Device>::Buffer<u64>,
    &mut <D as Device>::Buffer<u64>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// A type whose operations are checked.
struct Type {
    name: &'static str,
    bits: u32,
    /// Bits of the fraction of a floating-point type.
    mantissa: Option<u32>,
    operations: &'static [&'static str],
    result: fn(u32, [[u64; OPERAND_WORDS]; OPERANDS]) -> [u64; RESULT_WORDS],
}

macro_rules! types {
    ($($name:literal $bits:literal $mantissa:expr, $operations:ident $result:ident
        $kernel:ident;)*) => {
        pub(super) fn checks<D: Device + 'static>() -> Vec<Check<D>> {
            vec![$(check(
                Type {
                    name: $name,
                    bits: $bits,
                    mantissa: $mantissa,
                    operations: kernels::$operations,
                    result: kernels::$result,
                },
                |device, number, operands, results| {
                    kernels::$kernel::launch(device, BLOCKS, number, operands, results)
                },
            )),*]
        }
    };
}

types! {
    "f32" 32 Some(23), F32 f32_result arithmetic_f32;
    "f64" 64 Some(52), F64 f64_result arithmetic_f64;
    "i8" 8 None, I8 i8_result arithmetic_i8;
    "i16" 16 None, I16 i16_result arithmetic_i16;
    "i32" 32 None, I32 i32_result arithmetic_i32;
    "i64" 64 None, I64 i64_result arithmetic_i64;
    "i128" 128 None, I128 i128_result arithmetic_i128;
    "u8" 8 None, U8 u8_result arithmetic_u8;
    "u16" 16 None, U16 u16_result arithmetic_u16;
    "u32" 32 None, U32 u32_result arithmetic_u32;
    "u64" 64 None, U64 u64_result arithmetic_u64;
    "u128" 128 None, U128 u128_result arithmetic_u128;
}

fn check<D: Device + 'static>(of: Type, launch: Launch<D>) -> Check<D> {
    let Type { name, bits, mantissa, operations, result } = of;
    Check {
        name: format!("core: arithmetic and conversions of {name}"),
        needs: Needs::at_least(75),
        arithmetic: None,
        labels: Some(Labels {
            group: ITEMS,
            label: Box::new(move |inputs, element| {
                let item = element % ITEMS;
                let operands = elements::<u64>(&inputs[0]);
                let operand = |index: usize| {
                    let first = (item * OPERANDS + index) * OPERAND_WORDS;
                    u128::from(operands[first]) | u128::from(operands[first + 1]) << 64
                };
                let [a, b, c] = [operand(0), operand(1), operand(2)];
                let operation = operations.get(element / ITEMS).unwrap_or(&"an unknown operation");
                format!("`{operation}` of {name}, a = {a:#x}, b = {b:#x}, c = {c:#x}")
            }),
        }),
        rounds: 8,
        element: RESULT_WORDS * size_of::<u64>(),
        inputs: Box::new(move |rng| {
            let special = match mantissa {
                Some(mantissa) => special_floats(bits, mantissa),
                None => special_integers(bits),
            };
            let operand = |_| draw(rng, bits, mantissa, &special);
            let words = (0..ITEMS * OPERANDS)
                .map(operand)
                .flat_map(|bits| [bits as u64, (bits >> 64) as u64]);
            vec![bytes(&words.collect::<Vec<u64>>())]
        }),
        run: Box::new(move |device, inputs| {
            let operands = upload::<D, u64>(device, &inputs[0])?;
            let mut all = Vec::new();
            for (number, operation) in operations.iter().enumerate() {
                let output = with_output::<D, u64>(device, ITEMS * RESULT_WORDS, |results| {
                    launch(device, number as u32, operands.borrow(), results)
                })?;
                let mut words = elements::<u64>(&output);
                words.chunks_mut(RESULT_WORDS).for_each(|words| normalize(operation, words));
                all.extend(bytes(&words));
            }
            Ok(all)
        }),
        reference: Box::new(move |inputs: &Buffers| {
            let operands = elements::<u64>(&inputs[0]);
            let (words, _) = operands.as_chunks::<{ OPERAND_WORDS }>();
            let (items, _) = words.as_chunks::<{ OPERANDS }>();
            let of_operation = |number: usize| {
                items.iter().flat_map(move |item| {
                    let mut words = result(number as u32, *item);
                    normalize(operations[number], &mut words);
                    words
                })
            };
            bytes(&(0..operations.len()).flat_map(of_operation).collect::<Vec<u64>>())
        }),
    }
}

/// Operations on floats that keep the bits of a NaN: Rust defines them as operations on bits.
const KEEP_NAN: [&str; 3] = ["-a", "abs", "copysign"];

/// Operations that may return either zero if both are candidates.
const EITHER_ZERO: [&str; 3] = ["min", "max", "clamp"];

/// Replaces a result by the representative of its class, if Rust leaves the choice open.
fn normalize(operation: &str, words: &mut [u64]) {
    let (is_nan, nan, negative_zero) = match words[RESULT_WORDS - 1] {
        SINGLE => {
            let value = f32::from_bits(words[0] as u32);
            (value.is_nan(), f32::NAN.to_bits().into(), 1 << 31)
        }
        DOUBLE => (f64::from_bits(words[0]).is_nan(), f64::NAN.to_bits(), 1 << 63),
        _ => return,
    };
    if is_nan && !KEEP_NAN.contains(&operation) {
        words[0] = nan;
    } else if words[0] == negative_zero && EITHER_ZERO.contains(&operation) {
        words[0] = 0;
    }
}

/// Draws the bits of an operand: a special value or one near it, or a random value of random
/// magnitude.
fn draw(rng: &mut Rng, bits: u32, mantissa: Option<u32>, special: &[u128]) -> u128 {
    let mask = u128::MAX >> (128 - bits);
    let random: u128 = rng.random();
    let value = match (rng.random_range(0..4), mantissa) {
        (0 | 1, _) => *special.choose(rng).expect("there are special values"),
        // A magnitude near one, so that quotients and remainders are ordinary values.
        (2, Some(mantissa)) => {
            let exponents = (1_u128 << (bits - 1 - mantissa)) - 1;
            let exponent = exponents / 2 + rng.random_range(0..48) - 24;
            let sign = u128::from(rng.random::<bool>()) << (bits - 1);
            sign | exponent << mantissa | random & ((1 << mantissa) - 1)
        }
        (2, None) => {
            let small = random & (mask >> rng.random_range(0..bits));
            if rng.random() { small } else { small.wrapping_neg() }
        }
        _ => random,
    };
    value & mask
}

/// Zeros, subnormals, integers, ties, powers of two near the limits of the integer types,
/// infinities, NaNs.
fn special_floats(bits: u32, mantissa: u32) -> Vec<u128> {
    let bias = (1_u128 << (bits - 2 - mantissa)) - 1;
    let infinity = (2 * bias + 1) << mantissa;
    let power =
        |exponent: i32| (bias as i128 + i128::from(exponent)).max(1) as u128 * (1 << mantissa);
    let quarter = 1 << (mantissa - 2);
    let mut magnitudes = vec![
        0,
        1,
        2,
        (1 << mantissa) - 1,
        1 << mantissa,
        infinity - 1,
        infinity,
        infinity | 1,
        infinity | (2 * quarter),
        infinity | (2 * quarter) | 3,
        // 1.5, 2.5, 3, 3.5, 7, 0.1 (rounded down), 10.
        power(0) + 2 * quarter,
        power(1) + quarter,
        power(1) + 2 * quarter,
        power(1) + 3 * quarter,
        power(2) + 3 * quarter,
        power(-4) + (0x0999_9999_9999_9999 >> (60 - mantissa)),
        power(3) + quarter,
    ];
    for exponent in
        [-150, -126, -24, -1, 0, 1, 7, 8, 15, 16, 22, 23, 24, 31, 32, 52, 53, 63, 64, 100, 127]
    {
        let power = power(exponent);
        magnitudes.extend([power - 1, power, power + 1]);
    }
    magnitudes.iter().flat_map(|bits_of| [*bits_of, *bits_of | 1 << (bits - 1)]).collect()
}

/// Small numbers, powers of two and of ten and their neighbours, and the limits; all with both
/// signs.
fn special_integers(bits: u32) -> Vec<u128> {
    let mut magnitudes: Vec<u128> = (0..=11).collect();
    for exponent in
        (2..bits).filter(|exponent| exponent % 8 == 0 || exponent % 8 >= 6 || *exponent < 8)
    {
        let power = 1 << exponent;
        magnitudes.extend([power - 1, power, power + 1]);
    }
    let tens = std::iter::successors(Some(10_u128), |ten| ten.checked_mul(10));
    magnitudes.extend(tens.step_by(3));
    magnitudes.iter().flat_map(|bits_of| [*bits_of, bits_of.wrapping_neg()]).collect()
}
