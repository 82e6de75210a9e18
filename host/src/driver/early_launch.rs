//! Programmatic dependent launch (PDL) through `cuLaunchKernelEx`, which `cust` does not declare.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::OnceLock;

use cust::sys::{CUfunction, CUstream};

use super::DriverError;
use super::library::find;
use super::status::pass_on;

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

/// `CUlaunchAttribute`: its kind, and its value of up to 64 bytes.
#[repr(C, align(8))]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [u32; 3],
    threads: [u32; 3],
    dynamic_shared_bytes: u32,
    stream: CUstream,
    attributes: *const Attribute,
    attribute_count: u32,
}

/// The driver's function. Its arguments: configuration, kernel, parameters, extra options.
type LaunchEx =
    unsafe extern "C" fn(*const Config, CUfunction, *mut *mut c_void, *mut *mut c_void) -> u32;

/// Launches a kernel as `cuLaunchKernel` does, but with programmatic dependent launch (PDL). The
/// kernel may begin once all blocks of the preceding kernel in the stream have released it or have
/// ended. A driver without PDL (before CUDA 11.8) returns
/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`.
///
/// # Safety
///
/// As for `cuLaunchKernel`. Also, the kernel must itself wait for the preceding kernels.
pub(crate) unsafe fn launch_early(
    function: CUfunction,
    grid: [u32; 3],
    threads: u32,
    dynamic_shared_bytes: u32,
    stream: CUstream,
    params: *mut *mut c_void,
) -> Result<(), DriverError> {
    static FUNCTION: OnceLock<Result<LaunchEx, u32>> = OnceLock::new();
    let launch = FUNCTION.get_or_init(|| {
        // SAFETY: the driver's function of this name has this type. It stays in place, because the
        // library is never closed.
        find("cuLaunchKernelEx")
            .map(|address| unsafe { transmute::<*const c_void, LaunchEx>(address) })
    });
    let mut attribute =
        Attribute { id: PROGRAMMATIC_STREAM_SERIALIZATION, padding: 0, value: [0; 16] };
    attribute.value[0] = 1;
    let threads = [threads, 1, 1];
    let attributes = &raw const attribute;
    let config =
        Config { grid, threads, dynamic_shared_bytes, stream, attributes, attribute_count: 1 };
    let status = match launch {
        // SAFETY: the caller upholds the requirements. The driver reads configuration and attribute
        // before it returns.
        Ok(launch) => unsafe { launch(&raw const config, function, params, std::ptr::null_mut()) },
        Err(status) => *status,
    };
    if pass_on(status) == 0 { Ok(()) } else { Err(DriverError::new(status, "cuLaunchKernelEx")) }
}
