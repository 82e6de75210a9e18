//! Kernel crates that are built without a build script, and what their builds refuse.

use ptx_matrix_build::{Arch, Artifact, Builder, CompileError};
use std::path::Path;

fn build(arch: Arch, features: &[&str]) -> anyhow::Result<Artifact> {
    build_crate("user_crate", arch, features)
}

fn build_crate(name: &str, arch: Arch, features: &[&str]) -> anyhow::Result<Artifact> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    // Apart from the workspace's kernels: each test builds the crate with other features.
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptx-of-user-crates");
    let builder = Builder::new(folder).out_dir(out).features(features.iter().copied());
    let mut artifacts = builder.archs([arch]).build()?;
    Ok(artifacts.remove(0))
}

#[test]
fn builds_for_gpu_with_needed_instructions() {
    let artifact = build(Arch::SM_90A, &[]).unwrap();
    let kernel = artifact.manifest.kernel("double").unwrap();
    assert_eq!((kernel.threads, kernel.static_shared, kernel.spill_stores), (Some(32), 256, 0));
    assert_eq!(artifact.manifest.kernel("loop").unwrap().static_shared, 16);
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    let fingerprint = "\n// kernel loop: param in=Global<u8>; param final=GlobalMut<u8>; shared=16 \
        aligned to 16; threads=32; module=user_kernels; crate=user-kernels; sources=";
    assert!(ptx.contains(fingerprint), "{}", &ptx[ptx.len() - 2000..]);
}

#[test]
fn missing_instruction_is_a_compile_error_at_its_line() {
    let error = build(Arch::SM_80, &[]).unwrap_err();
    let CompileError { stderr, .. } = error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"));
    assert!(
        stderr.contains(
            "this instruction needs a GPU that is `AtLeast<90>`; this build is for `Sm80`"
        ),
        "{stderr}"
    );
    assert!(stderr.contains("src/lib.rs:16"), "{stderr}");
    assert!(stderr.contains("#[kernel(.., target = \"sm_..\")]"), "{stderr}");
}

#[test]
fn cluster_kernels_need_cluster_targets() {
    let artifact = build(Arch::SM_90A, &["clusters"]).unwrap();
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    assert_eq!(ptx.matches(".reqnctapercluster 2, 1, 1").count(), 1, "of no other kernel");
    let error = build(Arch::SM_80, &["clusters"]).unwrap_err();
    let CompileError { stderr, .. } = error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"));
    for place in ["src/lib.rs:45", "src/lib.rs:47"] {
        assert!(stderr.contains(place), "{place}: {stderr}");
    }
}

#[test]
fn struct_is_one_parameter_and_instance_is_one_entry() {
    let artifact = build(Arch::SM_90A, &["arguments"]).unwrap();
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    let entry = |name: &str| {
        let start = format!(".entry {name}(");
        let (_, text) = ptx.split_once(&start).unwrap_or_else(|| panic!("no entry {name}"));
        text.split("\n}").next().unwrap().to_owned()
    };
    for (name, align, bytes, read) in [
        ("scale_by_struct", 8, 80, "+36]"),
        ("line_by_struct", 8, 32, "+8]"),
        ("store_by_struct", 64, 192, "[store_by_struct_param_0]"),
    ] {
        let text = entry(name);
        let parameter = format!(".param .align {align} .b8 {name}_param_0[{bytes}]");
        assert_eq!(text.matches(&parameter).count(), 1, "{text}");
        let reads = |line: &str| line.contains("ld.param") && line.contains(read);
        assert!(text.lines().any(reads), "{read}: {text}");
        // Neither the struct nor an array with a run-time index is copied to local memory.
        assert!(!text.contains(".local"), "{text}");
    }
    // Slices in a struct point to global memory. A TMA copy uses the tensor map in place.
    assert!(entry("scale_by_struct").contains("ld.global.b32"));
    assert!(entry("store_by_struct").contains("cvta.param.u64"));
    for (name, threads, clusters, blocks) in [
        ("copy_narrow_1", 32, None, false),
        ("copy_narrow_2", 32, Some('2'), true),
        ("copy_wide_4", 256, Some('4'), false),
    ] {
        let text = entry(name);
        assert!(text.contains(&format!(".maxntid {threads}, 1, 1\n")), "{text}");
        let size = text.split_once(".reqnctapercluster ").map(|(_, size)| size);
        let cluster = size.and_then(|size| size.chars().next());
        assert_eq!(cluster, clusters, "{text}");
        assert_eq!(text.contains(".minnctapersm 2"), blocks, "{text}");
        assert_eq!(artifact.manifest.kernel(name).unwrap().threads, Some(threads));
    }
}

#[test]
fn kernel_with_the_name_of_a_called_function_is_refused() {
    let error = format!("{:#}", build(Arch::SM_90A, &["named-as-a-function"]).unwrap_err());
    assert!(
        error.contains("kernel `cbrtf` has the same name as a function that compiled code calls"),
        "{error}"
    );
}

#[test]
fn rejects_kernel_with_mutable_static() {
    let error = format!("{:#}", build(Arch::SM_90A, &["mutable-static"]).unwrap_err());
    assert!(
        error.contains(
            "kernel `take_a_number` uses the mutable static `user_kernels::take_a_number::NEXT`"
        ),
        "{error}"
    );
    assert!(error.contains("let the kernel take a `GlobalMut` instead"), "{error}");
}

#[test]
fn mutable_statics_of_every_kind_are_refused() {
    let error = format!("{:#}", build(Arch::SM_90A, &["statics"]).unwrap_err());
    for (kernels, name) in [
        ("kernel `plain` uses", "user_kernels::statics::PLAIN"),
        ("kernel `array` uses", "user_kernels::statics::ARRAY"),
        ("kernels `fields`, `flag` use", "user_kernels::statics::STRUCT"),
        ("kernel `exported` uses", "my.counter"),
        ("kernel `unmangled` uses", "UNMANGLED"),
        ("kernel `used` uses", "user_kernels::statics::USED"),
        ("kernel `mutable` uses", "user_kernels::statics::MUTABLE"),
        ("kernel `table` uses", "user_kernels::statics::FIRST"),
        ("kernel `table` uses", "user_kernels::statics::SECOND"),
        ("kernel `cell` uses", "user_kernels::statics::CELL"),
        ("kernel `local` uses", "user_kernels::statics::in_a_function::LOCAL"),
        ("kernel `behind_dyn` uses", "user_kernels::statics::BEHIND_DYN"),
        ("kernel `of_a_dependency` uses", "counters::COUNT"),
        ("kernel `of_a_dependency_by_name` uses", "PLAIN_COUNT"),
    ] {
        let expected = format!("{kernels} the mutable static `{name}`");
        assert!(error.contains(&expected), "{expected}: {error}");
    }
    assert!(!error.contains("NUMBERS") && !error.contains("NOBODYS"), "{error}");
}

#[test]
fn too_much_shared_memory_for_the_target_is_refused() {
    let error = format!("{:#}", build(Arch::SM_80, &["large"]).unwrap_err());
    let expected = "kernel `large` has 196608 bytes of shared memory; a block on a GPU of sm_80 \
        has at most 166912: use smaller tiles or fewer stages, or name a newer `target` in \
        `#[kernel]`";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn indirect_collective_call_stays_single() {
    let artifact = build(Arch::SM_90A, &["dynamic"]).unwrap();
    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    for kernel in ["table", "products", "stages", "applied", "closures", "plans", "chosen"] {
        let (_, entry) =
            ptx.split_once(&format!(".entry {kernel}(")).unwrap_or_else(|| panic!("no {kernel}"));
        let entry = &entry[..entry.find("\n}").unwrap()];
        assert_eq!(entry.matches("{ // callseq").count(), 1, "{entry}");
    }
}

#[test]
fn two_kernels_of_one_name_are_refused_with_their_modules() {
    let error = format!("{:#}", build(Arch::SM_90A, &["namesakes"]).unwrap_err());
    let expected =
        "two kernels are named `twin`: `user_kernels::one::twin` and `user_kernels::two::twin`";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("names go into the PTX without their modules"), "{error}");
}

/// The build also leaves out the kernels of the dependency.
#[test]
fn gemm_with_a_custom_epilogue_has_no_spills() {
    let artifact = build_crate("custom_epilogue", Arch::SM_90A, &[]).unwrap();
    let names: Vec<&str> =
        artifact.manifest.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["swiglu"]);
    let kernel = artifact.manifest.kernel("swiglu").unwrap();
    assert_eq!((kernel.stack, kernel.spill_loads, kernel.spill_stores), (0, 0, 0));
    assert_eq!(kernel.threads, Some(384));
}

/// On the CPU stable Rust decides by `Sync`, and atomics are `Sync`.
#[test]
fn gpu_build_names_types_lane_closures_must_not_capture() {
    let error = build(Arch::SM_90A, &["captures"]).unwrap_err();
    let CompileError { stderr, .. } = error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"));
    for refused in ["UnsafeCell<usize>", "Warp<'_>"] {
        let message = format!("a lane closure must not capture `{refused}`");
        assert!(stderr.contains(&message), "{message} is not in\n{stderr}");
    }
    for line in ["captures.rs:9", "captures.rs:18", "captures.rs:24"] {
        assert!(stderr.contains(line), "{line} is not in\n{stderr}");
    }
    assert!(stderr.contains("a value leaves it only as its result, a `PerLane`"), "{stderr}");
}
