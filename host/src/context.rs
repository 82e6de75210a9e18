//! A device's context, shared by everything that lives in it.

use std::sync::{Arc, OnceLock};

use cust::context::{Context, CurrentContext};
use cust::device::Device;

use crate::device_info::DeviceInfo;
use crate::driver::During;
use crate::error::GpuError;
use crate::launch::KernelFailure;

/// A handle to a device's primary context. Each owner of memory or code in the context holds a
/// handle, so the context outlives it.
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

    /// The context's device.
    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// The device's number. This crate uses only the primary context of each device.
    pub(crate) fn index(&self) -> u32 {
        self.0.info.index
    }

    /// Makes the context current on this thread, as every driver call requires. Returns an error
    /// once a kernel has broken the context.
    pub(crate) fn enter(&self) -> Result<(), GpuError> {
        if let Some(failure) = self.0.lost.get() {
            return Err(GpuError::Lost(Box::new(failure.clone())));
        }
        CurrentContext::set_current(&self.0.context).during("entering the device's context")?;
        Ok(())
    }

    /// Enters the context to free something. If this fails, the free fails too, and no caller could
    /// handle either error.
    pub(crate) fn enter_to_free(&self) {
        let _ = CurrentContext::set_current(&self.0.context);
    }

    /// Records the kernel that broke the context, so that later errors name it.
    pub(crate) fn lose(&self, failure: &KernelFailure) {
        let _ = self.0.lost.set(failure.clone());
    }
}
