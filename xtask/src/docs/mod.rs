//! The site: the pages as a book, and the documentation of the crates.

mod links;
mod pages;
mod site;

use crate::process::{cargo, status};
use anyhow::{Context, Result, ensure};
use pages::Pages;
use ptx_matrix_output::{errln, outln};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
The pages are the README, CONTRIBUTING.md, CHANGELOG.md and docs/, in the order of docs/SUMMARY.md.
The first run compiles mdBook if PATH has none of the pinned series. That takes minutes.

Example:
  cargo xtask docs     then open target/docs/site/index.html

Exit codes:
  0  the site is complete
  1  a link is dead, or docs/SUMMARY.md lacks a page
  2  mdBook cannot be installed, or a crate's documentation does not build";

/// The mdBook that is installed where PATH has none of its series.
const MDBOOK: &str = "0.5.4";
const SERIES: &str = "0.5.";

/// The crates for users, each with its purpose.
const CRATES: [(&str, &str); 6] = [
    ("ptx-matrix", "typed instructions for kernels, and the simulator"),
    ("ptx-matrix-macros", "`#[kernel]` and the derives"),
    ("ptx-matrix-build", "compiles kernels to PTX and machine code"),
    ("ptx-matrix-host", "launches kernels on a GPU"),
    ("ptx-matrix-gemm", "GEMM of any size, layout and type"),
    ("ptx-matrix-attention", "attention in one kernel"),
];

/// Builds the site, and checks its links.
pub fn run() -> Result<ExitCode> {
    let pages = Pages::read(crate::root())?;
    if tell(&pages.problems()?) {
        return Ok(ExitCode::FAILURE);
    }
    let mdbook = mdbook()?;
    // `docs/book.toml` names the folders below this one.
    let folder = crate::target().join("docs");
    let (source, site) = (folder.join("src"), folder.join("site"));
    // cargo adds to the crates that a folder has already. This folder has no other ones.
    let documented = folder.join("cargo");
    document(&documented)?;

    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    pages.stage(&source)?;
    fs::write(source.join(pages::API), api_page())?;
    fs::copy(crate::root().join("docs/book.toml"), folder.join("book.toml"))?;
    let built = status(Command::new(mdbook).arg("build").arg(&folder))?;
    ensure!(built.success(), "mdBook cannot build the pages in {}", source.display());
    let has_search = fs::read_dir(&site)?.any(|file| {
        file.is_ok_and(|file| file.file_name().display().to_string().starts_with("searchindex"))
    });
    ensure!(has_search, "the `mdbook` in PATH is built without its feature `search`");
    copy(&documented.join("doc"), &site.join("api"))?;

    if tell(&site::dead_links(&site)?) {
        return Ok(ExitCode::FAILURE);
    }
    outln!("{}", site.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Prints the problems, and returns whether there are any.
fn tell(problems: &[String]) -> bool {
    problems.iter().for_each(|problem| errln!("error: {problem}"));
    !problems.is_empty()
}

/// Returns the mdBook in PATH, or else the one in the folder of fetched tools. Installs the latter
/// if it is missing.
fn mdbook() -> Result<PathBuf> {
    let version = Command::new("mdbook").arg("--version").output();
    let series = format!("mdbook v{SERIES}");
    if version.is_ok_and(|version| version.stdout.starts_with(series.as_bytes())) {
        return Ok("mdbook".into());
    }
    // The folder of fetched tools, as for the builder's: `.cargo/config.toml` sets the variable.
    let cache = std::env::var_os("PTX_MATRIX_CACHE")
        .filter(|named| !named.is_empty())
        .map_or_else(|| crate::target().join("ptx-matrix"), PathBuf::from);
    let folder = cache.join(format!("mdbook-{MDBOOK}"));
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        errln!("docs: compiles mdBook {MDBOOK} into {} (once, minutes)", folder.display());
        let mut install = cargo();
        install.args(["install", "mdbook", "--version", MDBOOK, "--locked"]);
        install.args(["--no-default-features", "--features", "search", "--root"]).arg(&folder);
        ensure!(
            status(&mut install)?.success(),
            "cannot install mdBook {MDBOOK} into {}, for the reason above; without a network, put \
             an `mdbook` {SERIES}x into a folder of PATH; $PTX_MATRIX_CACHE names another folder",
            folder.display()
        );
    }
    Ok(program)
}

/// Builds the documentation of the crates into `doc/` of the folder.
fn document(folder: &Path) -> Result<()> {
    let mut doc = cargo();
    doc.args(["doc", "--no-deps", "--all-features", "--target-dir"]).arg(folder);
    doc.args(CRATES.iter().flat_map(|(name, _)| ["--package", name]));
    ensure!(status(&mut doc)?.success(), "the documentation of the crates does not build");
    Ok(())
}

/// The page that leads to the documentation of the crates.
fn api_page() -> String {
    let mut page = "# API of the crates\n\n| crate | purpose |\n| --- | --- |\n".to_owned();
    for (name, purpose) in CRATES {
        let folder = name.replace('-', "_");
        _ = writeln!(page, "| [`{name}`](api/{folder}/index.html) | {purpose} |");
    }
    page
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)
                .with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    Ok(())
}
