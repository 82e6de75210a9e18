//! The compiler of `cargo xtask test`. Cargo runs this program in place of rustc for the crates of
//! the workspace, and it compiles a crate, lints it and documents it.
//!
//! `cargo clippy` and `cargo doc` would make cargo read every crate, with all its dependencies,
//! once more.

use crate::process::{self, exit_code, status};
use anyhow::{Context, Result, anyhow};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The folder of the copy, and of what the lints leave behind.
fn folder() -> PathBuf {
    crate::target().join("xtask-compiler")
}

/// Makes all later calls of cargo use this compiler.
///
/// It is a copy of this program: cargo compiles xtask too, and replaces the original.
pub fn set_up() -> Result<()> {
    let this = std::env::current_exe().context("this program has no path")?;
    let (folder, unfinished) = (folder(), folder().join("unfinished"));
    let copy = folder.join("xtask").with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::copy(this, &unfinished))
        .and_then(|_| std::fs::rename(&unfinished, &copy))
        .with_context(|| format!("cannot make {}", copy.display()))?;
    process::compile_with(&copy);
    Ok(())
}

/// What cargo asks of a compiler.
struct Compilation {
    rustc: PathBuf,
    arguments: Vec<String>,
}

/// Runs the compiler, if cargo started this program as one: with the path of rustc.
pub fn run() -> Option<Result<ExitCode>> {
    let mut arguments = std::env::args_os().skip(1).map(OsString::into_string);
    let rustc = PathBuf::from(arguments.next()?.ok()?);
    if rustc.file_stem()? != "rustc" {
        return None;
    }
    let arguments = arguments.collect::<Result<_, _>>();
    let arguments = arguments
        .map_err(|other| anyhow!("an argument of rustc is not Unicode: {}", other.display()));
    Some(arguments.and_then(|arguments| Compilation { rustc, arguments }.run()))
}

impl Compilation {
    fn run(&self) -> Result<ExitCode> {
        for mut command in self.commands() {
            let done = status(&mut command)?;
            if !done.success() {
                return Ok(exit_code(done));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The commands, of which each needs that the ones before succeed.
    fn commands(&self) -> Vec<Command> {
        let Self { rustc, arguments } = self;
        let compile = || {
            let mut compile = Command::new(rustc);
            compile.args(arguments);
            compile
        };
        let lint = |arguments: &[String]| {
            let mut lint = self.beside_rustc("clippy-driver");
            lint.arg(rustc).args(arguments);
            lint
        };
        if self.value_of("--out-dir").is_none() {
            // A question about rustc.
            return vec![compile()];
        }
        // clippy-driver compiles too, but omits MIR passes: the simulator takes an eighth longer.
        let is_optimised = arguments.iter().any(|one| one.starts_with("opt-level="));
        let is_library = self.value_of("--crate-type") == Some("lib");
        let mut commands = if is_optimised && is_library {
            vec![compile(), lint(&self.edited(Some("--emit=metadata"), &folder()))]
        } else if self.is_test() {
            // Optimisation takes longer than it saves a crate's own tests.
            vec![lint(&self.unoptimised())]
        } else {
            vec![lint(arguments)]
        };
        if self.is_documented() {
            let mut document = self.beside_rustc("rustdoc");
            // Only the checks: writing the pages takes as long. The option is unstable.
            document.env("RUSTC_BOOTSTRAP", "1").args(["-Zunstable-options", "--check"]);
            document.args(self.edited(None, &folder().join("doc"))).arg("-Dwarnings");
            if self.value_of("--crate-type") == Some("bin") {
                document.args(["--document-private-items", "-Arustdoc::private-intra-doc-links"]);
            }
            commands.push(document);
        }
        commands
    }

    fn beside_rustc(&self, name: &str) -> Command {
        let file = Path::new(name).with_extension(std::env::consts::EXE_EXTENSION);
        Command::new(self.rustc.with_file_name(file))
    }

    /// The value of an option, which is the next argument.
    fn value_of(&self, option: &str) -> Option<&str> {
        let pair = self.arguments.windows(2).find(|pair| pair[0] == option)?;
        Some(&pair[1])
    }

    /// Whether `cargo doc` documents it: libraries and programs.
    fn is_documented(&self) -> bool {
        let is_example = self.value_of("--out-dir").is_some_and(|path| {
            Path::new(path).file_name().is_some_and(|folder| folder == "examples")
        });
        let is_script =
            self.value_of("--crate-name").is_some_and(|name| name.starts_with("build_script_"));
        !(is_example || is_script || self.is_test())
    }

    /// A test or a benchmark without a harness has `--cfg test`.
    fn is_test(&self) -> bool {
        self.arguments.iter().any(|one| one == "--test")
            || self.arguments.windows(2).any(|pair| pair == ["--cfg", "test"])
    }

    fn unoptimised(&self) -> Vec<String> {
        let other = |argument: &String| {
            if argument.starts_with("opt-level=") { "opt-level=0" } else { argument }.to_owned()
        };
        self.arguments.iter().map(other).collect()
    }

    /// The arguments with something else to emit, into another folder, of which cargo is not told.
    fn edited(&self, emit: Option<&str>, folder: &Path) -> Vec<String> {
        let mut edited = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument.starts_with("--emit=") {
                edited.extend(emit.map(str::to_owned));
            } else if argument.starts_with("--json=") {
                edited.push(argument.replace(",artifacts", ""));
            } else if argument == "--out-dir" {
                arguments.next();
                edited.extend(["--out-dir".to_owned(), folder.display().to_string()]);
            } else {
                edited.push(argument.clone());
            }
        }
        edited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs that compile a crate, with their arguments.
    fn commands(crate_type: &str, more: &str) -> Vec<(String, String)> {
        let arguments = format!(
            "--crate-name shapes --out-dir /t/deps src/lib.rs --crate-type {crate_type} \
             --json=diagnostic-rendered-ansi,artifacts --emit=dep-info,metadata,link {more}"
        );
        of(&arguments)
    }

    fn of(arguments: &str) -> Vec<(String, String)> {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        let compilation = Compilation { rustc: "/bin/rustc".into(), arguments };
        let commands = compilation.commands().into_iter().map(|command| {
            let words: Vec<_> = command.get_args().map(|word| word.display().to_string()).collect();
            let program = Path::new(command.get_program()).file_stem().unwrap();
            (program.display().to_string(), words.join(" "))
        });
        commands.collect()
    }

    fn programs(crate_type: &str, more: &str) -> Vec<String> {
        commands(crate_type, more).into_iter().map(|(program, _)| program).collect()
    }

    #[test]
    fn libraries_and_programs_are_linted_and_documented() {
        for crate_type in ["lib", "proc-macro", "bin"] {
            assert_eq!(programs(crate_type, ""), ["clippy-driver", "rustdoc"]);
        }
        assert_eq!(programs("lib", "-C opt-level=3"), ["rustc", "clippy-driver", "rustdoc"]);
        assert_eq!(programs("bin", "-C opt-level=3"), ["clippy-driver", "rustdoc"]);
        for test in ["--test", "--test -C opt-level=3", "--cfg test"] {
            assert_eq!(programs("bin", test), ["clippy-driver"]);
        }
        let of_test = commands("bin", "--test -C opt-level=2 -C codegen-units=1");
        assert!(of_test[0].1.ends_with("--test -C opt-level=0 -C codegen-units=1"), "{of_test:?}");
        for other in
            ["--crate-name a --out-dir /t/examples", "--crate-name build_script_build --out-dir /t"]
        {
            assert_eq!(of(other).len(), 1, "{other}");
        }
    }

    #[test]
    fn cargo_learns_of_one_artifact() {
        let all = commands("lib", "-C opt-level=3 -C codegen-units=1 -C metadata=7");
        let emits: Vec<bool> = all.iter().map(|(_, words)| words.contains("link")).collect();
        let tells: Vec<bool> = all.iter().map(|(_, words)| words.contains("artifacts")).collect();
        assert_eq!((emits, tells), (vec![true, false, false], vec![true, false, false]));
        assert!(all[1].1.contains("--emit=metadata") && !all[2].1.contains("--emit"), "{all:?}");
        assert!(all[1..].iter().all(|(_, words)| !words.contains("/t/deps")), "{all:?}");
        assert!(all[2].1.contains("--check") && all[2].1.ends_with("-Dwarnings"), "{all:?}");
    }

    #[test]
    fn a_question_is_rustcs() {
        let arguments = vec!["-vV".to_owned()];
        let compilation = Compilation { rustc: "/bin/rustc".into(), arguments };
        let [command] = compilation.commands().try_into().unwrap();
        assert_eq!(command.get_program(), "/bin/rustc");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-vV"]);
    }
}
