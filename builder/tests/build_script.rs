//! cargo runs a build script that builds kernels: again when one of their inputs changes, and only
//! then.
//!
//! The build script runs this program's ignored tests, so that nothing else has to be compiled for
//! it.

#![allow(clippy::print_stdout, reason = "an ignored test prints for the test that runs it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_matrix_build::{Arch, Builder, Toolchain};

/// The folder in which the builder keeps the toolchain, and `core` for the GPU.
fn target_dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// A temporary folder with a package `app`, its kernel crate, and a crate that the kernel crate
/// uses.
struct App(tempfile::TempDir);

const KERNELS: &str = r#"#![no_std]
#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn put(out: *mut u32) { unsafe { *out = 1111 + helper::number() } }
"#;

impl App {
    fn new() -> Self {
        let app = App(tempfile::tempdir().unwrap());
        let manifest = |name: &str, more: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}")
        };
        app.put("Cargo.toml", &manifest("app", ""));
        app.put("src/main.rs", "fn main() {}");
        app.put(
            "build.rs",
            r#"fn main() {
    let arguments = ["--ignored", "--exact", "as_the_build_script", "--nocapture"];
    let program = std::env::var_os("TEST_PROGRAM").unwrap();
    let status = std::process::Command::new(program).args(arguments).status();
    assert!(status.unwrap().success());
}"#,
        );
        app.put(
            "kernels/Cargo.toml",
            &manifest("kernels", "[dependencies]\nhelper = { path = \"../a helper\" }\n"),
        );
        app.put("kernels/src/lib.rs", KERNELS);
        app.put("kernels/src/host.rs", "");
        app.put("a helper/Cargo.toml", &manifest("helper", ""));
        app.put("a helper/src/lib.rs", "#![no_std]\npub fn number() -> u32 { 20000 }\n");
        // This shares the toolchain, and `core` for the GPU.
        std::os::unix::fs::symlink(fs::canonicalize(target_dir()).unwrap(), app.path("relative"))
            .unwrap();
        app
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(from));
        self.put(path, &text.replace(from, to));
    }

    /// Runs `cargo build`. Returns whether cargo ran the build script.
    fn build(&self) -> bool {
        let before = self.runs();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--offline", "--quiet"]).current_dir(self.0.path());
        cargo
            .env("TEST_PROGRAM", std::env::current_exe().unwrap())
            .env("CARGO_TARGET_DIR", self.path("target"));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.runs() > before
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("target/runs")).unwrap_or_default().lines().count()
    }

    /// The PTX, which shows the value that the kernel stores.
    fn ptx(&self) -> String {
        fs::read_to_string(self.path("out/sm_80/kernels.ptx")).unwrap()
    }
}

#[test]
#[ignore = "the build script of `App` runs it"]
fn as_the_build_script() {
    // Every folder is relative to the package's.
    Builder::new("kernels")
        .target_dir("relative")
        .out_dir("out")
        .archs([Arch::SM_80])
        .build()
        .unwrap();
    let runs = fs::read_to_string("target/runs").unwrap_or_default();
    fs::write("target/runs", runs + "run\n").unwrap();
}

#[test]
fn cargo_runs_it_again_for_what_kernels_are_made_of_and_for_nothing_else() {
    let app = App::new();
    assert!(app.build());
    assert!(app.ptx().contains("21111"), "{}", app.ptx());
    assert!(!app.build(), "nothing has changed");

    app.replace("kernels/src/lib.rs", "1111", "1112");
    assert!(app.build());
    assert!(app.ptx().contains("21112"), "{}", app.ptx());
    assert!(!app.build());

    app.replace("a helper/src/lib.rs", "20000", "30000");
    assert!(app.build());
    assert!(app.ptx().contains("31112"), "{}", app.ptx());

    app.put("kernels/src/more.rs", "pub const MORE: u32 = 400000;");
    app.replace("kernels/src/lib.rs", "1112", "more::MORE + 1112");
    app.replace("kernels/src/lib.rs", "#[panic_handler]", "mod more;\n#[panic_handler]");
    assert!(app.build());
    assert!(app.ptx().contains("431112"), "{}", app.ptx());
    app.replace("kernels/src/more.rs", "400000", "500000");
    assert!(app.build());
    assert!(app.ptx().contains("531112"), "{}", app.ptx());

    app.replace(
        "kernels/Cargo.toml",
        "[dependencies]",
        "[profile.release]\noverflow-checks = true\n[dependencies]",
    );
    assert!(app.build());
    app.replace("src/main.rs", "main() {}", "main() { println!() }");
    assert!(!app.build(), "the kernels are not made of it");

    let whole = app.ptx();
    for damaged in ["", "garbage", &whole[..whole.len() / 2], &whole.replace("531112", "531113")] {
        app.put("out/sm_80/kernels.ptx", damaged);
        assert!(app.build());
        assert_eq!(app.ptx(), whole);
    }
    fs::remove_file(app.path("out/sm_80/kernels.cubin")).unwrap();
    assert!(app.build());
    assert!(app.path("out/sm_80/kernels.cubin").is_file());
    assert!(!app.build());

    // Another program with the same builder: this one, and a byte.
    let linked = || fs::metadata(app.path("out/sm_80/kernels.linked")).unwrap().modified().unwrap();
    let (made, runs) = (linked(), app.runs());
    let other = app.path("other program");
    fs::copy(std::env::current_exe().unwrap(), &other).unwrap();
    fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b"!").unwrap();
    let mut other = Command::new(other);
    other.args(["--ignored", "--exact", "as_the_build_script"]).current_dir(app.path("."));
    assert!(other.output().unwrap().status.success());
    assert_eq!(app.runs(), runs + 1);
    assert_eq!(linked(), made, "it links the kernels again");
}

/// The output of an ignored test, with a variable set to this value.
fn printed(test: &str, variable: &str, value: impl AsRef<std::ffi::OsStr>) -> String {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--ignored", "--exact", test, "--nocapture"]).env(variable, value);
    let output = this.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels")
}

#[test]
#[ignore = "another test runs it, with other variables"]
fn finds_a_toolchain() {
    let store = Toolchain::store().unwrap();
    match Toolchain::find_or_fetch(&fixture(), &store, &|step| println!("step: {step}")) {
        Ok(found) => println!("{found}"),
        Err(error) => println!("error: {error:#}"),
    }
}

#[test]
#[ignore = "another test runs it, with other variables"]
fn builds_the_fixture() {
    let error =
        Builder::new(fixture()).target_dir(target_dir()).archs([Arch::SM_80]).build().unwrap_err();
    println!("error: {error:#}");
}

/// Creates an executable script.
fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn crate_pinned_to_toolchain_that_is_not_installed_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = script(
        folder.path(),
        "cargo",
        "echo \"error: toolchain 'nightly-2020-01-01' is not installed\" >&2; exit 1",
    );
    let said = printed("builds_the_fixture", "CARGO", proxy);
    let expected = "is pinned to the toolchain `nightly-2020-01-01`, which is not installed: \
                    rustup toolchain install nightly-2020-01-01";
    assert!(said.contains(expected), "{said}");
    let other = script(folder.path(), "other", "echo 'error: no matching package' >&2; exit 1");
    let said = printed("builds_the_fixture", "CARGO", other);
    assert!(
        said.contains("holds no package that cargo can read:\nerror: no matching package"),
        "{said}"
    );
}

#[test]
fn ptxas_that_is_named_is_taken_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name, text| script(folder.path(), name, text);
    let missing = folder.path().join("no-such-ptxas");
    let old = script("old", "echo 'Cuda compilation tools, release 11.8, V11.8.89'");
    let other = script("other", "echo hello");
    let cases = [
        (&missing, format!("there is no {}", missing.display())),
        (&old, format!("{} is 11.8.89, older than 12.9.0", old.display())),
        (&other, format!("{} --version prints no version", other.display())),
    ];
    for (named, reason) in cases {
        let said = printed("finds_a_toolchain", "PTXAS", named);
        let expected =
            format!("error: $PTXAS is `{}`, which cannot be used: {reason}\n", named.display());
        assert!(said.contains(&expected), "{said}");
        assert!(!said.contains("step: "), "nothing is fetched in its place: {said}");
    }
    let new = script("new", "echo 'Cuda compilation tools, release 13.0, V13.0.1'");
    let said = printed("finds_a_toolchain", "PTXAS", &new);
    assert!(said.contains(&format!("ptxas      13.0.1    {}", new.display())), "{said}");
    // Other programs also use the toolkit's variable. So an unusable toolkit is reported, and the
    // next one used.
    let said = printed("finds_a_toolchain", "CUDA_HOME", folder.path());
    let ptxas = folder.path().join("bin/ptxas");
    assert!(said.contains(&format!("step: not used: there is no {}", ptxas.display())), "{said}");
    assert!(said.contains("ptxas ") && !said.contains("error"), "{said}");
}
