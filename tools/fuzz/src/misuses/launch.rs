//! Runs one case, on the simulator or on a GPU.

use super::cases::{Case, Found, launch};
use ptx_matrix::sim::{Simulator, mark_unwritten};
use ptx_matrix_fuzz_kernels::misuses::BUFFER;
use ptx_matrix_host::{GpuDevice, GpuError};

/// The buffer that the kernels read.
fn numbers() -> Vec<u32> {
    (0..BUFFER as u32).collect()
}

/// All findings of the simulator for a case, in `schedules` schedules; `Found::Nothing` if there is
/// none.
pub fn on_simulator(case: &Case, mended: bool, schedules: u64) -> Vec<Found> {
    let (mut d, mut nothing) = (vec![0; BUFFER], vec![0; BUFFER]);
    mark_unwritten(&mut nothing);
    let simulator = Simulator::default().schedules(schedules).strict();
    match launch(case, &simulator, &numbers(), &mut d, &nothing, mended) {
        Ok(_) => vec![Found::Nothing],
        Err(error) => error.findings().iter().map(|finding| Found::from(&finding.misuse)).collect(),
    }
}

/// Runs a case on a GPU. compute-sanitizer, around this process, reports the misuse.
///
/// # Errors
/// The GPU faulted.
pub fn on_gpu(case: &Case, mended: bool, device: &GpuDevice) -> Result<(), GpuError> {
    let gpu = device.gpu();
    let (a, mut d) = (gpu.upload(&numbers())?, gpu.upload(&vec![0; BUFFER])?);
    let nothing = gpu.uninitialized(BUFFER)?;
    launch(case, device, &a, &mut d, &nothing, mended).map(drop)
}
