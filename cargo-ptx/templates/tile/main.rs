//! Multiplies two matrices on the GPU, and checks the result.

use ptx_matrix::{element::bf16, launch::Device};
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
use std::{error::Error, process::ExitCode};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            eprintln!(
                "help: this program needs an NVIDIA GPU; `cargo test` runs the kernels without"
            );
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info());
    let code = BuiltCode::best(gpu.info(), env!("PTX_FOLDER").as_ref(), "kernels")?;
    let device = GpuDevice::new(gpu, &code)?;

    let (m, n, k) = (256, 256, 256);
    let value = |i: usize| bf16::from_f32((i % 7) as f32 - 3.0);
    let a: Vec<bf16> = (0..m * k).map(value).collect();
    let b: Vec<bf16> = (0..k * n).map(value).collect();
    let (on_gpu_a, on_gpu_b) = (device.upload(&a)?, device.upload(&b)?);
    let mut d = device.upload(&vec![0.0f32; m * n])?;
    let grid = kernels::grid(m, n, k);
    let report = kernels::multiply::launch(
        &device, grid, &on_gpu_a, &on_gpu_b, &mut d, n as u32, k as u32,
    )?;

    let d = device.download(&d)?;
    for (i, &value) in d.iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let product = |j: usize| a[row * k + j].to_f32() * b[j * n + col].to_f32();
        let expected: f32 = (0..k).map(product).sum();
        assert_eq!(value, expected, "row {row}, column {col}");
    }
    println!("all {} elements are right", d.len());
    println!("the kernel took {:?}", report.elapsed);
    Ok(())
}
