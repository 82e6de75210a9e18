//! The participants of a measurement.

use anyhow::Result;

use super::Problem;
use ptx_matrix_host::{DeviceBuffer, Stream};

/// A GEMM implementation on a GPU.
pub trait Contestant {
    /// Its name, such as `cublas` or `naive`.
    fn name(&self) -> &str;

    /// Its configuration, such as the tile, if it has several.
    fn config(&self) -> &str {
        ""
    }

    /// Whether it takes part by default.
    fn by_default(&self) -> bool {
        true
    }

    /// Whether it can solve the problem.
    fn supports(&self, problem: &Problem) -> bool;

    /// Enqueues D = A x B in the stream of the operands, without waiting for it.
    ///
    /// The first call comes before anything is timed. Work that is needed only once for a problem
    /// belongs there.
    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()>;
}

/// The matrices of a problem as bytes. A kernel takes them as `operands.a.cast_ref::<bf16>()`.
#[derive(Debug)]
pub struct Operands {
    /// A, in the problem's layout.
    pub a: DeviceBuffer<u8>,
    /// B, in the problem's layout.
    pub b: DeviceBuffer<u8>,
    /// D, row-major.
    pub d: DeviceBuffer<u8>,
}

impl Operands {
    /// Panics unless these are the operands of a problem, in a stream. Code with bare addresses
    /// relies on this.
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
