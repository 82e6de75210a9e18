//! The PTX of the conformance kernels.

use crate::{Built, Ptx, adds_a_constant, build, instructions, is_a_constant, main_loop, of};
use ptx_matrix::forms;
use ptx_matrix_build::{Arch, Artifact};
use std::sync::LazyLock;

static BUILT: Built = LazyLock::new(|| build("kernels/conformance"));

pub fn built(arch: Arch) -> &'static (Artifact, Ptx) {
    of(&BUILT, arch)
}

#[test]
fn product_64_has_only_loads_and_mma() {
    let (artifact, ptx) = built(Arch::SM_90A);
    for kernel in [
        "product_64_unswizzled",
        "product_64_swizzle_32",
        "product_64_swizzle_64",
        "product_64_swizzle_128",
    ] {
        let all = instructions(ptx, kernel);
        let main_loop = main_loop(&all);
        let count = |name: &str| main_loop.iter().filter(|line| line.starts_with(name)).count();
        // K has four steps. In each step a warp loads two A and four B, and multiplies each A by
        // each B.
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 8, "{kernel}");
        assert_eq!(count("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"), 16, "{kernel}");
        assert_eq!(count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 32, "{kernel}");
        let others: Vec<_> = main_loop
            .iter()
            .filter(|line| !line.starts_with("ldmatrix.") && !line.starts_with("mma."))
            .filter(|line| !adds_a_constant(line) && !is_a_constant(line))
            .collect();
        assert!(others.is_empty(), "{kernel} computes in its main loop: {others:#?}");
        let local: Vec<_> = all.iter().filter(|line| line.contains(".local")).collect();
        assert!(local.is_empty(), "{kernel} has local memory: {local:#?}");
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    }
}

/// The selector of an `mma.sp`. It follows the metadata, so it is the number after the fourth
/// matrix and a register.
fn selector_of(line: &str) -> Option<usize> {
    let behind = line.splitn(5, '}').nth(4)?;
    behind.split(',').nth(2)?.trim().trim_end_matches(';').parse().ok()
}

#[test]
fn each_form_compiles_to_one_instruction_per_selector() {
    for arch in [Arch::SM_90A, Arch::SM_120A] {
        let (_, ptx) = built(arch);
        // The kernels of forms have the name of their first form, and no other form.
        let forms: Vec<_> =
            forms::all().filter(|form| form.needs.are_met_by(arch.name())).collect();
        let kernels: Vec<_> = forms
            .iter()
            .map(|form| form.name())
            .filter(|name| ptx.kernels().any(|entry| entry.starts_with(&format!("{name}("))))
            .collect();
        let matrix: Vec<_> = kernels
            .iter()
            .flat_map(|kernel| instructions(ptx, kernel))
            .filter(|line| line.contains(".sync.aligned.m"))
            .collect();
        for form in &forms {
            let start = format!("{} ", form.ptx);
            let lines: Vec<_> = matrix.iter().filter(|line| line.starts_with(&start)).collect();
            assert_eq!(lines.len(), form.selectors.max(1), "{}: {lines:#?}", form.ptx);
            for (selector, line) in lines.iter().enumerate() {
                assert!(form.selectors == 0 || selector_of(line) == Some(selector), "{line}");
            }
        }
        let expected: usize = forms.iter().map(|form| form.selectors.max(1)).sum();
        assert_eq!(matrix.len(), expected, "the kernels have other instructions too");
    }
}

#[test]
fn barriers_and_bulk_copies_compile_to_their_instructions() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let script = instructions(ptx, "barrier_script");
    for form in [
        "mbarrier.init.shared::cta.b64 [",
        "mbarrier.arrive.expect_tx.shared::cta.b64 ",
        "mbarrier.arrive_drop.expect_tx.shared::cta.b64 ",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [",
    ] {
        assert_eq!(script.iter().filter(|line| line.starts_with(form)).count(), 1, "{form}");
    }
    // One arrival, and several at once.
    for form in ["mbarrier.arrive.shared::cta.b64 ", "mbarrier.arrive_drop.shared::cta.b64 "] {
        assert_eq!(script.iter().filter(|line| line.starts_with(form)).count(), 2, "{form}");
    }
    let stages = instructions(ptx, "bulk_stages");
    for form in [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [",
        "cp.async.bulk.global.shared::cta.bulk_group [",
        "cp.async.bulk.commit_group;",
        "fence.proxy.async.shared::cta;",
    ] {
        assert!(stages.iter().any(|line| line.starts_with(form)), "{form}");
    }
    for kernel in ["barrier_script", "barrier_stages", "bulk_copy", "bulk_stages"] {
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    }
}

#[test]
fn bulk_reductions_compile_to_their_instructions() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let integers = ["add", "min", "max"];
    for (kind, of_kind, of_bits) in [
        ("u32", &["add", "min", "max", "inc", "dec"][..], &["and", "or", "xor"][..]),
        ("s32", &integers, &[]),
        ("u64", &integers, &["and", "or", "xor"]),
        ("s64", &integers[1..], &[]),
        ("f16", &["add.noftz", "min", "max"], &[]),
        ("bf16", &["add.noftz", "min", "max"], &[]),
        ("f32", &["add"], &[]),
        ("f64", &["add"], &[]),
    ] {
        let kernel = format!("bulk_{kind}");
        let usage = artifact.manifest.kernel(&kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
        let all = instructions(ptx, &kernel);
        let bits = kind.replace('u', "b");
        let operations = of_kind.iter().map(|operation| format!("{operation}.{kind}"));
        let operations = operations.chain(of_bits.iter().map(|of| format!("{of}.{bits}")));
        let forms: Vec<String> = operations
            .flat_map(|of| ["", ".L2::cache_hint"].map(|hint| format!("{hint}.{of}")))
            .map(|rest| format!("cp.reduce.async.bulk.global.shared::cta.bulk_group{rest} ["))
            .collect();
        for form in &forms {
            assert_eq!(all.iter().filter(|line| line.starts_with(form)).count(), 1, "{form}");
        }
        let reductions = all.iter().filter(|line| line.starts_with("cp.reduce.")).count();
        assert_eq!(reductions, forms.len(), "{kernel}");
    }
}

#[test]
fn box_copies_compile_to_their_instructions_with_maps_by_value() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let check = |kernel: &str, maps: &[usize], forms: &[String]| {
        let head = ptx.kernel(kernel).split(')').next().unwrap();
        for map in maps {
            let parameter = format!(".param .align 64 .b8 {kernel}_param_{map}[128]");
            assert!(head.contains(&parameter), "{head}");
        }
        let instructions = instructions(ptx, kernel);
        for form in forms {
            assert_eq!(
                instructions.iter().filter(|line| line.starts_with(form)).count(),
                1,
                "{kernel}: {form}"
            );
        }
        // The kernel uses the tensor map in place.
        assert!(instructions.iter().any(|line| line.starts_with("cvta.param.u64 ")), "{kernel}");
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    };
    for (kernel, rank) in [
        ("tensor_1d", 1),
        ("tensor_2d", 2),
        ("tensor_2d_swizzle_32", 2),
        ("tensor_2d_swizzle_64", 2),
        ("tensor_2d_swizzle_128", 2),
        ("tensor_3d", 3),
        ("tensor_4d", 4),
        ("tensor_5d", 5),
    ] {
        let forms = [
            format!(
                "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx\
                 ::bytes ["
            ),
            format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group ["),
            format!("cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile ["),
        ];
        check(kernel, &[0, 1], &forms);
        assert_eq!(
            instructions(ptx, kernel)
                .iter()
                .filter(|line| line.starts_with("prefetch.tensormap ["))
                .count(),
            2
        );
    }
    let reduced = |rank, operation: &str| {
        format!(
            "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group ["
        )
    };
    for rank in 1..=5 {
        check(&format!("tensor_reduce_{rank}d"), &[5], &[reduced(rank, "add")]);
    }
    let of_2d =
        |operations: &[&str]| operations.iter().map(|of| reduced(2, of)).collect::<Vec<_>>();
    check("tensor_reduce_2d", &[5], &of_2d(&["inc", "dec", "and", "or", "xor"]));
    check("tensor_reduce_s32", &[5], &of_2d(&["min", "max"]));
}

#[test]
fn im2col_copies_compile_to_their_instructions() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let check = |kernel: &str, forms: &[String]| {
        let instructions = instructions(ptx, kernel);
        for form in forms {
            let count =
                instructions.iter().filter(|line| line.starts_with(&format!("{form} ["))).count();
            assert_eq!(count, 1, "{kernel}: {form}");
        }
        let usage = artifact.manifest.kernel(kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{kernel}");
    };
    for (name, rank) in [("3d", 3), ("4d", 4), ("4d_swizzle_64", 4), ("5d", 5)] {
        let load = format!(
            "cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx\
             ::bytes"
        );
        let store =
            format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.bulk_group");
        let prefetch = format!("cp.async.bulk.prefetch.tensor.{rank}d.L2.global.im2col");
        check(&format!("im2col_{name}"), &[load.clone(), store.clone(), prefetch]);
        let (to_both, hint) = (format!("{load}.multicast::cluster"), ".L2::cache_hint");
        let cached = [&to_both, &load, &store].map(|form| format!("{form}{hint}"));
        check(&format!("im2col_multicast_{name}"), &[&cached[..], &[to_both]].concat());
    }
    for rank in 3..=5 {
        let reductions = ["add", "min", "max", "inc", "dec", "and", "or", "xor"].map(|operation| {
            format!(
                "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}\
                .im2col_no_offs.bulk_group"
            )
        });
        check(&format!("im2col_reduce_{rank}d"), &reductions);
    }
    let copy =
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [";
    // One before the loop, and one in it.
    assert_eq!(
        instructions(ptx, "convolution").iter().filter(|line| line.starts_with(copy)).count(),
        2
    );
    check("convolution", &[]);
}

#[test]
fn wgmma_compiles_to_its_instructions_with_accumulators_in_registers() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let kernels: Vec<_> = artifact
        .manifest
        .kernels
        .iter()
        .filter(|usage| usage.name.starts_with("wgmma_mma_async_"))
        .collect();
    // Each combination of elements; each N for bf16 and s8; and the kernels with negated operands.
    // With a sparse A: each combination, another N, and a kernel across K.
    assert_eq!(kernels.len(), 69 + 12 + 20 + 1 + 1);
    for usage in kernels {
        let name = &usage.name;
        let body = ptx.kernel(name);
        let count = |form: &str| body.matches(form).count();
        let of_form = name.trim_end_matches("_negated").trim_end_matches("_across_k");
        let form = forms::all_wgmma().find(|form| form.name() == of_form).unwrap();
        // With A in shared memory, and in registers; for each selector.
        let groups = form.selectors.max(1);
        assert_eq!(count(&format!("{} {{", form.ptx)), 2 * groups, "{name}");
        for each in [
            "wgmma.fence.sync.aligned;",
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0;",
        ] {
            assert_eq!(count(each), groups, "{name}: {each}");
        }
        assert_eq!((usage.stack, usage.spill_loads, usage.spill_stores), (0, 0, 0), "{name}");
    }
}

#[test]
fn each_target_has_the_kernels_that_it_can_run() {
    for (arch, bf16, stmatrix) in
        [(Arch::SM_75, false, false), (Arch::SM_80, true, false), (Arch::SM_90A, true, true)]
    {
        let (artifact, _) = built(arch);
        let has = |kernel| artifact.manifest.kernel(kernel).is_some();
        assert!(
            has("ldmatrix_sync_aligned_m8n8_x4_shared_b16")
                && has("mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32"),
            "{arch}"
        );
        assert_eq!(has("mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32"), bf16, "{arch}");
        assert_eq!(has("stmatrix_sync_aligned_m8n8_x4_shared_b16"), stmatrix, "{arch}");
    }
}

#[test]
fn launch_bounds_and_shared_memory_equal_the_kernels() {
    let (artifact, ptx) = built(Arch::SM_80);
    let usage = artifact.manifest.kernel("product_64_swizzle_128").unwrap();
    assert_eq!((usage.threads, usage.static_shared, usage.dynamic_shared), (Some(128), 16384, 0));
    // Shared memory beyond 48 KiB is requested by the launch.
    let transpose = artifact.manifest.kernel("transpose").unwrap();
    assert_eq!(
        (transpose.threads, transpose.static_shared, transpose.dynamic_shared),
        (Some(256), 0, 65536)
    );
    let head = ptx.kernel("product_64_swizzle_128").split_once('{').unwrap().0;
    assert!(head.contains(".maxntid 128"));
}

#[test]
fn ptx_states_cluster_shape() {
    let (_, ptx) = built(Arch::SM_90A);
    for (kernel, shape) in
        [("cluster_places", "2, 1, 2"), ("cluster_stages", "2, 1, 1"), ("cluster_send", "4, 1, 1")]
    {
        let head = ptx.kernel(kernel).split_once("\n{").unwrap().0;
        assert!(head.contains(".explicitcluster\n"), "{head}");
        assert!(head.contains(&format!(".reqnctapercluster {shape}")), "{head}");
    }
    let mut others = ptx.kernels().filter(|entry| entry.contains(".reqnctapercluster"));
    let is_known =
        |entry: &str| entry.starts_with("im2col_multicast_") || entry.starts_with("cluster_");
    assert!(others.all(is_known), "of no other kernel");
    let (_, older) = built(Arch::SM_80);
    assert!(!older.text.contains("cluster"), "an older GPU has none");
}

#[test]
fn each_peer_operation_compiles_to_one_instruction() {
    let (artifact, ptx) = built(Arch::SM_90A);
    let count = |kernel: &str, name: &str| {
        instructions(ptx, kernel)
            .iter()
            .filter(|line| line.strip_suffix(';').is_some_and(|line| line.starts_with(name)))
            .count()
    };
    // The addresses of the other block's ring and barriers are computed once, before the loop.
    assert_eq!(count("cluster_stages", "mapa.shared::cluster.u32 "), 3);
    assert_eq!(count("cluster_stages", "st.shared::cluster.b32 "), 1);
    assert_eq!(
        count("cluster_stages", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "),
        1
    );
    assert_eq!(count("cluster_stages", "mbarrier.arrive.shared::cluster.b64 _, "), 1);
    assert_eq!(count("cluster_stages", "barrier.cluster.arrive.release.aligned"), 2);
    assert_eq!(count("cluster_stages", "barrier.cluster.wait.acquire.aligned"), 2);
    assert_eq!(count("cluster_exchange_16", "ld.shared::cluster.b16 "), 1);
    assert_eq!(count("cluster_exchange_16", "barrier.cluster.arrive.relaxed.aligned"), 1);
    let copy = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes ";
    assert_eq!(count("cluster_send", copy), 1);
    let reduction =
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.";
    for form in [
        "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32", "max.s32", "inc.u32",
        "dec.u32", "and.b32", "or.b32", "xor.b32",
    ] {
        let kernel = format!("cluster_bulk_{}", &form[form.len() - 3..].replace('b', "u"));
        assert_eq!(count(&kernel, &format!("{reduction}{form} ")), 1, "{form}");
    }
    let multicast =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster ";
    assert_eq!(count("cluster_multicast", multicast), 1);
    for dims in ["1d", "2d", "3d", "4d", "5d"] {
        let form = "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster ";
        let kernel = format!("cluster_multicast_{dims}");
        assert_eq!(count(&kernel, &format!("cp.async.bulk.tensor.{dims}.{form}")), 1, "{dims}");
        let with_a_policy = form.replace(' ', ".L2::cache_hint ");
        assert_eq!(
            count(&kernel, &format!("cp.async.bulk.tensor.{dims}.{with_a_policy}")),
            1,
            "{dims}"
        );
        let usage = artifact.manifest.kernel(&kernel).unwrap();
        assert_eq!((usage.stack, usage.spill_loads), (0, 0), "{dims}");
    }
}

#[test]
fn cache_policy_is_created_once_and_passed_to_its_copies() {
    let (_, ptx) = built(Arch::SM_90A);
    let all = instructions(ptx, "cached_bulk");
    let count = |name: &str| all.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!(count("createpolicy.fractional.L2::evict_last.b64 "), 1);
    assert_eq!(count("createpolicy.fractional.L2::evict_first.b64 "), 1);
    assert_eq!(
        count("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "),
        1
    );
    assert_eq!(count("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint "), 1);
    for dims in ["1d", "2d", "3d", "4d", "5d"] {
        let all = instructions(ptx, &format!("cached_{dims}"));
        let tensor = |line: &&str| {
            line.starts_with(&format!("cp.async.bulk.tensor.{dims}."))
                && line.contains(".L2::cache_hint ")
        };
        assert_eq!(all.iter().filter(|line| tensor(line)).count(), 2, "{dims}");
    }
    for (name, prefetch, mode) in
        [("reduce", "tile", "tile"), ("reduce_im2col", "im2col", "im2col_no_offs")]
    {
        for rank in if mode == "tile" { 1..=5 } else { 3..=5 } {
            let all = instructions(ptx, &format!("cached_{name}_{rank}d"));
            let count = |form: &str| all.iter().filter(|line| line.starts_with(form)).count();
            let prefetch = format!(
                "cp.async.bulk.prefetch.tensor.{rank}d.L2.global.{prefetch}.L2::cache_hint ["
            );
            assert_eq!(count(&prefetch), 1, "{prefetch}");
            for operation in ["add", "min", "max", "inc", "dec", "and", "or", "xor"] {
                let reduction = "global.shared::cta";
                let form = format!(
                    "cp.reduce.async.bulk.tensor.{rank}d.{reduction}.{operation}.{mode}.bulk_group\
                     .L2::cache_hint ["
                );
                assert_eq!(count(&form), 1, "{form}");
            }
        }
    }
    let all = instructions(ptx, "cluster_multicast_cached");
    let count = |form: &str| all.iter().filter(|line| line.starts_with(form)).count();
    assert_eq!(count("cp.async.bulk.prefetch.L2.global.L2::cache_hint ["), 1);
    let load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast\
        ::cluster.L2::cache_hint [";
    assert_eq!(count(load), 1);
    let all = instructions(ptx, "cached_parts");
    for priority in ["evict_first", "evict_last", "evict_normal", "evict_unchanged"] {
        for rest in ["evict_first", "evict_unchanged"] {
            let form = format!("createpolicy.fractional.L2::{priority}.L2::{rest}.b64 ");
            assert_eq!(all.iter().filter(|line| line.starts_with(&form)).count(), 1, "{form}");
        }
    }
}

#[test]
fn each_vector_is_one_load_and_one_store() {
    let (_, ptx) = built(Arch::SM_75);
    let all = instructions(ptx, "mirror_vectors");
    // A lane moves 8 vectors of one number, 4 of two, 2 of four, and 1 of eight.
    for (bits, count) in [("b16", 8), ("b32", 4), ("b64", 2), ("v4.b32", 1)] {
        for name in ["ld.shared", "st.shared", "ld.global", "st.global"] {
            let start = format!("{name}.{bits} ");
            let found = all.iter().filter(|line| line.starts_with(&start)).count();
            assert_eq!(found, count, "{start}{all:#?}");
        }
    }
}
