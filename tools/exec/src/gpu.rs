//! Executes an instruction on a GPU, in a kernel that is written for it and compiled by the driver.

use super::{About, Instruction};
use ptx_matrix::forms::Needs;
use ptx_matrix_host::{Capability, Gpu, LaunchRequest};
use thiserror::Error;

/// The GPU does not have the form.
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
/// GPUs of this compute capability do not have the form.
pub fn kernel<I: Instruction>(
    form: &I,
    options: &I::Options,
    gpu: Capability,
) -> Result<String, Unsupported> {
    let About { ptx, needs, ptx_version, .. } = form.about();
    let number = gpu.major * 10 + gpu.minor;
    // The lowest target, so that the oldest possible driver compiles it. A form of one architecture
    // needs the target of that architecture.
    let target = if needs.specific { format!("sm_{number}a") } else { format!("sm_{}", needs.sm) };
    if number < needs.sm || !needs.are_met_by(&target) {
        return Err(Unsupported { form: ptx, needs, gpu });
    }
    // Strings compare like numbers here: a version has one digit on either side of the point.
    let version = if needs.specific { ptx_version.max(least_version(number)) } else { ptx_version };
    let head = format!(".version {version}\n.target {target}\n.address_size 64\n");
    Ok(head + &form.kernel_text(KERNEL, options))
}

/// The first PTX version with the architecture-specific targets, of Hopper and of Blackwell.
fn least_version(number: u32) -> &'static str {
    match number {
        90 => "8.0",
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
/// The GPU does not have the form, or the driver does not compile the kernel, or the kernel faults.
pub fn execute<I: Instruction>(
    gpu: &Gpu,
    form: &I,
    options: &I::Options,
    input: &[u8],
) -> anyhow::Result<Vec<u8>> {
    let (input_bytes, output_bytes) = form.bytes(options);
    assert_eq!(input.len(), input_bytes, "bytes of the input");
    let module = gpu.load(&kernel(form, options, gpu.info().capability)?)?;
    let input = gpu.upload(input)?;
    // The bytes are 0xff at first, so those that the kernel does not write are visible.
    let output = gpu.filled::<u8>(output_bytes, 0xff)?;
    let pointers = [input.address().to_le_bytes(), output.address().to_le_bytes()];
    let words: Vec<[u8; 4]> = form.parameters(options).into_iter().map(u32::to_le_bytes).collect();
    let params: Vec<&[u8]> =
        pointers.iter().map(|of| &of[..]).chain(words.iter().map(|of| &of[..])).collect();
    let request = LaunchRequest {
        kernel: KERNEL,
        grid: [1, 1, 1],
        threads: I::LANES as u32,
        dynamic_shared_bytes: 0,
        dependent: false,
        params: &params,
    };
    // SAFETY: The two pointers are to buffers of as many bytes as the form's kernel reads and
    // writes. The buffers live until the kernel has run. The other parameters are the words that it
    // takes. Row offsets are within its shared memory, or the kernel reads other bytes of that
    // memory.
    unsafe { gpu.launch(&module, &request) }?;
    Ok(output.download()?)
}
