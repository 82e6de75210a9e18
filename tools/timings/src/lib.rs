//! How long the instructions take on a GPU: latency and throughput of each form, by the kernels of
//! [`ptx_matrix_timing_kernels`], in cycles of the multiprocessor's own clock.
//!
//! ```
//! use ptx_matrix::sim::Simulator;
//! use ptx_matrix_timings::{all, measure};
//!
//! // On a GPU: a `GpuDevice`. (The simulator knows no time, but runs the kernels.)
//! let forms: Vec<_> = all().into_iter().filter(|form| form.ptx.starts_with("movmatrix")).collect();
//! let timing = measure(&Simulator::default(), &forms[0], 1)?;
//! println!("{}: {} cycles", timing.instruction, timing.latency);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![feature(macro_metavar_expr_concat)]

mod forms;
mod report;

pub use forms::{Form, Run, Work, all};
pub use report::{markdown, write_csv};

use std::borrow::{Borrow, BorrowMut};

use ptx_matrix::launch::Device;
use ptx_matrix_timing_kernels::{CLOCKS, WARPS};
use serde::Serialize;

/// What a form was measured to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// The instruction, as in PTX.
    pub instruction: &'static str,
    /// How many of a matrix's rows share their banks; for what reads shared memory.
    pub ways: Option<u32>,
    /// Cycles from one instruction to the next, which needs what the first returns: for a store,
    /// through a synchronisation of the warp and a load back.
    pub latency: f64,
    /// Cycles from one instruction to the next on a multiprocessor whose warps have several under
    /// way.
    pub interval: f64,
    /// What a multiprocessor does in a cycle then, of [`unit`](Self::unit).
    pub rate: f64,
    /// Bytes moved, or operations: a product and a sum are two.
    pub unit: &'static str,
}

/// How often a kernel is run; the medians count.
const REPEATS: usize = 5;

/// Measures a form, with so many rounds of instructions in each run.
///
/// # Errors
/// What the device says.
pub fn measure<D: Device>(device: &D, form: &Form<D>, rounds: u32) -> Result<Timing, D::Error> {
    let latency = cycles(device, &form.latency, 1, rounds)?;
    let interval = cycles(device, &form.throughput, WARPS, rounds)?;
    let (work, unit) = match form.work {
        Work::Bytes(bytes) => (bytes, "B/cycle"),
        Work::Operations(operations) => (operations, "op/cycle"),
    };
    Ok(Timing {
        instruction: form.ptx,
        ways: form.ways,
        latency,
        interval,
        rate: work as f64 / interval,
        unit,
    })
}

/// The cycles of one instruction, on a multiprocessor that `warps` warps share.
fn cycles<D: Device>(device: &D, run: &Run<D>, warps: usize, rounds: u32) -> Result<f64, D::Error> {
    let mut out = device.upload(&[0u32; 32 * WARPS])?;
    let mut runs = Vec::new();
    for _ in 0..REPEATS {
        let mut clocks = device.upload(&[0u64; CLOCKS])?;
        (run.launch)(device, clocks.borrow_mut(), out.borrow_mut(), rounds)?;
        let clocks = device.download(clocks.borrow())?;
        let (begun, ended) = (clocks.iter().step_by(2), clocks.iter().skip(1).step_by(2));
        let took =
            ended.take(warps).max().expect("a warp") - begun.take(warps).min().expect("a warp");
        runs.push(took as f64 / (f64::from(rounds) * (run.per_round * warps) as f64));
    }
    runs.sort_by(f64::total_cmp);
    Ok(runs[REPEATS / 2])
}
