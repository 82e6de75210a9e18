//! Arithmetic gives Rust's results, or the builder refuses it.

mod common;

use ptx_matrix_build::Arch;

#[test]
fn every_operation_of_core_builds_to_exact_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let archs = [Arch::SM_75, Arch::SM_80, Arch::SM_90A];
    for artifact in common::crate_named("arithmetic", folder.path()).archs(archs).build().unwrap() {
        let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
        // Each operation ends with a volatile store.
        let operations = ptx.lines().filter(|line| line.contains("st.volatile")).count();
        assert!(operations >= 665, "{operations} operations for {}", artifact.arch);
        for inexact in [".approx", "div.full", ".ftz", "ex2", "lg2", ".extern .func"] {
            let found = ptx.lines().find(|line| line.contains(inexact));
            assert_eq!(found, None, "for {}", artifact.arch);
        }
        // LLVM's own remainder is a rounded quotient.
        for (kernel, function) in
            [("f32_rem", "fmodf"), ("f64_rem", "fmod"), ("f32_powi", "__powisf2")]
        {
            let entry = common::entry(&artifact, kernel);
            assert!(entry.contains(function) || !entry.contains("div"), "{entry}");
            assert!(!entry.contains("cvt.rzi"), "{entry}");
        }
    }
}

#[test]
fn what_has_no_exact_instruction_is_refused_with_kernel_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let crate_ = common::crate_named("arithmetic", folder.path())
        .archs([Arch::SM_90A])
        .features(["refused"]);
    let refused = format!("{:#}", crate_.build().unwrap_err());
    for (line, kernel, operation) in [
        (8, "refused_sin", "the sine of f32"),
        (9, "refused_sin_f64", "the sine of f64"),
        (10, "refused_cos", "the cosine of f32"),
        (11, "refused_exp", "the exponential of f32"),
        (12, "refused_exp_f64", "the exponential of f64"),
        (13, "refused_exp2", "a power of two of f32"),
        (14, "refused_log", "the logarithm of f32"),
        (15, "refused_log2", "the logarithm of f32"),
        (16, "refused_log10_f64", "the logarithm of f64"),
        (17, "refused_pow", "a power of f32"),
        (18, "refused_pow_f64", "a power of f64"),
    ] {
        let expected = format!(
            "src/refused.rs:{line}: kernel `{kernel}`: PTX has no exact instruction for {operation}"
        );
        assert!(refused.contains(&expected), "{expected}: {refused}");
    }
    let quad = "kernel `refused_quad`: PTX has no exact instruction for arithmetic of f128";
    assert!(refused.contains(quad), "{refused}");
    assert!(!refused.contains("Stack dump"), "{refused}");
}
