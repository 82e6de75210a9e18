//! Unpacks Debian's packages into a folder, without installing them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process;
use crate::toolchain::{MIN_RUSTC, Origin, Tool};
use crate::version::Version;

use super::{download, reason};

/// Debian's names for rustc, its sources and cargo. `-web` is the newer Rust of its stable
/// releases.
const FAMILIES: [[&str; 3]; 2] =
    [["rustc-web", "rust-web-src", "cargo-web"], ["rustc", "rust-src", "cargo"]];

/// A faster allocator for rustc. Rust's own releases contain one; Debian's rustc has that of libc.
const ALLOCATOR: &str = "libjemalloc2";

/// Unpacks a Rust toolchain and its LLVM into `root`.
pub fn fetch_rust(root: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let scratch = Scratch::new(root)?;
    let (apt, family) = Apt::offering_rust(&scratch, progress)?;
    let unpacked = apt.unpack(&family, &[], root)?;
    let llvm = format!("llvm-{}", llvm_major(root)?);
    let allocator = apt.candidate(ALLOCATOR).is_some().then_some(ALLOCATOR);
    let packages: Vec<&str> = std::iter::once(&*llvm).chain(allocator).collect();
    apt.unpack(&packages, &unpacked, root)?;
    Ok(())
}

/// Unpacks packages into `root`, with the dependencies that this system lacks.
pub fn unpack_packages(packages: &[&str], root: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    let scratch = Scratch::new(root)?;
    let apt = Apt::offering(&scratch, progress, |apt| {
        packages.iter().all(|package| apt.candidate(package).is_some())
    })
    .with_context(|| format!("no package source of this system has {}", packages.join(", ")))?;
    apt.unpack(packages, &[], root)?;
    Ok(())
}

/// Returns the LLVM version of the unpacked rustc, or of the system's if apt found it good enough.
fn llvm_major(root: &Path) -> Result<u32> {
    let unpacked = root.join("usr/bin/rustc");
    let (path, origin) = if unpacked.is_file() {
        (unpacked, Origin::Private(root.to_owned()))
    } else {
        (PathBuf::from("/usr/bin/rustc"), Origin::System)
    };
    let rustc = Tool::probe(path, origin, "-vV", "LLVM version:").map_err(anyhow::Error::msg)?;
    Ok(rustc.version().major())
}

/// A temporary folder for the downloads.
struct Scratch(PathBuf);

impl Scratch {
    fn new(root: &Path) -> Result<Self> {
        let folder = root.with_extension("scratch");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover only wastes space, and the next fetch reuses it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// apt, with the system's package lists or its own.
struct Apt<'a> {
    options: Vec<String>,
    scratch: &'a Scratch,
    progress: &'a dyn Fn(&str),
}

impl<'a> Apt<'a> {
    /// Finds an apt that offers a recent enough Rust. Also returns the names of its packages.
    fn offering_rust(
        scratch: &'a Scratch,
        progress: &'a dyn Fn(&str),
    ) -> Result<(Self, [&'static str; 3])> {
        let recent = |apt: &Self| {
            FAMILIES.into_iter().find(|[rustc, ..]| {
                apt.candidate(rustc).is_some_and(|version| version >= MIN_RUSTC)
            })
        };
        let apt =
            Self::offering(scratch, progress, |apt| recent(apt).is_some()).with_context(|| {
                format!("no package source of this system has rustc {MIN_RUSTC} or newer")
            })?;
        let family = recent(&apt)
            .context("the package sources no longer have the rustc that they just offered")?;
        Ok((apt, family))
    }

    /// Returns the system's apt if it offers the packages, else one with fresh lists of its own.
    fn offering(
        scratch: &'a Scratch,
        progress: &'a dyn Fn(&str),
        wanted: impl Fn(&Self) -> bool,
    ) -> Result<Self> {
        ensure!(
            process::output(process::clean_command("apt-get").arg("--version"))
                .is_ok_and(|out| out.status.success()),
            "this system has no `apt-get`, with which the builder fetches packages"
        );
        let lists = scratch.0.join("lists");
        let cache = scratch.0.join("cache");
        for folder in [lists.join("partial"), cache.join("archives/partial")] {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        // An unprivileged user cannot switch to apt's own user, and need not.
        let own = ["APT::Sandbox::User=root".to_owned(), format!("Dir::Cache={}", cache.display())];
        let system = Self { options: own.to_vec(), scratch, progress };
        if wanted(&system) {
            return Ok(system);
        }
        progress("reading the package lists");
        let fresh = [
            format!("Dir::State::Lists={}", lists.display()),
            "Acquire::Languages=none".to_owned(),
        ];
        let private = Self { options: [own, fresh].concat(), scratch, progress };
        // One unreachable source fails the whole update, but the other sources may offer the
        // packages.
        let update = process::output(private.command("apt-get").arg("update"))?;
        if !wanted(&private) {
            bail!("{}", reason(&String::from_utf8_lossy(&update.stderr)));
        }
        Ok(private)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = process::clean_command(program);
        // The code below parses the output, so it must be in English.
        command.env("LC_ALL", "C");
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }

    fn candidate(&self, package: &str) -> Option<Version> {
        let policy = process::stdout(self.command("apt-cache").args(["policy", package])).ok()?;
        candidate_in(&policy)
    }

    /// Unpacks packages and those that they need, except `unpacked` ones. Returns their names.
    fn unpack(&self, packages: &[&str], unpacked: &[String], root: &Path) -> Result<Vec<String>> {
        let mut simulate = self.command("apt-get");
        simulate.args(["--simulate", "--no-install-recommends", "install"]).args(packages);
        let simulation = process::stdout(&mut simulate)?;
        let is_lacking = |package: &String| !unpacked.contains(package);
        let lacking: Vec<String> =
            lacking_in(&simulation).map(str::to_owned).filter(is_lacking).collect();
        if lacking.is_empty() {
            return Ok(lacking);
        }
        (self.progress)(&format!(
            "downloading {} packages: {} and what they need",
            lacking.len(),
            packages.join(", ")
        ));
        let folder = self.scratch.0.join("packages");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        download(self.command("apt-get").arg("download").args(&lacking).current_dir(&folder))?;

        (self.progress)(&format!("unpacking {} packages", lacking.len()));
        for entry in std::fs::read_dir(&folder)?.flatten() {
            extract(&entry.path(), root)?;
            std::fs::remove_file(entry.path())?;
        }
        Ok(lacking)
    }
}

/// Unpacks a package into `root`. Of rustc's sources it takes the library, a tenth of the files:
/// not the compiler, its tools and its tests.
fn extract(package: &Path, root: &Path) -> Result<()> {
    let mut read = process::clean_command("dpkg-deb");
    read.arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = read.spawn().context("cannot run dpkg-deb")?;
    let mut tar = process::clean_command("tar");
    tar.args(["--extract", "--no-wildcards-match-slash", "--directory"]).arg(root);
    tar.args(["--exclude=./usr/src/*/compiler", "--exclude=./usr/src/*/src"]);
    if let Some(archive) = reader.stdout.take() {
        tar.stdin(archive);
    }
    let extracted = process::output(&mut tar)?;
    // While it holds the other end of the pipe, `dpkg-deb` does not end.
    drop(tar);
    let read = reader.wait_with_output().context("cannot run dpkg-deb")?;
    // If one of the two fails, so may the other. The first line of each says why. But if the disk
    // is full, tar's first line says only that it wrote too little.
    let said = [&read, &extracted].map(|output| String::from_utf8_lossy(&output.stderr));
    let why: Vec<&str> = said
        .iter()
        .filter_map(|said| {
            let is_reason = |line: &&str| line.contains("Cannot write");
            said.lines().find(is_reason).or(said.lines().next())
        })
        .collect();
    ensure!(
        read.status.success() && extracted.status.success(),
        "cannot unpack {}: {}",
        package.display(),
        why.join("; ")
    );
    Ok(())
}

/// Reads the version that apt would install, from `apt-cache policy`.
fn candidate_in(policy: &str) -> Option<Version> {
    let candidate = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    // An epoch ends with a colon.
    candidate.rsplit(':').next()?.parse().ok()
}

/// Reads the packages that apt would install, from `apt-get --simulate install`.
fn lacking_in(simulation: &str) -> impl Iterator<Item = &str> {
    let installs = simulation.lines().filter_map(|line| line.strip_prefix("Inst "));
    installs.filter_map(|line| line.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_candidate_version() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  \
                      Version table:\n";
        assert_eq!(candidate_in(policy), Some(Version::new(1, 96, 0)));
        assert_eq!(
            candidate_in("llvm:\n  Candidate: 1:22.1.8-1~deb12u1\n"),
            Some(Version::new(22, 1, 8))
        );
        assert_eq!(candidate_in("rustc-web:\n  Candidate: (none)\n"), None);
        assert_eq!(candidate_in(""), None);
    }

    /// Makes a package like that of rustc's sources. `None` without Debian's tools.
    fn package(folder: &Path) -> Option<PathBuf> {
        if process::stdout(process::clean_command("dpkg-deb").arg("--version")).is_err() {
            return None;
        }
        for part in ["library/core.rs", "library/src/lib.rs", "compiler/ast.rs", "src/doc.md"] {
            let file = folder.join("files/usr/src/rustc-1.96.0").join(part);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, part).unwrap();
        }
        let control = folder.join("files/DEBIAN/control");
        std::fs::create_dir_all(control.parent().unwrap()).unwrap();
        let fields = "Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@m.m>\n\
                      Description: d\n";
        std::fs::write(control, fields).unwrap();
        let made = folder.join("p.deb");
        let mut build = process::clean_command("dpkg-deb");
        process::stdout(build.arg("--build").arg(folder.join("files")).arg(&made)).unwrap();
        Some(made)
    }

    #[test]
    fn unpacks_the_library_of_rustcs_sources_alone() {
        let folder = tempfile::tempdir().unwrap();
        let Some(package) = package(folder.path()) else { return };
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        extract(&package, &root).unwrap();
        let sources = root.join("usr/src/rustc-1.96.0");
        for (part, is_kept) in [
            ("library/core.rs", true),
            ("library/src/lib.rs", true),
            ("compiler", false),
            ("src", false),
        ] {
            assert_eq!(sources.join(part).exists(), is_kept, "{part}");
        }
    }

    #[test]
    fn a_broken_package_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let Some(package) = package(folder.path()) else { return };
        let bytes = std::fs::read(&package).unwrap();
        std::fs::write(&package, &bytes[..bytes.len() - 60]).unwrap();
        let error = format!("{:#}", extract(&package, folder.path()).unwrap_err());
        assert!(error.contains("p.deb: dpkg-deb"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }

    #[test]
    fn reads_what_would_be_installed() {
        let simulation = "NOTE: This is only a simulation!\n\
            Inst libhttp-parser2.9 (2.9.4-5 Debian:12.15/oldstable [amd64])\n\
            Inst rustc-web [1.85.0] (1.96.0+dfsg1 Debian-Security:12 [amd64])\n\
            Conf rustc-web (1.96.0+dfsg1 Debian-Security:12 [amd64])\n";
        let lacking: Vec<&str> = lacking_in(simulation).collect();
        assert_eq!(lacking, ["libhttp-parser2.9", "rustc-web"]);
        assert_eq!(lacking_in("0 upgraded, 0 newly installed\n").next(), None);
    }
}
