//! The instruction on a GPU: a kernel of its own, written for it and compiled by the driver.

use crate::{Capability, Gpu, LaunchRequest};
use ptx_matrix::forms::{Form, Needs, Selectors};
use thiserror::Error;

/// The GPU has not got the form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{form}` needs {needs}, and this GPU is {gpu}")]
pub struct Unsupported {
    form: &'static str,
    needs: Needs,
    gpu: Capability,
}

/// The name of the kernel.
const KERNEL: &str = "exec";

/// The PTX of a kernel that executes a form once, for GPUs of this compute capability.
///
/// # Errors
/// They have not got the form.
pub fn kernel(form: &Form, selectors: &Selectors, gpu: Capability) -> Result<String, Unsupported> {
    let number = gpu.major * 10 + gpu.minor;
    // The least target, so that the oldest driver that can compile it will; but what is one architecture's, for that.
    let target = if form.needs.specific { format!("sm_{number}a") } else { format!("sm_{}", form.needs.sm) };
    if number < form.needs.sm || !form.needs.are_met_by(&target) {
        return Err(Unsupported { form: form.ptx, needs: form.needs, gpu });
    }
    // Versions have one digit on either side of the point.
    let version = if form.needs.specific { form.ptx_version.max(least_version(number)) } else { form.ptx_version };
    let head = format!(".version {version}\n.target {target}\n.address_size 64\n");
    Ok(head + &form.kernel(KERNEL, selectors))
}

/// The first PTX version that has an architecture of Blackwell.
fn least_version(number: u32) -> &'static str {
    match number {
        100 => "8.6",
        120 => "8.7",
        103 | 121 => "8.8",
        110 => "9.0",
        _ => "9.5",
    }
}

/// Executes a form once on a GPU.
///
/// # Errors
/// The GPU has not got it, does not compile the kernel, or stops at it.
pub fn execute(gpu: &Gpu, form: &Form, selectors: &Selectors, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    assert_eq!(input.len(), form.input_bytes(), "bytes of the input");
    let module = gpu.load(&kernel(form, selectors, gpu.info().capability)?)?;
    let input = gpu.upload(input)?;
    // What the kernel leaves out is seen.
    let output = gpu.filled::<u8>(form.output_bytes(), 0xff)?;
    let params = [input.address().to_le_bytes(), output.address().to_le_bytes()];
    let request = LaunchRequest {
        kernel: KERNEL,
        grid: [1, 1, 1],
        threads: 32,
        dynamic_shared_bytes: 0,
        early: false,
        params: &[&params[0], &params[1]],
    };
    // SAFETY: two pointers to buffers of as many bytes as the form's kernel reads and writes, which are there until it has run. Rows are
    // within its shared memory, or it reads other bytes of that.
    unsafe { gpu.launch(&module, &request) }?;
    Ok(output.download()?)
}
