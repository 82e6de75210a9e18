//! `mma.sync`.

use super::{Check, upload, with_output};
use crate::conformance::data::{Element, Kind, Rng};
use crate::conformance::reference::Factor;
use crate::conformance::{bytes, data, elements, reference};
use ptx_matrix::launch::Device;
use ptx_matrix::{
    F8E4M3, F8E5M2, M8N8K4, M8N8K16, M16N8K4, M16N8K8, M16N8K16, M16N8K32, Mma, MmaForm, Shape, bf16, f16, tf32,
};
use ptx_matrix_kernels::{mma_kernels, multiply as kernels};
use rand::RngExt;
use std::borrow::Borrow;

type Launch<D, A, B, C> = fn(
    &D,
    &<D as Device>::Buffer<A>,
    &<D as Device>::Buffer<B>,
    &<D as Device>::Buffer<C>,
    &mut <D as Device>::Buffer<C>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let mut checks = Vec::new();
    macro_rules! of_each_form {
        ($($kernel:ident $shape:ident $a:ident $b:ident $c:ident $target:literal;)*) => {$(
            checks.extend($a::KINDS.iter().map(|&kind| {
                multiply::<D, $shape, $a, $b, $c>(Mma::<$shape, $a, $b, $c>::PTX, $target, kind, |d, a, b, c, out| {
                    kernels::$kernel::launch(d, 1, a, b, c, out)
                })
            }));
        )*};
    }
    mma_kernels!(of_each_form);
    checks.extend(whole_registers());
    checks
}

/// Input: A, B and C, row by row.
fn multiply<D, S, A, B, C>(ptx: &str, target: &str, kind: Kind, launch: Launch<D, A, B, C>) -> Check<D>
where
    D: Device + 'static,
    S: Shape,
    A: Factor<B, C>,
    B: Element,
    C: Element,
{
    let (m, n, k) = (S::M, S::N, S::K);
    Check {
        name: format!("{ptx}, {}", kind.name()),
        needs: target.strip_prefix("sm_").and_then(|number| number.parse().ok()).expect("a target"),
        rounds: 64,
        element: size_of::<C>(),
        inputs: Box::new(move |rng| {
            let (a, b) = (data::factors::<A>(rng, m * k, kind), data::factors::<B>(rng, k * n, kind));
            vec![bytes(&a), bytes(&b), bytes(&data::sums::<C>(rng, m * n, kind))]
        }),
        run: Box::new(move |device, inputs| {
            let (a, b) = (upload::<D, A>(device, &inputs[0])?, upload::<D, B>(device, &inputs[1])?);
            let c = upload::<D, C>(device, &inputs[2])?;
            with_output(device, m * n, |out| launch(device, a.borrow(), b.borrow(), c.borrow(), out))
        }),
        reference: Box::new(move |inputs| {
            let (a, b, c) = (elements::<A>(&inputs[0]), elements::<B>(&inputs[1]), elements::<C>(&inputs[2]));
            let dot = if kind == Kind::Integers { reference::exact } else { A::dot };
            bytes(&reference::multiply((m, n, k), (&a, &b, &c), dot))
        }),
    }
}

/// tf32 factors in registers whose low 13 bits are not zero: they count for nothing.
fn whole_registers<D: Device + 'static>() -> impl Iterator<Item = Check<D>> {
    type Form = Mma<M16N8K8, tf32, tf32, f32>;
    tf32::KINDS.iter().map(|&kind| {
        let of_tf32 = multiply::<D, M16N8K8, tf32, tf32, f32>(Form::PTX, "sm_80", kind, |d, a, b, c, out| {
            kernels::mma_m16n8k8_tf32_tf32_f32::launch(d, 1, a, b, c, out)
        });
        Check {
            name: format!("{}, whole registers, {}", Form::PTX, kind.name()),
            inputs: Box::new(move |rng| {
                let inputs = (of_tf32.inputs)(rng);
                vec![with_low_bits(rng, &inputs[0]), with_low_bits(rng, &inputs[1]), inputs[2].clone()]
            }),
            run: Box::new(|device, inputs| {
                let [a, b, c] = [0, 1, 2].map(|input| upload::<D, f32>(device, &inputs[input]));
                let (a, b, c) = (a?, b?, c?);
                with_output(device, 16 * 8, |out| {
                    let (a, b, c) = (a.borrow(), b.borrow(), c.borrow());
                    kernels::mma_m16n8k8_tf32_whole_registers::launch(device, 1, a, b, c, out)
                })
            }),
            reference: Box::new(move |inputs| {
                let upper =
                    |buffer| bytes(&elements::<u32>(buffer).iter().map(|bits| bits & !LOW_BITS).collect::<Vec<_>>());
                (of_tf32.reference)(&vec![upper(&inputs[0]), upper(&inputs[1]), inputs[2].clone()])
            }),
            ..of_tf32
        }
    })
}

/// The bits of an f32 that tf32 has not.
const LOW_BITS: u32 = (1 << 13) - 1;

fn with_low_bits(rng: &mut Rng, buffer: &[u8]) -> Vec<u8> {
    let bits = elements::<u32>(buffer).into_iter().map(|bits| bits | rng.random_range(0..=LOW_BITS));
    bytes(&bits.collect::<Vec<u32>>())
}
