//! Random matrix products, through the interface that users call, against sums in f64.
//!
//! A [`Trial`] is drawn from its seed: element, sides from 1 to 300, orders, gaps between lines, batches, factors, bias, ReLU, kernel
//! and parts of K, and what the matrices hold. Whatever must not be read is not a number, and D is poisoned before; what is around it has to
//! stay. Each runs twice, for the same bits.

mod draw;
mod reference;

use std::borrow::{Borrow, BorrowMut};

use half::{bf16, f16};
use num_traits::FromPrimitive;

use crate::gemm::{Choice, Gemm, GemmDevice, GemmElement, Layout, Operands};

pub use draw::{Trial, Values};

/// Draws trial `seed` with sides up to `longest`, and runs it. What went wrong is told with what was tried.
pub fn run<D: GemmDevice>(device: &D, seed: u64, longest: usize) -> Result<(), String> {
    let trial = Trial::draw(seed, longest);
    let outcome = if seed.is_multiple_of(2) { of::<D, bf16>(device, &trial) } else { of::<D, f16>(device, &trial) };
    outcome.map_err(|reason| format!("seed {seed}: {reason}\n{trial:?}"))
}

/// The product of a trial, as a user writes it down.
fn gemm<T: GemmElement>(trial: &Trial) -> Gemm<T> {
    let Trial { m, n, k, a, b, d, alpha, beta, batches, .. } = *trial;
    let gemm = Gemm::new(m, n, k).a(a).b(b).d(d).alpha(alpha).beta(beta).batches(batches);
    let gemm = gemm.workspace_up_to(if trial.may_split { usize::MAX } else { 0 });
    if trial.relu { gemm.relu() } else { gemm }
}

fn of<D: GemmDevice, T: GemmElement + FromPrimitive>(device: &D, trial: &Trial) -> Result<(), String> {
    let mut gemm = gemm::<T>(trial);
    if let Some(index) = trial.choice {
        let choices: Vec<Choice> = gemm.choices(device);
        gemm = gemm.choose(choices[index % choices.len()].clone());
    }
    let plan = gemm.plan(device).map_err(|error| error.to_string())?;
    let of = plan.choice().map_or_else(|| "no kernel".to_owned(), |choice| choice.to_string());
    let data = draw::Data::<T>::of(trial);
    let run = |poison: f32| -> Result<Vec<T>, D::Error> {
        let (a, b, c) = (device.upload(&data.a)?, device.upload(&data.b)?, device.upload(&data.c)?);
        let bias = device.upload(&data.bias)?;
        let mut d = device.upload(&data.poisoned)?;
        let mut workspace = device.upload(&vec![poison; plan.workspace_len()])?;
        let mut operands =
            Operands::new(device, a.borrow(), b.borrow(), d.borrow_mut()).workspace(workspace.borrow_mut());
        if trial.beta != 0.0 || trial.nan_in_c {
            operands = operands.c(c.borrow());
        }
        if trial.bias {
            operands = operands.bias(bias.borrow());
        }
        match plan.run(operands) {
            Ok(_) => device.download(d.borrow()),
            Err(crate::gemm::GemmError::Device(error)) => Err(error),
            Err(crate::gemm::GemmError::Refused(refusal)) => panic!("a sound trial was refused: {refusal}\n{trial:?}"),
        }
    };
    let in_words = |error: D::Error| format!("{of}: {error}");
    let first = run(f32::NAN).map_err(in_words)?;
    let second = run(1e9).map_err(in_words)?;
    let bits = |d: &[T]| bytemuck::cast_slice::<T, u8>(d).to_vec();
    if bits(&first) != bits(&second) {
        return Err(format!("{of}: two runs differ"));
    }
    reference::compare(trial, &data, &first).map_err(|reason| format!("{of}: {reason}"))
}

/// Where element (row, col) of a product's matrix is in its buffer.
fn index(layout: Layout, batch: usize, row: usize, col: usize) -> usize {
    let (line, along) = if layout.is_row_major() { (row, col) } else { (col, row) };
    layout.start() + batch * layout.batch() + line * layout.leading_dimension() + along
}
