//! That what measures the ceiling multiplies what it is given, as often as it is told.

use ptx_matrix::bf16;
use ptx_matrix_kernels::ceiling::{A_ELEMENTS, B_ELEMENTS, PRODUCTS, ceiling_bf16};

#[test]
fn every_product_is_in_the_sum() {
    // Ones: each product adds 16 to each of 16 x 8 elements.
    let (a, b) = (vec![bf16::ONE; A_ELEMENTS], vec![bf16::ONE; B_ELEMENTS]);
    let mut out = vec![0.0f32; 256];
    let rounds = 3;
    ceiling_bf16::simulate(1, &a, &b, &mut out, rounds).unwrap();
    let a_warp: f32 = out[..32].iter().sum();
    assert_eq!(a_warp, rounds as f32 * PRODUCTS as f32 * 16.0 * 128.0);
    assert!(out.iter().all(|&sum| sum == out[0]));
}
