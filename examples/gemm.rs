//! `Gemm`: D = silu(A x B + bias) in bf16, planned and run on the simulator.
//!
//! ```sh
//! cargo run --example gemm
//! ```

use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
use ptx_matrix_gemm::{Activation, Gemm, Layout, Operands};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (m, n, k) = (100, 64, 96);
    let value = |i: usize| bf16::from_f32((i % 5) as f32 / 4.0 - 0.5);
    let values = |len: usize| (0..len).map(value).collect::<Vec<bf16>>();
    let (a, b, bias) = (values(m * k), values(k * n), values(n));

    // On a GPU the device is `ptx_matrix_host::GpuDevice`; the rest stays the same.
    let device = Simulator::default();
    let (on_a, on_b) = (device.upload(&a)?, device.upload(&b)?);
    let (on_bias, mut d) = (device.upload(&bias)?, device.upload(&vec![bf16::ZERO; m * n])?);
    let plan = Gemm::<bf16>::new(m, n, k)
        .b(Layout::col_major(k))
        .activation(Activation::Silu)
        .plan(&device)?;
    if let Some(choice) = plan.choice() {
        println!("{m}x{n}x{k} by {choice}");
    }
    plan.run(Operands::new(&device, &on_a, &on_b, &mut d).bias(&on_bias))?;
    let d = device.download(&d)?;

    let reference = |row: usize, col: usize| {
        let sum: f64 = (0..k).map(|i| a[row * k + i].to_f64() * b[col * k + i].to_f64()).sum();
        let x = sum + bias[col].to_f64();
        bf16::from_f64(x / (1.0 + (-x).exp()))
    };
    // One unit in the last place at most: f32 accumulates, and bf16 rounds once.
    let difference = |i: usize| {
        let (found, right) = (d[i].to_f64(), reference(i / n, i % n).to_f64());
        ((found - right).abs() / right.abs().max(0.01) - 1.0 / 128.0).max(0.0)
    };
    assert!((0..m * n).all(|i| difference(i) == 0.0));
    println!("all {} elements are within one unit in the last place", m * n);
    Ok(())
}
