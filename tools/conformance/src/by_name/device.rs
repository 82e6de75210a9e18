//! Executes forms by their names, on the simulator and on a GPU.

use super::FormCheck;
use ptx_matrix::forms::WgmmaMatrices;
use ptx_matrix::sim::Simulator;
use ptx_matrix_host::{GpuDevice, GpuError, LaunchRequest};

/// The output of a form with A in shared memory, and with A in registers.
pub type Outputs = [Vec<u8>; 2];

/// A device that executes forms of `wgmma` by their names.
pub trait ByName {
    /// Whether it is a GPU. Results of a GPU are also compared with the simulator, and every
    /// element with the reference.
    #[doc(hidden)]
    const IS_GPU: bool;

    /// Executes the forms of a family on their matrices. The error says why none was executed.
    #[doc(hidden)]
    fn execute(&self, family: &[(FormCheck, WgmmaMatrices)]) -> Result<Vec<Outputs>, String>;
}

impl ByName for Simulator {
    const IS_GPU: bool = false;

    fn execute(&self, family: &[(FormCheck, WgmmaMatrices)]) -> Result<Vec<Outputs>, String> {
        Ok(family.iter().map(|(check, matrices)| simulate(check, matrices)).collect())
    }
}

/// Executes a form on the simulator.
pub(super) fn simulate(check: &FormCheck, matrices: &WgmmaMatrices) -> Outputs {
    check.ways().map(|(options, adds)| {
        check.form.simulate(&options, adds, &check.form.memory(&options).encode(matrices))
    })
}

impl ByName for GpuDevice {
    const IS_GPU: bool = true;

    fn execute(&self, family: &[(FormCheck, WgmmaMatrices)]) -> Result<Vec<Outputs>, String> {
        execute(self, family).map_err(|error| error.to_string())
    }
}

/// The name of a form's kernel, with A in shared memory or in registers.
fn kernel(check: &FormCheck, which: usize) -> String {
    format!("n{}_{}", check.form.n, ["ss", "rs"][which])
}

/// The PTX of all kernels of a family.
fn kernels<'a>(family: impl Iterator<Item = &'a FormCheck>) -> String {
    let (mut version, mut kernels) = ("", String::new());
    for check in family {
        version = version.max(check.form.ptx_version);
        for (which, (options, _)) in check.ways().iter().enumerate() {
            kernels += &check.form.kernel(&kernel(check, which), options);
        }
    }
    format!(".version {version}\n.target sm_90a\n.address_size 64\n{kernels}")
}

/// Compiles all kernels of a family at once, and launches them in a new stream.
fn execute(
    device: &GpuDevice,
    family: &[(FormCheck, WgmmaMatrices)],
) -> Result<Vec<Outputs>, GpuError> {
    let module = device.gpu().load(&kernels(family.iter().map(|(check, _)| check)))?;
    let stream = device.gpu().new_stream()?;
    let launch =
        |check: &FormCheck, matrices: &WgmmaMatrices, which: usize| -> Result<Vec<u8>, GpuError> {
            let (options, adds) = check.ways()[which];
            let memory = check.form.memory(&options);
            let input = stream.upload(&memory.encode(matrices))?;
            // The bytes are 0xff at first, so those that a kernel does not write are visible.
            let output = stream.filled::<u8>(memory.output_bytes(), 0xff)?;
            let params = [input.address().to_le_bytes(), output.address().to_le_bytes()];
            let request = LaunchRequest {
                kernel: &kernel(check, which),
                grid: [1, 1, 1],
                threads: 128,
                dynamic_shared_bytes: 0,
                dependent: false,
                params: &[&params[0], &params[1], &u32::from(adds).to_le_bytes()],
            };
            // SAFETY: The two pointers are to buffers of as many bytes as the form's kernel reads
            // and writes. The buffers belong to the stream of the launch.
            unsafe { stream.launch(&module, &request) }?;
            output.download()
        };
    family
        .iter()
        .map(|(check, matrices)| Ok([launch(check, matrices, 0)?, launch(check, matrices, 1)?]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_name::all;
    use ptx_matrix_host::Ptx;

    /// The loader finds the launched kernels in the PTX.
    #[test]
    fn ptx_of_a_family_has_the_launched_kernels() {
        let family: Vec<FormCheck> =
            all().filter(|check| check.form.family.ends_with("m64nNk64.s32.s8.u8")).collect();
        let ptx: Ptx = kernels(family.iter()).parse().unwrap();
        let found: Vec<_> = ptx.entries.iter().map(|entry| entry.name.as_str()).collect();
        let launched: Vec<_> =
            family.iter().flat_map(|check| [kernel(check, 0), kernel(check, 1)]).collect();
        assert_eq!(
            (found, launched.len()),
            (launched.iter().map(String::as_str).collect(), 2 * 18)
        );
        let fit = |entry: &ptx_matrix_host::Entry| {
            entry.params == [8, 8, 4] && entry.required_threads == Some([128, 1, 1])
        };
        assert!(ptx.entries.iter().all(fit), "{:?}", ptx.entries[0]);
    }
}
