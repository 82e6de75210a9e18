//! Epilogues.

use super::case::{Case, PLAIN, check, check_kernels_there, each_element_type};
use ptx_matrix::element::{F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::kernels::{
    Activation, Buffers, GemmLaunch, Kernel, Launches, Multiply, Number, Slice,
};
use ptx_matrix_gemm::parts::{MatrixArgs, ProblemShape};

#[test]
fn factors_c_bias_and_relu() {
    let case = Case {
        size: (65, 40, 40),
        alpha: 2,
        beta: -3,
        bias: true,
        activation: Activation::Relu,
        ..PLAIN
    };
    fn of_rows_or_any(kernel: &&Kernel) -> bool {
        let of_rows = kernel.name.contains("nn_64x64x");
        of_rows || kernel.orders.is_none()
    }
    each_element_type!(check_kernels_there, of_rows_or_any, case);
    let case = Case { bias_per_row: true, activation: Activation::Identity, ..case };
    each_element_type!(check_kernels_there, |kernel| kernel.name.contains("nt_64x64x"), case);
    each_element_type!(
        check_kernels_there,
        |kernel| ["_nt_128x256x", "_nt_128x64x"].iter().any(|part| kernel.name.contains(part)),
        Case { size: (70, 66, 40), ..case }
    );
}

#[test]
fn activations_match_formulas() {
    let near = |x: f64, activation, expected: f64, what| {
        let wide = x.activate(activation);
        assert!(
            (wide - expected).abs() <= 1e-15 * (1.0 + expected.abs()),
            "{what}({x}) is {wide}, not {expected}"
        );
        let narrow = (x as f32).activate(activation);
        let off = (f64::from(narrow) - expected).abs();
        assert!(off <= 4e-7 * (1e-3 + expected.abs()), "{what}({x}) is {narrow}, not {expected}");
    };
    for i in -400..400 {
        let x = f64::from(i) / 16.0;
        near(x, Activation::Silu, x / (1.0 + (-x).exp()), "silu");
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
        // 1 + tanh y, without cancellation.
        near(x, Activation::Gelu, x / (1.0 + (-2.0 * inner).exp()), "gelu");
        near(x, Activation::Relu, x.max(0.0), "relu");
    }
    for activation in [Activation::Relu, Activation::Gelu, Activation::Silu] {
        assert!(f32::NAN.activate(activation).is_nan() && f64::NAN.activate(activation).is_nan());
        assert_eq!(f32::INFINITY.activate(activation), f32::INFINITY);
        assert_eq!(f64::NEG_INFINITY.activate(activation), 0.0);
        assert_eq!((-1000.0f32).activate(activation), 0.0);
        assert_eq!(0.0f32.activate(activation), 0.0);
    }
}

/// A kernel computes the same bits as the function.
#[test]
fn kernel_activation_equals_activate() {
    let kernel = <f32 as Multiply<f32>>::KERNELS
        .iter()
        .find(|kernel| kernel.name == "sm80_tf32_nn_64x64x32")
        .unwrap();
    let (a, b) = (vec![1.0f32; 8], [vec![0.5f32; 4], vec![-0.25; 4]].concat());
    for activation in [Activation::Gelu, Activation::Silu] {
        let mut d = [0.0; 8];
        let matrix = MatrixArgs { ld: 8, row_major: true, ..MatrixArgs::default() };
        let launch = GemmLaunch {
            shape: ProblemShape {
                m: 1,
                n: 8,
                k: 1,
                batches: 1,
                k_per_split: 32,
                cluster_along_n: false,
            },
            splits: 1,
            groups: 0,
            a: matrix,
            b: matrix,
            d: matrix,
            alpha: 3.0,
            beta: 0.0,
            bias_per_row: false,
            activation,
            tma_store: true,
            sms: 1,
        };
        let device = Simulator::new(0).strict();
        let launches = Launches::new(&device);
        let mut buffers = Buffers {
            a: launches.read(&a[..]),
            b: launches.read(&b[..]),
            c: Slice::empty(),
            bias: Slice::empty(),
            group_ends: Slice::empty(),
            d: launches.write(&mut d[..]),
            partials: Slice::empty(),
        };
        // SAFETY: all slices are of these launches; kernels write `d` and `partials`.
        let on = unsafe { launches.on() };
        let launched = <f32 as Multiply<f32>>::launch(&on, kernel, &mut buffers, &launch);
        launches.finish(launched).unwrap();
        assert_eq!((d[0], d[7]), (1.5f32.activate(activation), (-0.75f32).activate(activation)));
    }
}
