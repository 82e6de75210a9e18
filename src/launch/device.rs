use super::{Grid, KernelInfo, ParamValue};
use crate::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use crate::scope::Block;
use bytemuck::Pod;
use std::borrow::BorrowMut;
use std::vec::Vec;

/// A kernel with its arguments, as `#[kernel]`'s launch function hands it to a device.
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'static KernelInfo,
    /// How many blocks.
    pub grid: Grid,
    /// The parameters of the PTX entry, for a GPU.
    pub params: &'a [ParamValue],
    /// The kernel itself with its arguments, for the simulator: each warp of each block calls it,
    /// blocks in parallel.
    pub body: &'a (dyn Fn(&Block<'_>) + Sync),
    /// Names a byte of the kernel's shared memory, for the simulator's reports.
    #[doc(hidden)]
    pub name_byte: crate::engine::NameByte,
}

/// A kernel's body with its arguments: what blocks run in parallel, although the arguments do not
/// go to other threads otherwise.
///
/// (A thread of the host's that was handed a slice could be simulating a block of another launch,
/// for which it is no memory to write to.)
#[doc(hidden)]
pub struct KernelBody<F>(F);

// SAFETY: as `new` says, the simulator alone calls it from several threads, and only to read what
// it captures.
unsafe impl<F> Sync for KernelBody<F> {}

impl<F: Fn(&Block<'_>)> KernelBody<F> {
    /// # Safety
    /// The closure captures a kernel's parameters, and does nothing but call the kernel with copies
    /// of them. A device runs it in blocks of its launch only.
    pub unsafe fn new(body: F) -> Self {
        KernelBody(body)
    }

    /// Runs the kernel in a block.
    pub fn run(&self, block: &Block<'_>) {
        (self.0)(block);
    }
}

/// Something that runs kernels: the simulator, or a GPU with the kernels' PTX loaded.
///
/// # Safety
/// `slice` and `slice_mut` give a buffer's own memory, which is there, in that length, as long as
/// the buffer is borrowed. A device whose `launch` returns before the kernel has run does with a
/// buffer, from then on, nothing that is not ordered after the kernel: no copy, no other kernel,
/// not its release. `launch` runs the kernel with the parameters that it is given, and calls the
/// body, if at all, with the block that it is run for and while it runs.
pub unsafe trait Device {
    /// Elements in the device's memory, as launch functions take them.
    type Buffer<T: Pod>: ?Sized;
    /// What `upload` gives.
    type Owned<T: Pod>: BorrowMut<Self::Buffer<T>>;
    /// What is known when `launch` returns.
    type Report;
    /// Why it did not run, or not to its end.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Copies elements to the device.
    fn upload<T: Pod>(&self, data: &[T]) -> Result<Self::Owned<T>, Self::Error>;

    /// Copies elements from the device.
    fn download<T: Pod>(&self, buffer: &Self::Buffer<T>) -> Result<Vec<T>, Self::Error>;

    /// Where a buffer starts, as the kernel's threads see it, and its length.
    fn slice<T: Pod>(&self, buffer: &Self::Buffer<T>) -> (*mut T, usize);

    /// The same for a buffer that the kernel writes.
    fn slice_mut<T: Pod>(&self, buffer: &mut Self::Buffer<T>) -> (*mut T, usize);

    /// Whether a kernel that reads this buffer as a [`Global`](crate::memory::Global) writes the
    /// same memory, as a [`GlobalMut`](crate::memory::GlobalMut). Only `unsafe` code can have
    /// made it so. The simulator then checks that each element is read before it is written.
    #[doc(hidden)]
    fn is_in_place<T: Pod>(&self, _buffer: &Self::Buffer<T>) -> bool {
        false
    }

    /// The map that the encoding says, as this device's kernels take it. All but the address is
    /// checked before.
    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError>;

    /// Runs a kernel to its end, or puts it into a queue.
    ///
    /// # Safety
    /// The parameters are those of the kernel, in order, and the buffers they point to are this
    /// device's, borrowed until this returns, mutably where the kernel writes.
    unsafe fn launch(&self, launch: Launch<'_>) -> Result<Self::Report, Self::Error>;
}
