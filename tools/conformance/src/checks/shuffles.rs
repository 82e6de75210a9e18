//! `shfl.sync`.

use super::{Check, upload, with_output};
use crate::{bytes, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::shuffles as kernels;
use rand::RngExt;
use std::borrow::Borrow;

type Launch<D> = fn(
    &D,
    &<D as Device>::Buffer<u32>,
    &mut <D as Device>::Buffer<u32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub(super) fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![
        of_mode("up", |device, source, out| {
            kernels::shfl_sync_up_b32::launch(device, 1, source, out)
        }),
        of_mode("down", |device, source, out| {
            kernels::shfl_sync_down_b32::launch(device, 1, source, out)
        }),
        of_mode("bfly", |device, source, out| {
            kernels::shfl_sync_bfly_b32::launch(device, 1, source, out)
        }),
        of_mode("idx", |device, source, out| {
            kernels::shfl_sync_idx_b32::launch(device, 1, source, out)
        }),
        by_functions(),
    ]
}

/// The lane that a lane reads from (PTX ISA 9.7.9.6); `None` if it is out of range.
fn source(mode: &str, lane: i64, b: u32, c: u32) -> Option<usize> {
    let (b, clamp, mask) = (i64::from(b & 31), i64::from(c & 31), i64::from(c >> 8 & 31));
    let first = lane & mask;
    let bound = first | (clamp & !mask);
    let (from, is_within) = match mode {
        "up" => (lane - b, lane - b >= bound),
        "down" => (lane + b, lane + b <= bound),
        "bfly" => (lane ^ b, lane ^ b <= bound),
        _ => (first | (b & !mask), first | (b & !mask) <= bound),
    };
    is_within.then_some(from as usize)
}

/// Input: each lane's three operands. The last one selects whole segments, or has random bits.
fn of_mode<D: Device + 'static>(mode: &'static str, launch: Launch<D>) -> Check<D> {
    Check {
        name: format!("shfl.sync.{mode}.b32"),
        needs: Needs::at_least(75),
        arithmetic: None,
        labels: None,
        rounds: 32,
        element: 4,
        inputs: Box::new(move |rng| {
            let in_segments = rng.random::<bool>();
            let mask = 31 & (31 << rng.random_range(0..=5));
            let of_segments = mask << 8 | if mode == "up" { 0 } else { 31 };
            let distance = rng.random::<u32>();
            let of_lane = |_| {
                let c = if in_segments { of_segments } else { rng.random() };
                [rng.random(), if rng.random() { distance } else { rng.random() }, c]
            };
            vec![bytes(&(0..32).flat_map(of_lane).collect::<Vec<u32>>())]
        }),
        run: Box::new(move |device, inputs| {
            let source = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, 3 * 32, |out| launch(device, source.borrow(), out))
        }),
        reference: Box::new(move |inputs| {
            let operands = elements::<u32>(&inputs[0]);
            let of_lane = |lane: usize| {
                let from =
                    source(mode, lane as i64, operands[3 * lane + 1], operands[3 * lane + 2]);
                let d = operands[3 * from.unwrap_or(lane)];
                [d, d, from.is_some().into()]
            };
            bytes(&(0..32).flat_map(of_lane).collect::<Vec<u32>>())
        }),
    }
}

/// Input: each lane's number, and the lane to read from; the distance.
fn by_functions<D: Device + 'static>() -> Check<D> {
    Check {
        name: "shfl.sync of 64 bits, by its functions".into(),
        needs: Needs::at_least(75),
        arithmetic: None,
        labels: None,
        rounds: 32,
        element: 8,
        inputs: Box::new(|rng| {
            let numbers: Vec<u64> = (0..32).map(|_| rng.random()).collect();
            let from: Vec<u32> = (0..32).map(|_| rng.random()).collect();
            vec![bytes(&numbers), bytes(&from), bytes(&[rng.random_range(0..32_u32)])]
        }),
        run: Box::new(|device, inputs| {
            let (numbers, from) =
                (upload::<D, u64>(device, &inputs[0])?, upload::<D, u32>(device, &inputs[1])?);
            let by = elements::<u32>(&inputs[2])[0];
            with_output::<D, u64>(device, 4 * 32, |out| {
                kernels::shuffle::launch(device, 1, numbers.borrow(), from.borrow(), by, out)
            })
        }),
        reference: Box::new(|inputs| {
            let (numbers, from) = (elements::<u64>(&inputs[0]), elements::<u32>(&inputs[1]));
            let by = elements::<u32>(&inputs[2])[0] as usize;
            let moved = |place: fn(usize, usize) -> Option<usize>| {
                let numbers = &numbers;
                (0..32).map(move |lane| {
                    numbers[place(lane, by).filter(|from| *from < 32).unwrap_or(lane)]
                })
            };
            let up = moved(|lane, by| lane.checked_sub(by));
            let (down, exchanged) =
                (moved(|lane, by| Some(lane + by)), moved(|lane, by| Some(lane ^ by)));
            let named = from.iter().map(|from| numbers[*from as usize % 32]);
            bytes(&up.chain(down).chain(exchanged).chain(named).collect::<Vec<u64>>())
        }),
    }
}
