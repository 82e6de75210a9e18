//! Fetches ptxas and nvdisasm, which NVIDIA publishes for pip.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::toolchain::{joined, library_folders};

use super::{apt, download};

/// The packages with ptxas and nvdisasm. The next major version may drop targets.
pub const PACKAGES: [&str; 2] = ["nvidia-cuda-nvcc>=13,<14", "nvidia-cuda-nvdisasm>=13,<14"];

/// Installs the packages into `folder`.
pub fn fetch_cuda(folder: &Path, progress: &dyn Fn(&str)) -> Result<()> {
    progress("downloading ptxas and nvdisasm");
    let installed = match system_pip() {
        Some(pip) => install(pip, folder),
        None => with_private_pip(folder, progress, |pip| install(pip, folder)),
    };
    installed?;
    make_executable(folder)
}

fn install(mut pip: Command, folder: &Path) -> Result<()> {
    pip.args(["install", "--quiet", "--no-deps", "--target"]).arg(folder).args(PACKAGES);
    download(&mut pip)
}

/// Returns the first usual name of pip that runs.
fn system_pip() -> Option<Command> {
    const NAMES: [&[&str]; 4] = [&["python3", "-m", "pip"], &["pip3"], &["pip"], &["uv", "pip"]];
    let command = |words: &[&str]| {
        let mut command = process::clean_command(words[0]);
        command.args(&words[1..]);
        command
    };
    let answers = |words: &&[&str]| {
        let mut probe = command(words);
        process::output(probe.arg("--help")).is_ok_and(|output| output.status.success())
    };
    NAMES.into_iter().find(answers).map(command)
}

/// Runs a pip that is unpacked from Debian's packages for this one use.
fn with_private_pip(
    folder: &Path,
    progress: &dyn Fn(&str),
    run: impl FnOnce(Command) -> Result<()>,
) -> Result<()> {
    let root = folder.with_extension("pip");
    std::fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
    let result = private_pip(&root, progress).and_then(run);
    // pip is not needed again once ptxas is there.
    let _ = std::fs::remove_dir_all(&root);
    result
}

fn private_pip(root: &Path, progress: &dyn Fn(&str)) -> Result<Command> {
    apt::unpack_packages(&["python3-pip"], root, progress)
        .context("cannot fetch pip, which downloads ptxas and nvdisasm")?;
    let unpacked = root.join("usr/bin/python3");
    let mut pip = if unpacked.exists() {
        let mut python = process::clean_command(unpacked);
        python.env("PYTHONHOME", root.join("usr"));
        python
    } else {
        process::clean_command("python3")
    };
    pip.args(["-m", "pip"]);
    pip.env("PYTHONPATH", root.join("usr/lib/python3/dist-packages"));
    pip.env("LD_LIBRARY_PATH", joined(&library_folders(root)));
    if let Some(certificates) = certificates(root)? {
        pip.env("PIP_CERT", certificates);
    }
    Ok(pip)
}

/// Joins the unpacked certificates in one file, if there are any. Installing the package would do
/// this, but unpacking does not.
fn certificates(root: &Path) -> Result<Option<std::path::PathBuf>> {
    let Ok(entries) = std::fs::read_dir(root.join("usr/share/ca-certificates/mozilla")) else {
        return Ok(None);
    };
    let mut bundle = Vec::new();
    for entry in entries.flatten() {
        bundle.extend(std::fs::read(entry.path())?);
        bundle.push(b'\n');
    }
    let path = root.join("certificates.pem");
    std::fs::write(&path, bundle)?;
    Ok(Some(path))
}

/// Makes programs executable: some versions of pip unpack them without that permission.
#[cfg(unix)]
fn make_executable(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let Ok(versions) = std::fs::read_dir(folder.join("nvidia")) else {
        bail!("the downloaded packages have no `nvidia` folder")
    };
    let programs =
        versions.flatten().flat_map(|version| std::fs::read_dir(version.path().join("bin")));
    for program in programs.flatten().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::set_permissions(program.path(), std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}
