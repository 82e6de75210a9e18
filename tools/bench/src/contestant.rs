//! What takes part in a measurement.

use anyhow::Result;

use super::Problem;
use ptx_matrix_host::{DeviceBuffer, Stream};

/// A way to multiply matrices on a GPU.
pub trait Contestant {
    /// Its name, such as `cublas` or `naive`.
    fn name(&self) -> &str;

    /// Which of its configurations it is, such as its tiles, if it has several.
    fn config(&self) -> &str {
        ""
    }

    /// Whether it takes part if nobody is named.
    fn by_default(&self) -> bool {
        true
    }

    /// Whether it can solve the problem.
    fn supports(&self, problem: &Problem) -> bool;

    /// Puts D = A x B into the stream, which the operands belong to, and does not wait for it.
    ///
    /// It is called once before anything is timed: what is made only once for a problem belongs
    /// there.
    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()>;
}

/// The matrices of a problem as bytes: `operands.a.cast_ref::<bf16>()` is what a kernel takes.
#[derive(Debug)]
pub struct Operands {
    /// The left factor, in the problem's layout.
    pub a: DeviceBuffer<u8>,
    /// The right factor, likewise.
    pub b: DeviceBuffer<u8>,
    /// The product, row-major.
    pub d: DeviceBuffer<u8>,
}

impl Operands {
    /// Insists that these are the operands of a problem, in a stream: what code that takes bare
    /// addresses relies on.
    pub(super) fn assert_of(&self, problem: &Problem, stream: &Stream) {
        let buffers = [&self.a, &self.b, &self.d];
        assert_eq!(
            buffers.map(DeviceBuffer::len),
            problem.bytes(),
            "bytes of A, B and D of {problem}"
        );
        for buffer in buffers {
            buffer.assert_in(stream);
        }
    }
}
