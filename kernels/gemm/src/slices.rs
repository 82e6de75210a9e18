//! Buffers as slices of device memory. Two slices can alias, unlike two references to a buffer: so
//! C can be D.

use std::marker::PhantomData;

use bytemuck::Pod;
use ptx_matrix::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use ptx_matrix::launch::{Device, Launch};

/// A device whose buffers are [`Slice`]s, borrowed for `'b`.
pub(super) struct OnSlices<'b, D>(pub(super) &'b D);

/// The memory of a buffer.
pub(super) struct Slice<'b, T> {
    start: *mut T,
    len: usize,
    /// Whether the launch that reads it also writes the same memory.
    in_place: bool,
    _buffer: PhantomData<&'b mut [T]>,
}

impl<'b, D: Device> OnSlices<'b, D> {
    /// The memory of a buffer that launches read.
    pub(super) fn read<T: Pod>(&self, buffer: &'b D::Buffer<T>) -> Slice<'b, T> {
        let (start, len) = self.0.slice(buffer);
        Slice { start, len, in_place: false, _buffer: PhantomData }
    }

    /// The memory of a buffer that launches write.
    pub(super) fn write<T: Pod>(&self, buffer: &'b mut D::Buffer<T>) -> Slice<'b, T> {
        let (start, len) = self.0.slice_mut(buffer);
        Slice { start, len, in_place: false, _buffer: PhantomData }
    }
}

impl<'b, T> Slice<'b, T> {
    /// A second slice of the same memory, for a launch that reads and writes it.
    ///
    /// # Safety
    /// The launch reads each element before it writes it, and the simulator must check that.
    /// Nothing else uses the memory in the meantime.
    pub(super) unsafe fn in_place(&self) -> Slice<'b, T> {
        Slice { in_place: true, ..*self }
    }
}

// SAFETY: a slice is a buffer's memory and borrows the buffer. The device itself does everything
// else.
unsafe impl<'b, D: Device> Device for OnSlices<'b, D> {
    type Buffer<T: Pod> = Slice<'b, T>;
    type Owned<T: Pod> = Slice<'b, T>;
    type Report = D::Report;
    type Error = D::Error;

    fn upload<T: Pod>(&self, _: &[T]) -> Result<Slice<'b, T>, D::Error> {
        unreachable!("a launch copies nothing from the host")
    }

    fn download<T: Pod>(&self, _: &Slice<'b, T>) -> Result<Vec<T>, D::Error> {
        unreachable!("a launch copies nothing to the host")
    }

    fn slice<T: Pod>(&self, slice: &Slice<'b, T>) -> (*mut T, usize) {
        (slice.start, slice.len)
    }

    fn slice_mut<T: Pod>(&self, slice: &mut Slice<'b, T>) -> (*mut T, usize) {
        (slice.start, slice.len)
    }

    fn is_in_place<T: Pod>(&self, slice: &Slice<'b, T>) -> bool {
        slice.in_place
    }

    fn encode_tensor_map(
        &self,
        encoding: &TensorEncoding,
    ) -> Result<TensorMapWords, TensorMapError> {
        self.0.encode_tensor_map(encoding)
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<D::Report, D::Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.0.launch(launch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::kernel;
    use ptx_matrix::memory::{Global, GlobalMut};
    use ptx_matrix::scope::Block;
    use ptx_matrix::sim::Simulator;

    /// A thread writes the element that it has read, or one that another thread reads.
    #[kernel(threads = 64)]
    fn increment(block: &Block, c: Global<u32>, d: GlobalMut<u32>, shift: u32) {
        let warp = block.warp();
        let first = warp.index() * 32;
        warp.each(|lane| {
            let index = first + lane.id();
            d.set((index + shift as usize) % 64, c.get(index) + 1);
        });
    }

    /// Runs `increment` in place and returns the elements.
    fn increment_in_place(shift: u32) -> Result<Vec<u32>, String> {
        let (device, mut elements) = (Simulator::default().strict(), (0..64).collect::<Vec<u32>>());
        let on = OnSlices(&device);
        let mut d = on.write(&mut elements[..]);
        // SAFETY: the simulator checks it.
        let c = unsafe { d.in_place() };
        increment::launch(&on, 1, &c, &mut d, shift).map_err(|error| error.to_string())?;
        Ok(elements)
    }

    #[test]
    fn each_element_is_read_before_it_is_written() {
        assert_eq!(increment_in_place(0), Ok((1..65).collect()));
        for shift in [1, 32, 63] {
            let error =
                increment_in_place(shift).expect_err("another thread reads what is written");
            assert!(error.contains("race") || error.contains("read"), "{error}");
        }
    }
}
