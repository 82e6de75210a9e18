//! f64 GEMMs on `mma.sync` with TMA: blocks with several tiles, and all epilogues.

use super::case::{Case, PLAIN, check, check_kernels, check_kernels_there};
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply};

/// One of these kernels is a swap-AB kernel.
fn of_f64(kernel: &&Kernel) -> bool {
    kernel.uses_tma
}

#[test]
fn of_f64_more_tiles_than_blocks() {
    let case = Case { size: (130, 140, 104), padding: 2, start: 4, alpha: 2, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case);
    check_kernels!(f64 f64, of_f64, Case { size: (24, 272, 170), schedules: 3, ..case });
}

#[test]
fn of_f64_c_bias_and_activation() {
    let case =
        Case { size: (70, 74, 22), beta: -3, bias: true, activation: Activation::Relu, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case);
    check_kernels!(f64 f64, of_f64, Case { bias_per_row: true, beta: 0, ..case });
}

#[test]
fn of_f64_batches_and_parts() {
    let case = Case { size: (65, 24, 70), batches: 2, padding: 2, beta: 1, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case, 2);
}
