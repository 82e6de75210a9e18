//! The rustc flags for all GPU code.

use std::path::Path;
use std::process::Command;

use crate::arch::Arch;
use crate::process;
use anyhow::Result;

/// rustc's only target for NVIDIA GPUs.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// The flags for `core`, kernel crates and their dependencies.
///
/// - No jump threading: this MIR pass copies blocks, and does not know about convergence.
/// - No LLVM passes: they copy blocks too, so the IR must be marked first.
/// - No panic messages: a GPU cannot show them, and formatting one costs registers in every kernel
///   that indexes.
/// - Inlining in rustc: everything gets inlined anyway. rustc inlines once for all types, LLVM once
///   for each kernel.
pub fn convergence_safe() -> impl Iterator<Item = String> {
    let convergence = ["-Zmir-enable-passes=-JumpThreading", "-Cno-prepopulate-passes"];
    let inlining = ["-Zinline-mir-threshold=1000", "-Zinline-mir-hint-threshold=1000"];
    common().chain(convergence.into_iter().chain(inlining).map(str::to_owned))
}

fn common() -> impl Iterator<Item = String> {
    ["-Copt-level=3", "-Cembed-bitcode=yes", "-Zunstable-options", "-Cpanic=immediate-abort"]
        .into_iter()
        .map(str::to_owned)
}

/// Returns the flags that let crates for a GPU use a `core` that names none.
///
/// `core` is compiled once, for all GPUs. A rustc that counts `target-cpu` among its target
/// modifiers refuses to combine crates with different values. Its code stays valid: LLVM compiles
/// the whole program for the kernels' GPU. An older rustc does not know the permission, and needs
/// none.
pub fn permissions(rustc: Command) -> Result<Vec<String>> {
    let needed = is_target_modifier(rustc, "target-cpu")?;
    Ok(needed.then(|| permission("target-cpu")).into_iter().collect())
}

fn permission(option: &str) -> String {
    format!("-Cunsafe-allow-abi-mismatch={option}")
}

/// Asks rustc whether all crates of a program must have the same value of this option.
fn is_target_modifier(mut rustc: Command, option: &str) -> Result<bool> {
    rustc.env("RUSTC_BOOTSTRAP", "1").args([
        "-", // Empty: the command has no standard input.
        "--crate-name=probe",
        "--crate-type=lib",
        "--emit=dep-info=-",
        "-Zcrate-attr=feature(no_core)",
        "-Zcrate-attr=no_core",
        &permission(option),
    ]);
    Ok(process::output(&mut rustc)?.status.success())
}

/// Returns the flags of a kernel crate and its dependencies.
pub fn kernel_crate(sysroot: &Path, arch: Arch, plain: bool, line_info: bool) -> Vec<String> {
    let compile: Vec<String> =
        if plain { common().collect() } else { convergence_safe().collect() };
    let own = [
        format!("--sysroot={}", sysroot.display()),
        format!("-Ctarget-cpu={arch}"),
        format!("-Cdebuginfo={}", if line_info { "line-tables-only" } else { "none" }),
        // Kernel crates need both features. With these flags they need not enable them, but may.
        "-Zcrate-attr=feature(abi_ptx)".to_owned(),
        "-Zcrate-attr=feature(asm_experimental_arch)".to_owned(),
        "-Aduplicate_features".to_owned(),
        "-Aunused_features".to_owned(),
    ];
    compile.into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustc_tells_its_target_modifiers() {
        let rustc = || process::clean_command("rustc");
        assert!(is_target_modifier(rustc(), "regparm").unwrap());
        assert!(!is_target_modifier(rustc(), "opt-level").unwrap());
    }
}
