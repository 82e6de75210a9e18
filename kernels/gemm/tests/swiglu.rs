//! A user-defined epilogue, on the simulator. `tests/user_crate.rs` builds the same file as PTX.

#[path = "../../../tests/custom_epilogue/src/swiglu.rs"]
mod custom;

use ptx_matrix::element::bf16;
use ptx_matrix::launch::Tensor;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::parts::{
    EpilogueArgsHost, EpilogueScalars, MatrixArgs, ProblemShape, TmaArgsHost,
};

/// What loads C. `Swiglu` has no `begin`: so its `store` starts the loads by TMA.
#[derive(Clone, Copy, PartialEq)]
enum C {
    None,
    ByTma,
    ByThreads,
}

#[test]
fn swiglu_is_silu_of_one_half_times_the_other() {
    swiglu(C::None);
}

#[test]
fn swiglu_adds_c() {
    swiglu(C::ByTma);
    swiglu(C::ByThreads);
}

fn swiglu(by: C) {
    let (m, n, k) = (200, 512, 136);
    let value = |i: usize, seed: usize| ((i * 31 + i / 7 * 17 + seed) % 9) as f32 / 8.0 - 0.5;
    let a: Vec<bf16> = (0..m * k).map(|i| bf16::from_f32(value(i, 1))).collect();
    // Column-major.
    let b: Vec<bf16> = (0..n * k).map(|i| bf16::from_f32(value(i, 5))).collect();
    let mut d = vec![bf16::ZERO; m * n / 2];
    let device = Simulator::default().strict();
    let map_a = Tensor::new([k, m, 1]).strides([1, k, m * k]).map(&device, &a[..]).unwrap();
    let map_b = Tensor::new([k, n, 1]).strides([1, k, n * k]).map(&device, &b[..]).unwrap();
    let c: Vec<bf16> = (0..m * n / 2).map(|i| bf16::from_f32(value(i, 3))).collect();
    let tensor_d = Tensor::new([n / 2, m, 1]).strides([1, n / 2, m * n / 2]);
    let mut map_d = tensor_d.map_mut(&device, &mut d[..]).unwrap();
    let map_c = (by == C::ByTma).then(|| tensor_d.map(&device, &c[..]).unwrap());
    // Alpha applies after silu.
    let (alpha, beta) = (0.5, if by == C::None { 0.0 } else { 2.0 });
    let scalars = EpilogueScalars::new(alpha, beta);
    let epilogue = EpilogueArgsHost {
        c: &c[..],
        bias: &[][..],
        d: &mut [][..],
        partials: &mut [][..],
        d_layout: MatrixArgs { ld: n as u32 / 2, row_major: true, ..MatrixArgs::default() },
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
    let args = TmaArgsHost {
        a: &map_a,
        b: &map_b,
        c: map_c.as_ref(),
        d: Some(map_d.by_ref()),
        group_ends: &[][..],
        epilogue,
        shape,
    };
    // Two blocks, with two tiles each.
    custom::swiglu::launch(&device, 2, args).unwrap();

    let dot = |row: usize, col: usize| -> f32 {
        (0..k).map(|i| a[row * k + i].to_f32() * b[col * k + i].to_f32()).sum()
    };
    for row in 0..m {
        for col in 0..n / 2 {
            let gate_col = col / 128 * 256 + col % 128;
            let (gate, up) = (dot(row, gate_col), dot(row, gate_col + 128));
            let at = row * n / 2 + col;
            let expected = alpha * (gate / (1.0 + (-gate).exp()) * up) + beta * c[at].to_f32();
            let got = d[at].to_f32();
            let error = (got - expected).abs();
            assert!(
                error <= 0.01 + expected.abs() / 128.0,
                "({row}, {col}): {got}, not {expected}"
            );
        }
    }
}
