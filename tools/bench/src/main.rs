//! The GEMM benchmark. `cargo xtask bench` starts it; a bundle takes it to machines that have a
//! driver and no Rust.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix_bench::{
    Bench, Contestant, Cublas, Gemms, Layout, Monitor, Problem, Row, Shape, Type, default_shapes,
    fastest, own, plot, rows, table, write_csv,
};
use ptx_matrix_gemm::Tuned;
use ptx_matrix_host::Gpu;
use ptx_matrix_kernel_files::KernelFiles;
use ptx_matrix_output::{errln, out, outln};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Measures the GEMM kernels of ptx-matrix against cuBLAS on an NVIDIA GPU
///
/// Each contestant computes D = A x B on normally distributed data. The contestants alternate, in
/// one process and on one stream. Every result is checked before it is timed.
///
/// The ratio is cuBLAS's time divided by the contestant's: above 1 is faster than cuBLAS. `util` is
/// the throughput relative to that of `mma.sync` on registers alone, scaled to the clock at which
/// the contestant ran.
///
/// The driver reports power as a mean over about a second, which covers all contestants. A slow
/// contestant draws little power. The others then run at a higher clock than they could hold alone.
#[derive(Debug, Parser)]
#[command(name = "bench", version, after_help = EXAMPLES)]
struct Arguments {
    /// A GEMM with M = N = K = SIDE; may be repeated, and combined with --shape
    ///
    /// Without --size and --shape, it measures a mix. There are cubes from 1024 to 8192, and M
    /// from 1 to 64 with N = K = 8192. Others have a short K, a wide N, or odd sizes.
    #[arg(long = "size", value_name = "SIDE", value_parser = cube, help_heading = "Problems")]
    sizes: Vec<Shape>,
    /// A GEMM of any shape; may be repeated. M x N is the shape of D, K the terms of each sum
    #[arg(long = "shape", value_name = "MxNxK", help_heading = "Problems")]
    shapes: Vec<Shape>,
    /// The element types; may be repeated
    #[arg(long = "type", value_enum, default_value = "bf16", help_heading = "Problems")]
    types: Vec<Type>,
    /// The layouts of A and B, one letter each; may be repeated. n is row-major, t column-major
    ///
    /// D is row-major.
    #[arg(long = "layout", value_enum, default_value = "nn", help_heading = "Problems")]
    layouts: Vec<Layout>,
    /// Grouped GEMM: the rows of D form COUNT groups of different sizes, each with its own B
    ///
    /// This project's kernel computes all groups in one launch. cuBLAS is called once per group.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=65535),
        help_heading = "Problems"
    )]
    groups: u32,
    /// Batched GEMM: COUNT GEMMs of each shape, with matrices contiguous in memory
    ///
    /// This project's kernel computes the batch in one launch, cuBLAS in one call.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=65535),
        conflicts_with = "groups",
        help_heading = "Problems"
    )]
    batches: u32,
    /// A contestant to measure besides cuBLAS; may be repeated (default: the naive kernel and
    /// "gemm auto")
    ///
    /// NAME is a contestant's name or configuration. If no contestant is called NAME, all are
    /// measured whose name and configuration contain NAME. The contestant "gemm auto" is the GEMM
    /// by the kernel that the cost model selects.
    #[arg(long = "config", value_name = "NAME", help_heading = "Contestants")]
    configs: Vec<String>,
    /// Measure every kernel, and write the fastest for each shape to FILE
    ///
    /// With 1, 2, 3, 4, 6, 8, 12, 16 and 24 splits of K, and with the cost model's own choice.
    /// `Tuned::load` of ptx-matrix-gemm reads this file. Entries for other shapes stay in it.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["configs", "groups"],
        help_heading = "Contestants"
    )]
    tune: Option<PathBuf>,
    /// How often each contestant is timed. The contestants alternate
    #[arg(
        long,
        default_value_t = 9,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Measurement"
    )]
    rounds: u32,
    /// The least duration of one timing in milliseconds
    ///
    /// 20 measures a short run. 1000 measures a run under the GPU's power limit.
    #[arg(
        long,
        default_value_t = 20,
        value_name = "MS",
        value_parser = clap::value_parser!(u64).range(1..=60_000),
        help_heading = "Measurement"
    )]
    batch: u64,
    /// The folder for bench.csv and bench.svg
    #[arg(long, value_name = "FOLDER", default_value = "bench-results", help_heading = "Output")]
    out: PathBuf,
    /// The number of the GPU, as the driver counts them
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    device: u32,
    #[command(flatten)]
    kernels: KernelFiles,
}

const EXAMPLES: &str = "Examples:
  bench --size 4096                                    bf16, A and B row-major
  bench --size 2048 --size 4096 --type f16 --type s8 --layout nt
  bench --shape 16x8192x8192 --config naive --rounds 21 --out skinny
  bench --shape 16x8192x8192 --config nn_16x128x64     one kernel, with each number of splits of K
  bench --shape 16x8192x8192 --tune h200.json          every kernel; keeps the fastest
  bench --shape 8192x4096x4096 --layout nt --groups 8  grouped GEMM, as in a mixture of experts
  bench --shape 2048x2048x128 --layout nt --batches 64 batched GEMM, such as the scores of 64 heads

Exit codes:
  0  every result was right
  1  a contestant computed a wrong result
  2  wrong options, no GPU, no cuBLAS, or another error";

/// The contestant that the others are compared with.
const REFERENCE: &str = "cublas";

fn cube(side: &str) -> Result<Shape, String> {
    let side = side.trim();
    format!("{side}x{side}x{side}")
        .parse()
        .map_err(|_| format!("`{side}` is not a side from 1 to 2147483647"))
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    /// Every shape in every type and layout. Shapes vary fastest, so a type's rows are adjacent.
    fn problems(&self) -> Vec<Problem> {
        let named: Vec<Shape> = self.sizes.iter().chain(&self.shapes).copied().collect();
        let shapes = if named.is_empty() { default_shapes() } else { named };
        let gemms = match (self.batches as usize, self.groups as usize) {
            (1, 1) => Gemms::One,
            (batches, 1) => Gemms::Batch(batches),
            (_, groups) => Gemms::Groups(groups),
        };
        let mut problems = Vec::new();
        for &ty in &self.types {
            for &layout in &self.layouts {
                problems.extend(shapes.iter().map(|&shape| Problem { ty, layout, shape, gemms }));
            }
        }
        problems
    }

    fn selects(&self, contestant: &dyn Contestant, all: &[Box<dyn Contestant + '_>]) -> bool {
        let unnamed = self.configs.is_empty() && (contestant.by_default() || self.tune.is_some());
        unnamed || self.configs.iter().any(|name| is_meant(name, contestant, all))
    }
}

/// Whether the name selects a contestant, one of all.
fn is_meant(name: &str, contestant: &dyn Contestant, all: &[Box<dyn Contestant + '_>]) -> bool {
    let is_called = |contestant: &dyn Contestant| {
        [contestant.config(), contestant.name(), full_name(contestant).as_str()].contains(&name)
    };
    let is_one = all.iter().any(|one| is_called(&**one));
    if is_one { is_called(contestant) } else { full_name(contestant).contains(name) }
}

/// A contestant's name and configuration.
fn full_name(contestant: &dyn Contestant) -> String {
    format!("{} {}", contestant.name(), contestant.config()).trim_end().to_owned()
}

/// Runs the benchmark. Returns whether every result was right.
fn bench(arguments: &Arguments) -> Result<bool> {
    let gpu = Gpu::open(arguments.device).context("measuring needs a GPU")?;
    let cublas = Cublas::new(&gpu)?;
    if arguments.kernels.is_validating() {
        arguments.kernels.print_target(&gpu)?;
        return Ok(true);
    }
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make {}", arguments.out.display()))?;
    let (_, device) = arguments.kernels.load(
        gpu,
        "ptx-matrix-gemm",
        &["ptx-matrix-ladder", "ptx-matrix-timing-kernels"],
    )?;
    let own = own(&device);
    let chosen: Vec<&dyn Contestant> =
        own.iter().map(|one| &**one).filter(|one| arguments.selects(*one, &own)).collect();
    let has = |name: &&String| own.iter().any(|one| is_meant(name, &**one, &own));
    let unknown = arguments.configs.iter().find(|name| !has(name));
    let names = own.iter().map(|one| full_name(&**one)).filter(|name| !name.contains(['+', '/']));
    ensure!(
        unknown.is_none(),
        "no contestant is called `{}`; there are, many of them with repacking too (+a, +b, +a+b) \
         and with split-K (/2 and more): {}",
        unknown.map_or("", String::as_str),
        names.collect::<Vec<_>>().join(", ")
    );
    let contestants: Vec<&dyn Contestant> =
        [&cublas as &dyn Contestant].into_iter().chain(chosen).collect();

    let info = device.gpu().info();
    outln!("cuBLAS {}", cublas.version());
    let monitor = Monitor::open(info).map_err(|reason| errln!("{reason}")).ok();
    let mut bench = Bench::new(&device, monitor)?;
    bench.rounds = arguments.rounds as usize;
    bench.batch = Duration::from_millis(arguments.batch);
    let ceilings = bench.ceilings()?;
    for (name, ceiling) in ceilings.named() {
        let clock = ceiling
            .conditions
            .clock_mhz
            .map_or_else(|| "an unknown clock".to_owned(), |mhz| format!("{mhz} MHz"));
        outln!("ceiling of mma.sync, {name}: {:.1} TFLOP/s at {clock}", ceiling.tflops);
    }
    outln!("copy within memory: {:.2} TB/s, read and written", ceilings.copy / 1e12);

    let mut tuned = match &arguments.tune {
        Some(file) if file.exists() => {
            let tuned = Tuned::load(file)?;
            ensure!(
                tuned.device == info.name,
                "{} is of {}, and this is {}: name another file",
                file.display(),
                tuned.device,
                info.name
            );
            tuned
        }
        _ => Tuned { device: info.name.clone(), gemms: Vec::new() },
    };
    let problems = arguments.problems();
    let progress = ProgressBar::new(problems.len() as u64);
    progress.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let csv = arguments.out.join("bench.csv");
    let mut all: Vec<Row> = Vec::new();
    for problem in &problems {
        progress.set_message(problem.to_string());
        if !cublas.supports(problem) {
            progress
                .suspend(|| errln!("{problem}: cuBLAS does not support it, so there is no ratio"));
        }
        for name in &arguments.configs {
            let mut meant = own.iter().filter(|one| is_meant(name, &***one, &own));
            if !meant.any(|one| one.supports(problem)) {
                progress.suspend(|| errln!("{problem}: `{name}` does not support it on this GPU"));
            }
        }
        let measured = bench.measure(problem, &contestants).with_context(|| problem.to_string())?;
        all.extend(rows(problem, &measured, &ceilings, REFERENCE));
        if let Some(file) = &arguments.tune {
            match fastest(&device, problem, &measured) {
                Some(fastest) => tuned.insert(fastest),
                None => progress.suspend(|| errln!("{problem}: left out, no kernel was right")),
            }
            tuned.save(file)?;
        }
        // Written after each problem: an interrupted run keeps its results.
        write_csv(
            &all,
            File::create(&csv).with_context(|| format!("cannot write {}", csv.display()))?,
        )?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    out!("{}", table(&all));
    outln!("{}", csv.display());
    if let Some(svg) = plot(&all, REFERENCE)? {
        let file = arguments.out.join("bench.svg");
        fs::write(&file, svg).with_context(|| format!("cannot write {}", file.display()))?;
        outln!("{}", file.display());
    }
    ensure!(
        all.iter().any(|row| row.contestant != REFERENCE),
        "none of the contestants computes these GEMMs on this GPU"
    );
    let wrong = all.iter().filter(|row| !row.is_right()).count();
    outln!("bench: {} measured, {wrong} failed", all.len() - wrong);
    Ok(wrong == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn problems(arguments: &[&str]) -> Vec<String> {
        let arguments = Arguments::try_parse_from([&["bench"], arguments].concat()).unwrap();
        arguments.problems().iter().map(Problem::to_string).collect()
    }

    #[test]
    fn options_are_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_shape_has_every_type_and_layout() {
        let options = [
            "--size", "64", "--shape", "1x2x3", "--type", "f16", "--type", "e4m3-f32", "--layout",
            "nt",
        ];
        let expected =
            ["f16 nt 64x64x64", "f16 nt 1x2x3", "e4m3-f32 nt 64x64x64", "e4m3-f32 nt 1x2x3"];
        assert_eq!(problems(&options), expected);
        assert_eq!(problems(&[]).len(), default_shapes().len());
        assert!(problems(&[]).iter().all(|problem| problem.starts_with("bf16 nn ")));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for wrong in [
            ["--size", "0"],
            ["--shape", "1x2"],
            ["--type", "fp4"],
            ["--layout", "nx"],
            ["--rounds", "0"],
        ] {
            let error = Arguments::try_parse_from([&["bench"], &wrong[..]].concat())
                .unwrap_err()
                .to_string();
            assert!(error.contains(wrong[1]), "{error}");
        }
    }
}
