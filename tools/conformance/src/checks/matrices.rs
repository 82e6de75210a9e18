//! `ldmatrix`, `stmatrix`, `movmatrix`.

use super::{Check, upload, with_output};
use crate::{bytes, data, elements, reference};
use ptx_matrix::forms::{self, Form, Needs};
use ptx_matrix::launch::Device;
use ptx_matrix::mma::{B16, MovMatrix, Trans};
use ptx_matrix::{ldmatrix_forms, stmatrix_forms};
use ptx_matrix_conformance_kernels::matrices as kernels;
use std::borrow::Borrow;

/// Rows of eight elements in the tile of the kernels.
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
    let mut checks = Vec::new();
    macro_rules! loads {
        ($($kernel:ident $ptx:literal $count:ident $trans:ident $element:ident $registers:tt
            $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {$(
            checks.push(load::<D>($ptx, |d, s, r, o| kernels::$kernel::launch(d, 1, s, r, o)));
        )*};
    }
    ldmatrix_forms!(loads);
    macro_rules! stores {
        ($($kernel:ident $ptx:literal $count:ident $trans:ident $element:ident $registers:tt
            $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {$(
            checks.push(store::<D>($ptx, |d, r, s, o| kernels::$kernel::launch(d, 1, r, s, o)));
        )*};
    }
    stmatrix_forms!(stores);
    checks.push(transpose());
    checks
}

/// The form with this name.
fn form(ptx: &str) -> &'static Form {
    forms::find(ptx).unwrap_or_else(|unknown| panic!("{unknown}"))
}

/// Input: the tile; for each lane, the row of the tile whose address it gives.
fn load<D: Device + 'static>(ptx: &str, launch: Load<D>) -> Check<D> {
    let form = form(ptx);
    let registers = form.d;
    let arrangement = reference::Matrices::of(form.ptx);
    Check {
        name: form.ptx.to_string(),
        needs: form.needs,
        rounds: 32,
        element: 4,
        inputs: Box::new(|rng| {
            vec![bytes(&data::distinct(rng, ELEMENTS)), bytes(&data::choose(rng, 32, SLOTS))]
        }),
        run: Box::new(move |device, inputs| {
            let (source, slots) =
                (upload::<D, u16>(device, &inputs[0])?, upload::<D, u32>(device, &inputs[1])?);
            with_output(device, 32 * registers, |out| {
                launch(device, source.borrow(), slots.borrow(), out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(move |inputs| {
            bytes(&arrangement.loaded(&inputs[0], &elements::<u32>(&inputs[1]), registers))
        }),
    }
}

/// Input: for each lane, the row of the tile whose address it gives; each lane's registers.
fn store<D: Device + 'static>(ptx: &str, launch: Store<D>) -> Check<D> {
    let form = form(ptx);
    let registers = form.a;
    let arrangement = reference::Matrices::of(form.ptx);
    Check {
        name: form.ptx.to_string(),
        needs: form.needs,
        rounds: 32,
        element: 2,
        inputs: Box::new(move |rng| {
            vec![bytes(&data::choose(rng, 32, SLOTS)), bytes(&data::distinct(rng, 64 * registers))]
        }),
        run: Box::new(move |device, inputs| {
            let (slots, source) =
                (upload::<D, u32>(device, &inputs[0])?, upload::<D, u32>(device, &inputs[1])?);
            with_output(device, ELEMENTS, |out| {
                launch(device, slots.borrow(), source.borrow(), out)
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(move |inputs| {
            arrangement.stored(
                &elements::<u32>(&inputs[1]),
                &elements::<u32>(&inputs[0]),
                registers,
                2 * ELEMENTS,
            )
        }),
    }
}

/// Input: each lane's register, in the matrix's row order. Output: the same for the transposed
/// matrix.
fn transpose<D: Device + 'static>() -> Check<D> {
    Check {
        name: MovMatrix::<Trans, B16>::PTX.to_string(),
        needs: Needs::at_least(75),
        rounds: 32,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, 64))]),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, 32, |out| {
                kernels::movmatrix_sync_aligned_m8n8_trans_b16::launch(
                    device,
                    1,
                    source.borrow(),
                    out,
                )
            })
        }),
        arithmetic: None,
        labels: None,
        reference: Box::new(|inputs| {
            let source = elements::<u16>(&inputs[0]);
            bytes(&(0..64).map(|index| source[index % 8 * 8 + index / 8]).collect::<Vec<u16>>())
        }),
    }
}
