//! cuBLAS as a contestant. The library is opened at run time, in any of the usual places.

mod functions;
mod library;
mod lt;

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;

use anyhow::Result;
use thiserror::Error;

use self::functions::{
    CublasError, DEFAULT_ALGORITHM, Functions, Handle, Operation, compute_type, data_type,
};
use self::lt::Plan;
use super::{Contestant, Element, Gemms, Layout, Operands, Problem, Shape, Type};
use ptx_matrix_gemm::Order;
use ptx_matrix_host::{Gpu, GpuError, Stream};

/// The reason why cuBLAS cannot take part.
#[derive(Clone, Debug, Error)]
pub enum NoCublas {
    /// The library was not found.
    #[error(
        "no cuBLAS on this machine: libcublas.so.13 or .12 is neither in the loader's path, nor in \
         CUDA_PATH or /usr/local/cuda, nor in Python's packages (`pip install nvidia-cublas` puts \
         it there)"
    )]
    NotFound,
    /// The library was found, but the loader rejects it, with this message.
    #[error("cuBLAS does not load: {0}")]
    Load(String),
    /// The library lacks a function.
    #[error("this cuBLAS has no function {0}; versions 12 and 13 are known to")]
    Symbol(&'static str),
    /// The driver is too old for all supported versions.
    #[error("cuBLAS 12 wants a driver for CUDA 12 or newer, and this one is for CUDA {0}")]
    Driver(u32),
    /// cuBLAS does not start.
    #[error(transparent)]
    Start(#[from] CublasError),
    /// The GPU is lost.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// cuBLAS: `cublasGemmEx`, `cublasGemmStridedBatchedEx` for batches, and `cublasLtMatmul` for e4m3.
#[derive(Debug)]
pub struct Cublas {
    functions: Functions,
    handle: Handle,
    lt: Handle,
    version: c_int,
    /// The last cuBLASLt plan, with its problem.
    plan: RefCell<Option<(Problem, Plan)>>,
}

impl Cublas {
    /// Finds cuBLAS, and starts it on a GPU.
    pub fn new(gpu: &Gpu) -> Result<Self, NoCublas> {
        let functions = Functions::of(library::open(gpu.info().driver.major)?)?;
        // cuBLAS starts in the current context.
        gpu.stream().enter()?;
        let (mut handle, mut lt, mut version) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: The functions write to the places that they are given.
        unsafe {
            functions.check("cublasCreate", (functions.create)(&raw mut handle))?;
            functions.check("cublasLtCreate", (functions.lt_create)(&raw mut lt))?;
            functions.check("cublasGetVersion", (functions.version)(handle, &raw mut version))?;
        }
        Ok(Self { functions, handle, lt, version, plan: RefCell::new(None) })
    }

    /// Its version, such as 13.1.0.
    pub fn version(&self) -> String {
        // The parts had another width up to version 10. Those versions are not opened here.
        let (major, minor, patch) =
            (self.version / 10_000, self.version / 100 % 100, self.version % 100);
        format!("{major}.{minor}.{patch}")
    }

    /// A GEMM, a batch, or the GEMMs of all groups one after another.
    fn gemm_ex(
        &self,
        stream: &Stream,
        problem: &Problem,
        operands: &mut Operands,
    ) -> Result<(), CublasError> {
        let Shape { n, k, .. } = problem.shape;
        let (input, output) = (problem.ty.input(), problem.ty.output());
        let (a, b, d) = (operands.a.address(), operands.b.address(), operands.d.address());
        if let Gemms::Batch(count) = problem.gemms {
            // SAFETY: The caller guarantees the operands, which are those of the batch.
            return unsafe { self.gemm_batch_at(stream, problem, count, [a, b, d]) };
        }
        let mut first = 0;
        for (group, end) in problem.ends().into_iter().map(|end| end as usize).enumerate() {
            let of_group =
                Problem { shape: Shape { m: end - first, n, k }, gemms: Gemms::One, ..*problem };
            let further = |elements: usize, element: Element| (elements * element.bytes()) as u64;
            // Groups have a row-major A, so a group starts at one of its rows.
            let addresses = [
                a + further(first * k, input),
                b + further(group * k * n, input),
                d + further(first * n, output),
            ];
            if of_group.shape.m > 0 {
                // SAFETY: The caller guarantees the operands, and those of a group are parts of
                // them.
                unsafe { self.gemm_ex_at(stream, &of_group, addresses)? };
            }
            first = end;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The addresses are of matrices with the sizes of the problem, which belong to the stream.
    unsafe fn gemm_ex_at(
        &self,
        stream: &Stream,
        problem: &Problem,
        [a, b, d]: [u64; 3],
    ) -> Result<(), CublasError> {
        let view = ColumnMajor::of(problem);
        let (input, output) = (problem.ty.input(), problem.ty.output());
        let (one, zero) = scalars(problem.ty);
        // SAFETY: Handle and stream are alive, and the caller guarantees the matrices. The scalars
        // have the type of this computation.
        unsafe {
            self.functions
                .check("cublasSetStream", (self.functions.set_stream)(self.handle, stream.raw()))?;
            let status = (self.functions.gemm_ex)(
                self.handle,
                view.a_operation,
                view.b_operation,
                view.m,
                view.n,
                view.k,
                (&raw const one).cast(),
                b,
                data_type(input),
                view.a_leading,
                a,
                data_type(input),
                view.b_leading,
                (&raw const zero).cast(),
                d,
                data_type(output),
                view.d_leading,
                compute_type(input),
                DEFAULT_ALGORITHM,
            );
            self.functions.check("cublasGemmEx", status)
        }
    }

    /// # Safety
    ///
    /// Each address is of `count` contiguous matrices with the sizes of the problem's shape, which
    /// belong to the stream.
    unsafe fn gemm_batch_at(
        &self,
        stream: &Stream,
        problem: &Problem,
        count: usize,
        [a, b, d]: [u64; 3],
    ) -> Result<(), CublasError> {
        let view = ColumnMajor::of(problem);
        let (input, output) = (problem.ty.input(), problem.ty.output());
        let (one, zero) = scalars(problem.ty);
        let [of_a, of_b, of_d] = problem.elements().map(|elements| (elements / count) as i64);
        // SAFETY: As for one GEMM.
        unsafe {
            self.functions
                .check("cublasSetStream", (self.functions.set_stream)(self.handle, stream.raw()))?;
            let status = (self.functions.gemm_batch)(
                self.handle,
                view.a_operation,
                view.b_operation,
                view.m,
                view.n,
                view.k,
                (&raw const one).cast(),
                b,
                data_type(input),
                view.a_leading,
                of_b,
                a,
                data_type(input),
                view.b_leading,
                of_a,
                (&raw const zero).cast(),
                d,
                data_type(output),
                view.d_leading,
                of_d,
                count as c_int,
                compute_type(input),
                DEFAULT_ALGORITHM,
            );
            self.functions.check("cublasGemmStridedBatchedEx", status)
        }
    }

    fn matmul(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        let mut last = self.plan.borrow_mut();
        if last.as_ref().is_none_or(|(of, plan)| of != problem || !plan.is_in(stream)) {
            if let Some((_, plan)) = last.take() {
                plan.destroy(&self.functions);
            }
            *last = Some((*problem, Plan::new(&self.functions, self.lt, stream, problem)?));
        }
        let (_, plan) = last.as_ref().expect("it was made");
        // SAFETY: The plan is for this problem and in this stream. The caller guarantees the
        // operands.
        Ok(unsafe { plan.run(&self.functions, self.lt, stream, problem, operands) }?)
    }
}

impl Contestant for Cublas {
    fn name(&self) -> &str {
        "cublas"
    }

    /// The requirements of the documentation:
    /// - s8: leading dimensions are multiples of 4.
    /// - e4m3: A and B are K-major, and sizes are multiples of 16. e5m2 times e5m2 is not
    ///   supported.
    /// - Groups are separate GEMMs, each of which starts at a row of A.
    /// - `cublasLtMatmul` gets one GEMM at a time.
    fn supports(&self, problem: &Problem) -> bool {
        let Shape { m, n, k } = problem.shape;
        let input = problem.ty.input();
        let has = match problem.gemms {
            Gemms::One => true,
            Gemms::Batch(_) => input != Element::E4m3,
            Gemms::Groups(_) => problem.layout.a() == Order::RowMajor && input.bytes() > 1,
        };
        has && match input {
            Element::S8 => [m, n, k].iter().all(|side| side.is_multiple_of(4)),
            Element::E4m3 => {
                problem.layout == Layout::Nt && [m, n, k].iter().all(|side| side.is_multiple_of(16))
            }
            Element::E5m2 => false,
            _ => true,
        }
    }

    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        operands.assert_of(problem, stream);
        stream.enter()?;
        match problem.ty.input() {
            Element::E4m3 => self.matmul(stream, problem, operands),
            _ => Ok(self.gemm_ex(stream, problem, operands)?),
        }
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        if let Some((_, plan)) = self.plan.take() {
            plan.destroy(&self.functions);
        }
        // SAFETY: Nothing uses the handles any more. Destroying them waits for work that is still
        // running.
        unsafe {
            (self.functions.lt_destroy)(self.lt);
            (self.functions.destroy)(self.handle);
        }
    }
}

/// 1 and 0 in eight bytes each. cuBLAS reads as many bytes as the scalar type of the computation
/// has.
fn scalars(ty: Type) -> ([u8; 8], [u8; 8]) {
    let one = match ty {
        Type::F64 => 1f64.to_le_bytes(),
        Type::S8 => 1i64.to_le_bytes(),
        _ => u64::from(1f32.to_bits()).to_le_bytes(),
    };
    (one, [0; 8])
}

/// A problem as cuBLAS sees it. cuBLAS has column-major matrices only. A row-major D is a
/// column-major Dᵀ = BᵀAᵀ. So the A of cuBLAS is our B, and its M is our N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ColumnMajor {
    m: c_int,
    n: c_int,
    k: c_int,
    a_operation: Operation,
    b_operation: Operation,
    a_leading: c_int,
    b_leading: c_int,
    d_leading: c_int,
}

impl ColumnMajor {
    fn of(problem: &Problem) -> Self {
        let side =
            |side: usize| c_int::try_from(side).expect("a shape's sides are at most i32::MAX");
        let Shape { m, n, k } = problem.shape;
        let (m, n, k) = (side(n), side(m), side(k));
        // Row-major memory, read column by column, is already transposed.
        let (a_operation, a_leading) = match problem.layout.b() {
            Order::RowMajor => (Operation::None, m),
            Order::ColMajor => (Operation::Transpose, k),
        };
        let (b_operation, b_leading) = match problem.layout.a() {
            Order::RowMajor => (Operation::None, k),
            Order::ColMajor => (Operation::Transpose, n),
        };
        ColumnMajor { m, n, k, a_operation, b_operation, a_leading, b_leading, d_leading: m }
    }

    /// Rows and columns of cuBLAS's A in memory.
    fn a_stored(&self) -> (c_int, c_int) {
        if self.a_operation == Operation::None { (self.m, self.k) } else { (self.k, self.m) }
    }

    /// Rows and columns of cuBLAS's B in memory.
    fn b_stored(&self) -> (c_int, c_int) {
        if self.b_operation == Operation::None { (self.k, self.n) } else { (self.n, self.k) }
    }
}
