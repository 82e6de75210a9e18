//! Runs a launch after checking it.

use std::ffi::c_void;
use std::ptr;

use cust::sys::cuLaunchKernel;

use super::check::check;
use super::{LaunchError, LaunchReport, LaunchRequest};
use crate::driver::early_launch::launch_early;
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::module::{Kernel, Module};
use crate::stream::Stream;

/// The shared memory that a block gets without an explicit request.
const SHARED_BYTES_UNASKED: u32 = 48 * 1024;

/// Checks a launch, runs it on the stream and waits for its end.
///
/// # Safety
///
/// Each parameter must have the meaning that the kernel expects.
pub(crate) unsafe fn run(
    stream: &Stream,
    module: &Module,
    request: &LaunchRequest<'_>,
) -> Result<LaunchReport, GpuError> {
    let start = stream.record()?;
    // SAFETY: the caller upholds the requirements.
    unsafe { enqueue(stream, module, request) }?;
    let end = stream.record();
    // The caller may free the kernel's memory, also after an error.
    stream.synchronize()?;
    Ok(LaunchReport { elapsed: end?.since(&start)? })
}

/// Checks a launch and enqueues it in the stream.
///
/// # Safety
///
/// Each parameter must have the meaning that the kernel expects, until the kernel has run.
pub(crate) unsafe fn enqueue(
    stream: &Stream,
    module: &Module,
    request: &LaunchRequest<'_>,
) -> Result<(), GpuError> {
    let (here, there) = (stream.device(), module.device());
    assert!(
        here == there,
        "a module on device {there} cannot run in a stream of device {here}: load it on device \
         {here}"
    );
    stream.begin()?;
    let kernel = module.kernel(request.kernel)?;
    check(request, kernel.entry, kernel.resources(), &stream.context().info().limits)?;
    if kernel.resources().static_shared_bytes + request.dynamic_shared_bytes > SHARED_BYTES_UNASKED
    {
        kernel.allow_dynamic_shared(request.dynamic_shared_bytes)?;
    }
    // SAFETY: the number and sizes of the parameters are checked. The caller is responsible for
    // their meaning.
    unsafe { launch(stream, &kernel, request) }
        .map_err(|source| LaunchError::Refused { kernel: request.kernel.to_owned(), source })?;
    stream.note(request);
    Ok(())
}

/// # Safety
///
/// The parameters must have the number and sizes that the kernel declares, and the meaning that it
/// expects. A kernel with programmatic dependent launch must wait before everything else.
unsafe fn launch(
    stream: &Stream,
    kernel: &Kernel<'_>,
    request: &LaunchRequest<'_>,
) -> Result<(), DriverError> {
    let [x, y, z] = request.grid;
    let mut params: Vec<*mut c_void> =
        request.params.iter().map(|param| param.as_ptr().cast_mut().cast()).collect();
    if request.dependent && kernel.entry.waits {
        // SAFETY: as below. The kernel waits for the preceding ones before everything else: the
        // caller promises it, and the PTX contains a wait.
        let launched = unsafe {
            launch_early(
                kernel.function(),
                request.grid,
                request.threads,
                request.dynamic_shared_bytes,
                stream.as_raw(),
                params.as_mut_ptr(),
            )
        };
        // A driver without PDL still supports plain launches.
        if !launched.as_ref().is_err_and(DriverError::is_of_a_missing_function) {
            return launched;
        }
    }
    // SAFETY: function and stream live in the current context. Each parameter's address has the
    // kernel's number of bytes after it, which the driver reads before it returns.
    unsafe {
        cuLaunchKernel(
            kernel.function(),
            x,
            y,
            z,
            request.threads,
            1,
            1,
            request.dynamic_shared_bytes,
            stream.as_raw(),
            params.as_mut_ptr(),
            ptr::null_mut(),
        )
    }
    .during("cuLaunchKernel")
}
