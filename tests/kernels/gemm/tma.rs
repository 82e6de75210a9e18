//! The products on `mma.sync` with tiles by tensor copies: blocks that compute several tiles, and all that becomes of the sums.

use super::case::{Case, PLAIN, check, check_kernels};
use ptx_matrix::bf16;
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply};

/// One kernel: the others differ from it in the tiles of A and B alone, and `large_tiles` has them all.
fn one(kernel: &&Kernel) -> bool {
    kernel.name == "gemm_bf16_nn_tma"
}

/// Tiles of fewer steps than there are stages, and of more; D ends within tiles.
#[test]
fn more_tiles_than_blocks() {
    let case = Case { size: (140, 264, 100), padding: 8, start: 8, alpha: 2, ..PLAIN };
    check_kernels!(bf16 bf16, one, case);
    check_kernels!(bf16 bf16, one, Case { size: (140, 24, 330), schedules: 3, ..case });
}

#[test]
fn c_bias_and_activation() {
    let case = Case { size: (70, 72, 72), beta: -3, bias: true, activation: Activation::Relu, ..PLAIN };
    check_kernels!(bf16 bf16, one, case);
    check_kernels!(bf16 bf16, one, Case { bias_of_rows: true, beta: 0, ..case });
}

#[test]
fn batches_and_parts() {
    let case = Case { size: (65, 24, 200), batches: 2, padding: 8, beta: 1, ..PLAIN };
    check_kernels!(bf16 bf16, one, case, 2);
}

/// Those of f64, whose warps take turns to have tiles brought, and of which one computes transposes.
fn of_f64(kernel: &&Kernel) -> bool {
    kernel.by_tensor_maps
}

#[test]
fn of_f64_more_tiles_than_blocks() {
    let case = Case { size: (130, 140, 104), padding: 2, start: 4, alpha: 2, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case);
    check_kernels!(f64 f64, of_f64, Case { size: (24, 272, 170), schedules: 3, ..case });
}

#[test]
fn of_f64_c_bias_and_activation() {
    let case = Case { size: (70, 74, 22), beta: -3, bias: true, activation: Activation::Relu, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case);
    check_kernels!(f64 f64, of_f64, Case { bias_of_rows: true, beta: 0, ..case });
}

#[test]
fn of_f64_batches_and_parts() {
    let case = Case { size: (65, 24, 70), batches: 2, padding: 2, beta: 1, ..PLAIN };
    check_kernels!(f64 f64, of_f64, case, 2);
}
