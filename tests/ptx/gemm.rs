//! The PTX of the GEMM kernels.

use crate::{Built, Ptx, build, instructions, of};
use ptx_matrix_build::{Arch, Artifact};
use std::sync::LazyLock;

static BUILT: Built = LazyLock::new(|| build("kernels/gemm"));

pub fn built(arch: Arch) -> &'static (Artifact, Ptx) {
    of(&BUILT, arch)
}

#[test]
fn sm80_gemm_keeps_accumulators_in_registers() {
    let (artifact, ptx) = built(Arch::SM_90A);
    for kernel in [
        "sm80_bf16_nn_128x256x64",
        "sm80_bf16_nt_128x256x64",
        "sm80_bf16_tn_128x256x64",
        "sm80_bf16_tt_128x256x64",
        "sm80_f16_nn_128x256x64",
        "sm80_f16_nt_128x256x64",
    ] {
        let all = instructions(ptx, kernel);
        let count = |name: &str| all.iter().filter(|line| line.starts_with(name)).count();
        // A step has four slices of 4 x 8 `mma`s. Each slice has four loads of A and four loads of
        // pairs of B. The loads of the first slice occur once more, before the loop.
        assert_eq!(count("mma.sync.aligned.m16n8k16.row.col.f32."), 4 * 32, "{kernel}");
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x4."), 5 * 8, "{kernel}");
        let local: Vec<_> = all.iter().filter(|line| line.contains(".local")).collect();
        assert!(local.is_empty(), "{kernel} has local memory: {local:#?}");
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    }
}

#[test]
fn f64_tma_gemm_has_no_block_barrier_in_the_mainloop() {
    let (artifact, ptx) = built(Arch::SM_90A);
    for kernel in ["sm90_f64_nn_128x128x16", "sm90_f64_tt_128x128x16"] {
        let all = instructions(ptx, kernel);
        let is_mma = |line: &&str| line.starts_with("mma.sync.aligned.m16n8k8.row.col.f64");
        let (first, last) = (all.iter().position(is_mma), all.iter().rposition(is_mma));
        let main_loop = &all[first.unwrap()..=last.unwrap()];
        assert!(
            !main_loop.iter().any(|line| line.starts_with("bar.sync")),
            "{kernel}: warps wait for each other"
        );
        let local: Vec<_> = all.iter().filter(|line| line.contains(".local")).collect();
        assert!(local.is_empty(), "{kernel} has local memory: {local:#?}");
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    }
}

#[test]
fn sm90_gemm_multiplies_its_stages_in_one_wgmma_group() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let kernels = ["bf16_nn", "bf16_nt", "bf16_tn", "bf16_tt", "f16_nn", "f16_nt"]
        .map(|name| format!("sm90_{name}_128x256x64"));
    for kernel in &kernels {
        let body = ptx.kernel(kernel);
        let count = |name: &str| body.matches(name).count();
        // Four k-slices of a stage. After the loop, the last group is waited for.
        assert_eq!(count("wgmma.mma_async.sync.aligned.m64n256k16.f32."), 4, "{kernel}");
        assert_eq!(count("wgmma.commit_group.sync.aligned"), 1, "{kernel}");
        assert_eq!(
            (count("wgmma.wait_group.sync.aligned 1"), count("wgmma.wait_group.sync.aligned 0")),
            (1, 1),
            "{kernel}"
        );
        assert_eq!(
            (
                count("setmaxnreg.dec.sync.aligned.u32 24"),
                count("setmaxnreg.inc.sync.aligned.u32 240")
            ),
            (1, 1)
        );
        // The common path stores four staging tiles of 64 columns, each with 4 times 16 columns.
        // The loop for C, bias and activation has one sub-tile of 64 columns.
        assert_eq!(count("stmatrix.sync.aligned.m8n8.x4.shared.b16"), 16 + 4, "{kernel}");
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 4, "{kernel}");
        // Before the mainloop, a loop brings the rest of C into the L2 cache.
        assert_eq!(count("cp.async.bulk.prefetch.tensor.3d.L2.global.tile"), 1, "{kernel}");
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.registers, usage.stack, usage.spill_loads), (168, 0, 0), "{kernel}");
    }
    // ptxas did not ignore `setmaxnreg`, which would be a remark.
    assert!(artifact.manifest.remarks.iter().all(|remark| !remark.contains("setmaxnreg")));
}

/// Kernels with programmatic dependent launch access no global memory before they wait for the
/// preceding kernels. Older GPUs have no such wait.
#[test]
fn pdl_kernels_wait_before_global_accesses() {
    let ptx = &built(Arch::SM_90A).1;
    let touches = |line: &&str| {
        ["ld.global", "st.global", "cp.async", "cp.reduce", "ldmatrix", "wgmma.mma"]
            .iter()
            .any(|name| line.contains(name))
    };
    for (kernel, lets_others_come) in [
        ("sm90_bf16_nn_128x256x64", true),
        ("sm90_f64_nn_128x128x16", true),
        ("sm80_bf16_nn_128x256x64", true),
        ("sm80_bf16_nn_16x64x64", false),
        ("split_k_reduce_bf16", false),
    ] {
        let all = instructions(ptx, kernel);
        let position = |name: &str| all.iter().position(|line| line.starts_with(name));
        let wait =
            position("griddepcontrol.wait").unwrap_or_else(|| panic!("{kernel} does not wait"));
        assert!(
            all.iter().position(touches).unwrap() > wait,
            "{kernel} touches memory before it waits"
        );
        assert_eq!(
            position("griddepcontrol.launch_dependents").is_some(),
            lets_others_come,
            "{kernel}"
        );
    }
    assert!(!built(Arch::SM_80).1.text.contains("griddepcontrol"));
}

#[test]
fn only_kernels_with_tensor_copies_have_clusters() {
    let clustered =
        built(Arch::SM_90A).1.kernels().filter(|entry| entry.contains(".reqnctapercluster"));
    let names: Vec<&str> = clustered.map(|entry| entry.split('(').next().unwrap()).collect();
    assert!(!names.is_empty());
    assert!(names.iter().all(|name| name.starts_with("sm90_")), "{names:?}");
    // A comment has the name of each parameter, and one of these is `cluster_along_n`.
    let code = built(Arch::SM_80).1.text.lines().filter(|line| !line.starts_with("//"));
    let clusters: Vec<&str> = code.filter(|line| line.contains("cluster")).collect();
    assert!(clusters.is_empty(), "sm_80 has no clusters: {clusters:?}");
}
