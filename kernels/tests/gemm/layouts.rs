//! Sizes, and where matrices lie.

use super::case::{Case, PLAIN, check, check_kernels, each_product, is_small};
use ptx_matrix::{F8E4M3, bf16, f16};
use ptx_matrix_kernels::gemm::{Kernel, Multiply};

#[test]
fn whole_tiles() {
    each_product!(check_kernels, is_small, Case { size: (64, 128, 256), ..PLAIN });
}

#[test]
fn few_steps() {
    for k in [1, 33, 64, 130] {
        each_product!(check_kernels, is_small, Case { size: (16, 24, k), ..PLAIN });
    }
}

#[test]
fn sizes_that_are_no_multiple_of_anything() {
    each_product!(check_kernels, is_small, Case { size: (71, 83, 205), padding: 16, start: 16, ..PLAIN });
    each_product!(check_kernels, is_small, Case { size: (1, 3, 5), ..PLAIN });
}

#[test]
fn large_tiles() {
    each_product!(check_kernels, |kernel| !is_small(kernel), Case { size: (130, 258, 200), ..PLAIN });
}

#[test]
fn batches() {
    each_product!(check_kernels, is_small, Case { size: (20, 70, 40), batches: 3, padding: 16, start: 32, ..PLAIN });
}

/// However its warps follow each other, nothing is wrong.
#[test]
fn a_hundred_schedules() {
    let odd = Case { size: (20, 30, 260), bias: true, schedules: 100, ..PLAIN };
    check_kernels!(bf16 bf16, |kernel| ["gemm_bf16_nn", "gemm_bf16_tt_64x64"].contains(&kernel.name), odd);
    check_kernels!(f16 f16, |kernel| kernel.name.contains("nt_64x64") || kernel.name.contains("tn_on_sm_75"), odd);
    check_kernels!(f32 f32, |kernel| kernel.name.contains("nn_64x64"), odd);
    check_kernels!(f64 f64, |kernel| kernel.name.contains("tn_64x64"), odd);
    check_kernels!(i8 i32, |kernel| kernel.name.contains("tt_64x64"), odd);
    check_kernels!(F8E4M3 bf16, |kernel| kernel.name.contains("nt_64x64"), odd);
}
