//! The CUDA driver, opened on first use.
//!
//! `cust` declares the driver's functions as symbols to link. This module defines them: each
//! forwards to `libcuda.so.1`, opened at run time. So a program with this crate starts on any
//! machine.

pub(crate) mod early_launch;
mod error;
mod forward;
mod library;
mod status;
pub(crate) mod tensor_map;

pub(crate) use error::During;
pub use error::{DriverError, NoDriver};
pub(crate) use library::require;
