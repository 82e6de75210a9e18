//! Events: timestamps in a stream.

use std::ptr;
use std::time::Duration;

use cust::sys::{
    CUevent, cuEventCreate, cuEventDestroy_v2, cuEventElapsedTime, cuEventRecord,
    cuEventSynchronize,
};

use crate::driver::During;
use crate::error::GpuError;
use crate::stream::Stream;

/// A point in a stream's work, and the time at which the GPU reached it.
///
/// ```no_run
/// # fn main() -> Result<(), ptx_matrix_host::GpuError> {
/// let gpu = ptx_matrix_host::Gpu::open(0)?;
/// let stream = gpu.stream();
/// let mut buffer = stream.uninitialized::<f32>(1 << 20)?;
/// let start = stream.record()?;
/// buffer.fill(0)?;
/// let took = stream.record()?.since(&start)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    stream: Stream,
}

// SAFETY: several threads may use the driver's handle of an event, even at the same time.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn record(stream: &Stream) -> Result<Self, GpuError> {
        stream.begin()?;
        let mut raw = ptr::null_mut();
        let timed = 0;
        // SAFETY: the function sets the handle behind its pointer.
        unsafe { cuEventCreate(&raw mut raw, timed) }.during("making an event")?;
        let event = Self { raw, stream: stream.clone() };
        // SAFETY: event and stream exist, in one context.
        unsafe { cuEventRecord(raw, stream.as_raw()) }.during("recording an event")?;
        Ok(event)
    }

    /// Waits for the event.
    ///
    /// # Errors
    /// A kernel before it failed: the error names the kernel.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.stream.context().enter()?;
        // SAFETY: the event exists as long as this handle.
        let waited = unsafe { cuEventSynchronize(self.raw) }.during("waiting for an event");
        waited.map_err(|source| self.stream.failure(source))
    }

    /// Waits for both events, and returns the time from `earlier` to this one, on the GPU's own
    /// clock.
    ///
    /// The clock ticks about every half microsecond. The time is zero if this event happened first.
    ///
    /// # Errors
    /// A kernel before one of them failed: the error names the kernel.
    pub fn since(&self, earlier: &Event) -> Result<Duration, GpuError> {
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events have happened, and the function sets the number behind its pointer.
        unsafe { cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }
            .during("reading the time between events")?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
    }

    pub(crate) fn as_raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.stream.context().enter_to_free();
        // SAFETY: no handle is left. The driver keeps the event as long as it needs it.
        let _ = unsafe { cuEventDestroy_v2(self.raw) };
    }
}
