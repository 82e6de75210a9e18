//! The reason for this crate, kept reproducible: what the plain compile does to warp-wide instructions, and ours not.

mod common;

use ptx_matrix_build::{Arch, Artifact};

/// The source has each instruction once. None of these needs `pure` to be miscompiled.
const COPIED: [(&str, &str); 4] = [
    ("stmatrix_between_branches", "stmatrix.sync"),
    ("stmatrix_in_a_function", "call.uni"),
    ("ldmatrix_between_branches", "ldmatrix.sync"),
    ("mma_between_branches", "mma.sync"),
];

fn compile(plain: bool) -> (tempfile::TempDir, Artifact) {
    let folder = tempfile::tempdir().unwrap();
    let built = common::fixture(folder.path()).archs([Arch::SM_90A]).plain(plain).build().unwrap();
    (folder, built.into_iter().next().unwrap())
}

fn count(artifact: &Artifact, kernel: &str, instruction: &str) -> usize {
    common::entry(artifact, kernel).matches(instruction).count()
}

/// Whether the kernel branches before it reaches the instruction.
fn branches_before(artifact: &Artifact, kernel: &str, instruction: &str) -> bool {
    let entry = common::entry(artifact, kernel);
    let (before, _) = entry.split_once(instruction).unwrap();
    before.split_whitespace().any(|word| word == "bra" || word.starts_with("bra."))
}

#[test]
fn every_instruction_stays_single_and_unconditional() {
    let (_folder, cured) = compile(false);
    for (kernel, instruction) in COPIED {
        assert_eq!(count(&cured, kernel, instruction), 1, "{}", common::entry(&cured, kernel));
    }
    let pure = "pure_mma_before_a_branch";
    assert_eq!(count(&cured, pure, "mma.sync"), 1);
    assert!(!branches_before(&cured, pure, "mma.sync"), "{}", common::entry(&cured, pure));
}

#[test]
fn the_plain_compile_still_miscompiles() {
    let (_folder, plain) = compile(true);
    for (kernel, instruction) in COPIED {
        assert!(
            count(&plain, kernel, instruction) > 1,
            "the plain compile no longer miscompiles: `{instruction}` stays single in {kernel}. \
             If rustc marks inline asm convergent now, the builder need not:\n{}",
            common::entry(&plain, kernel)
        );
    }
    let pure = "pure_mma_before_a_branch";
    assert!(
        branches_before(&plain, pure, "mma.sync"),
        "the plain compile no longer miscompiles: a `pure` `mma.sync` is not moved into a branch any more:\n{}",
        common::entry(&plain, pure)
    );
}
