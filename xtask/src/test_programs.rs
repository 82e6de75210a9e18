//! The workspace's test programs, several at a time. `cargo test` runs them one after another, and
//! a program with one long test leaves cores idle.

use crate::process::{cargo, status, test_program};
use anyhow::{Context, Result, ensure};
use ptx_matrix_output::{out, outln};
use serde::Deserialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A test program.
struct Program {
    path: PathBuf,
    /// The folder in which cargo runs it.
    package: PathBuf,
}

/// Cargo's message about a compiled artifact. Other messages parse as an empty one.
#[derive(Deserialize)]
struct Artifact {
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    profile: Profile,
}

#[derive(Deserialize, Default)]
struct Profile {
    test: bool,
}

/// Compiles the test programs, and runs three at a time for each core: many wait until another
/// build ends.
pub fn run() -> Result<()> {
    let arguments = ["test", "--workspace", "--all-features"];
    ensure!(status(cargo().args(arguments).arg("--no-run"))?.success(), "the tests do not compile");
    // Everything is compiled; this call only lists the programs.
    let listed = cargo()
        .args(arguments)
        .args(["--no-run", "--quiet", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(listed.status.success(), "cargo does not say which test programs there are");
    let programs = from_both_ends(programs(&String::from_utf8(listed.stdout)?)?);
    ensure!(!programs.is_empty(), "cargo says that there are no test programs");

    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..3 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !passes(program).unwrap_or_else(|error| {
                        outln!("{error:#}");
                        false
                    }) {
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(name(&program.path));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(failed.is_empty(), "of {} programs failed: {}", programs.len(), failed.join(", "));
    Ok(())
}

/// The test programs in cargo's messages, which are one in each line.
fn programs(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let Artifact { executable, manifest_path, profile } = serde_json::from_str(line)
            .with_context(|| format!("cargo says what is not understood: {line}"))?;
        if let (Some(path), true, Some(package)) =
            (executable, profile.test, manifest_path.parent())
        {
            programs.push(Program { path, package: package.to_owned() });
        }
    }
    Ok(programs)
}

/// The programs in another order: the first, the last, the second, the second last, ...
///
/// Programs of one package are neighbours in cargo's order. Those of some packages build kernels,
/// one program at a time; those of others simulate kernels, and keep the cores busy meanwhile.
fn from_both_ends<T>(programs: Vec<T>) -> Vec<T> {
    let mut programs = VecDeque::from(programs);
    let mut ordered = Vec::with_capacity(programs.len());
    while let Some(first) = programs.pop_front() {
        ordered.push(first);
        ordered.extend(programs.pop_back());
    }
    ordered
}

/// Runs a program, and prints its output in one piece.
fn passes(program: &Program) -> Result<bool> {
    let mut command = test_program(&program.path);
    command.current_dir(&program.package).env("CARGO_MANIFEST_DIR", &program.package);
    let output =
        command.output().with_context(|| format!("cannot run {}", program.path.display()))?;
    let printed = [output.stdout, output.stderr].concat();
    out!("Running {}\n{}", name(&program.path), String::from_utf8_lossy(&printed));
    Ok(output.status.success())
}

/// A program's name without cargo's hash.
fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.rsplit_once('-').map_or(stem.as_ref(), |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_what_else_is_compiled() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","#,
            r#""profile":{"test":true},"executable":"/t/deps/exec-0123"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","#,
            r#""profile":{"test":false},"executable":"/t/exec"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","#,
            r#""profile":{"test":true},"executable":null}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let found = programs(messages).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (name(&found[0].path).as_str(), found[0].package.as_path()),
            ("exec", Path::new("/p"))
        );
        assert!(programs("no message").is_err());
    }

    #[test]
    fn each_program_is_in_the_order_once() {
        assert_eq!(from_both_ends(vec![1, 2, 3, 4, 5]), [1, 5, 2, 4, 3]);
        assert_eq!(from_both_ends(vec![1, 2]), [1, 2]);
    }

    /// Cargo does not run the unit tests of a library with `test = false`, and does not say so.
    #[test]
    fn libraries_whose_unit_tests_do_not_run_have_none() {
        let listed =
            cargo().args(["metadata", "--no-deps", "--format-version=1"]).output().unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
        let is_left_out =
            |target: &&serde_json::Value| target["kind"][0] == "lib" && target["test"] == false;
        let mut folders: Vec<PathBuf> = targets
            .filter(is_left_out)
            .map(|target| Path::new(target["src_path"].as_str().unwrap()).parent().unwrap().into())
            .collect();
        assert!(folders.len() > 5, "{folders:?}");
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let has_test = text.lines().any(|line| line.trim() == "#[test]");
                    assert!(
                        !has_test,
                        "{}: remove `test = false` from its manifest",
                        path.display()
                    );
                }
            }
        }
    }
}
