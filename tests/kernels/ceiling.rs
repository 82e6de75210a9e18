//! The kernels that measure the ceiling multiply their operands, as often as their argument says.

use ptx_matrix::element::{bf16, tf32};
use ptx_matrix_timing_kernels::ceiling::{
    PRODUCTS, ceiling_bf16, ceiling_s8, ceiling_tf32, elements,
};

#[test]
fn every_product_is_in_the_sum() {
    // Operands of ones: each `mma` adds K to each of 16 x 8 elements.
    macro_rules! check {
        ($kernel:ident $one:expr, $k:literal) => {
            let (a, b) = (vec![$one; elements($k).0], vec![$one; elements($k).1]);
            let mut out = vec![0.0f32; 256];
            let rounds = 3;
            $kernel::simulate(1, &a, &b, &mut out, rounds).unwrap();
            let a_warp: f32 = out[..32].iter().sum();
            assert_eq!(a_warp, rounds as f32 * PRODUCTS as f32 * $k as f32 * 128.0);
            assert!(out.iter().all(|&sum| sum == out[0]));
        };
    }
    check!(ceiling_bf16 bf16::ONE, 16);
    check!(ceiling_tf32 tf32::ONE, 8);
    check!(ceiling_s8 1i8, 32);
}
