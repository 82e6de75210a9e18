//! A stand-in for `libcublas.so.13` and `libcublasLt.so.13`, for use with the driver's stand-in. It
//! computes GEMMs in plain loops, on column-major matrices as cuBLAS does.

#![allow(non_snake_case, reason = "cuBLAS's names")]
#![allow(clippy::too_many_arguments, reason = "cuBLAS's arguments")]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};

type Handle = *mut c_void;

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 7;
const NOT_SUPPORTED: c_int = 15;
const HANDLE: Handle = 0x20 as Handle;

const R_32F: c_int = 0;
const R_64F: c_int = 1;
const R_8I: c_int = 3;
const R_32I: c_int = 10;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, symbol: *const c_char) -> *const c_void;
}

/// Waits, in the driver's stand-in, for the work in the stream, because the GEMM is computed at
/// once.
unsafe fn synchronize(stream: *mut c_void) {
    const RTLD_NOW: c_int = 2;
    type Synchronize = unsafe extern "C" fn(*mut c_void) -> u32;
    unsafe {
        let driver = dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW);
        let function = dlsym(driver, c"cuStreamSynchronize".as_ptr());
        std::mem::transmute::<*const c_void, Synchronize>(function)(stream);
    }
}

thread_local! {
    /// The handle's stream. Each test has its own handle and thread.
    static STREAM: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: *mut Handle) -> c_int {
    unsafe { *handle = HANDLE };
    SUCCESS
}
#[unsafe(no_mangle)]
extern "C" fn cublasDestroy_v2(_handle: Handle) -> c_int {
    SUCCESS
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetVersion_v2(_handle: Handle, version: *mut c_int) -> c_int {
    unsafe { *version = 130_102 };
    SUCCESS
}
#[unsafe(no_mangle)]
extern "C" fn cublasSetStream_v2(_handle: Handle, stream: *mut c_void) -> c_int {
    STREAM.set(stream);
    SUCCESS
}
#[unsafe(no_mangle)]
extern "C" fn cublasGetStatusString(status: c_int) -> *const c_char {
    match status {
        NOT_SUPPORTED => c"the requested functionality is not supported".as_ptr(),
        _ => c"invalid value".as_ptr(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmEx(
    handle: Handle,
    a_transposed: c_int,
    b_transposed: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    a_type: c_int,
    a_leading: c_int,
    b: u64,
    b_type: c_int,
    b_leading: c_int,
    beta: *const c_void,
    c: u64,
    c_type: c_int,
    c_leading: c_int,
    compute: c_int,
    algorithm: c_int,
) -> c_int {
    // The leading dimension is at least the stored rows.
    let a_rows = if a_transposed == 1 { k } else { m };
    let b_rows = if b_transposed == 1 { n } else { k };
    if handle != HANDLE
        || a_leading < a_rows
        || b_leading < b_rows
        || c_leading < m
        || algorithm != -1
    {
        return INVALID_VALUE;
    }
    unsafe { synchronize(STREAM.get()) };
    let at = |transposed: c_int, row: c_int, col: c_int, leading: c_int| {
        (if transposed == 1 { row * leading + col } else { col * leading + row }) as usize
    };
    macro_rules! gemm {
        ($input:ty, $sum:ty) => {
            unsafe {
                if (*alpha.cast::<$sum>(), *beta.cast::<$sum>()) != (1 as $sum, 0 as $sum) {
                    return INVALID_VALUE;
                }
                for row in 0..m {
                    for col in 0..n {
                        let sum: $sum = (0..k)
                            .map(|i| {
                                let a =
                                    *(a as *const $input).add(at(a_transposed, row, i, a_leading));
                                let b =
                                    *(b as *const $input).add(at(b_transposed, i, col, b_leading));
                                a as $sum * b as $sum
                            })
                            .sum();
                        *(c as *mut $sum).add((col * c_leading + row) as usize) = sum;
                    }
                }
            }
        };
    }
    match (a_type, b_type, c_type, compute) {
        (R_32F, R_32F, R_32F, 77) => gemm!(f32, f32),
        (R_64F, R_64F, R_64F, 70) => gemm!(f64, f64),
        (R_8I, R_8I, R_32I, 72) => gemm!(i8, i32),
        _ => return NOT_SUPPORTED,
    }
    SUCCESS
}

/// The bytes of an element.
fn bytes(kind: c_int) -> i64 {
    match kind {
        R_64F => 8,
        R_8I => 1,
        _ => 4,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmStridedBatchedEx(
    handle: Handle,
    a_transposed: c_int,
    b_transposed: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    a_type: c_int,
    a_leading: c_int,
    a_stride: i64,
    b: u64,
    b_type: c_int,
    b_leading: c_int,
    b_stride: i64,
    beta: *const c_void,
    c: u64,
    c_type: c_int,
    c_leading: c_int,
    c_stride: i64,
    count: c_int,
    compute: c_int,
    algorithm: c_int,
) -> c_int {
    // The other library, made from this same file, may provide the function called below. It knows
    // no stream.
    unsafe { synchronize(STREAM.get()) };
    for i in 0..i64::from(count) {
        let further = |start: u64, stride: i64, kind: c_int| {
            start.wrapping_add_signed(i * stride * bytes(kind))
        };
        let status = unsafe {
            cublasGemmEx(
                handle,
                a_transposed,
                b_transposed,
                m,
                n,
                k,
                alpha,
                further(a, a_stride, a_type),
                a_type,
                a_leading,
                further(b, b_stride, b_type),
                b_type,
                b_leading,
                beta,
                further(c, c_stride, c_type),
                c_type,
                c_leading,
                compute,
                algorithm,
            )
        };
        if status != SUCCESS {
            return status;
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtCreate(handle: *mut Handle) -> c_int {
    unsafe { *handle = HANDLE };
    SUCCESS
}

/// The rest of cuBLASLt creates descriptors, and then finds no algorithm.
macro_rules! succeed {
    ($($name:ident($($argument:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $argument),*) -> c_int {
            SUCCESS
        }
    )*};
}
succeed! {
    cublasLtDestroy(Handle);
    cublasLtMatmulDescCreate(*mut Handle, c_int, c_int);
    cublasLtMatmulDescSetAttribute(Handle, c_int, *const c_void, usize);
    cublasLtMatmulDescDestroy(Handle);
    cublasLtMatrixLayoutCreate(*mut Handle, c_int, u64, u64, i64);
    cublasLtMatrixLayoutDestroy(Handle);
    cublasLtMatmulPreferenceCreate(*mut Handle);
    cublasLtMatmulPreferenceSetAttribute(Handle, c_int, *const c_void, usize);
    cublasLtMatmulPreferenceDestroy(Handle);
    cublasLtMatmul();
}
#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_int,
) -> c_int {
    NOT_SUPPORTED
}
