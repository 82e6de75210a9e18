//! Reproduces the reason for this crate: a plain compile miscompiles warp-wide instructions, and
//! the builder does not.

mod common;

use ptx_matrix_build::{Arch, Artifact};

/// The source has each instruction once. None of these needs `pure` to be miscompiled. Some
/// compilers inline a function with `#[inline(never)]`, so a call may be its body.
const COPIED: [(&str, &[&str]); 12] = [
    ("stmatrix_between_branches", &["stmatrix.sync"]),
    ("stmatrix_in_a_function", &["call.uni", "stmatrix.sync"]),
    ("ldmatrix_between_branches", &["ldmatrix.sync"]),
    ("mma_between_branches", &["mma.sync"]),
    ("by_table", CALL),
    ("by_products", CALL),
    ("by_dyn", CALL),
    ("by_helper", CALL),
    ("by_closure", CALL),
    ("by_choice", CALL),
    ("by_parameter", CALL),
    ("by_recursion", CALL),
];

/// The start of every call in LLVM's output.
const CALL: &[&str] = &["{ // callseq"];

fn compile(plain: bool) -> (tempfile::TempDir, Artifact) {
    let folder = tempfile::tempdir().unwrap();
    let built = common::fixture(folder.path())
        .archs([Arch::SM_90A])
        .features(["indirect"])
        .plain(plain)
        .build()
        .unwrap();
    (folder, built.into_iter().next().unwrap())
}

/// The number of these instructions in the kernel.
fn count(artifact: &Artifact, kernel: &str, instructions: &[&str]) -> usize {
    let entry = common::entry(artifact, kernel);
    instructions.iter().map(|instruction| entry.matches(instruction).count()).sum()
}

/// Whether the kernel branches before it reaches the instruction.
fn branches_before(artifact: &Artifact, kernel: &str, instruction: &str) -> bool {
    let entry = common::entry(artifact, kernel);
    let (before, _) = entry.split_once(instruction).unwrap();
    before.split_whitespace().any(|word| word == "bra" || word.starts_with("bra."))
}

#[test]
fn every_instruction_stays_single_and_unconditional() {
    let (_folder, safe) = compile(false);
    for (kernel, instructions) in COPIED {
        assert_eq!(count(&safe, kernel, instructions), 1, "{}", common::entry(&safe, kernel));
    }
    let pure = "pure_mma_before_a_branch";
    assert_eq!(count(&safe, pure, &["mma.sync"]), 1);
    assert!(!branches_before(&safe, pure, "mma.sync"), "{}", common::entry(&safe, pure));
}

/// Without the builder's marks and flags, most of the kernels are wrong. A compiler may happen to
/// spare one: rustc 1.98.1 does not copy the call in `by_choice`.
#[test]
fn plain_compile_still_miscompiles() {
    let (_folder, plain) = compile(true);
    let is_single =
        |(kernel, instructions): &&(&str, &[&str])| count(&plain, kernel, instructions) == 1;
    let single: Vec<_> = COPIED.iter().filter(is_single).collect();
    assert!(
        single.len() <= 1,
        "the plain compile no longer miscompiles: these stay single: {single:?}. If rustc marks \
         inline asm convergent now, the builder need not"
    );
    let pure = "pure_mma_before_a_branch";
    assert!(
        branches_before(&plain, pure, "mma.sync"),
        "the plain compile no longer miscompiles: a `pure` `mma.sync` is not moved into a branch \
         any more:\n{}",
        common::entry(&plain, pure)
    );
}

/// The check does not rely on the marks. Without them, it finds LLVM's copies and their places in
/// the source.
#[test]
fn copies_are_refused_with_kernel_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = common::fixture(folder.path())
        .archs([Arch::SM_90A])
        .features(["indirect"])
        .unmarked(true)
        .build()
        .unwrap_err();
    let refused = format!("{refused:#}");
    let by_address = "a function that is called by its address";
    let stmatrix = "stmatrix.sync.aligned.m8n8.x1.shared.b16";
    for (place, kernel, copied) in [
        ("src/convergence.rs", "stmatrix_between_branches", &[stmatrix][..]),
        ("src/convergence.rs", "mma_between_branches", &["mma.sync.aligned.m8n8k16"]),
        ("src/indirect.rs", "by_table", &[by_address]),
        ("src/indirect.rs", "by_dyn", &[by_address]),
        // The helper, or the call in it.
        ("src/indirect.rs", "by_helper", &["apply", by_address]),
    ] {
        let line = refused.lines().find(|line| line.contains(&format!("kernel `{kernel}`")));
        let line = line.unwrap_or_else(|| panic!("nothing of {kernel}: {refused}"));
        assert!(line.starts_with(&format!("{place}:")), "{line}");
        assert!(copied.iter().any(|copied| line.contains(copied)), "{line}");
    }
}

/// Loop unrolling may copy a collective even if each warp reaches only one of the copies.
#[test]
fn copies_that_no_warp_parts_for_are_let_through() {
    let (_folder, safe) = compile(false);
    let copies = |kernel| count(&safe, kernel, &["bar.warp.sync"]);
    let copied =
        ["part_of_the_warp", "part_by_argument", "part_by_memory", "part_by_sum"].map(copies);
    assert!(copied.iter().any(|&copies| copies > 1), "nothing is copied any more: {copied:?}");
}
