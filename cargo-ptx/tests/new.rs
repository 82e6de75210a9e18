//! `cargo ptx new`: the workspaces test, build and run with the packaged crates, and a refused one
//! leaves nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A `cargo ptx` command in `folder`.
fn cargo_ptx(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-ptx"));
    command.arg("ptx").args(arguments).current_dir(folder);
    command
}

/// What users type in the workspace, with the target folder that the templates share.
fn in_workspace(mut command: Command) -> Output {
    command.env("CARGO_TARGET_DIR", target());
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    command.output().unwrap()
}

/// A slow simulator, which compiles fast.
const PROFILE: [&str; 2] = ["--config", "profile.dev.package.ptx-matrix.opt-level=0"];

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-ptx")
}

/// Lets the templates use the dependencies of kernels that this repository's own builds compile.
fn share_dependencies_of_kernels() {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("ptx-matrix/kernels");
    let shared = target().join("ptx-matrix/kernels");
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(shared.parent().unwrap()).unwrap();
    #[cfg(unix)]
    if fs::read_link(&shared).ok().as_ref() != Some(&own) {
        // In a copied checkout, the link is to the original's folder.
        if shared.is_symlink() {
            fs::remove_file(&shared).unwrap();
        }
        if !shared.exists() {
            std::os::unix::fs::symlink(own, shared).unwrap();
        }
    }
}

fn checkout() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/..")
}

fn succeeded(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(folder);
    // The variables of the repository's own `.cargo/config.toml`, which a user does not have.
    cargo.env_remove("CUDA_LIBRARY_PATH");
    cargo
}

/// Creates the workspace, tests it, builds its kernels and runs its program.
fn works(crates: &Path, template: &str, target_arch: &str, instruction: &str) {
    let folder = tempfile::tempdir().unwrap();
    let new = ["new", "demo", "--template", template, "--path", crates.to_str().unwrap()];
    let said = succeeded(&cargo_ptx(folder.path(), &new).output().unwrap());
    assert!(said.contains("cargo test"), "{said}");
    let demo = folder.path().join("demo");
    // The versions that this repository tests, so that a new release of some crate breaks nothing.
    fs::copy(Path::new(checkout()).join("Cargo.lock"), demo.join("Cargo.lock")).unwrap();
    succeeded(&cargo(&demo, &["fmt", "--check", "--all"]).output().unwrap());

    let said = succeeded(&in_workspace(cargo(&demo, &["test", PROFILE[0], PROFILE[1]])));
    assert!(said.contains("test tests::equals_a_plain_loop ... ok"), "{said}");
    assert!(!said.contains("ptx-matrix-host"), "`cargo test` compiles what needs CUDA: {said}");
    assert!(!said.contains("warning"), "{said}");
    // The arguments of `cargo ptx test` are those of `cargo test`.
    let said =
        succeeded(&in_workspace(cargo_ptx(&demo, &["test", PROFILE[0], PROFILE[1], "other"])));
    assert!(said.contains("1 filtered out"), "{said}");

    let said = succeeded(&in_workspace(cargo_ptx(&demo, &["build"])));
    assert!(said.contains(&format!("kernels for {target_arch}: PTX")), "{said}");
    let ptx = target().join("ptx").join(target_arch).join("kernels.ptx");
    assert!(fs::read_to_string(ptx).unwrap().contains(instruction));

    // With a GPU it runs, if the GPU has the instructions. Else it says in words that it does not.
    let output = in_workspace(cargo(&demo, &["run", "--quiet", PROFILE[0], PROFILE[1]]));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        assert!(printed.contains("elements are right"), "{printed}{said}");
    } else {
        assert_eq!(output.status.code(), Some(1), "{said}");
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(lines[0].starts_with("error: ") && lines[1].starts_with("help: "), "{said}");
    }
}

/// Packages the crates for users as `cargo publish` does, and unpacks them into `folder`.
fn package(folder: &Path) {
    const PACKAGES: [&str; 9] = [
        "ptx-matrix",
        "ptx-matrix-macros",
        "ptx-matrix-build",
        "ptx-matrix-host",
        "ptx-matrix-gemm",
        "ptx-matrix-attention",
        "ptx-matrix-output",
        "ptx-matrix-exec",
        "cargo-ptx",
    ];
    let packages = PACKAGES.iter().flat_map(|name| ["-p", *name]);
    let arguments: Vec<_> =
        ["package", "--no-verify", "--allow-dirty"].into_iter().chain(packages).collect();
    succeeded(&in_workspace(cargo(Path::new(checkout()), &arguments)));
    fs::create_dir_all(folder).unwrap();
    for name in PACKAGES {
        let stem = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let archive = target().join("package").join(format!("{stem}.crate"));
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(folder);
        succeeded(&tar.output().unwrap());
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let text = fs::read_to_string(folder.join(&stem).join(licence)).unwrap();
            assert!(text.lines().count() > 10, "{name}: {licence}");
        }
        // The page of the package in a registry.
        let readme = fs::read_to_string(folder.join(&stem).join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}: README.md");
    }
}

#[test]
#[ignore = "takes minutes: the step `packages` of `cargo xtask test` runs it"]
fn workspaces_test_build_and_run_with_the_packages() {
    // A stable path, so that a second run compiles nothing again.
    let packages = target().join("unpacked");
    package(&packages);
    share_dependencies_of_kernels();
    // One after another: cargo locks the target folder, which they share.
    works(&packages, "tile", "sm_80", "mma.sync.aligned.m16n8k16");
    works(&packages, "wgmma", "sm_90a", "wgmma.mma_async");
}

/// Runs a command that must fail, and returns its error.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = cargo_ptx(folder, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

#[test]
fn rejects_invalid_names() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("a b", "` ` is not a letter of ASCII"),
        ("1st", "does not begin with a letter"),
        ("fn", "is a keyword"),
        ("kernels", "another crate"),
        ("ptx-matrix-host", "another crate"),
        ("..", "has no name"),
    ];
    for (name, reason) in cases {
        let said = refused(folder.path(), &["new", name, "--path", checkout()]);
        assert!(said.contains(reason) && said.contains("such as `demo`"), "{name}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rejects_existing_folder_and_wrong_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("demo")).unwrap();
    let said = refused(folder.path(), &["new", "demo", "--path", checkout()]);
    assert!(said.contains("demo exists already: name another folder"), "{said}");
    let said = refused(folder.path(), &["new", "other", "--path", "demo"]);
    assert!(said.contains("is neither a checkout of ptx-matrix nor a folder"), "{said}");
    let said = refused(folder.path(), &["new", "no/such/folder/demo", "--path", checkout()]);
    assert!(said.contains("cannot create a folder in"), "{said}");
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["demo"]);
}
