//! Split-K GEMMs.

use super::case::{
    Case, PLAIN, check, check_kernels, check_kernels_there, each_element_type, is_small,
};
use ptx_matrix::element::{F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply};

#[test]
fn parts_are_added() {
    let case = Case { size: (17, 40, 300), ..PLAIN };
    each_element_type!(check_kernels_there, is_small, case, 2);
    let case =
        Case { alpha: -2, beta: 1, bias: true, activation: Activation::Relu, batches: 2, ..case };
    each_element_type!(check_kernels_there, |kernel| kernel.name.contains("nt_64x64x"), case, 2);
}

#[test]
fn large_tiles_too() {
    let large = |kernel: &&Kernel| kernel.name == "sm80_bf16_nt_128x256x64";
    check_kernels!(bf16 bf16, large, Case { size: (130, 40, 300), ..PLAIN }, 3);
}
