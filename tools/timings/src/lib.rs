//! Latency and throughput of each form on a GPU, measured with the kernels of
//! [`ptx_matrix_timing_kernels`]. The unit is cycles of the SM's clock.
//!
//! ```
//! use ptx_matrix::sim::Simulator;
//! use ptx_matrix_timings::{all, measure};
//!
//! // On a GPU: a `GpuDevice`. (The simulator runs the kernels, but its times mean nothing.)
//! let forms: Vec<_> =
//!     all().into_iter().filter(|form| form.ptx.starts_with("movmatrix")).collect();
//! let timing = measure(&Simulator::default(), &forms[0], 1)?;
//! println!("{}: {} cycles", timing.instruction, timing.latency);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod forms;
mod report;

pub use forms::{Form, Run, Work, all};
pub use report::{markdown, write_csv};

use std::borrow::{Borrow, BorrowMut};

use ptx_matrix::launch::Device;
use ptx_matrix_timing_kernels::{CLOCKS, WARPS};
use serde::Serialize;

/// The measurement of a form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// The instruction, as in PTX.
    pub instruction: &'static str,
    /// The number of a matrix's rows in the same bank, for instructions that access shared memory.
    pub ways: Option<u32>,
    /// Cycles from one instruction to the next that depends on it. For a store: through a warp
    /// synchronisation and a load.
    pub latency: f64,
    /// Cycles from one instruction to the next on an SM whose warps have several in flight.
    pub interval: f64,
    /// Throughput of an SM in a cycle, in units of [`unit`](Self::unit).
    pub rate: f64,
    /// The unit: bytes moved, or operations (a multiplication and an addition are two).
    pub unit: &'static str,
}

/// Runs of each kernel. The result is the median.
const REPEATS: usize = 5;

/// Measures a form, with `rounds` rounds of instructions in each run.
///
/// # Errors
/// The device's error.
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

/// Cycles for one instruction, on an SM that `warps` warps share.
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
