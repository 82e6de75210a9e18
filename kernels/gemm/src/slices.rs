//! Launches on a device of any type, with buffers as slices of its memory.
//!
//! Launches go through a `dyn AnyDevice`, so they are not generic over the device. This crate
//! compiles the launches of all kernels once, and programs compile none. Two slices can alias,
//! unlike two references to a buffer: so C can be D.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;

use bytemuck::Pod;
use ptx_matrix::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use ptx_matrix::launch::{Device, Launch, LaunchError};
use thiserror::Error;

/// A device, with the results of the launches on it.
#[allow(missing_debug_implementations, reason = "a device of any type")]
pub struct Launches<'b, D: Device> {
    device: &'b D,
    reports: RefCell<Vec<D::Report>>,
    error: Cell<Option<D::Error>>,
}

/// The launch failed. [`Launches::finish`] returns the device's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the device refused the launch, or failed")]
pub struct Failed;

/// The result of a launch on [`OnSlices`].
pub type Launched = Result<(), LaunchError<Failed>>;

impl<'b, D: Device> Launches<'b, D> {
    /// No launches yet.
    pub fn new(device: &'b D) -> Self {
        Self { device, reports: RefCell::default(), error: Cell::new(None) }
    }

    /// The memory of a buffer that launches read.
    pub fn read<'s, T: Pod>(&self, buffer: &'s D::Buffer<T>) -> Slice<'s, T> {
        let (start, len) = self.device.slice(buffer);
        Slice { start, len, in_place: false, _buffer: PhantomData }
    }

    /// The memory of a buffer that launches write.
    pub fn write<'s, T: Pod>(&self, buffer: &'s mut D::Buffer<T>) -> Slice<'s, T> {
        let (start, len) = self.device.slice_mut(buffer);
        Slice { start, len, in_place: false, _buffer: PhantomData }
    }

    /// The device for launch functions.
    ///
    /// # Safety
    /// Every [`Slice`] that is launched with comes from these `Launches`, or is empty. Kernels
    /// write only slices from [`write`](Self::write). With a second slice [in
    /// place](Slice::in_place), a launch writes each element once, after its reads.
    pub unsafe fn on(&self) -> OnSlices<'_> {
        OnSlices(self)
    }

    /// Returns the reports of the launches, or the error that ended them.
    pub fn finish(self, launched: Launched) -> Result<Vec<D::Report>, LaunchError<D::Error>> {
        match (launched, self.error.into_inner()) {
            (Ok(()), _) => Ok(self.reports.into_inner()),
            (Err(LaunchError::TensorMap(error)), _) => Err(LaunchError::TensorMap(error)),
            (Err(LaunchError::Device(Failed)), Some(error)) => Err(LaunchError::Device(error)),
            (Err(LaunchError::Device(Failed)), None) => unreachable!("a device failed here"),
        }
    }
}

/// [`Device`], as far as launches need it.
trait AnyDevice {
    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError>;

    /// # Safety
    /// The conditions of [`Device::launch`].
    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), Failed>;
}

impl<D: Device> AnyDevice for Launches<'_, D> {
    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        self.device.encode_tensor_map(encoding)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), Failed> {
        // SAFETY: the caller upholds the conditions.
        match unsafe { self.device.launch(launch) } {
            Ok(report) => {
                self.reports.borrow_mut().push(report);
                Ok(())
            }
            Err(error) => {
                self.error.set(Some(error));
                Err(Failed)
            }
        }
    }
}

/// A device whose buffers are [`Slice`]s, from [`Launches::on`].
#[allow(missing_debug_implementations, reason = "a device of any type")]
pub struct OnSlices<'l>(&'l dyn AnyDevice);

/// The memory of a buffer, borrowed for `'b`.
#[allow(missing_debug_implementations, reason = "it may be memory of a GPU")]
pub struct Slice<'b, T> {
    start: *mut T,
    len: usize,
    /// Whether the launch that reads it also writes the same memory.
    in_place: bool,
    _buffer: PhantomData<&'b mut [T]>,
}

impl<T> Slice<'_, T> {
    /// The slice of an unused parameter.
    pub fn empty() -> Self {
        let start = NonNull::dangling().as_ptr();
        Slice { start, len: 0, in_place: false, _buffer: PhantomData }
    }

    /// The same slice, for launches that only read it.
    pub fn read(&self) -> Slice<'_, T> {
        Slice { ..*self }
    }

    /// A second slice of the same memory, for a launch that reads and writes it, or writes it
    /// through a tensor map and by threads. The simulator checks their order.
    pub fn in_place(&self) -> Self {
        Slice { in_place: true, ..*self }
    }
}

// SAFETY: a slice is a buffer's memory and borrows the buffer. By the contract of `Launches::on`,
// it is a buffer of the device. The device itself does everything else.
unsafe impl<'l> Device for OnSlices<'l> {
    type Buffer<T: Pod> = Slice<'l, T>;
    type Owned<T: Pod> = Slice<'l, T>;
    type Report = ();
    type Error = Failed;

    fn upload<T: Pod>(&self, _: &[T]) -> Result<Slice<'l, T>, Failed> {
        unreachable!("a launch copies nothing from the host")
    }

    fn download<T: Pod>(&self, _: &Slice<'l, T>) -> Result<Vec<T>, Failed> {
        unreachable!("a launch copies nothing to the host")
    }

    fn slice<T: Pod>(&self, slice: &Slice<'l, T>) -> (*mut T, usize) {
        (slice.start, slice.len)
    }

    fn slice_mut<T: Pod>(&self, slice: &mut Slice<'l, T>) -> (*mut T, usize) {
        (slice.start, slice.len)
    }

    fn is_in_place<T: Pod>(&self, slice: &Slice<'l, T>) -> bool {
        slice.in_place
    }

    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        self.0.encode_tensor_map(encoding)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), Failed> {
        // SAFETY: the caller upholds the conditions.
        unsafe { self.0.launch(launch) }
    }
}
