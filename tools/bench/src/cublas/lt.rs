//! `cublasLtMatmul`, for the types that `cublasGemmEx` does not support. A problem's plan is made
//! once.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::functions::{
    CublasError, DESC_FAST_ACCUM, DESC_TRANSA, DESC_TRANSB, Functions, Handle, Heuristic,
    PREF_WORKSPACE, compute_type, data_type,
};
use super::{ColumnMajor, scalars};
use crate::{Operands, Problem};
use ptx_matrix_host::Stream;
use ptx_matrix_host::{DeviceBuffer, GpuError};

/// The workspace that NVIDIA recommends for Hopper.
const WORKSPACE_BYTES: usize = 32 << 20;

/// The value of `DESC_FAST_ACCUM` that allows fast accumulation.
static FAST: i8 = 1;

/// The descriptors, the algorithm and the workspace for one problem.
#[derive(Debug)]
pub(super) struct Plan {
    desc: Handle,
    a: Handle,
    b: Handle,
    d: Handle,
    heuristic: Heuristic,
    workspace: DeviceBuffer<u8>,
}

/// The reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Cublas(#[from] CublasError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("cublasLtMatmulAlgoGetHeuristic: no algorithm for this problem")]
    NoAlgorithm,
}

impl Plan {
    /// Makes a plan with the best algorithm of cuBLASLt's heuristic.
    pub(super) fn new(
        functions: &Functions,
        handle: Handle,
        stream: &Stream,
        problem: &Problem,
    ) -> Result<Self, PlanError> {
        let view = ColumnMajor::of(problem);
        let (input, output) = (problem.ty.input(), problem.ty.output());
        let scale_type = data_type(crate::Element::F32);
        let workspace = stream.uninitialized(WORKSPACE_BYTES)?;
        let (mut desc, mut preference) = (ptr::null_mut(), ptr::null_mut());
        let bytes = size_of::<c_int>();
        // SAFETY: The arguments are as in the header: places for handles, and attributes of the
        // right size.
        unsafe {
            let check = |call, status| functions.check(call, status);
            check(
                "cublasLtMatmulDescCreate",
                (functions.desc_create)(&raw mut desc, compute_type(input), scale_type),
            )?;
            let operations = [(DESC_TRANSA, view.a_operation), (DESC_TRANSB, view.b_operation)];
            for (which, operation) in operations {
                let set = (functions.desc_set)(desc, which, (&raw const operation).cast(), bytes);
                check("cublasLtMatmulDescSetAttribute", set)?;
            }
            if problem.ty.is_fast() {
                let set = (functions.desc_set)(
                    desc,
                    DESC_FAST_ACCUM,
                    (&raw const FAST).cast(),
                    size_of_val(&FAST),
                );
                check("cublasLtMatmulDescSetAttribute", set)?;
            }
            let layout = |kind, rows: c_int, cols: c_int, leading: c_int| {
                let mut layout = ptr::null_mut();
                let (rows, cols) =
                    (u64::from(rows.cast_unsigned()), u64::from(cols.cast_unsigned()));
                let made =
                    (functions.layout_create)(&raw mut layout, kind, rows, cols, leading.into());
                check("cublasLtMatrixLayoutCreate", made).map(|()| layout)
            };
            let (a_rows, a_cols) = view.a_stored();
            let (b_rows, b_cols) = view.b_stored();
            let a = layout(data_type(input), a_rows, a_cols, view.a_leading)?;
            let b = layout(data_type(input), b_rows, b_cols, view.b_leading)?;
            let d = layout(data_type(output), view.m, view.n, view.d_leading)?;

            check(
                "cublasLtMatmulPreferenceCreate",
                (functions.preference_create)(&raw mut preference),
            )?;
            let most = WORKSPACE_BYTES;
            let set = (functions.preference_set)(
                preference,
                PREF_WORKSPACE,
                (&raw const most).cast(),
                size_of::<usize>(),
            );
            check("cublasLtMatmulPreferenceSetAttribute", set)?;
            let mut heuristic = Heuristic::default();
            let mut returned = 0;
            let asked = (functions.heuristic)(
                handle,
                desc,
                a,
                b,
                d,
                d,
                preference,
                1,
                &raw mut heuristic,
                &raw mut returned,
            );
            (functions.preference_destroy)(preference);
            check("cublasLtMatmulAlgoGetHeuristic", asked)?;
            if returned == 0 || heuristic.status != 0 || heuristic.workspace_bytes > WORKSPACE_BYTES
            {
                return Err(PlanError::NoAlgorithm);
            }
            Ok(Plan { desc, a, b, d, heuristic, workspace })
        }
    }

    /// Whether the workspace belongs to a stream.
    pub(super) fn is_in(&self, stream: &Stream) -> bool {
        self.workspace.stream().is(stream)
    }

    /// # Safety
    ///
    /// The operands belong to the plan's problem, and to the stream of the plan's workspace.
    pub(super) unsafe fn run(
        &self,
        functions: &Functions,
        handle: Handle,
        stream: &Stream,
        problem: &Problem,
        operands: &mut Operands,
    ) -> Result<(), CublasError> {
        let (one, zero) = scalars(problem.ty);
        let (one, zero): (*const c_void, *const c_void) =
            ((&raw const one).cast(), (&raw const zero).cast());
        let d = operands.d.address();
        // A and B are swapped: see `ColumnMajor`.
        // SAFETY: The descriptors and the algorithm are the plan's. The caller guarantees operands
        // of the plan's size.
        let status = unsafe {
            (functions.matmul)(
                handle,
                self.desc,
                one,
                operands.b.address(),
                self.a,
                operands.a.address(),
                self.b,
                zero,
                d,
                self.d,
                d,
                self.d,
                &raw const self.heuristic.algorithm,
                self.workspace.address(),
                WORKSPACE_BYTES,
                stream.raw(),
            )
        };
        functions.check("cublasLtMatmul", status)
    }

    /// Frees the descriptors.
    pub(super) fn destroy(self, functions: &Functions) {
        // SAFETY: `new` made them, and nothing uses them any more.
        unsafe {
            (functions.layout_destroy)(self.a);
            (functions.layout_destroy)(self.b);
            (functions.layout_destroy)(self.d);
            (functions.desc_destroy)(self.desc);
        }
    }
}
