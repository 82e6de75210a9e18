//! The driver's errors, in words.

use std::ffi::{CStr, c_char};
use std::ptr;

use cust::error::{CudaError, CudaResult};
use cust::sys::CUresult;
use thiserror::Error;

use super::forward::{cuGetErrorName, cuGetErrorString};
use super::status::{NO_SYMBOL, last_failure};

/// Error: this machine has no NVIDIA driver. It contains the loader's reason.
#[derive(Clone, Debug, Error)]
#[error("no NVIDIA driver on this machine: {0}")]
pub struct NoDriver(pub(super) String);

/// Error: a driver call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{doing}: {name} ({code}): {text}")]
pub struct DriverError {
    /// The driver's status code, a `CUresult`.
    pub code: u32,
    /// The name of the code, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: &'static str,
    /// The driver's description of the code.
    pub text: &'static str,
    doing: &'static str,
}

impl DriverError {
    pub(super) fn new(code: u32, doing: &'static str) -> Self {
        Self {
            code,
            name: driver_word(cuGetErrorName, code).unwrap_or("CUresult"),
            text: driver_word(cuGetErrorString, code)
                .unwrap_or("the driver does not describe this code"),
            doing,
        }
    }

    /// Returns whether the PTX's version is newer than this driver.
    pub(crate) fn is_of_newer_ptx(&self) -> bool {
        self.code == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION as u32
    }

    /// Returns whether this driver lacks the called function.
    pub(crate) fn is_of_a_missing_function(&self) -> bool {
        self.code == NO_SYMBOL
    }
}

/// Adds to the error of a `cust` call the action that failed.
pub(crate) trait During<T> {
    fn during(self, doing: &'static str) -> Result<T, DriverError>;
}

impl<T> During<T> for CudaResult<T> {
    fn during(self, doing: &'static str) -> Result<T, DriverError> {
        self.map_err(|error| DriverError::new(code_of(error), doing))
    }
}

impl During<()> for CUresult {
    fn during(self, doing: &'static str) -> Result<(), DriverError> {
        match self {
            CUresult::CUDA_SUCCESS => Ok(()),
            CUresult::CUDA_ERROR_UNKNOWN => Err(DriverError::new(last_failure(), doing)),
            status => Err(DriverError::new(status as u32, doing)),
        }
    }
}

fn code_of(error: CudaError) -> u32 {
    match error {
        // cust turns every code without a name into this one.
        CudaError::UnknownError => last_failure(),
        named => named as u32,
    }
}

fn driver_word(
    look_up: unsafe extern "C" fn(usize, usize) -> u32,
    code: u32,
) -> Option<&'static str> {
    let mut word: *const c_char = ptr::null();
    // SAFETY: both look-ups take a status, and the address of the string pointer that they set.
    let status = unsafe { look_up(code as usize, (&raw mut word).expose_provenance()) };
    if status != 0 || word.is_null() {
        return None;
    }
    // SAFETY: on success the driver has set the pointer to a string constant of its own, and the
    // driver is never unloaded.
    unsafe { CStr::from_ptr(word) }.to_str().ok()
}
