//! `cp.async`.

use super::products::gemm_by_16;
use super::{Check, upload, with_output};
use crate::data::Kind;
use crate::{bytes, data, elements};
use half::bf16;
use ptx_matrix::copy::{CpAsync, CpAsyncForm};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::Arch;
use ptx_matrix_conformance_kernels::copies as kernels;
use rand::RngExt;
use std::borrow::Borrow;

/// Elements of the source, and of the tile.
const ELEMENTS: usize = 32 * 64;

type Launch<D> = fn(
    &D,
    &<D as Device>::Buffer<u16>,
    [&<D as Device>::Buffer<u32>; 3],
    &mut <D as Device>::Buffer<u16>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>(gpu: Arch) -> Vec<Check<D>> {
    vec![
        copy::<D>(CpAsync::<4>::PTX, 4, |d, s, [f, t, c], o| {
            kernels::copy_4::launch(d, 1, s, f, t, c, o)
        }),
        copy::<D>(CpAsync::<8>::PTX, 8, |d, s, [f, t, c], o| {
            kernels::copy_8::launch(d, 1, s, f, t, c, o)
        }),
        copy::<D>(CpAsync::<16>::PTX, 16, |d, s, [f, t, c], o| {
            kernels::copy_16::launch(d, 1, s, f, t, c, o)
        }),
        tiles(),
        gemm(gpu, Kind::Integers),
        gemm(gpu, Kind::Normal),
    ]
}

/// Input: the source; for each lane, its chunk in the source, its chunk in the tile, and the number
/// of elements to copy.
fn copy<D: Device + 'static>(ptx: &str, size: usize, launch: Launch<D>) -> Check<D> {
    let per_chunk = size / 2;
    Check {
        name: format!("{ptx}, {size} bytes"),
        needs: Needs::at_least(80),
        rounds: 32,
        element: 2,
        inputs: Box::new(move |rng| {
            let chunks = (ELEMENTS / per_chunk) as u32;
            let (from, to) = (data::choose(rng, 32, chunks), data::choose(rng, 32, chunks));
            let counts: Vec<u32> = (0..32)
                .map(|_| rng.random_range(0..=2 * per_chunk as u32).min(per_chunk as u32))
                .collect();
            vec![bytes(&data::distinct(rng, ELEMENTS)), bytes(&from), bytes(&to), bytes(&counts)]
        }),
        run: Box::new(move |device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            let (from, to) =
                (upload::<D, u32>(device, &inputs[1])?, upload::<D, u32>(device, &inputs[2])?);
            let counts = upload::<D, u32>(device, &inputs[3])?;
            with_output(device, ELEMENTS, |out| {
                launch(device, source.borrow(), [from.borrow(), to.borrow(), counts.borrow()], out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(move |inputs| {
            let source = elements::<u16>(&inputs[0]);
            let [from, to, counts] = [1, 2, 3].map(|input| elements::<u32>(&inputs[input]));
            let mut tile = vec![0xffff; ELEMENTS];
            for lane in 0..32 {
                let (from, to) = (from[lane] as usize * per_chunk, to[lane] as usize * per_chunk);
                for i in 0..per_chunk {
                    tile[to + i] = if i < counts[lane] as usize { source[from + i] } else { 0 };
                }
            }
            bytes(&tile)
        }),
    }
}

/// Input: the source, in rows of 64; the number of rows and columns of the matrix.
fn tiles<D: Device + 'static>() -> Check<D> {
    Check {
        name: "tiles by cp.async, with edges".to_string(),
        needs: Needs::at_least(80),
        rounds: 32,
        element: 2,
        inputs: Box::new(|rng| {
            let size = [rng.random_range(0..=32u32), rng.random_range(0..=64)];
            vec![bytes(&data::distinct(rng, ELEMENTS)), bytes(&size)]
        }),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            let size = elements::<u32>(&inputs[1]);
            with_output::<D, u16>(device, 2 * ELEMENTS, |out| {
                kernels::copy_tiles::launch(device, 1, source.borrow(), size[0], size[1], out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(|inputs| {
            let (source, size) = (elements::<u16>(&inputs[0]), elements::<u32>(&inputs[1]));
            let inside =
                |index: usize| index / 64 < size[0] as usize && index % 64 < size[1] as usize;
            let tile: Vec<u16> =
                (0..ELEMENTS).map(|i| if inside(i) { source[i] } else { 0 }).collect();
            bytes(&[tile.clone(), tile].concat())
        }),
    }
}

/// Input: A and B, row by row. The kernel sums 16 products at a time.
fn gemm<D: Device + 'static>(gpu: Arch, kind: Kind) -> Check<D> {
    let (m, n) = (64, 64);
    Check {
        name: format!("product 64x64 in stages of cp.async, {}", kind.name()),
        needs: Needs::at_least(80),
        rounds: 4,
        element: 4,
        inputs: Box::new(move |rng| {
            let k = rng.random_range(0..=6) * 32;
            let (a, b) = (
                data::operands::<bf16>(rng, m * k, kind),
                data::operands::<bf16>(rng, k * n, kind),
            );
            vec![bytes(&a), bytes(&b)]
        }),
        run: Box::new(move |device, inputs| {
            let (a, b) =
                (upload::<D, bf16>(device, &inputs[0])?, upload::<D, bf16>(device, &inputs[1])?);
            with_output(device, m * n, |out| {
                kernels::product_in_stages::launch(device, 1, a.borrow(), b.borrow(), out)
            })
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
