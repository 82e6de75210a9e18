//! Memory and streams of other libraries.

#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;

use std::any::Any;
use std::ffi::c_void;
use std::ptr;

use ::cust::sys::{
    CUcontext, CUpointer_attribute, CUresult, cuCtxGetCurrent, cuPointerGetAttribute,
    cuStreamGetCtx,
};
use thiserror::Error;

use crate::context::SharedContext;
use crate::driver::During;
use crate::error::GpuError;

/// Who releases memory or a stream.
#[derive(Debug)]
pub(crate) enum Owner {
    /// This crate, with a call to the driver.
    Driver,
    /// The value, when it is dropped.
    Kept(Box<dyn Any + Send + Sync>),
    /// Nobody here.
    Elsewhere,
}

impl Owner {
    /// Keeps a value until the memory or the stream is no longer used.
    pub(crate) fn keep<O: Any + Send + Sync>(owner: O) -> Self {
        if std::mem::needs_drop::<O>() { Self::Kept(Box::new(owner)) } else { Self::Elsewhere }
    }

    /// Whether it keeps a value of this type.
    pub(crate) fn is<O: Any>(&self) -> bool {
        matches!(self, Self::Kept(kept) if kept.is::<O>())
    }

    /// Takes the kept value out, if it has this type.
    pub(crate) fn take<O: Any>(&mut self) -> Option<O> {
        if !self.is::<O>() {
            return None;
        }
        match std::mem::replace(self, Self::Elsewhere) {
            Self::Kept(kept) => kept.downcast().ok().map(|kept| *kept),
            _ => None,
        }
    }
}

/// The reason why another library's memory or stream cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ForeignError {
    /// The address is null, but there are elements.
    #[error("a null address for {len} elements: pass the device address of the first element")]
    Null {
        /// The number of elements.
        len: usize,
    },
    /// The address is not a multiple of the element type's alignment.
    #[error(
        "the address {address:#x} is not aligned to {align} bytes, as elements of type {element} \
         must be: copy the elements to a new buffer"
    )]
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment in bytes.
        align: usize,
        /// The type of the elements.
        element: &'static str,
    },
    /// The elements end beyond the address space.
    #[error(
        "{len} elements of type {element} at address {address:#x} end beyond the address space: \
         pass the number of elements, not of bytes"
    )]
    TooLong {
        /// The address.
        address: u64,
        /// The number of elements.
        len: usize,
        /// The type of the elements.
        element: &'static str,
    },
    /// The driver does not know the address.
    #[error("the address {address:#x} is not memory of a GPU: upload the data first")]
    NotOnGpu {
        /// The address.
        address: u64,
    },
    /// The memory belongs to another device.
    #[error(
        "the address {address:#x} is memory of device {device}, and the stream runs on device \
         {stream}: copy the data to device {stream}, or use a stream of device {device}"
    )]
    OtherDevice {
        /// The address.
        address: u64,
        /// The number of the memory's device. It is negative if none holds it.
        device: i32,
        /// The number of the stream's device.
        stream: u32,
    },
    /// The stream is another one in each thread.
    #[error(
        "this handle is the default stream of each thread, so that other threads would not wait \
         for its work: create a stream"
    )]
    PerThread,
    /// The stream does not belong to the device's primary context.
    #[error(
        "the stream does not belong to the primary context of device {device}: create it in that \
         context, which the CUDA runtime uses, or open the stream's device with `Gpu::open`"
    )]
    OtherContext {
        /// The number of the device.
        device: u32,
    },
}

/// Checks `len` elements that another library allocated, and returns their size in bytes.
pub(crate) fn check_memory<T>(
    context: &SharedContext,
    address: u64,
    len: usize,
) -> Result<usize, GpuError> {
    let element = std::any::type_name::<T>();
    if len == 0 {
        return Ok(0);
    }
    if address == 0 {
        return Err(ForeignError::Null { len }.into());
    }
    let align = align_of::<T>();
    if !address.is_multiple_of(align as u64) {
        return Err(ForeignError::Misaligned { address, align, element }.into());
    }
    let size = len
        .checked_mul(size_of::<T>())
        .filter(|&size| address.checked_add(size as u64).is_some())
        .ok_or(ForeignError::TooLong { address, len, element })?;
    context.enter()?;
    let mut device: i32 = -1;
    let ordinal = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    // SAFETY: the function only looks the address up, and sets the integer behind its pointer.
    match unsafe { cuPointerGetAttribute((&raw mut device).cast(), ordinal, address) } {
        CUresult::CUDA_ERROR_INVALID_VALUE => return Err(ForeignError::NotOnGpu { address }.into()),
        status => status.during("finding the device of an address")?,
    }
    let stream = context.index();
    if i64::from(device) != i64::from(stream) {
        return Err(ForeignError::OtherDevice { address, device, stream }.into());
    }
    Ok(size)
}

/// The driver's handle of the calling thread's default stream.
const CU_STREAM_PER_THREAD: usize = 2;

/// Checks that a stream belongs to this context.
///
/// # Safety
/// The handle is a `CUstream` of the driver.
pub(crate) unsafe fn check_stream(
    context: &SharedContext,
    raw: *mut c_void,
) -> Result<(), GpuError> {
    if raw.addr() == CU_STREAM_PER_THREAD {
        return Err(ForeignError::PerThread.into());
    }
    let (ours, mut theirs) = (current(context)?, ptr::null_mut());
    // SAFETY: the stream exists, and the function sets the handle behind its pointer.
    unsafe { cuStreamGetCtx(raw.cast(), &raw mut theirs) }
        .during("reading the context of a stream")?;
    if ours == theirs {
        return Ok(());
    }
    Err(ForeignError::OtherContext { device: context.index() }.into())
}

/// Enters a context, and returns the driver's handle of it.
fn current(context: &SharedContext) -> Result<CUcontext, GpuError> {
    context.enter()?;
    let mut current = ptr::null_mut();
    // SAFETY: the function sets the handle behind its pointer.
    unsafe { cuCtxGetCurrent(&raw mut current) }.during("reading the current context")?;
    Ok(current)
}
