//! Loads and stores of fragments, for tiles of every order and swizzle.

use super::{Check, upload, with_output};
use crate::{bytes, data, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::fragments::{self as kernels, AT, COLS, ROWS};
use std::borrow::Borrow;

type Launch<D> = fn(
    &D,
    &<D as Device>::Buffer<u16>,
    &mut <D as Device>::Buffer<u16>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![
        load::<D>("unswizzled", |d, s, o| kernels::load_unswizzled::launch(d, 1, s, o)),
        load::<D>("32-byte swizzle", |d, s, o| kernels::load_swizzle_32::launch(d, 1, s, o)),
        load::<D>("64-byte swizzle", |d, s, o| kernels::load_swizzle_64::launch(d, 1, s, o)),
        load::<D>("128-byte swizzle", |d, s, o| kernels::load_swizzle_128::launch(d, 1, s, o)),
        store::<D>("st.shared", "unswizzled", 75, |d, s, o| {
            kernels::store_unswizzled::launch(d, 1, s, o)
        }),
        store::<D>("st.shared", "32-byte swizzle", 75, |d, s, o| {
            kernels::store_swizzle_32::launch(d, 1, s, o)
        }),
        store::<D>("st.shared", "64-byte swizzle", 75, |d, s, o| {
            kernels::store_swizzle_64::launch(d, 1, s, o)
        }),
        store::<D>("st.shared", "128-byte swizzle", 75, |d, s, o| {
            kernels::store_swizzle_128::launch(d, 1, s, o)
        }),
        store::<D>("stmatrix", "unswizzled", 90, |d, s, o| {
            kernels::store_matrix_unswizzled::launch(d, 1, s, o)
        }),
        store::<D>("stmatrix", "32-byte swizzle", 90, |d, s, o| {
            kernels::store_matrix_swizzle_32::launch(d, 1, s, o)
        }),
        store::<D>("stmatrix", "64-byte swizzle", 90, |d, s, o| {
            kernels::store_matrix_swizzle_64::launch(d, 1, s, o)
        }),
        store::<D>("stmatrix", "128-byte swizzle", 90, |d, s, o| {
            kernels::store_matrix_swizzle_128::launch(d, 1, s, o)
        }),
    ]
}

/// Rows and columns of the loaded fragments, in order: A of m16n8k8 and m16n8k16, then B of both.
/// Each is loaded from the row-major and from the column-major tile.
const LOADED: [(usize, usize); 4] = [(16, 8), (16, 16), (8, 8), (16, 8)];

/// Input: the tile, row by row.
fn load<D: Device + 'static>(swizzle: &str, launch: Launch<D>) -> Check<D> {
    let expected = |source: &[u16]| -> Vec<u16> {
        let window = |(rows, cols)| {
            (0..rows).flat_map(move |row| {
                (0..cols).map(move |col| source[(AT.0 + row) * COLS + AT.1 + col])
            })
        };
        LOADED.into_iter().flat_map(|size| window(size).chain(window(size))).collect()
    };
    Check {
        name: format!("fragments by ldmatrix, {swizzle}"),
        needs: Needs::at_least(75),
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, ROWS * COLS))]),
        run: Box::new(move |device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            let len = LOADED.iter().map(|(rows, cols)| 2 * rows * cols).sum();
            with_output(device, len, |out| launch(device, source.borrow(), out))
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(move |inputs| bytes(&expected(&elements::<u16>(&inputs[0])))),
    }
}

/// Input: a 16x16 matrix, row by row.
fn store<D: Device + 'static>(by: &str, swizzle: &str, needs: u32, launch: Launch<D>) -> Check<D> {
    Check {
        name: format!("fragments by {by}, {swizzle}"),
        needs: Needs::at_least(needs),
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, 16 * 16))]),
        run: Box::new(move |device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            with_output(device, 2 * ROWS * COLS, |out| launch(device, source.borrow(), out))
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(|inputs| {
            let source = elements::<u16>(&inputs[0]);
            let mut tile = vec![0xffff; ROWS * COLS];
            for (index, value) in source.into_iter().enumerate() {
                tile[(AT.0 + index / 16) * COLS + AT.1 + index % 16] = value;
            }
            bytes(&[tile.clone(), tile].concat())
        }),
    }
}
