//! The device's context, shared by everything that lives in it.

use std::sync::{Arc, OnceLock};

use cust::context::{Context, CurrentContext};
use cust::device::Device;

use crate::device_info::DeviceInfo;
use crate::driver::During;
use crate::error::GpuError;
use crate::launch::KernelFailure;

/// A handle to a device's primary context. What holds memory or code in the context holds one of
/// these, so that the context outlives it.
#[derive(Clone, Debug)]
pub(crate) struct SharedContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    info: DeviceInfo,
    context: Context,
    lost: OnceLock<KernelFailure>,
}

impl SharedContext {
    pub(crate) fn new(device: Device, info: DeviceInfo) -> Result<Self, GpuError> {
        let context = Context::new(device).during("taking the device's context")?;
        let lost = OnceLock::new();
        Ok(Self(Arc::new(Inner { info, context, lost })))
    }

    /// The device.
    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// The device's number. All contexts of a device here are its one primary context.
    pub(crate) fn index(&self) -> u32 {
        self.0.info.index
    }

    /// Makes the context this thread's own, which every call of the driver needs. Refuses once it
    /// is lost.
    pub(crate) fn enter(&self) -> Result<(), GpuError> {
        if let Some(failure) = self.0.lost.get() {
            return Err(GpuError::Lost(Box::new(failure.clone())));
        }
        CurrentContext::set_current(&self.0.context).during("entering the device's context")?;
        Ok(())
    }

    /// Enters the context to free something. If that fails so will the freeing, and there is nobody
    /// to tell.
    pub(crate) fn enter_to_free(&self) {
        let _ = CurrentContext::set_current(&self.0.context);
    }

    /// Notes that a kernel has left the context unusable, so that later errors name that kernel and
    /// not their own.
    pub(crate) fn lose(&self, failure: &KernelFailure) {
        let _ = self.0.lost.set(failure.clone());
    }
}
