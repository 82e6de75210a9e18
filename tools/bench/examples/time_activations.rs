//! How long a GEMM takes with each activation in its epilogue: bf16, one M x N x K.
//!
//! ```sh
//! cargo xtask build gemm --arch sm_90a
//! cargo run --release --package ptx-matrix-bench --example time_activations -- --k 512
//! ```

use anyhow::ensure;
use clap::Parser;
use half::bf16;
use ptx_matrix::launch::Device;
use ptx_matrix_gemm::{Activation, Gemm, Layout, Operands};
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
use ptx_matrix_output::outln;
use std::path::PathBuf;
use std::time::Duration;

/// Times a bf16 GEMM with each activation, in turn: the median of nine rounds.
#[derive(Parser)]
struct Arguments {
    /// Rows of D.
    #[arg(long, default_value_t = 4096)]
    m: usize,
    /// Columns of D.
    #[arg(long, default_value_t = 4096)]
    n: usize,
    /// Terms of each sum. The shorter, the more the epilogue counts.
    #[arg(long, default_value_t = 4096)]
    k: usize,
    /// Multiplies this many equal groups of rows, each by a B of its own. 0: an ordinary GEMM.
    #[arg(long, default_value_t = 0)]
    groups: usize,
    /// Multiplies this many GEMMs in one launch, contiguous in memory.
    #[arg(long, default_value_t = 1, conflicts_with = "groups")]
    batches: usize,
    /// The operand that all GEMMs of the batch share.
    #[arg(long, default_value = "none", value_parser = ["none", "a", "b"])]
    shared: String,
    /// Adds C and a bias.
    #[arg(long)]
    c_and_bias: bool,
    /// Times rounds without activation alone. Beside other rounds, the power that these draw
    /// counts.
    #[arg(long)]
    plain: bool,
    /// Launches of a round.
    #[arg(long, default_value_t = 50)]
    launches: u32,
    /// Where `cargo xtask build` put the kernels.
    #[arg(long, default_value = "target/ptx")]
    ptx: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let Arguments { m, n, k, groups, batches, shared, c_and_bias, plain, launches, ptx } =
        Arguments::parse();
    ensure!(launches > 0, "--launches must be at least 1");
    let gpu = Gpu::open(0)?;
    let kernels = BuiltCode::best(gpu.info(), &ptx, "ptx-matrix-gemm")?;
    let device = GpuDevice::new(gpu, &kernels)?;
    let stream = device.gpu().new_stream()?;
    let queue = device.in_stream(&stream);
    // Values of -1 to 1 with no pattern that a tile could repeat.
    let value =
        |i: usize| bf16::from_f32((i.wrapping_mul(0x9E37_79B9) >> 16 & 255) as f32 / 128.0 - 1.0);
    let values = |len: usize| (0..len).map(value).collect::<Vec<bf16>>();
    let of_b = groups.max(batches);
    let (a, b) = (queue.upload(&values(batches * m * k))?, queue.upload(&values(of_b * k * n))?);
    let [stride_a, stride_b] =
        [("a", m * k), ("b", k * n)].map(|(operand, len)| if shared == operand { 0 } else { len });
    let ends: Vec<u32> = (1..=groups).map(|group| (m * group / groups) as u32).collect();
    let ends = queue.upload(&ends)?;
    let mut d = queue.upload(&vec![bf16::ZERO; batches * m * n])?;
    let (c, bias) = match c_and_bias {
        true => (queue.upload(&values(batches * m * n))?, queue.upload(&values(of_b * n))?),
        false => (queue.upload(&[])?, queue.upload(&[])?),
    };

    let all = [Activation::Identity, Activation::Relu, Activation::Gelu, Activation::Silu];
    let activations = if plain { &all[..1] } else { &all };
    let mut times = [const { Vec::<Duration>::new() }; 4];
    for round in 0..10 {
        for (&activation, times) in activations.iter().zip(&mut times) {
            let gemm = Gemm::<bf16>::new(m, n, k).activation(activation);
            let gemm = if c_and_bias { gemm.beta(0.5) } else { gemm };
            let gemm = gemm
                .a(Layout::row_major(k).batch_stride(stride_a))
                .b(Layout::row_major(n).batch_stride(stride_b))
                .d(Layout::row_major(n).batch_stride(m * n));
            let gemm = if groups > 0 { gemm.groups(groups) } else { gemm.batches(batches) };
            let plan = gemm.plan(&queue)?;
            let start = stream.record()?;
            for _ in 0..launches {
                let operands = Operands::new(&queue, &a, &b, &mut d);
                let operands = if groups > 0 { operands.group_ends(&ends) } else { operands };
                plan.run(if c_and_bias { operands.c(&c).bias(&bias) } else { operands })?;
            }
            let elapsed = stream.record()?.since(&start)? / launches;
            // The first round warms up.
            if round > 0 {
                times.push(elapsed);
            }
        }
    }
    for (activation, times) in activations.iter().zip(&mut times) {
        times.sort();
        outln!("{m}x{n}x{k} {activation:?}: {:?}", times[times.len() / 2]);
    }
    Ok(())
}
