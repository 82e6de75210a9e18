//! GEMM, one idea a step: each file is a kernel that is faster than the one before.

pub mod naive;
