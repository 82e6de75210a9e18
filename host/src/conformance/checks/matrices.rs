//! `ldmatrix`, `stmatrix`, `movmatrix`.

use super::{Check, upload, with_output};
use crate::conformance::{bytes, data, elements, reference};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix::{B16, LdMatrix, MovMatrix, NoTrans, StMatrix, Trans, X1, X2, X4};
use ptx_matrix_kernels::matrices as kernels;
use std::borrow::Borrow;

/// Rows of eight elements in the kernels' tile.
const SLOTS: u32 = 256;
const ELEMENTS: usize = SLOTS as usize * 8;

type Load<D> = fn(
    &D,
    &<D as Device>::Buffer<u16>,
    &<D as Device>::Buffer<u32>,
    &mut <D as Device>::Buffer<u32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

type Store<D> = fn(
    &D,
    &<D as Device>::Buffer<u32>,
    &<D as Device>::Buffer<u32>,
    &mut <D as Device>::Buffer<u16>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![
        load::<D>(LdMatrix::<X1, NoTrans, B16>::PTX, 1, false, |d, s, r, o| {
            kernels::ldmatrix_x1::launch(d, 1, s, r, o)
        }),
        load::<D>(LdMatrix::<X2, NoTrans, B16>::PTX, 2, false, |d, s, r, o| {
            kernels::ldmatrix_x2::launch(d, 1, s, r, o)
        }),
        load::<D>(LdMatrix::<X4, NoTrans, B16>::PTX, 4, false, |d, s, r, o| {
            kernels::ldmatrix_x4::launch(d, 1, s, r, o)
        }),
        load::<D>(LdMatrix::<X1, Trans, B16>::PTX, 1, true, |d, s, r, o| {
            kernels::ldmatrix_x1_trans::launch(d, 1, s, r, o)
        }),
        load::<D>(LdMatrix::<X2, Trans, B16>::PTX, 2, true, |d, s, r, o| {
            kernels::ldmatrix_x2_trans::launch(d, 1, s, r, o)
        }),
        load::<D>(LdMatrix::<X4, Trans, B16>::PTX, 4, true, |d, s, r, o| {
            kernels::ldmatrix_x4_trans::launch(d, 1, s, r, o)
        }),
        store::<D>(StMatrix::<X1, NoTrans, B16>::PTX, 1, false, |d, r, s, o| {
            kernels::stmatrix_x1::launch(d, 1, r, s, o)
        }),
        store::<D>(StMatrix::<X2, NoTrans, B16>::PTX, 2, false, |d, r, s, o| {
            kernels::stmatrix_x2::launch(d, 1, r, s, o)
        }),
        store::<D>(StMatrix::<X4, NoTrans, B16>::PTX, 4, false, |d, r, s, o| {
            kernels::stmatrix_x4::launch(d, 1, r, s, o)
        }),
        store::<D>(StMatrix::<X1, Trans, B16>::PTX, 1, true, |d, r, s, o| {
            kernels::stmatrix_x1_trans::launch(d, 1, r, s, o)
        }),
        store::<D>(StMatrix::<X2, Trans, B16>::PTX, 2, true, |d, r, s, o| {
            kernels::stmatrix_x2_trans::launch(d, 1, r, s, o)
        }),
        store::<D>(StMatrix::<X4, Trans, B16>::PTX, 4, true, |d, r, s, o| {
            kernels::stmatrix_x4_trans::launch(d, 1, r, s, o)
        }),
        transpose(),
    ]
}

/// Input: the tile; each lane's slot in it.
fn load<D: Device + 'static>(ptx: &str, count: usize, trans: bool, launch: Load<D>) -> Check<D> {
    Check {
        name: ptx.to_string(),
        needs: Needs::at_least(75),
        rounds: 32,
        element: 4,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, ELEMENTS)), bytes(&data::choose(rng, 32, SLOTS))]),
        run: Box::new(move |device, inputs| {
            let (source, slots) = (upload::<D, u16>(device, &inputs[0])?, upload::<D, u32>(device, &inputs[1])?);
            with_output(device, 32 * count, |out| launch(device, source.borrow(), slots.borrow(), out))
        }),
        arithmetic: None,
        reference: Box::new(move |inputs| {
            bytes(&reference::ldmatrix(&elements::<u16>(&inputs[0]), &elements::<u32>(&inputs[1]), count, trans))
        }),
    }
}

/// Input: each lane's slot in the tile; each lane's registers.
fn store<D: Device + 'static>(ptx: &str, count: usize, trans: bool, launch: Store<D>) -> Check<D> {
    Check {
        name: ptx.to_string(),
        needs: Needs::at_least(90),
        rounds: 32,
        element: 2,
        inputs: Box::new(move |rng| {
            vec![bytes(&data::choose(rng, 32, SLOTS)), bytes(&data::distinct(rng, 64 * count))]
        }),
        run: Box::new(move |device, inputs| {
            let (slots, source) = (upload::<D, u32>(device, &inputs[0])?, upload::<D, u32>(device, &inputs[1])?);
            with_output(device, ELEMENTS, |out| launch(device, slots.borrow(), source.borrow(), out))
        }),
        arithmetic: None,
        reference: Box::new(move |inputs| {
            let (slots, registers) = (elements::<u32>(&inputs[0]), elements::<u32>(&inputs[1]));
            bytes(&reference::stmatrix(&registers, &slots, count, trans, ELEMENTS))
        }),
    }
}

/// Input: each lane's register, which is row by row of the matrix; so is the output, of the transposed one.
fn transpose<D: Device + 'static>() -> Check<D> {
    Check {
        name: MovMatrix::<Trans, B16>::PTX.to_string(),
        needs: Needs::at_least(75),
        rounds: 32,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, 64))]),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, 32, |out| kernels::movmatrix_trans::launch(device, 1, source.borrow(), out))
        }),
        arithmetic: None,
        reference: Box::new(|inputs| {
            let source = elements::<u16>(&inputs[0]);
            bytes(&(0..64).map(|index| source[index % 8 * 8 + index / 8]).collect::<Vec<u16>>())
        }),
    }
}
