//! Running a launch that was checked.

use std::ffi::c_void;
use std::ptr;

use cust::event::{Event, EventFlags};
use cust::stream::Stream;
use cust::sys::cuLaunchKernel;

use super::check::check;
use super::{KernelFailure, LaunchError, LaunchReport, LaunchRequest};
use crate::context::SharedContext;
use crate::device_info::DeviceInfo;
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::module::{Kernel, Module};

/// The shared memory that a block gets without its kernel asking for more.
const SHARED_BYTES_UNASKED: u32 = 48 * 1024;

/// Checks a launch, runs it on the stream and waits for its end.
///
/// # Safety
///
/// The parameters must mean what the kernel takes them for.
pub(crate) unsafe fn run(
    context: &SharedContext,
    stream: &Stream,
    device: &DeviceInfo,
    module: &Module,
    request: &LaunchRequest<'_>,
) -> Result<LaunchReport, GpuError> {
    context.enter()?;
    let kernel = module.kernel(request.kernel)?;
    let resources = kernel.resources()?;
    check(request, kernel.entry, &resources, &device.limits)?;
    if resources.static_shared_bytes + request.dynamic_shared_bytes > SHARED_BYTES_UNASKED {
        kernel.allow_dynamic_shared(request.dynamic_shared_bytes)?;
    }

    let start = Event::new(EventFlags::DEFAULT).during("making an event")?;
    let end = Event::new(EventFlags::DEFAULT).during("making an event")?;
    start.record(stream).during("recording the start")?;
    // SAFETY: the number and the sizes of the parameters are checked, for their meaning the caller answers.
    unsafe { enqueue(stream, &kernel, request) }
        .map_err(|source| LaunchError::Refused { kernel: request.kernel.to_owned(), source })?;
    let elapsed = || {
        end.record(stream).during("recording the end")?;
        stream.synchronize().during("waiting for the kernel")?;
        end.elapsed(&start).during("reading the time")
    };
    match elapsed() {
        Ok(elapsed) => Ok(LaunchReport { elapsed }),
        Err(source) => {
            let failure = KernelFailure {
                kernel: request.kernel.to_owned(),
                device: device.to_string(),
                grid: request.grid,
                threads: request.threads,
                source,
            };
            // A context that a kernel has broken answers every later call with the same failure.
            if stream.synchronize().is_err() {
                context.lose(&failure);
            }
            Err(GpuError::Kernel(Box::new(failure)))
        }
    }
}

/// # Safety
///
/// The parameters must have the number and sizes that the kernel declares, and the meaning that it takes them for.
unsafe fn enqueue(stream: &Stream, kernel: &Kernel<'_>, request: &LaunchRequest<'_>) -> Result<(), DriverError> {
    let [x, y, z] = request.grid;
    let mut params: Vec<*mut c_void> = request.params.iter().map(|param| param.as_ptr().cast_mut().cast()).collect();
    // SAFETY: function and stream live in the current context, and each of the parameters' addresses has the kernel's
    // number of bytes behind it, which the driver reads before it returns.
    unsafe {
        cuLaunchKernel(
            kernel.function,
            x,
            y,
            z,
            request.threads,
            1,
            1,
            request.dynamic_shared_bytes,
            stream.as_inner(),
            params.as_mut_ptr(),
            ptr::null_mut(),
        )
    }
    .during("cuLaunchKernel")
}
