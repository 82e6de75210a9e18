//! The driver's functions under their own names. `cust` links against them, and this crate calls
//! two more: `cuFuncSetAttribute` and `cuGetErrorName`.
//!
//! Every argument of these functions is an integer or a pointer, none a float or a struct by value.
//! In the C ABI of x86-64 and aarch64 on Linux, such arguments use the same registers and 8-byte
//! stack slots at every width. So a forwarder needs only their number.

#[cfg(not(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("the driver's functions are forwarded by the C ABI of Linux on x86-64 or aarch64");

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::OnceLock;

use cust::sys::CUresult;

use super::library::find;
use super::status::pass_on;

macro_rules! forward {
    (@define $name:ident ($($argument:ident),*)) => {
        // A row under the wrong number of arguments does not compile.
        const _: () = {
            let _: unsafe extern "C" fn($(forward!(@any $argument)),*) -> CUresult =
                cust::sys::$name;
        };

        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name is the symbol that cust links against")]
        pub(super) unsafe extern "C" fn $name($($argument: usize),*) -> u32 {
            type Function = unsafe extern "C" fn($(forward!(@word $argument)),*) -> u32;
            static FUNCTION: OnceLock<Result<Function, u32>> = OnceLock::new();
            let function = FUNCTION.get_or_init(|| {
                // SAFETY: the driver's function of this name takes that many integers and pointers,
                // and returns a status. It stays in place, because the library is never closed.
                find(stringify!($name))
                    .map(|address| unsafe { transmute::<*const c_void, Function>(address) })
            });
            pass_on(match function {
                // SAFETY: the caller is responsible for the arguments.
                Ok(function) => unsafe { function($($argument),*) },
                Err(status) => *status,
            })
        }
    };
    (@word $argument:ident) => { usize };
    (@any $argument:ident) => { _ };
    ($arguments:tt $($name:ident)*) => {
        $(forward!(@define $name $arguments);)*
    };
}

forward! { ()
    cuCtxSynchronize
}

forward! { (a)
    cuArrayDestroy
    cuCtxDestroy_v2
    cuCtxGetCacheConfig
    cuCtxGetCurrent
    cuCtxGetDevice
    cuCtxGetFlags
    cuCtxGetSharedMemConfig
    cuCtxPopCurrent_v2
    cuCtxPushCurrent_v2
    cuCtxSetCacheConfig
    cuCtxSetCurrent
    cuCtxSetSharedMemConfig
    cuDestroyExternalMemory
    cuDeviceGetCount
    cuDevicePrimaryCtxRelease_v2
    cuDevicePrimaryCtxReset_v2
    cuDriverGetVersion
    cuEventDestroy_v2
    cuEventQuery
    cuEventSynchronize
    cuGraphDestroy
    cuInit
    cuLinkDestroy
    cuMemFreeHost
    cuMemFree_v2
    cuMemcpy2D_v2
    cuModuleUnload
    cuStreamDestroy_v2
    cuStreamSynchronize
    cuSurfObjectDestroy
    cuTexObjectDestroy
}

forward! { (a, b)
    cuArray3DCreate_v2
    cuArray3DGetDescriptor_v2
    cuCtxGetApiVersion
    cuCtxGetLimit
    cuCtxGetStreamPriorityRange
    cuCtxSetLimit
    cuDeviceGet
    cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxSetFlags_v2
    cuDeviceTotalMem_v2
    cuEventCreate
    cuEventRecord
    cuFuncSetCacheConfig
    cuFuncSetSharedMemConfig
    cuGetErrorName
    cuGetErrorString
    cuGraphCreate
    cuGraphKernelNodeGetParams
    cuGraphNodeGetType
    cuImportExternalMemory
    cuMemAllocHost_v2
    cuMemAlloc_v2
    cuMemFreeAsync
    cuMemGetInfo_v2
    cuModuleLoad
    cuModuleLoadData
    cuStreamGetCtx
    cuStreamGetFlags
    cuStreamGetPriority
    cuStreamIsCapturing
    cuSurfObjectCreate
    cuSurfObjectGetResourceDesc
    cuTexObjectGetResourceDesc
    cuTexObjectGetResourceViewDesc
}

forward! { (a, b, c)
    cuCtxCreate_v2
    cuDeviceGetAttribute
    cuDeviceGetName
    cuDeviceGetPCIBusId
    cuEventElapsedTime
    cuExternalMemoryGetMappedBuffer
    cuFuncGetAttribute
    cuFuncSetAttribute
    cuGraphDebugDotPrint
    cuGraphGetNodes
    cuLaunchHostFunc
    cuLinkComplete
    cuMemAllocAsync
    cuMemAllocManaged
    cuMemcpyDtoD_v2
    cuMemcpyDtoH_v2
    cuMemcpyHtoD_v2
    cuMemsetD16_v2
    cuMemsetD32_v2
    cuMemsetD8_v2
    cuModuleGetFunction
    cuPointerGetAttribute
    cuStreamCreateWithPriority
    cuStreamWaitEvent
}

forward! { (a, b, c, d)
    cuGraphGetEdges
    cuLinkCreate_v2
    cuMemAdvise
    cuMemPrefetchAsync
    cuMemcpyAtoH_v2
    cuMemcpyDtoDAsync_v2
    cuMemcpyDtoHAsync_v2
    cuMemcpyHtoA_v2
    cuMemcpyHtoDAsync_v2
    cuMemsetD16Async
    cuMemsetD32Async
    cuMemsetD8Async
    cuModuleGetGlobal_v2
    cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor
    cuTexObjectCreate
}

forward! { (a, b, c, d, e)
    cuGraphAddKernelNode
    cuModuleLoadDataEx
}

forward! { (a, b, c, d, e, f)
    cuOccupancyMaxPotentialBlockSize
}

forward! { (a, b, c, d, e, f, g, h)
    cuLinkAddData_v2
}

forward! { (a, b, c, d, e, f, g, h, i, j, k)
    cuLaunchKernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::require;
    use crate::driver::status::NO_LIBRARY;

    #[test]
    fn calls_without_a_driver_return_a_status() {
        if require().is_ok() {
            return;
        }
        // SAFETY: there is no driver that could read the arguments.
        let statuses = unsafe {
            [cuInit(0), cuCtxSynchronize(), cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)]
        };
        assert_eq!(statuses, [NO_LIBRARY; 3]);
    }
}
