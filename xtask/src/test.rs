use crate::process::{cargo, status};
use crate::program;
use anyhow::{Context, Result, ensure};
use ptx_matrix_output::{errln, outln};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Run only the steps whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

const AFTER_HELP: &str = "Steps:
  formatting
  compilation, lints and documentation
  tests, examples, examples in the documentation
  packages: the crates as cargo publishes them, and the workspaces of `cargo ptx new` with them
  conformance on the simulator, in a hundred schedules of each kernel
  kernels for every target

The last step runs beside all others. After the compilation, those of a line run one after another,
beside the other lines.

Examples:
  cargo xtask test                     everything
  cargo xtask test --only formatting
  cargo xtask test --only simulator    the conformance run on the simulator

Exit codes:
  0  every step passed
  1  a step failed
  2  no step has such a name, or another error";

/// A step: its name, and the function that runs it.
type Step = (&'static str, fn() -> Result<()>);

/// From the start, beside the others.
const KERNELS: [Step; 1] = [("kernels for every target", build_kernels)];

/// The last step compiles all that follows.
const CHECKS: [Step; 2] = [
    ("formatting", check_formatting),
    ("compilation, lints and documentation", || {
        run_cargo(&["build", "--workspace", "--all-features", "--all-targets", "--keep-going"])
    }),
];

/// After [`CHECKS`].
const TESTS: [Step; 3] = [
    ("tests", crate::test_programs::run),
    ("examples", run_examples),
    ("examples in the documentation", || {
        run_cargo(&["test", "--doc", "--workspace", "--all-features", "--no-fail-fast"])
    }),
];

/// Beside [`TESTS`].
const PACKAGES: [Step; 1] = [("packages", test_packages)];

/// Beside [`TESTS`] too, with the time that the others leave: they often wait for each other.
const SIMULATED: [Step; 1] =
    [("conformance on the simulator, in a hundred schedules of each kernel", simulate)];

/// Runs rustfmt, which leaves long strings, macros and comments alone, and checks the lines'
/// length.
fn check_formatting() -> Result<()> {
    let mut format = cargo();
    format.args(["fmt", "--all", "--", "--check"]).stdout(Stdio::inherit());
    let output = format.output().context("cannot run `cargo fmt`")?;
    // For each crate, a stable rustfmt says that it leaves the options for comments alone.
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| !line.starts_with("Warning: can't set `"))
        .for_each(|line| errln!("{line}"));
    ensure!(output.status.success(), "run `cargo fmt --all`");
    let mut long = Vec::new();
    find_long_lines(crate::root(), &mut long)?;
    ensure!(long.is_empty(), "these lines have more than {COLUMNS} columns:\n{}", long.join("\n"));
    Ok(())
}

/// The longest line of Rust code, as in `rustfmt.toml`.
const COLUMNS: usize = 100;

fn find_long_lines(folder: &Path, long: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if name != "target" && !name.as_encoded_bytes().starts_with(b".") {
                find_long_lines(&path, long)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let lines = text.lines().enumerate();
            let found = lines.filter(|(_, line)| line.chars().count() > COLUMNS);
            long.extend(found.map(|(index, _)| format!("{}:{}", path.display(), index + 1)));
        }
    }
    Ok(())
}

/// Builds the kernels for every target. A warning of rustc fails the step, because clippy does not
/// see the code that only the device build compiles.
fn build_kernels() -> Result<()> {
    program::build_kernels(["--deny-warnings"]).map(|_| ())
}

/// Runs the conformance checks on the simulator in strict mode: warnings fail it too.
fn simulate() -> Result<()> {
    let program = crate::CONFORMANCE.build_as_tests_do()?;
    let mut command = with_lowest_priority(&program);
    let passed = status(command.args(["--on", "sim", "--schedules", "100"]))?;
    ensure!(
        passed.success(),
        "the simulator does not compute what the reference does, or finds a misuse"
    );
    Ok(())
}

/// A command that, on Unix, leaves the cores to other programs.
fn with_lowest_priority(program: &Path) -> Command {
    if cfg!(unix) {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Packages the crates for users, and tests, builds and runs the workspaces of `cargo ptx new` with
/// the packages.
fn test_packages() -> Result<()> {
    // In the words of `Program::build_as_tests_do`: the tests have compiled it already.
    let build = ["--workspace", "--all-features", "--test", "new"];
    run_cargo(&[&["test"], &build[..], &["--", "--ignored"]].concat())
}

/// The longest program of `examples/`, in lines.
const EXAMPLE_LINES: usize = 80;

/// Runs each program of `examples/`: it ends with an error if a result is wrong.
fn run_examples() -> Result<()> {
    let entries = std::fs::read_dir(crate::root().join("examples"))?;
    let paths: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    // In the words of `Program::build_as_tests_do`: the tests have compiled them already.
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--tests"]);
    for path in &paths {
        build.arg("--example").args(path.file_stem());
    }
    ensure!(status(&mut build)?.success(), "the examples do not compile");
    for path in &paths {
        let lines = std::fs::read_to_string(path)?.lines().count();
        let shown = path.display();
        ensure!(lines <= EXAMPLE_LINES, "{shown}: {lines} lines, and at most {EXAMPLE_LINES} fit");
        let name = path.file_stem().unwrap_or_default();
        let program = crate::target().join("debug/examples").join(name);
        ensure!(status(&mut Command::new(program))?.success(), "{} failed", path.display());
    }
    Ok(())
}

fn run_cargo(arguments: &[&str]) -> Result<()> {
    let done = status(cargo().args(arguments))?;
    ensure!(done.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// Runs a step, and returns whether it passed.
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
    let all = [&KERNELS[..], &CHECKS, &TESTS, &PACKAGES, &SIMULATED].concat();
    ensure!(
        all.iter().any(asked),
        "no step's name contains `{only}`; the steps are: {}",
        all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    );
    crate::compiler::set_up()?;
    let pass = |steps: &[Step]| -> Vec<(&str, bool)> {
        steps.iter().copied().filter(asked).map(|step| (step.0, passes(step))).collect()
    };
    let results = std::thread::scope(|scope| {
        let kernels = scope.spawn(|| pass(&KERNELS));
        let mut results = pass(&CHECKS);
        let packages = scope.spawn(|| pass(&PACKAGES));
        let simulated = scope.spawn(|| pass(&SIMULATED));
        results.extend(pass(&TESTS));
        for thread in [kernels, packages, simulated] {
            let passed = thread.join();
            results.extend(
                passed.unwrap_or_else(|_| vec![("a step beside the others, by a panic", false)]),
            );
        }
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
