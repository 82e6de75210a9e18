use crate::kernels::Kernels;
use crate::process::{cargo, status};
use anyhow::{Result, ensure};
use ptx_matrix_build::Arch;
use ptx_matrix_output::{errln, outln};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only the steps whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

/// One step: its name, and what it does.
type Step = (&'static str, fn() -> Result<()>);

/// They run beside the others, one behind the other: the kernels take as long as half of these, and
/// what is simulated, and the examples, come when the tests have been compiled. Then there is
/// something to do for each core all the time.
const BESIDE: [Step; 4] = [
    ("kernels for every target", build_kernels),
    ("conformance on the simulator", || simulate(&[])),
    ("a hundred schedules of each kernel", || simulate(&["--rounds", "1", "--schedules", "100"])),
    ("examples in the documentation", || {
        run_cargo(&["test", "--doc", "--workspace", "--all-features", "--no-fail-fast"])
    }),
];

const STEPS: [Step; 4] = [
    ("formatting", || run_cargo(&["fmt", "--all", "--", "--check"])),
    ("lints", || {
        let arguments = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--quiet",
            "--",
            "-Dwarnings",
        ];
        run_cargo(&arguments)
    }),
    ("documentation", document),
    ("tests", crate::test_programs::run),
];

/// What only the device's build compiles, clippy does not see: there, rustc's warnings count.
fn build_kernels() -> Result<()> {
    let warnings = Arc::new(AtomicUsize::new(0));
    let counter = warnings.clone();
    let progress = move |step: &str| {
        counter.fetch_add(
            step.lines().filter(|line| line.starts_with("warning: ")).count(),
            Ordering::Relaxed,
        );
        errln!("{step}");
    };
    for kernels in Kernels::ALL {
        let builder = kernels.builder().progress(progress.clone());
        // Of the random programs, one target has all, an older one some.
        let builder = if kernels == Kernels::Fuzz {
            builder.archs([Arch::SM_80, Arch::SM_90A])
        } else {
            builder
        };
        builder.build()?;
    }
    let warnings = warnings.load(Ordering::Relaxed);
    ensure!(warnings == 0, "{warnings} warnings in the kernels' build for the device");
    Ok(())
}

/// The conformance run on the simulator, strict: also a warning fails it.
fn simulate(options: &[&str]) -> Result<()> {
    let program = crate::CONFORMANCE.build_as_tests_do()?;
    let passed = status(Command::new(program).args(["--on", "sim"]).args(options))?;
    ensure!(
        passed.success(),
        "the simulator does not compute what the reference does, or finds a misuse"
    );
    Ok(())
}

/// What rustdoc reads of other crates, clippy has made: it is not made again if it is asked for in
/// the words of `cargo clippy`. Should these change one day, it takes longer.
fn document() -> Result<()> {
    let sysroot =
        Command::new("rustc").args(["--print", "sysroot"]).current_dir(crate::root()).output()?;
    let clippy = Path::new(String::from_utf8(sysroot.stdout)?.trim()).join("bin/clippy-driver");
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--all-features", "--quiet"])
        .env("RUSTDOCFLAGS", "-Dwarnings");
    if clippy.is_file() {
        doc.env("RUSTC_WORKSPACE_WRAPPER", clippy)
            .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }
    ensure!(status(&mut doc)?.success(), "the documentation has warnings");
    Ok(())
}

fn run_cargo(arguments: &[&str]) -> Result<()> {
    let done = status(cargo().args(arguments))?;
    ensure!(done.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// Whether it passed.
fn passes((name, step): Step) -> bool {
    outln!("== {name}");
    let start = Instant::now();
    let result = step();
    match &result {
        Ok(()) => outln!("== {name}: passed in {:.0} s", start.elapsed().as_secs_f64()),
        Err(error) => outln!("== {name}: FAILED: {error:#}"),
    }
    result.is_ok()
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let asked = |(name, _): &Step| name.contains(only);
    let names: Vec<_> = BESIDE.iter().chain(&STEPS).map(|(name, _)| *name).collect();
    ensure!(
        names.iter().any(|name| name.contains(only)),
        "no step's name contains `{only}`; the steps are: {}",
        names.join(", ")
    );
    let pass = |steps: &[Step]| -> Vec<(&str, bool)> {
        steps.iter().copied().filter(asked).map(|step| (step.0, passes(step))).collect()
    };
    let results = std::thread::scope(|scope| {
        let beside = scope.spawn(|| pass(&BESIDE));
        let mut results = pass(&STEPS);
        results.extend(
            beside.join().unwrap_or_else(|_| vec![("a step beside the others, by a panic", false)]),
        );
        results
    });
    let failures: Vec<_> =
        results.iter().filter(|(_, passed)| !passed).map(|(name, _)| name).collect();
    for name in &failures {
        outln!("failed: {name}");
    }
    outln!("test: {} passed, {} failed", results.len() - failures.len(), failures.len());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
