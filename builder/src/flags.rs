//! The rustc flags of everything that is compiled for the GPU.

use std::path::Path;

use crate::arch::Arch;

/// The only target that rustc has for NVIDIA GPUs.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// How `core` is compiled, and every kernel crate with what it depends on.
///
/// - MIR's jump threading copies blocks without knowing of convergence.
/// - LLVM's passes would too: the IR must come out before they run, to be marked.
/// - A panic on a GPU has nowhere to go; formatting its message would cost registers in every
///   kernel that indexes.
/// - All is inlined in the end. What rustc inlines, it does once for all types, and LLVM for each
///   kernel.
pub fn cured() -> impl Iterator<Item = String> {
    let convergence = ["-Zmir-enable-passes=-JumpThreading", "-Cno-prepopulate-passes"];
    let inlining = ["-Zinline-mir-threshold=1000", "-Zinline-mir-hint-threshold=1000"];
    common().chain(convergence.into_iter().chain(inlining).map(str::to_owned))
}

fn common() -> impl Iterator<Item = String> {
    ["-Copt-level=3", "-Cembed-bitcode=yes", "-Zunstable-options", "-Cpanic=immediate-abort"]
        .into_iter()
        .map(str::to_owned)
}

/// The flags of a kernel crate and its dependencies.
pub fn kernel_crate(sysroot: &Path, arch: Arch, plain: bool, line_info: bool) -> Vec<String> {
    let compile: Vec<String> = if plain { common().collect() } else { cured().collect() };
    let own = [
        format!("--sysroot={}", sysroot.display()),
        format!("-Ctarget-cpu={arch}"),
        format!("-Cdebuginfo={}", if line_info { "line-tables-only" } else { "none" }),
        // Kernel crates need both; with this they need not say so, and may still.
        "-Zcrate-attr=feature(abi_ptx)".to_owned(),
        "-Zcrate-attr=feature(asm_experimental_arch)".to_owned(),
        "-Aduplicate_features".to_owned(),
        "-Aunused_features".to_owned(),
    ];
    compile.into_iter().chain(own).collect()
}
