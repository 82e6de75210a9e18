//! Which kernels are worth having: times every GEMM kernel on many shapes, and prints how much each
//! tile, or each kernel, wins over all others.
//!
//! ```sh
//! cargo xtask build gemm --arch sm_90a
//! cargo run --release --package ptx-matrix-bench --example rank_kernels -- --out times.csv
//! ```

use anyhow::Context;
use clap::Parser;
use half::{bf16, f16};
use ptx_matrix::element::{F8E4M3, F8E5M2};
use ptx_matrix::launch::Device;
use ptx_matrix_gemm::{Choice, Gemm, Layout, Multiply, Operands, Output};
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice, Stream};
use ptx_matrix_output::{errln, outln};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// Times every GEMM kernel, and ranks tiles by their largest win over all others.
///
/// Each kernel has the median of five interleaved rounds. Kernels that are 1.3 times slower than
/// the fastest one in a first round are left out.
#[derive(Parser)]
struct Arguments {
    /// Types to time, by the names of their kernels, such as bf16 or e4m3_bf16 [default: all].
    #[arg(long = "type")]
    types: Vec<String>,
    /// Random shapes beside the recorded ones.
    #[arg(long, default_value_t = 40)]
    random: usize,
    /// The seed of the random shapes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the times: type, layout, M, N, K, choice, microseconds.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Ranks the times of such a file, and times nothing.
    #[arg(long, conflicts_with_all = ["types", "out"])]
    read: Option<PathBuf>,
    /// A tile that wins less than this part on every shape is not worth having.
    #[arg(long, default_value_t = 0.02)]
    least_win: f64,
    /// Stops before the geometric mean of the times has grown by this part.
    #[arg(long, default_value_t = 0.01)]
    most_lost: f64,
    /// Ranks each kernel alone, not the tile with all types of one size and all orders.
    #[arg(long)]
    each_kernel: bool,
    /// Keeps what has this in its name, such as sm80.
    #[arg(long)]
    keep: Vec<String>,
    /// Where `cargo xtask build` put the kernels.
    #[arg(long, default_value = "target/ptx")]
    ptx: PathBuf,
}

/// The shapes of docs/PERFORMANCE.md, M x N x K.
const SHAPES: &[[usize; 3]] = &[
    [512, 512, 512],
    [1024, 1024, 1024],
    [2048, 2048, 2048],
    [3072, 3072, 3072],
    [4096, 4096, 4096],
    [8192, 8192, 8192],
    [16, 8192, 8192],
    [24, 8192, 8192],
    [64, 8192, 8192],
    [128, 8192, 8192],
    [257, 8192, 8192],
    [300, 8192, 8192],
    [64, 4096, 4096],
    [100, 4096, 4096],
    [128, 4096, 4096],
    [208, 4096, 4096],
    [256, 4096, 4096],
    [320, 4096, 4096],
    [333, 4096, 4096],
    [1024, 4096, 4096],
    [8192, 4096, 4096],
    [300, 5120, 5120],
    [320, 5120, 5120],
    [129, 14336, 4096],
    [264, 14336, 4096],
    [4096, 14336, 4096],
    [193, 4096, 14336],
    [256, 4096, 14336],
    [520, 4096, 14336],
    [8192, 8192, 1024],
    [8192, 3584, 8192],
    [128, 8192, 2048],
    [256, 8192, 1024],
    [1000, 3000, 5000],
    [5000, 1200, 3000],
    [5120, 1216, 3072],
    [2000, 6000, 1000],
    [777, 4000, 2048],
    [1336, 2672, 4008],
    [333, 5000, 4000],
    [7000, 504, 3000],
    [6008, 1544, 2312],
    [1544, 8200, 3080],
    [3336, 1024, 2048],
    [300, 3000, 3000],
    [256, 1856, 4992],
    [512, 512, 4096],
    [272, 544, 5376],
    [128, 2912, 4736],
    [64, 2912, 4736],
    [1800, 2200, 2600],
    [2560, 2048, 3072],
    [4104, 4104, 4104],
    [2056, 2056, 2056],
    [2200, 2200, 2200],
    [1111, 2222, 3333],
    [4096, 64, 4096],
    [4096, 128, 4096],
    [4096, 16, 4096],
    [16384, 64, 4096],
    [4096, 4096, 64],
    [2048, 2048, 128],
    [16384, 8192, 192],
];

/// One kernel's time on one shape.
#[derive(serde::Serialize, serde::Deserialize)]
struct Time {
    types: String,
    layout: String,
    m: usize,
    n: usize,
    k: usize,
    choice: String,
    microseconds: f64,
}

impl Time {
    /// The kernel's name.
    fn kernel(&self) -> &str {
        self.choice.split(['/', '+']).next().unwrap_or_default()
    }

    /// The kernel's name without its types and its operands' orders: a tile's kernels are kept
    /// together, for all types of one size and all orders.
    fn tile(&self) -> String {
        let name = self.kernel();
        let parts = name.split('_').filter(|part| !matches!(*part, "nn" | "nt" | "tn" | "tt"));
        let types = |part: &str| if part == "f16" { "bf16" } else { part }.to_owned();
        parts.map(types).collect::<Vec<_>>().join("_")
    }

    fn shape(&self) -> String {
        format!("{} {} {}x{}x{}", self.types, self.layout, self.m, self.n, self.k)
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let times = match &arguments.read {
        Some(file) => {
            let mut reader = csv::Reader::from_path(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            reader.deserialize().collect::<Result<Vec<Time>, _>>()?
        }
        None => measure(&arguments)?,
    };
    rank(&times, &arguments);
    Ok(())
}

/// Removes the tile that wins least, as long as one wins too little on every shape. A shape counts
/// twice: with split-K, and without a workspace for it.
fn rank(times: &[Time], arguments: &Arguments) {
    let mut shapes: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for time in times {
        let tile = if arguments.each_kernel { time.kernel().to_owned() } else { time.tile() };
        let mut count = |shape: String| {
            let best = shapes.entry(shape).or_default().entry(tile.clone()).or_insert(f64::MAX);
            *best = best.min(time.microseconds);
        };
        count(time.shape());
        if !time.choice.contains('/') {
            count(time.shape() + " without a workspace");
        }
    }
    let fastest = |of: &BTreeMap<String, f64>, without: &BTreeSet<String>| {
        let left = of.iter().filter(|(tile, _)| !without.contains(*tile));
        left.map(|(_, time)| *time).fold(f64::INFINITY, f64::min)
    };
    let mean = |without: &BTreeSet<String>| {
        let logs =
            shapes.values().map(|of| (fastest(of, without) / fastest(of, &BTreeSet::new())).ln());
        (logs.sum::<f64>() / shapes.len().max(1) as f64).exp()
    };
    let tiles: BTreeSet<String> = shapes.values().flat_map(|of| of.keys().cloned()).collect();
    let is_kept = |tile: &String| arguments.keep.iter().any(|part| tile.contains(part));
    let mut removed = BTreeSet::new();
    loop {
        // How much longer each shape takes than with all tiles, once this tile is removed too.
        let loss = |tile: &String| {
            let mut without = removed.clone();
            without.insert(tile.clone());
            let losses = shapes.iter().map(|(shape, of)| {
                (fastest(of, &without) / fastest(of, &BTreeSet::new()) - 1.0, shape)
            });
            losses
                .max_by(|(loss, _), (other, _)| loss.total_cmp(other))
                .map_or((0.0, String::new()), |(loss, shape)| (loss, shape.clone()))
        };
        let left = tiles.iter().filter(|tile| !removed.contains(*tile) && !is_kept(tile));
        let losses: Vec<_> = left.map(|tile| (loss(tile), tile)).collect();
        let next = losses.iter().min_by(|((loss, _), _), ((other, _), _)| loss.total_cmp(other));
        match next {
            Some(((loss, shape), tile))
                if *loss < arguments.least_win && {
                    let mut without = removed.clone();
                    without.insert((*tile).clone());
                    mean(&without) < 1.0 + arguments.most_lost
                } =>
            {
                outln!("remove {tile}: costs at most {:.2} % ({shape})", 100.0 * loss);
                removed.insert((*tile).clone());
            }
            _ => {
                let mut losses = losses;
                losses.sort_by(|((loss, _), _), ((other, _), _)| loss.total_cmp(other));
                for ((loss, shape), tile) in losses {
                    outln!("keep {tile}: wins {:.2} % ({shape})", 100.0 * loss);
                }
                break;
            }
        }
    }
    outln!(
        "{} {}, {} removed; geometric mean of the times: {:.5}",
        tiles.len(),
        if arguments.each_kernel { "kernels" } else { "tiles" },
        removed.len(),
        mean(&removed)
    );
}

fn measure(arguments: &Arguments) -> anyhow::Result<Vec<Time>> {
    let gpu = Gpu::open(0)?;
    let kernels = BuiltCode::best(gpu.info(), &arguments.ptx, "ptx-matrix-gemm")?;
    let device = GpuDevice::new(gpu, &kernels)?;
    let mut rng = SmallRng::seed_from_u64(arguments.seed);
    let mut shapes = SHAPES.to_vec();
    for _ in 0..arguments.random {
        // Sides of 64 to 8192 at every scale; half of them multiples of 64, half of 8.
        let multiple = if rng.random() { 64 } else { 8 };
        let mut side = || {
            let side = 2f64.powf(rng.random_range(6.0..13.0)) as usize;
            side.next_multiple_of(multiple)
        };
        shapes.push([side(), side(), side()]);
    }
    let mut run = Run {
        arguments,
        device: &device,
        stream: device.gpu().new_stream()?,
        shapes,
        times: Vec::new(),
    };
    const ALL: &[&str] = &["nn", "nt", "tn", "tt"];
    run.of::<bf16, bf16>("bf16", ALL, bf16::from_f32)?;
    run.of::<f16, f16>("f16", ALL, f16::from_f32)?;
    run.of::<bf16, f32>("bf16_f32", ALL, bf16::from_f32)?;
    run.of::<f16, f32>("f16_f32", ALL, f16::from_f32)?;
    run.of::<f32, f32>("tf32", ALL, |x| x)?;
    run.of::<f64, f64>("f64", ALL, f64::from)?;
    run.of::<i8, i32>("s8", &["nt"], |x| (x * 127.0) as i8)?;
    run.of::<F8E4M3, bf16>("e4m3_bf16", &["nt"], F8E4M3::from_f32)?;
    run.of::<F8E4M3, f16>("e4m3_f16", &["nt"], F8E4M3::from_f32)?;
    run.of::<F8E4M3, f32>("e4m3_f32", &["nt"], F8E4M3::from_f32)?;
    run.of::<F8E5M2, bf16>("e5m2_bf16", &["nt"], F8E5M2::from_f32)?;
    run.of::<F8E5M2, f16>("e5m2_f16", &["nt"], F8E5M2::from_f32)?;
    run.of::<F8E5M2, f32>("e5m2_f32", &["nt"], F8E5M2::from_f32)?;
    if let Some(file) = &arguments.out {
        let mut writer = csv::Writer::from_path(file)
            .with_context(|| format!("cannot write {}", file.display()))?;
        run.times.iter().try_for_each(|time| writer.serialize(time))?;
        writer.flush()?;
    }
    Ok(run.times)
}

struct Run<'a> {
    arguments: &'a Arguments,
    device: &'a GpuDevice,
    stream: Stream,
    shapes: Vec<[usize; 3]>,
    times: Vec<Time>,
}

impl Run<'_> {
    /// Times the kernels of some types on every shape.
    fn of<T: Multiply<O>, O: Output>(
        &mut self,
        types: &str,
        layouts: &[&str],
        element: impl Fn(f32) -> T,
    ) -> anyhow::Result<()> {
        if !self.arguments.types.is_empty()
            && !self.arguments.types.iter().any(|name| name == types)
        {
            return Ok(());
        }
        let queue = self.device.in_stream(&self.stream);
        let largest = |side: fn(&[usize; 3]) -> usize| self.shapes.iter().map(side).max();
        let mut rng = SmallRng::seed_from_u64(7);
        let mut values = |len: Option<usize>| {
            (0..len.unwrap_or(0)).map(|_| element(rng.random_range(-1.0..1.0))).collect::<Vec<T>>()
        };
        let a = queue.upload(&values(largest(|[m, _, k]| m * k)))?;
        let b = queue.upload(&values(largest(|[_, n, k]| n * k)))?;
        let mut d = queue.upload(&zeroed::<O>(largest(|[m, n, _]| m * n).unwrap_or(0)))?;
        const WORKSPACE: usize = 1 << 26;
        let mut workspace = queue.upload(&zeroed::<O::Acc>(WORKSPACE))?;
        let mut launch = |gemm: &Gemm<T, O>, count: u32| -> anyhow::Result<Duration> {
            let plan = gemm.plan(&queue)?;
            let start = self.stream.record()?;
            for _ in 0..count {
                plan.run(Operands::new(&queue, &a, &b, &mut d).workspace(&mut workspace))?;
            }
            Ok(self.stream.record()?.since(&start)? / count)
        };
        for (index, &[m, n, k]) in self.shapes.iter().enumerate() {
            errln!("{types}: shape {} of {}: {m}x{n}x{k}", index + 1, self.shapes.len());
            for &layout in layouts {
                let order = |letter, row_major: Layout, col_major: Layout| {
                    if layout.ends_with(letter) { col_major } else { row_major }
                };
                let b = order('t', Layout::row_major(n), Layout::col_major(k));
                let a = match layout.starts_with('t') {
                    true => Layout::col_major(m),
                    false => Layout::row_major(k),
                };
                let gemm = Gemm::<T, O>::new(m, n, k).a(a).b(b).workspace_up_to(WORKSPACE);
                let choices =
                    gemm.choices(&queue).into_iter().filter(|choice| choice.k_splits <= 8);
                let mut first = Vec::new();
                for choice in choices {
                    let gemm = gemm.clone().choose(choice.clone());
                    if gemm.plan(&queue)?.workspace_len() > WORKSPACE {
                        continue;
                    }
                    launch(&gemm, 1)?;
                    first.push((launch(&gemm, 3)?, choice, gemm));
                }
                let Some(best) = first.iter().map(|(time, ..)| *time).min() else { continue };
                let candidates: Vec<(Choice, Gemm<T, O>)> = first
                    .into_iter()
                    .filter(|(time, ..)| *time <= best.mul_f64(1.3))
                    .map(|(_, choice, gemm)| (choice, gemm))
                    .collect();
                let count = (0.001 / best.as_secs_f64()).ceil() as u32;
                let mut times = vec![Vec::new(); candidates.len()];
                for _ in 0..5 {
                    for ((_, gemm), times) in candidates.iter().zip(&mut times) {
                        times.push(launch(gemm, count)?);
                    }
                }
                for ((choice, _), mut times) in candidates.into_iter().zip(times) {
                    times.sort();
                    self.times.push(Time {
                        types: types.to_owned(),
                        layout: layout.to_owned(),
                        m,
                        n,
                        k,
                        choice: choice.to_string(),
                        microseconds: times[2].as_secs_f64() * 1e6,
                    });
                }
            }
        }
        Ok(())
    }
}

fn zeroed<T: bytemuck::Zeroable + Clone>(len: usize) -> Vec<T> {
    vec![T::zeroed(); len]
}
