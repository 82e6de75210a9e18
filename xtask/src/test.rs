use crate::process::{cargo, status};
use anyhow::{Result, ensure};
use ptx_matrix_build::Arch;
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

/// Takes as long as half of the others together, and leaves a core idle now and then: so it runs beside them.
const KERNELS: Step = ("kernels for every target", build_kernels);

const STEPS: [Step; 6] = [
    ("formatting", || run_cargo(&["fmt", "--all", "--", "--check"], &[])),
    ("lints", || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--all-features", "--quiet", "--", "-Dwarnings"];
        run_cargo(&arguments, &[])
    }),
    ("documentation", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--all-features", "--quiet"];
        run_cargo(&arguments, &[("RUSTDOCFLAGS", "-Dwarnings")])
    }),
    ("tests", || run_cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"], &[])),
    ("conformance on the simulator", || simulate(&[])),
    ("a hundred schedules of each kernel", || simulate(&["--rounds", "1", "--schedules", "100"])),
];

/// What only the device's build compiles, clippy does not see: there, rustc's warnings count.
fn build_kernels() -> Result<()> {
    let warnings = Arc::new(AtomicUsize::new(0));
    let counter = warnings.clone();
    let progress = move |step: &str| {
        counter.fetch_add(step.lines().filter(|line| line.starts_with("warning: ")).count(), Ordering::Relaxed);
        eprintln!("{step}");
    };
    crate::build::builder().progress(progress.clone()).build()?;
    // One target has all of the judge's kernels, an older one some.
    crate::sanitize::kernels().archs([Arch::SM_80, Arch::SM_90A]).progress(progress).build()?;
    let warnings = warnings.load(Ordering::Relaxed);
    ensure!(warnings == 0, "{warnings} warnings in the kernels' build for the device");
    Ok(())
}

/// The conformance run on the simulator, strict: also a warning fails it.
fn simulate(options: &[&str]) -> Result<()> {
    let program = crate::CONFORMANCE.build_as_tests_do()?;
    let passed = status(Command::new(program).args(["--on", "sim"]).args(options))?;
    ensure!(passed.success(), "the simulator does not compute what the reference does, or finds a misuse");
    Ok(())
}

fn run_cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let done = status(cargo().args(arguments).envs(environment.iter().copied()))?;
    ensure!(done.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// Whether it passed.
fn passes((name, step): Step) -> bool {
    println!("== {name}");
    let start = Instant::now();
    let result = step();
    match &result {
        Ok(()) => println!("== {name}: passed in {:.0} s", start.elapsed().as_secs_f64()),
        Err(error) => println!("== {name}: FAILED: {error:#}"),
    }
    result.is_ok()
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let asked = |(name, _): &Step| name.contains(only);
    let names: Vec<_> = [KERNELS].iter().chain(&STEPS).map(|(name, _)| *name).collect();
    ensure!(
        names.iter().any(|name| name.contains(only)),
        "no step's name contains `{only}`; the steps are: {}",
        names.join(", ")
    );
    let results: Vec<(&str, bool)> = std::thread::scope(|scope| {
        let beside = Some(KERNELS).filter(asked).map(|step| (step.0, scope.spawn(move || passes(step))));
        let mut results: Vec<_> = STEPS.into_iter().filter(asked).map(|step| (step.0, passes(step))).collect();
        results.extend(beside.map(|(name, thread)| (name, thread.join().unwrap_or(false))));
        results
    });
    let failures: Vec<_> = results.iter().filter(|(_, passed)| !passed).map(|(name, _)| name).collect();
    for name in &failures {
        println!("failed: {name}");
    }
    println!("test: {} passed, {} failed", results.len() - failures.len(), failures.len());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
