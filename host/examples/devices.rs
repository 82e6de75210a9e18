//! Lists the GPUs of this machine, or prints in one line why there are none.

use ptx_matrix_output::{errln, outln};
use std::process::ExitCode;

use ptx_matrix_host::Gpu;

fn main() -> ExitCode {
    match Gpu::list() {
        Ok(devices) => {
            for device in devices {
                outln!(
                    "{device}: {} multiprocessors, {} MiB, {} bytes of shared memory per block, \
                     CUDA {}",
                    device.multiprocessors,
                    device.memory_bytes >> 20,
                    device.limits.shared_bytes,
                    device.driver
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            errln!("{error}");
            ExitCode::FAILURE
        }
    }
}
