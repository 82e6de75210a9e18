//! The functions of cuBLAS, and the constants of its headers.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::NoCublas;
use super::library::Libraries;
use crate::Element;

/// `cublasHandle_t`, `cublasLtHandle_t` and the descriptors of cuBLASLt.
pub(super) type Handle = *mut c_void;

/// `CUBLAS_OP_N` and `CUBLAS_OP_T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Operation {
    None = 0,
    Transpose = 1,
}

/// `CUBLAS_GEMM_DEFAULT`: cuBLAS selects the algorithm.
pub(super) const DEFAULT_ALGORITHM: c_int = -1;
/// `CUBLASLT_MATMUL_DESC_TRANSA` and `_TRANSB`.
pub(super) const DESC_TRANSA: c_int = 3;
/// See [`DESC_TRANSA`].
pub(super) const DESC_TRANSB: c_int = 4;
/// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`; its value has one byte.
pub(super) const DESC_FAST_ACCUM: c_int = 25;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
pub(super) const PREF_WORKSPACE: c_int = 1;

/// `cudaDataType_t` of an element.
pub(super) fn data_type(element: Element) -> c_int {
    match element {
        Element::F32 | Element::Tf32 => 0,
        Element::F64 => 1,
        Element::F16 => 2,
        Element::S8 => 3,
        Element::S32 => 10,
        Element::Bf16 => 14,
        Element::E4m3 => 28,
        Element::E5m2 => 29,
    }
}

/// The `cublasComputeType_t` for an element of A and B.
pub(super) fn compute_type(input: Element) -> c_int {
    const COMPUTE_32F: c_int = 68;
    const COMPUTE_64F: c_int = 70;
    const COMPUTE_32I: c_int = 72;
    const COMPUTE_32F_FAST_TF32: c_int = 77;
    match input {
        Element::Tf32 => COMPUTE_32F_FAST_TF32,
        Element::F64 => COMPUTE_64F,
        Element::S8 | Element::S32 => COMPUTE_32I,
        Element::F16 | Element::Bf16 | Element::F32 | Element::E4m3 | Element::E5m2 => COMPUTE_32F,
    }
}

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Heuristic {
    pub(super) algorithm: [u64; 8],
    pub(super) workspace_bytes: usize,
    pub(super) status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// A row for each function: its library, its symbol, its arguments. Each function returns a status.
macro_rules! functions {
    ($($library:ident $name:ident $symbol:literal ($($argument:ident: $kind:ty),*);)*) => {
        /// The functions of cuBLAS, which is opened and never closed.
        #[derive(Debug)]
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument: $kind),*) -> c_int,)*
            status_text: Option<unsafe extern "C" fn(c_int) -> *const c_char>,
        }

        impl Functions {
            pub(super) fn of(libraries: Libraries) -> Result<Self, NoCublas> {
                $(
                    // SAFETY: The type is that of the header.
                    let $name = *unsafe {
                        libraries.$library.get::<unsafe extern "C" fn($($kind),*) -> c_int>($symbol)
                    }
                    .map_err(|_| NoCublas::Symbol($symbol))?;
                )*
                // SAFETY: The type is that of the header.
                let status_text = unsafe { libraries.cublas.get("cublasGetStatusString") }
                    .ok()
                    .map(|symbol| *symbol);
                // Keeps the libraries open, because the functions are in them.
                std::mem::forget(libraries);
                Ok(Functions { $($name,)* status_text })
            }
        }
    };
}

functions! {
    cublas create "cublasCreate_v2" (handle: *mut Handle);
    cublas destroy "cublasDestroy_v2" (handle: Handle);
    cublas version "cublasGetVersion_v2" (handle: Handle, version: *mut c_int);
    cublas set_stream "cublasSetStream_v2" (handle: Handle, stream: *mut c_void);
    cublas gemm_ex "cublasGemmEx" (
        handle: Handle, a_operation: Operation, b_operation: Operation,
        m: c_int, n: c_int, k: c_int, alpha: *const c_void,
        a: u64, a_type: c_int, a_leading: c_int,
        b: u64, b_type: c_int, b_leading: c_int, beta: *const c_void,
        c: u64, c_type: c_int, c_leading: c_int, compute: c_int, algorithm: c_int
    );
    cublas gemm_batch "cublasGemmStridedBatchedEx" (
        handle: Handle, a_operation: Operation, b_operation: Operation,
        m: c_int, n: c_int, k: c_int, alpha: *const c_void,
        a: u64, a_type: c_int, a_leading: c_int, a_stride: i64,
        b: u64, b_type: c_int, b_leading: c_int, b_stride: i64, beta: *const c_void,
        c: u64, c_type: c_int, c_leading: c_int, c_stride: i64,
        count: c_int, compute: c_int, algorithm: c_int
    );
    lt lt_create "cublasLtCreate" (handle: *mut Handle);
    lt lt_destroy "cublasLtDestroy" (handle: Handle);
    lt desc_create "cublasLtMatmulDescCreate" (desc: *mut Handle, compute: c_int, scale: c_int);
    lt desc_set "cublasLtMatmulDescSetAttribute" (
        desc: Handle, which: c_int, value: *const c_void, bytes: usize
    );
    lt desc_destroy "cublasLtMatmulDescDestroy" (desc: Handle);
    lt layout_create "cublasLtMatrixLayoutCreate" (
        layout: *mut Handle, kind: c_int, rows: u64, cols: u64, leading: i64
    );
    lt layout_destroy "cublasLtMatrixLayoutDestroy" (layout: Handle);
    lt preference_create "cublasLtMatmulPreferenceCreate" (preference: *mut Handle);
    lt preference_set "cublasLtMatmulPreferenceSetAttribute" (
        preference: Handle, which: c_int, value: *const c_void, bytes: usize
    );
    lt preference_destroy "cublasLtMatmulPreferenceDestroy" (preference: Handle);
    lt heuristic "cublasLtMatmulAlgoGetHeuristic" (
        handle: Handle, desc: Handle, a: Handle, b: Handle, c: Handle, d: Handle,
        preference: Handle, wanted: c_int, results: *mut Heuristic, returned: *mut c_int
    );
    lt matmul "cublasLtMatmul" (
        handle: Handle, desc: Handle, alpha: *const c_void,
        a: u64, a_layout: Handle, b: u64, b_layout: Handle, beta: *const c_void,
        c: u64, c_layout: Handle, d: u64, d_layout: Handle,
        algorithm: *const [u64; 8], workspace: u64, workspace_bytes: usize, stream: *mut c_void
    );
}

impl Functions {
    /// Turns a status other than success into an error.
    pub(super) fn check(&self, call: &'static str, status: c_int) -> Result<(), CublasError> {
        if status == 0 {
            return Ok(());
        }
        let text = self.status_text.map(|text| {
            // SAFETY: The function returns a string constant for every status.
            unsafe { CStr::from_ptr(text(status)) }.to_string_lossy().into_owned()
        });
        Err(CublasError {
            call,
            status,
            text: text.unwrap_or_else(|| "no words for it".to_owned()),
        })
    }
}

/// A call of cuBLAS that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{call}: status {status}: {text}")]
pub struct CublasError {
    call: &'static str,
    status: c_int,
    text: String,
}
