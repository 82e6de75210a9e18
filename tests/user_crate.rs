//! A kernel crate of a user's, built as the README says: in a workspace of its own, without a line for the build.

use ptx_matrix_build::{Arch, Artifact, Builder, CompileError};
use std::path::{Path, PathBuf};
use std::sync::Once;

static LOCK: Once = Once::new();

fn build(arch: Arch, features: &[&str]) -> anyhow::Result<Artifact> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/user_crate");
    // The versions that are here already, so that nothing is downloaded, nor compiled again that other tests have had compiled for a workspace
    // of its own. Once: cargo may be reading it for another test.
    LOCK.call_once(|| {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        std::fs::copy(lock, format!("{folder}/Cargo.lock")).expect("a copy of the workspace's Cargo.lock");
    });
    // Its target folder is this workspace's, which has the toolchain already, and what comes from elsewhere compiled for it.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let out = target.join("ptx-of-the-user-crate");
    let builder = Builder::new(folder).target_dir(target).out_dir(out).features(features.iter().copied());
    let mut artifacts = builder.archs([arch]).build()?;
    Ok(artifacts.remove(0))
}

#[test]
fn it_builds_for_a_gpu_that_has_its_instructions() {
    let artifact = build(Arch::SM_90A, &[]).unwrap();
    let kernel = artifact.manifest.kernel("double").unwrap();
    assert_eq!((kernel.threads, kernel.static_shared, kernel.spill_stores), (Some(32), 256, 0));
    assert_eq!(artifact.manifest.kernel("loop").unwrap().static_shared, 16);
}

#[test]
fn for_a_gpu_that_lacks_one_rustc_says_which_and_where() {
    let error = build(Arch::SM_80, &[]).unwrap_err();
    let CompileError { stderr, .. } = error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"));
    assert!(
        stderr.contains("this instruction needs a GPU that is `AtLeast<90>`; this build is for `Sm80`"),
        "{stderr}"
    );
    assert!(stderr.contains("src/lib.rs:11"), "{stderr}");
    assert!(stderr.contains("#[kernel(.., target = \"sm_..\")]"), "{stderr}");
}

#[test]
fn a_kernel_with_clusters_is_one_for_gpus_that_have_them() {
    let artifact = build(Arch::SM_90A, &["clusters"]).unwrap();
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    assert_eq!(ptx.matches(".reqnctapercluster 2, 1, 1").count(), 1, "of no other kernel");
    let error = build(Arch::SM_80, &["clusters"]).unwrap_err();
    let CompileError { stderr, .. } = error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"));
    for place in ["src/lib.rs:35", "src/lib.rs:37"] {
        assert!(stderr.contains(place), "{place}: {stderr}");
    }
}

#[test]
fn a_kernel_that_uses_a_mutable_static_is_refused_by_its_name() {
    let error = format!("{:#}", build(Arch::SM_90A, &["mutable-static"]).unwrap_err());
    assert!(error.contains("uses the mutable static `user_kernels::take_a_number::NEXT`"), "{error}");
}
