//! `cargo ptx new`: creates a workspace from a template.

use crate::dependencies::{Folder, requirement};
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use ptx_matrix_output::{errln, outln};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The folder to create; its last part is the name of the package
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// The kernel to begin with
    #[arg(long, value_enum, default_value_t = Template::Tile)]
    template: Template,
    /// Take the crates from here, not from crates.io: a checkout, or unpacked packages
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

const AFTER_HELP: &str = "Examples:
  cargo ptx new demo
  cargo ptx new demo --template wgmma
  cargo ptx new demo --path ~/ptx-matrix    with the crates of a checkout

Exit codes:
  0  the workspace is complete
  2  a wrong name, a folder that exists, or another error; nothing was created";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Template {
    /// A matrix product by `ldmatrix` and `mma.sync`, for sm_80 and newer
    Tile,
    /// A pipeline of TMA, `mbarrier` and `wgmma`, for Hopper
    Wgmma,
}

/// An archive without members.
const EMPTY_LIBRARY: &str = "!<arch>\n";

impl Template {
    /// The files, by path. `{{..}}` stands for a value of [`Template::filled`].
    fn files(self) -> [(&'static str, &'static str); 9] {
        let (lib, main) = match self {
            Self::Tile => (
                include_str!("../templates/tile/lib.rs"),
                include_str!("../templates/tile/main.rs"),
            ),
            Self::Wgmma => (
                include_str!("../templates/wgmma/lib.rs"),
                include_str!("../templates/wgmma/main.rs"),
            ),
        };
        [
            ("Cargo.toml", include_str!("../templates/package.toml")),
            ("build.rs", include_str!("../templates/build.rs")),
            ("src/main.rs", main),
            ("kernels/Cargo.toml", include_str!("../templates/kernels.toml")),
            ("kernels/src/lib.rs", lib),
            ("README.md", include_str!("../templates/README.md")),
            (".gitignore", include_str!("../templates/gitignore")),
            (".cargo/config.toml", include_str!("../templates/config.toml")),
            (".cargo/cuda/lib64/libcuda.a", EMPTY_LIBRARY),
        ]
    }

    fn filled(self, text: &str, name: &str) -> String {
        let (target, purpose) = match self {
            Self::Tile => {
                ("sm_80", "A matrix product by `ldmatrix` and `mma.sync`, for GPUs from sm_80 on.")
            }
            Self::Wgmma => {
                ("sm_90a", "A matrix product by TMA, `mbarrier` and `wgmma`, for Hopper (sm_90a).")
            }
        };
        let text = text.replace("{{name}}", name).replace("{{version}}", requirement());
        text.replace("{{target}}", target).replace("{{purpose}}", purpose)
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = std::path::absolute(&arguments.folder)
        .with_context(|| format!("`{}` is no path", arguments.folder.display()))?;
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check_name(name)?;
    ensure!(
        folder.symlink_metadata().is_err(),
        "{} exists already: name another folder, or remove this one",
        folder.display()
    );
    let crates = arguments.path.as_deref().map(Folder::read).transpose().context("--path")?;

    let unfinished = Unfinished::beside(&folder, name)?;
    let write = |crates: Option<&Folder>| unfinished.fill(arguments.template, name, crates);
    write(crates.as_ref())?;
    match unfinished.resolve()? {
        Resolved::Yes => {}
        Resolved::NoSuchCrate(reason) if crates.is_none() => {
            let Some(checkout) = Folder::of_this_program() else {
                bail!(
                    "crates.io does not have ptx-matrix {}: name a checkout of the project, or a \
                     folder of its unpacked packages, with --path\n{reason}",
                    requirement()
                );
            };
            errln!(
                "note: crates.io does not have ptx-matrix {}: the workspace uses {}, as with \
                 --path",
                requirement(),
                checkout.path.display()
            );
            write(Some(&checkout))?;
            if let Resolved::NoSuchCrate(reason) | Resolved::NotAsked(reason) =
                unfinished.resolve()?
            {
                errln!("warning: cargo does not find all dependencies now:\n{reason}");
            }
        }
        Resolved::NoSuchCrate(reason) | Resolved::NotAsked(reason) => {
            errln!("warning: cargo does not find all dependencies now:\n{reason}");
        }
    }
    unfinished.rename(&folder)?;
    outln!("created {}; there:", folder.display());
    outln!("  cargo test         runs the kernel on the CPU, without GPU and CUDA");
    outln!("  cargo ptx build    compiles it to PTX and machine code");
    outln!("  cargo run          runs it on the GPU");
    Ok(ExitCode::SUCCESS)
}

/// Refuses names that cargo refuses for a package, and those of the crates in the workspace.
fn check_name(name: &str) -> Result<()> {
    const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn \
        else enum extern false final fn for gen if impl in let loop macro match mod move mut \
        override priv pub ref return self static struct super trait true try type typeof unsafe \
        unsized use virtual where while yield";
    // Crates of the language, and names that cargo gives to folders of its own.
    const TAKEN: [&str; 13] = [
        "alloc",
        "build",
        "core",
        "deps",
        "examples",
        "incremental",
        "proc-macro",
        "proc_macro",
        "std",
        "test",
        "kernels",
        "ptx",
        "half",
    ];
    ensure!(!name.is_empty(), "the folder has no name: give one, such as `demo`");
    let first = name.chars().next().unwrap_or_default();
    let wrong = name.chars().find(|&c| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let reason = if let Some(wrong) = wrong {
        format!("`{wrong}` is not a letter of ASCII, a digit, `-` or `_`")
    } else if !(first.is_ascii_alphabetic() || first == '_') {
        "it does not begin with a letter".to_owned()
    } else if name == "_" {
        "it is no name in Rust".to_owned()
    } else if KEYWORDS.split_whitespace().any(|keyword| keyword == name) {
        "it is a keyword of Rust".to_owned()
    } else if TAKEN.contains(&name) || name.starts_with("ptx-matrix") {
        "another crate or folder of the workspace has it, or a crate of Rust".to_owned()
    } else {
        return Ok(());
    };
    bail!("`{name}` cannot be the name of the package: {reason}; choose another, such as `demo`")
}

/// The workspace while it is incomplete: a folder beside the later one, which is removed with this
/// value.
struct Unfinished(PathBuf);

enum Resolved {
    Yes,
    /// A crate or its version is not there.
    NoSuchCrate(String),
    /// The registry cannot be asked.
    NotAsked(String),
}

impl Unfinished {
    fn beside(folder: &Path, name: &str) -> Result<Self> {
        let unfinished = folder.with_file_name(format!(".{name}.{}", std::process::id()));
        fs::create_dir(&unfinished).with_context(|| {
            let parent = parent(folder);
            let missing = if parent.exists() { "" } else { ", which does not exist: create it" };
            format!("cannot create a folder in {}{missing}", parent.display())
        })?;
        Ok(Self(unfinished))
    }

    fn fill(&self, template: Template, name: &str, crates: Option<&Folder>) -> Result<()> {
        for (path, text) in template.files() {
            let mut text = template.filled(text, name);
            if path == "Cargo.toml" {
                text += &crates.map(Folder::patch).unwrap_or_default();
            }
            let path = self.0.join(path);
            fs::create_dir_all(parent(&path))
                .and_then(|()| fs::write(&path, text))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Lets cargo find the dependencies, and write `Cargo.lock`.
    fn resolve(&self) -> Result<Resolved> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(program)
            .args(["generate-lockfile", "--quiet"])
            .current_dir(&self.0)
            .env("CARGO_TERM_COLOR", "never")
            .output()
            .context("cannot run cargo")?;
        if output.status.success() {
            return Ok(Resolved::Yes);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        let missing = ["no matching package", "failed to select a version"];
        Ok(if missing.iter().any(|words| said.contains(words)) {
            Resolved::NoSuchCrate(said)
        } else {
            Resolved::NotAsked(said)
        })
    }

    fn rename(&self, folder: &Path) -> Result<()> {
        fs::rename(&self.0, folder).with_context(|| format!("cannot create {}", folder.display()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the rename, there is nothing under this name.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
