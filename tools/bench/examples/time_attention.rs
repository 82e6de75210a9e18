//! Attention on a Hopper GPU: compares some rows with sums in f64, and measures the time.
//!
//! ```sh
//! cargo xtask build --arch sm_90a
//! cargo run --release --package ptx-matrix-bench --example time_attention -- \
//!     --queries 4096 --heads 32
//! ```

use ptx_matrix_output::outln;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Parser;
use half::bf16;
use ptx_matrix::launch::Device;
use ptx_matrix_attention::Attention;
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// Measures attention in bf16 on a Hopper GPU
///
/// Queries, keys and values are normally distributed. Some rows of the output are compared with
/// sums in f64. The time is the median of five runs.
#[derive(Parser)]
#[command(after_help = AFTER_HELP)]
struct Arguments {
    /// Features of a head: 64 or 128
    #[arg(long, default_value_t = 128)]
    features: usize,
    /// Queries of a head
    #[arg(long, default_value_t = 4096)]
    queries: usize,
    /// Keys of a head (default: the number of queries)
    #[arg(long)]
    keys: Option<usize>,
    /// Heads of all sequences of a batch together
    #[arg(long, default_value_t = 32)]
    heads: usize,
    /// Heads of keys and values (default: the number of heads)
    #[arg(long)]
    key_heads: Option<usize>,
    /// Causal mask: a query sees only the keys up to its own position
    #[arg(long)]
    causal: bool,
    /// Duration of a run in milliseconds
    #[arg(long, default_value_t = 100)]
    batch: u64,
    /// The folder with the kernels that `cargo xtask build` made
    #[arg(long, default_value = "target/ptx")]
    ptx: PathBuf,
}

const AFTER_HELP: &str = "Example:
  cargo xtask build attention
  cargo run --release --package ptx-matrix-bench --example time_attention -- \
    --queries 4096 --heads 32";

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let of = Attention {
        features: arguments.features,
        queries: arguments.queries,
        keys: arguments.keys.unwrap_or(arguments.queries),
        heads: arguments.heads,
        key_heads: arguments.key_heads.unwrap_or(arguments.heads),
        scale: 1.0 / (arguments.features as f32).sqrt(),
        causal: arguments.causal,
    };
    let mut rng = SmallRng::seed_from_u64(1);
    let [of_queries, of_keys] = of.lens();
    let mut drawn =
        |len| (0..len).map(|_| bf16::from_f32(rng.sample(StandardNormal))).collect::<Vec<bf16>>();
    let (q, k, v) = (drawn(of_queries), drawn(of_keys), drawn(of_keys));

    let gpu = Gpu::open(0)?;
    let kernels = BuiltCode::best(gpu.info(), &arguments.ptx, "ptx-matrix-attention")?;
    let device = GpuDevice::new(gpu, &kernels)?;
    let stream = device.gpu().new_stream()?;
    let queue = device.in_stream(&stream);
    let (on_q, on_k, on_v) = (queue.upload(&q)?, queue.upload(&k)?, queue.upload(&v)?);
    let mut o = queue.upload(&vec![bf16::NAN; of_queries])?;
    let mut times = |count: u32| -> anyhow::Result<Duration> {
        let start = stream.record()?;
        for _ in 0..count {
            of.run(&queue, &on_q, &on_k, &on_v, &mut o)?;
        }
        Ok(stream.record()?.since(&start)? / count)
    };
    times(3)?;
    let count = (Duration::from_millis(arguments.batch).as_secs_f64() / times(3)?.as_secs_f64())
        .ceil() as u32;
    let mut times =
        (0..5).map(|_| times(count.max(1))).collect::<anyhow::Result<Vec<Duration>>>()?;
    times.sort();

    let found = queue.download(&o)?;
    for index in (0..of.queries * of.heads).step_by(97) {
        let right = row(&of, index, &q, &k, &v);
        let found = &found[index * of.features..][..of.features];
        for (feature, (found, right)) in found.iter().zip(right).enumerate() {
            let off = (found.to_f64() - right).abs();
            ensure!(off < 0.02, "feature {feature} of row {index} is {found}, and not {right}");
        }
    }
    // Q K^T and P V take two operations for each feature of each visible pair of query and key.
    let seen = if of.causal {
        (0..of.queries).map(|query| (query + 1 + of.keys).saturating_sub(of.queries)).sum()
    } else {
        of.queries * of.keys
    };
    let operations = 4.0 * (seen * of.heads * of.features) as f64;
    let median = times[2];
    outln!("{of:?}: {median:?}, {:.0} TFLOP/s", operations / median.as_secs_f64() / 1e12);
    Ok(())
}

/// A row of O, computed in f64.
fn row(of: &Attention, index: usize, q: &[bf16], k: &[bf16], v: &[bf16]) -> Vec<f64> {
    let (head, query) = (index / of.queries / (of.heads / of.key_heads), index % of.queries);
    let seen = if of.causal { (query + 1 + of.keys).saturating_sub(of.queries) } else { of.keys };
    let rows = |matrix: &[bf16], row: usize| -> Vec<f64> {
        matrix[row * of.features..][..of.features].iter().map(|element| element.to_f64()).collect()
    };
    let asked = rows(q, index);
    let score = |key: usize| {
        let terms =
            rows(k, head * of.keys + key).into_iter().zip(&asked).map(|(key, query)| key * query);
        terms.sum::<f64>() * f64::from(of.scale)
    };
    let scores: Vec<f64> = (0..seen).map(score).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let (sum, mut output) = (powers.iter().sum::<f64>(), vec![0.0; of.features]);
    for (key, power) in powers.iter().enumerate() {
        for (element, value) in output.iter_mut().zip(rows(v, head * of.keys + key)) {
            *element += power / sum * value;
        }
    }
    output
}
