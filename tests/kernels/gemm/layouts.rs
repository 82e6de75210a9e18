//! Sizes and layouts of matrices.

use super::case::{
    Case, PLAIN, check, check_kernels, check_kernels_there, each_element_type, is_small,
};
use ptx_matrix::element::{F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix_gemm::kernels::{Kernel, Multiply};

#[test]
fn whole_tiles() {
    each_element_type!(check_kernels_there, is_small, Case { size: (64, 64, 256), ..PLAIN });
}

#[test]
fn few_steps() {
    for k in [1, 33, 130] {
        each_element_type!(check_kernels_there, is_small, Case { size: (8, 24, k), ..PLAIN });
    }
}

#[test]
fn odd_sizes() {
    each_element_type!(
        check_kernels_there,
        is_small,
        Case { size: (67, 70, 141), padding: 16, start: 16, ..PLAIN }
    );
    each_element_type!(check_kernels_there, is_small, Case { size: (1, 3, 5), ..PLAIN });
}

#[test]
fn large_tiles() {
    each_element_type!(
        check_kernels_there,
        |kernel| !is_small(kernel),
        Case { size: (130, 40, 200), ..PLAIN }
    );
}

/// Strides and starts that are odd, or multiples of at most four or eight bytes.
#[test]
fn unaligned_matrices() {
    for (padding, start) in [(1, 3), (2, 2), (4, 8)] {
        let case = Case { size: (29, 37, 75), padding, start, ..PLAIN };
        each_element_type!(check_kernels_there, |kernel| kernel.orders.is_none(), case);
    }
    let several = Case { size: (131, 20, 72), padding: 1, batches: 2, beta: 1, ..PLAIN };
    each_element_type!(check_kernels_there, |kernel| kernel.orders.is_none(), several);
}

#[test]
fn batches() {
    each_element_type!(
        check_kernels_there,
        is_small,
        Case { size: (20, 70, 40), batches: 3, padding: 16, start: 32, ..PLAIN }
    );
}

/// All orders of the warps are correct, for each kind of loads and of fragments. K has more k-tiles
/// than the kernels have stages, and ends within a k-tile.
#[test]
fn correct_in_100_schedules() {
    let odd = Case { size: (20, 30, 260), bias: true, schedules: 100, ..PLAIN };
    check_kernels!(bf16 bf16, |kernel| kernel.name == "sm80_bf16_tt_64x64x64", odd);
    check_kernels!(f16 f16, |kernel| kernel.name.starts_with("sm75_f16_tn"), odd);
    check_kernels!(i8 i32, |kernel| kernel.name.contains("nt_64x64x"), odd);
    let unaligned = Case { padding: 1, start: 1, ..odd };
    check_kernels!(F8E4M3 bf16, |kernel| kernel.orders.is_none(), unaligned);
    let of_short_tiles = Case { size: (20, 30, 84), ..unaligned };
    check_kernels!(f64 f64, |kernel| kernel.orders.is_none(), of_short_tiles);
}

#[test]
#[ignore = "takes minutes: cargo test -p ptx-matrix-tests --test kernels -- --ignored"]
fn every_kernel_in_a_hundred_schedules() {
    each_element_type!(
        check_kernels_there,
        |_| true,
        Case { size: (20, 30, 260), bias: true, schedules: 100, ..PLAIN }
    );
}
