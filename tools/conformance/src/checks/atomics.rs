//! Atomic operations with a result in global and in shared memory, and ordered loads and stores.

use super::reductions::{
    any_bf16, any_f16, float, flushed, integer, quiet, rounded_bf16, rounded_f16, sum_f32, sum_f64,
};
use super::{Check, upload};
use crate::data::Rng;
use crate::{bytes, elements};
use bytemuck::Pod;
use half::{bf16, f16};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::atomics::{self as kernels, OF_EACH, SHARED};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};
use std::iter::zip;

type Launch<D, T> = for<'d> fn(
    &'d D,
    u32,
    &'d <D as Device>::Buffer<T>,
    &'d <D as Device>::Buffer<T>,
    &'d mut <D as Device>::Buffer<T>,
    &'d mut <D as Device>::Buffer<T>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// The launch function of a kernel.
macro_rules! launch {
    ($kernel:ident) => {
        |device, grid, values, expected, memory, results| {
            kernels::$kernel::launch(device, grid, values, expected, memory, results)
        }
    };
}

/// An operation: a reduction of `m` by `v`, or another.
#[derive(Clone, Copy)]
enum Operation<T> {
    Reduce(fn(T, T) -> T),
    /// A reduction whose results differ in shared memory: that one is second.
    ReduceIn(fn(T, T) -> T, fn(T, T) -> T),
    Exchange,
    CompareExchange,
    /// Loads in the first half of the elements, and stores in the second one.
    LoadStore,
}

/// Input: the values; the values that `cas` expects, and those of shared memory before; global
/// memory before. Output: global memory after; the results in global and in shared memory; shared
/// memory after. Operations that shared memory lacks leave their part as it was.
fn operations<D: Device + 'static, T: Pod + PartialEq>(
    name: &str,
    needs: Needs,
    draw: fn(&mut Rng) -> T,
    operations: Vec<Operation<T>>,
    launch: Launch<D, T>,
) -> Check<D> {
    let count = operations.len() * OF_EACH;
    Check {
        name: name.into(),
        needs,
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: size_of::<T>(),
        inputs: Box::new(move |rng| {
            let [values, mut expected, memory] =
                [(); 3].map(|()| (0..count).map(|_| draw(rng)).collect::<Vec<T>>());
            for (expected, memory) in zip(&mut expected, &memory) {
                if rng.random() {
                    *expected = *memory;
                }
            }
            vec![bytes(&values), bytes(&expected), bytes(&memory)]
        }),
        run: Box::new(move |device, inputs| {
            let values = upload::<D, T>(device, &inputs[0])?;
            let expected = upload::<D, T>(device, &inputs[1])?;
            let mut memory = upload::<D, T>(device, &inputs[2])?;
            let mut results = upload::<D, T>(device, &vec![0xff; 3 * count * size_of::<T>()])?;
            let buffers = (memory.borrow_mut(), results.borrow_mut());
            launch(device, 1, values.borrow(), expected.borrow(), buffers.0, buffers.1)?;
            let after = bytes(&device.download(memory.borrow())?);
            Ok([after, bytes(&device.download(results.borrow())?)].concat())
        }),
        reference: Box::new(move |inputs| {
            let [values, expected, mut memory] =
                [0, 1, 2].map(|input| elements::<T>(&inputs[input]));
            let mut results = elements::<T>(&vec![0xff; 3 * count * size_of::<T>()]);
            for (i, memory) in memory.iter_mut().enumerate() {
                let (before, value) = (*memory, values[i]);
                let is_store = i % OF_EACH >= OF_EACH / 2;
                let operation = operations[i / OF_EACH];
                if let Operation::Reduce(reduce) | Operation::ReduceIn(_, reduce) = operation {
                    results[count + i] = expected[i];
                    results[2 * count + i] = reduce(expected[i], value);
                }
                let (after, result) = match operation {
                    Operation::Reduce(reduce) | Operation::ReduceIn(reduce, _) => {
                        (reduce(before, value), Some(before))
                    }
                    Operation::Exchange => (value, Some(before)),
                    Operation::CompareExchange if before == expected[i] => (value, Some(before)),
                    Operation::LoadStore if is_store => (value, None),
                    Operation::CompareExchange | Operation::LoadStore => (before, Some(before)),
                };
                *memory = after;
                results[i] = result.unwrap_or(results[i]);
            }
            [bytes(&memory), bytes(&results)].concat()
        }),
    }
}

/// Input: the values of the threads of all blocks. The output does not depend on their order.
fn by_all_blocks<D: Device + 'static>() -> Check<D> {
    const LAUNCHED: u32 = 64;
    const TAKEN: usize = 1024;
    Check {
        name: "atom.gpu.global, ld.acquire and st.release by all blocks".into(),
        needs: Needs::at_least(75),
        arithmetic: None,
        labels: None,
        rounds: 4,
        element: 4,
        inputs: Box::new(|rng| {
            let values: Vec<u32> = (0..LAUNCHED * 64).map(|_| rng.random()).collect();
            vec![bytes(&values)]
        }),
        run: Box::new(|device, inputs| {
            let values = upload::<D, u32>(device, &inputs[0])?;
            let mut memory = device.upload(&[0u32; SHARED])?;
            let mut taken = device.upload(&[0u32; TAKEN])?;
            let mut parts = device.upload(&[0u32; LAUNCHED as usize * 64])?;
            let mut sums = device.upload(&[0u32; 3])?;
            kernels::atom_by_all_blocks::launch(
                device,
                LAUNCHED,
                memory.borrow_mut(),
                values.borrow(),
                taken.borrow_mut(),
                parts.borrow_mut(),
                sums.borrow_mut(),
            )?;
            let taken = bytes(&device.download(taken.borrow())?);
            Ok([taken, bytes(&device.download(sums.borrow())?)].concat())
        }),
        reference: Box::new(|inputs| {
            let values = elements::<u32>(&inputs[0]);
            let taken: Vec<u32> = (0..TAKEN as u32).map(|number| number ^ 1).collect();
            let sum = values.into_iter().fold(0, u32::wrapping_add);
            let sums = [sum, LAUNCHED * (LAUNCHED - 1) / 2, LAUNCHED * 2];
            [bytes(&taken), bytes(&sums)].concat()
        }),
    }
}

/// Input: the values of all blocks, and what the first one loads.
fn with_bulk_copies<D: Device + 'static>() -> Check<D> {
    use kernels::HANDED_ON;
    const LAUNCHED: usize = 64;
    Check {
        name: "cp.async.bulk of what another block released".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 4,
        element: 4,
        inputs: Box::new(|rng| {
            let mut draw = |count| bytes(&(0..count).map(|_| rng.random()).collect::<Vec<u32>>());
            vec![draw(LAUNCHED * HANDED_ON), draw(HANDED_ON)]
        }),
        run: Box::new(|device, inputs| {
            let values = upload::<D, u32>(device, &inputs[0])?;
            let mut flags = vec![0u32; LAUNCHED + 1];
            flags[0] = 1;
            let mut flags = device.upload(&flags)?;
            let mut sums = elements::<u32>(&inputs[1]);
            sums.resize((LAUNCHED + 1) * HANDED_ON, 0);
            let mut sums = device.upload(&sums)?;
            kernels::atom_and_bulk_copies::launch(
                device,
                LAUNCHED as u32,
                flags.borrow_mut(),
                values.borrow(),
                sums.borrow_mut(),
            )?;
            Ok(bytes(&device.download(sums.borrow())?))
        }),
        reference: Box::new(|inputs| {
            let (values, mut sums) = (elements::<u32>(&inputs[0]), elements::<u32>(&inputs[1]));
            for value in values {
                sums.push(sums[sums.len() - HANDED_ON].wrapping_add(value));
            }
            bytes(&sums)
        }),
    }
}

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    use Operation::{CompareExchange, Exchange, LoadStore, Reduce, ReduceIn};
    let at_least = Needs::at_least;
    vec![
        operations::<D, u32>(
            "atom, ld and st of u32 in each order",
            at_least(75),
            |rng| integer(rng) as u32,
            vec![
                Reduce(|m, v| m.wrapping_add(v)),
                Reduce(|m, v| m.min(v)),
                Reduce(|m, v| m.max(v)),
                Reduce(|m, v| if m >= v { 0 } else { m + 1 }),
                Reduce(|m, v| if m == 0 || m > v { v } else { m - 1 }),
                Reduce(|m, v| m & v),
                Reduce(|m, v| m | v),
                Reduce(|m, v| m ^ v),
                Exchange,
                CompareExchange,
                LoadStore,
            ],
            launch!(atom_u32),
        ),
        operations::<D, i32>(
            "atom of s32 in each order",
            at_least(75),
            |rng| integer(rng) as i32,
            vec![
                Reduce(|m, v| m.wrapping_add(v)),
                Reduce(|m, v| m.min(v)),
                Reduce(|m, v| m.max(v)),
            ],
            launch!(atom_s32),
        ),
        operations::<D, u64>(
            "atom, ld and st of u64 in each order",
            at_least(75),
            integer,
            vec![
                Reduce(|m, v| m.wrapping_add(v)),
                Reduce(|m, v| m.min(v)),
                Reduce(|m, v| m.max(v)),
                Reduce(|m, v| m & v),
                Reduce(|m, v| m | v),
                Reduce(|m, v| m ^ v),
                Exchange,
                CompareExchange,
                LoadStore,
            ],
            launch!(atom_u64),
        ),
        operations::<D, i64>(
            "atom of s64 in each order",
            at_least(75),
            |rng| integer(rng) as i64,
            vec![Reduce(|m, v| m.min(v)), Reduce(|m, v| m.max(v))],
            launch!(atom_s64),
        ),
        operations::<D, f32>(
            "atom.add.f32 in each order",
            at_least(75),
            |rng| f32::from_bits(float(rng, 8, 23) as u32),
            vec![ReduceIn(|m, v| flushed(sum_f32(flushed(m), flushed(v))), sum_f32)],
            launch!(atom_f32),
        ),
        operations::<D, f64>(
            "atom.add.f64 in each order",
            at_least(75),
            |rng| f64::from_bits(float(rng, 11, 52)),
            vec![ReduceIn(sum_f64, |m, v| quiet(sum_f64(v, m)))],
            launch!(atom_f64),
        ),
        operations::<D, f16>(
            "atom.add.noftz.f16 in each order",
            at_least(75),
            any_f16,
            vec![Reduce(|m, v| rounded_f16(m.to_f32() + v.to_f32()))],
            launch!(atom_f16),
        ),
        operations::<D, bf16>(
            "atom.add.noftz.bf16 in each order",
            at_least(90),
            any_bf16,
            vec![Reduce(|m, v| rounded_bf16(m.to_f32() + v.to_f32()))],
            launch!(atom_bf16),
        ),
        by_all_blocks(),
        with_bulk_copies(),
    ]
}
