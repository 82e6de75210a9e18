//! Compares random GEMMs, through the public interface, with sums in f64.
//!
//! A seed draws a [`Trial`]: a problem, its options, and the values of the matrices. The problem
//! has element types, sizes from 1 to 300, layouts, gaps between rows, and batches or groups of
//! rows. The options are alpha and beta, bias, activation, kernel and splits of K.
//!
//! Elements that must not be read are NaN. D is poisoned before, and the elements around it must
//! not change. Each trial runs twice and must return the same bits.

mod draw;
mod element;
mod reference;

use std::borrow::{Borrow, BorrowMut};

use element::TrialElement;
use half::{bf16, f16};
use ptx_matrix::element::{F8E4M3, F8E5M2};
use ptx_matrix_gemm::kernels::{Multiply, Output};

use ptx_matrix_gemm::{Choice, Gemm, GemmDevice, GemmError, Layout, Operands};

pub use draw::{Trial, Values};

/// Draws and runs a trial of one combination of elements.
type Run<D> = fn(&D, u64, usize) -> Result<(), String>;

/// Draws and runs trial `seed`, with sizes up to `longest`. The error describes the trial.
pub fn run<D: GemmDevice>(device: &D, seed: u64, longest: usize) -> Result<(), String> {
    let runs: [Run<D>; 13] = [
        of::<D, bf16, bf16>,
        of::<D, f16, f16>,
        of::<D, f32, f32>,
        of::<D, f64, f64>,
        of::<D, i8, i32>,
        of::<D, F8E4M3, bf16>,
        of::<D, bf16, f32>,
        of::<D, f16, f32>,
        of::<D, F8E4M3, f16>,
        of::<D, F8E4M3, f32>,
        of::<D, F8E5M2, bf16>,
        of::<D, F8E5M2, f16>,
        of::<D, F8E5M2, f32>,
    ];
    runs[(seed % runs.len() as u64) as usize](device, seed, longest)
}

/// The GEMM of a trial, as a user writes it.
fn gemm<T: Multiply<O>, O: Output<Acc: TrialElement>>(trial: &Trial) -> Gemm<T, O> {
    let Trial { m, n, k, a, b, d, batches, .. } = *trial;
    let (alpha, beta) = (O::Acc::of(trial.alpha), O::Acc::of(trial.beta));
    let gemm = Gemm::new(m, n, k).a(a).b(b).d(d).alpha(alpha).beta(beta).batches(batches);
    let up_to = |may: bool| if may { usize::MAX } else { 0 };
    let gemm = gemm
        .workspace_up_to(up_to(trial.may_split))
        .repack_workspace_up_to(up_to(trial.may_copy))
        .activation(trial.activation);
    let gemm = if trial.fast { gemm.fast_accumulation() } else { gemm };
    let gemm = if let Some(ends) = &trial.ends { gemm.groups(ends.len()) } else { gemm };
    if trial.bias_per_row { gemm.bias_per_row() } else { gemm }
}

fn of<D: GemmDevice, T, O>(device: &D, seed: u64, longest: usize) -> Result<(), String>
where
    T: Multiply<O> + TrialElement,
    O: Output<Acc: TrialElement> + TrialElement,
{
    let trial = Trial::draw::<T, O>(seed, longest);
    let outcome = multiply::<D, T, O>(device, &trial);
    outcome
        .map_err(|reason| format!("seed {seed}, {} into {}: {reason}\n{trial:?}", T::NAME, O::NAME))
}

fn multiply<D: GemmDevice, T, O>(device: &D, trial: &Trial) -> Result<(), String>
where
    T: Multiply<O> + TrialElement,
    O: Output<Acc: TrialElement> + TrialElement,
{
    let mut gemm = gemm::<T, O>(trial);
    if let Some(index) = trial.choice {
        let choices: Vec<Choice> = gemm.choices(device);
        // There is nothing to choose where nothing is multiplied.
        if choices.is_empty() && trial.alpha != 0.0 {
            return Err("no kernel does it".to_owned());
        }
        if let Some(choice) = choices.get(index % choices.len().max(1)) {
            gemm = gemm.choose(choice.clone());
        }
    }
    let plan = gemm.plan(device).map_err(|error| error.to_string())?;
    let of = plan.choice().map_or_else(|| "no kernel".to_owned(), |choice| choice.to_string());
    let mut kernels = T::KERNELS.iter().chain(T::GROUPED);
    let kernel =
        plan.choice().and_then(|choice| kernels.find(|kernel| kernel.name == choice.kernel));
    let by_wgmma = kernel.filter(|kernel| kernel.name.starts_with("sm90_"));
    // The number of products that `wgmma` accumulates before the sum is promoted to f32.
    let at_once =
        by_wgmma.map(|kernel| if kernel.fast_accumulation { trial.k } else { trial.k.min(128) });
    let data = draw::Data::<T, O>::of(trial);
    let run = |poison: O::Acc, poison_of_copies: T| -> Result<Vec<O>, String> {
        let upload = || -> Result<_, D::Error> {
            let bias = device.upload(&data.bias)?;
            let workspace = device.upload(&vec![poison; plan.workspace_len()])?;
            let (a, b, c) =
                (device.upload(&data.a)?, device.upload(&data.b)?, device.upload(&data.c)?);
            let copies = device.upload(&vec![poison_of_copies; plan.repack_workspace_len()])?;
            let ends = device.upload(trial.ends.as_deref().unwrap_or_default())?;
            Ok((a, b, c, bias, device.upload(&data.poisoned)?, workspace, copies, ends))
        };
        let (a, b, c, bias, mut d, mut workspace, mut copies, ends) =
            upload().map_err(|error| error.to_string())?;
        let operands = Operands::new(device, a.borrow(), b.borrow(), d.borrow_mut());
        let mut operands =
            operands.workspace(workspace.borrow_mut()).repack_workspace(copies.borrow_mut());
        if trial.has_c() {
            operands = if trial.c_is_d { operands.c_is_d() } else { operands.c(c.borrow()) };
        }
        if trial.bias {
            operands = operands.bias(bias.borrow());
        }
        let in_words = |error: GemmError<D::Error>| format!("{of}: {error}");
        if trial.ends.is_some() {
            operands = operands.group_ends(ends.borrow());
        }
        plan.run(operands).map_err(in_words)?;
        device.download(d.borrow()).map_err(|error| format!("{of}: {error}"))
    };
    let (first, second) = (run(O::Acc::POISON, T::POISON)?, run(O::Acc::of(1e9), T::of(3.0))?);
    let bits = |d: &[O]| bytemuck::cast_slice::<O, u8>(d).to_vec();
    if bits(&first) != bits(&second) {
        return Err(format!("{of}: two runs differ"));
    }
    reference::compare(trial, at_once, &data, &first).map_err(|reason| format!("{of}: {reason}"))
}

/// The index of element (row, col) of a matrix in its buffer.
fn index(layout: Layout, batch: usize, row: usize, col: usize) -> usize {
    let (outer, inner) = if layout.is_row_major() { (row, col) } else { (col, row) };
    layout.start() + batch * layout.batch() + outer * layout.leading_dimension() + inner
}
