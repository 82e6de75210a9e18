//! Tests of the simulator. One kind are random programs whose misuses are known by construction.
//! The other kind are kernels with one misuse each, for which the messages of compute-sanitizer on
//! a GPU are recorded.

pub mod fuzz;
pub mod gpu;
pub mod misuses;
