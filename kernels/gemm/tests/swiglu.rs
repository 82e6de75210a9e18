//! A user-defined epilogue, on the simulator. `tests/user_crate.rs` builds the same file as PTX.

#[path = "../../../tests/custom_epilogue/src/swiglu.rs"]
mod custom;

use ptx_matrix::element::bf16;
use ptx_matrix::launch::Tensor;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::parts::{
    EpilogueArgsHost, EpilogueScalars, MatrixArgs, ProblemShape, TmaArgsHost,
};

#[test]
fn swiglu_is_silu_of_one_half_times_the_other() {
    let (m, n, k) = (200, 512, 136);
    let value = |i: usize, seed: usize| ((i * 31 + i / 7 * 17 + seed) % 9) as f32 / 8.0 - 0.5;
    let a: Vec<bf16> = (0..m * k).map(|i| bf16::from_f32(value(i, 1))).collect();
    // Column-major.
    let b: Vec<bf16> = (0..n * k).map(|i| bf16::from_f32(value(i, 5))).collect();
    let mut d = vec![bf16::ZERO; m * n / 2];
    let device = Simulator::default().strict();
    let map_a = Tensor::new([k, m, 1]).strides([1, k, m * k]).map(&device, &a[..]).unwrap();
    let map_b = Tensor::new([k, n, 1]).strides([1, k, n * k]).map(&device, &b[..]).unwrap();
    let mut map_d = Tensor::new([n / 2, m, 1])
        .strides([1, n / 2, m * n / 2])
        .map_mut(&device, &mut d[..])
        .unwrap();
    // Alpha applies after silu.
    let alpha = 0.5;
    let scalars = EpilogueScalars { alpha, beta: 0.0, bias_per_row: 0, activation: 0 };
    let epilogue = EpilogueArgsHost {
        c: &[][..],
        bias: &[][..],
        d: &mut [][..],
        partials: &mut [][..],
        d_layout: MatrixArgs::default(),
        scalars,
    };
    let [m32, n32, k32] = [m, n, k].map(|side| side as u32);
    let shape = ProblemShape {
        m: m32,
        n: n32,
        k: k32,
        batches: 1,
        k_per_split: k32,
        cluster_along_n: false,
    };
    let (a_map, b_map, d_map, group_ends) = (&map_a, &map_b, Some(map_d.by_ref()), &[][..]);
    let args = TmaArgsHost { a: a_map, b: b_map, c: None, d: d_map, group_ends, epilogue, shape };
    // Two blocks, with two tiles each.
    custom::swiglu::launch(&device, 2, args).unwrap();

    let dot = |row: usize, col: usize| -> f32 {
        (0..k).map(|i| a[row * k + i].to_f32() * b[col * k + i].to_f32()).sum()
    };
    for row in 0..m {
        for col in 0..n / 2 {
            let gate_col = col / 128 * 256 + col % 128;
            let (gate, up) = (dot(row, gate_col), dot(row, gate_col + 128));
            let expected = alpha * (gate / (1.0 + (-gate).exp()) * up);
            let got = d[row * n / 2 + col].to_f32();
            let error = (got - expected).abs();
            assert!(
                error <= 0.01 + expected.abs() / 128.0,
                "({row}, {col}): {got}, not {expected}"
            );
        }
    }
}
