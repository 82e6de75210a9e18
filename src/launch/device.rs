use super::{Grid, KernelInfo, Params};
use crate::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use crate::scope::Block;
use bytemuck::Pod;
use std::borrow::BorrowMut;
use std::vec::Vec;

/// A kernel with its arguments, as the launch function of `#[kernel]` passes it to a device.
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'static KernelInfo,
    /// The number of blocks.
    pub grid: Grid,
    /// The parameters of the PTX entry, for a GPU.
    pub params: &'a Params,
    /// The kernel's function with its arguments, for the simulator. Each warp of each block calls
    /// it, and blocks run in parallel.
    pub body: &'a (dyn Fn(&Block<'_>) + Sync),
    /// The launch that the arguments are bound for.
    #[doc(hidden)]
    pub id: crate::engine::LaunchId,
    /// Whether the simulator's clusters take turns: they share atomic elements.
    #[doc(hidden)]
    pub takes_turns: bool,
    /// Names a byte of the kernel's shared memory, for the simulator's reports.
    #[doc(hidden)]
    pub name_byte: crate::engine::NameByte,
}

/// A device that runs kernels: the simulator, or a GPU with the kernels' PTX loaded.
///
/// # Safety
/// - `slice` and `slice_mut` return a buffer's own memory. It is valid, with that length, while the
///   buffer is borrowed.
/// - `launch` may return before the kernel has run. The device then orders every later use of a
///   buffer after the kernel: copies, other kernels, and the buffer's release.
/// - `launch` runs the kernel with the parameters that it is given. It calls `body` only with
///   blocks of this launch, and only while they run.
pub unsafe trait Device {
    /// Elements in the device's memory, as launch functions take them.
    type Buffer<T: Pod>: ?Sized;
    /// The buffer that `upload` returns.
    type Owned<T: Pod>: BorrowMut<Self::Buffer<T>>;
    /// The result of a launch, when `launch` returns.
    type Report;
    /// The reason why a kernel did not run, or did not complete.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Copies elements to the device.
    fn upload<T: Pod>(&self, data: &[T]) -> Result<Self::Owned<T>, Self::Error>;

    /// Copies elements from the device.
    fn download<T: Pod>(&self, buffer: &Self::Buffer<T>) -> Result<Vec<T>, Self::Error>;

    /// The address of a buffer for the kernel's threads, and its length.
    fn slice<T: Pod>(&self, buffer: &Self::Buffer<T>) -> (*mut T, usize);

    /// Like [`slice`](Self::slice), for a buffer that the kernel writes.
    fn slice_mut<T: Pod>(&self, buffer: &mut Self::Buffer<T>) -> (*mut T, usize);

    /// Whether a kernel that reads this buffer as a [`Global`](crate::memory::Global) or a
    /// [`TensorMap`](crate::copy::TensorMap) also writes the same memory. Only `unsafe` code can
    /// create such a buffer. The simulator then checks that each element is read before it is
    /// written.
    #[doc(hidden)]
    fn is_in_place<T: Pod>(&self, _buffer: &Self::Buffer<T>) -> bool {
        false
    }

    /// Encodes a tensor map for this device's kernels. The caller has checked all of `encoding` but
    /// the address.
    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError>;

    /// Runs a kernel to its end, or enqueues it.
    ///
    /// # Safety
    /// The parameters are those of the kernel, in order. The buffers that they point to are this
    /// device's, and are borrowed until this returns, mutably if the kernel writes them.
    unsafe fn launch(&self, launch: Launch<'_>) -> Result<Self::Report, Self::Error>;
}
