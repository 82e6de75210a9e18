//! Events: when a stream came to a point.

use std::ptr;
use std::time::Duration;

use cust::sys::{
    CUevent, cuEventCreate, cuEventDestroy_v2, cuEventElapsedTime, cuEventRecord,
    cuEventSynchronize,
};

use crate::driver::During;
use crate::error::GpuError;
use crate::stream::Stream;

/// A point in a stream's work, and when the GPU came to it.
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

// SAFETY: the driver's handle of an event may be used from any thread, and at the same time from
// several.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn record(stream: &Stream) -> Result<Self, GpuError> {
        stream.context().enter()?;
        let mut raw = ptr::null_mut();
        let timed = 0;
        // SAFETY: the function sets the handle that it is given.
        unsafe { cuEventCreate(&raw mut raw, timed) }.during("making an event")?;
        let event = Self { raw, stream: stream.clone() };
        // SAFETY: event and stream are there, in one context.
        unsafe { cuEventRecord(raw, stream.as_raw()) }.during("recording an event")?;
        Ok(event)
    }

    /// Waits until it has happened. A kernel before it that failed is named here.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.stream.context().enter()?;
        // SAFETY: the event is there as long as this handle.
        let waited = unsafe { cuEventSynchronize(self.raw) }.during("waiting for an event");
        waited.map_err(|source| self.stream.failure(source))
    }

    /// Waits until both have happened and says how long after the other this one did, on the GPU's
    /// own clock.
    ///
    /// The clock ticks about every half microsecond. Nothing, if this one happened first.
    pub fn since(&self, earlier: &Event) -> Result<Duration, GpuError> {
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events have happened, and the function sets the number that it is given.
        unsafe { cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }
            .during("reading the time")?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
    }

    pub(crate) fn as_raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.stream.context().enter_to_free();
        // SAFETY: nobody has the handle any more; the driver itself waits with what it still needs
        // of the event.
        let _ = unsafe { cuEventDestroy_v2(self.raw) };
    }
}
