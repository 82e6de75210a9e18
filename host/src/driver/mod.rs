//! The CUDA driver, opened when it is first needed.
//!
//! `cust` declares the driver's functions as symbols to link. They are defined here instead, each
//! one forwarding to `libcuda.so.1` opened at run time, so that a program with this crate in it
//! starts on any machine.

pub(crate) mod early_launch;
mod error;
mod forward;
mod library;
mod status;
pub(crate) mod tensor_map;

pub(crate) use error::During;
pub use error::{DriverError, NoDriver};
pub(crate) use library::require;
