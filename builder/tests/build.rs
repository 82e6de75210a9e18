//! Whole builds of the fixture crate.

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex};

use ptx_matrix_build::{Arch, Artifact, Builder, CompileError, KernelManifest};

fn build(archs: impl IntoIterator<Item = Arch>) -> (tempfile::TempDir, Vec<Artifact>) {
    let folder = tempfile::tempdir().unwrap();
    let built = common::fixture(folder.path()).archs(archs).build().unwrap();
    (folder, built)
}

fn kernel<'a>(artifact: &'a Artifact, name: &str) -> &'a KernelManifest {
    artifact
        .manifest
        .kernel(name)
        .unwrap_or_else(|| panic!("no kernel {name} for {}", artifact.arch))
}

#[test]
fn builds_every_target_with_what_each_can() {
    let (_folder, artifacts) = build(Arch::supported());
    assert!(artifacts.iter().map(|artifact| artifact.arch).eq(Arch::supported()));
    for artifact in &artifacts {
        assert!(artifact.cubin.metadata().unwrap().len() > 0);
        let has = |name| artifact.manifest.kernel(name).is_some();
        assert!(has("ldmatrix_between_branches"), "{}", artifact.arch);
        let number: u32 =
            artifact.arch.name()["sm_".len()..].trim_end_matches(['a', 'f']).parse().unwrap();
        assert_eq!(has("stmatrix_between_branches"), number >= 90, "{}", artifact.arch);
        assert_eq!(has("fp8"), number >= 89, "{}", artifact.arch);
        let needed = if has("fp8") { "8.4".parse().unwrap() } else { artifact.arch.ptx_version() };
        assert_eq!(
            artifact.manifest.ptx_version,
            needed.max(artifact.arch.ptx_version()),
            "{}",
            artifact.arch
        );
    }
}

/// A file in the place of a folder: not even root can write to it.
#[test]
fn unwritable_folder_is_named_and_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let (out, target) = (folder.path().join("out"), file.join("target"));
    let remedy = format!("cannot write to {}; $CARGO_TARGET_DIR names another ", target.display());
    let builds = [
        (common::fixture(&file.join("out")), format!("cannot make {}/", file.display())),
        (common::fixture(&out).target_dir(&target), remedy),
    ];
    for (build, start) in builds {
        let error = format!("{:#}", build.archs([Arch::SM_80]).build().unwrap_err());
        assert!(error.starts_with(&start), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{error}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn nothing_stays_of_a_target_that_is_no_longer_built() {
    let folder = tempfile::tempdir().unwrap();
    let (crate_folder, out) = (folder.path().join("kernels"), folder.path().join("out"));
    std::fs::create_dir_all(crate_folder.join("src")).unwrap();
    let source = r#"#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn put(out: *mut u32) { unsafe { *out = 1 } }
"#;
    std::fs::write(crate_folder.join("src/lib.rs"), source).unwrap();
    let build = |targets: &str| {
        let manifest = format!(
            "[package]\nname = \"of-targets\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [workspace]\n[package.metadata.ptx-matrix]\ntargets = [{targets}]\n"
        );
        std::fs::write(crate_folder.join("Cargo.toml"), manifest).unwrap();
        Builder::new(&crate_folder).target_dir(common::target_dir()).out_dir(&out)
    };
    let files = |target: &str| out.join(target).read_dir().map_or(0, Iterator::count);
    build(r#""sm_80", "sm_89""#).build().unwrap();
    assert!(files("sm_80") > 0 && files("sm_89") > 0);
    // Targets of the caller are additional.
    build(r#""sm_80""#).archs([Arch::SM_75]).build().unwrap();
    assert!(files("sm_75") > 0 && files("sm_80") > 0 && files("sm_89") > 0);
    build(r#""sm_80""#).build().unwrap();
    assert_eq!((files("sm_75"), files("sm_89")), (0, 0));
    assert!(files("sm_80") > 0);
}

#[test]
fn metadata_reaches_ptx_and_manifest() {
    let (_folder, artifacts) = build([Arch::SM_80]);
    let artifact = &artifacts[0];

    let small = kernel(artifact, "small_tile");
    assert_eq!((small.threads, small.min_blocks, small.max_registers), (Some(128), Some(2), None));
    assert_eq!((small.static_shared, small.dynamic_shared, small.barriers), (1024, 0, 1));
    let entry = common::entry(artifact, "small_tile");
    assert!(entry.contains(".maxntid 128, 1, 1") && entry.contains(".minnctapersm 2"), "{entry}");

    let big = kernel(artifact, "big_tile");
    assert_eq!((big.threads, big.max_registers), (Some(256), Some(64)));
    assert_eq!((big.static_shared, big.dynamic_shared), (0, 100_000));
    assert!(common::entry(artifact, "big_tile").contains(".maxnreg 64"));

    let entry = common::entry(artifact, "by_value");
    assert!(entry.contains(".param .align 64 .b8 by_value_param_1[128]"), "{entry}");
    assert!(entry.contains("[by_value_param_1+28]"), "it is read where it is: {entry}");
    assert_eq!(kernel(artifact, "by_value").stack, 0);

    let raw = kernel(artifact, "raw_compare");
    assert_eq!((raw.threads, raw.static_shared, raw.dynamic_shared), (None, 0, 0));
    assert!(raw.registers > 0);

    let ptx = std::fs::read_to_string(&artifact.ptx).unwrap();
    assert!(!ptx.contains("__ptx_matrix_kernel_"), "metadata must not reach the GPU");
    let manifest = std::fs::read_to_string(artifact.ptx.with_extension("json")).unwrap();
    assert_eq!(
        serde_json::from_str::<ptx_matrix_build::Manifest>(&manifest).unwrap(),
        artifact.manifest
    );
}

#[test]
fn what_is_up_to_date_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let steps = || {
        let said = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&said);
        let builder = common::fixture(folder.path()).archs([Arch::SM_80, Arch::SM_86]);
        let artifacts = builder
            .progress(move |step| told.lock().unwrap().push(step.to_owned()))
            .build()
            .unwrap();
        let said = said
            .lock()
            .unwrap()
            .iter()
            .filter(|step| step.starts_with("compiling fixture"))
            .count();
        (said, artifacts)
    };
    let (first, artifacts) = steps();
    assert_eq!(first, 2);
    assert_eq!(steps().0, 0);
    std::fs::remove_file(&artifacts[1].cubin).unwrap();
    assert_eq!(steps().0, 1);
    assert!(artifacts[1].cubin.is_file());

    let Artifact { ptx, cubin, .. } = &artifacts[0];
    for file in [ptx, cubin, &ptx.with_extension("json")] {
        let whole = std::fs::read(file).unwrap();
        let mut edited = whole.clone();
        edited[whole.len() / 2] ^= 1;
        for damaged in
            [&whole[..whole.len() - 1], &edited, b"", &[whole.as_slice(), b"\n"].concat()]
        {
            std::fs::write(file, damaged).unwrap();
            assert_eq!(steps().0, 1, "{}", file.display());
            assert_eq!(std::fs::read(file).unwrap(), whole, "{}", file.display());
        }
    }
    assert_eq!(steps().0, 0);
}

/// The names of a kernel's own files, and of those that it shares, from a target's list.
fn names_of_files(scratch: &Path, arch: Arch, kernel: &str) -> [String; 2] {
    let list = std::fs::read_to_string(scratch.join(arch.name()).join("kernels.txt")).unwrap();
    let line = list.lines().find(|line| line.starts_with(&format!("{kernel}-")));
    let line = line.unwrap_or_else(|| panic!("{kernel} in {list}"));
    let (own, shared) = line.split_once(' ').unwrap();
    [own, shared].map(str::to_owned)
}

#[test]
fn kernel_is_optimised_once_for_all_targets_where_it_is_same() {
    let scratch = common::target_dir().join("ptx-matrix/ptx/fixture-kernels");
    let kept = scratch.join("kernels");
    std::fs::create_dir_all(&kept).unwrap();
    let of_another_build =
        ["small_tile-0123.checked", "0123.bc", "0123.sm_80-4567.ptx"].map(|name| kept.join(name));
    for file in &of_another_build {
        std::fs::write(file, "what nobody needs any more").unwrap();
    }
    let of_interrupted_build = kept.join("0123.printed");
    std::fs::create_dir_all(&of_interrupted_build).unwrap();
    std::fs::write(of_interrupted_build.join("module.ll"), "; unfinished").unwrap();
    build([Arch::SM_80, Arch::SM_86, Arch::SM_90A]);
    assert_eq!(of_another_build.map(|file| file.exists()), [false; 3]);
    assert!(!of_interrupted_build.exists());

    let files: Vec<_> = std::fs::read_dir(&kept)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    for kernel in ["small_tile", "ldmatrix_between_branches"] {
        let [own, shared] = names_of_files(&scratch, Arch::SM_80, kernel);
        assert_eq!([own.clone(), shared.clone()], names_of_files(&scratch, Arch::SM_90A, kernel));
        let count = |start: String, end: &str| {
            files.iter().filter(|file| file.starts_with(&start) && file.ends_with(end)).count()
        };
        // opt's input and output, and the text that was checked.
        for part in ["ll", "bc", "opt.ll"] {
            assert_eq!(count(format!("{shared}.{part}"), ""), 1, "{files:?}");
        }
        // LLVM's code is the same for all these targets.
        for (arch, files_of_arch) in [(Arch::SM_75, 1), (Arch::SM_80, 0), (Arch::SM_90A, 0)] {
            assert_eq!(count(format!("{shared}.{arch}-"), ".ptx"), files_of_arch, "{files:?}");
        }
        assert_eq!(count(own, ".checked"), 1, "{files:?}");
    }
}

/// Both have the same module, with other names and asm. One PTX has both.
#[test]
fn kernels_that_differ_only_in_asm_are_compiled_once() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let build = |line_info| {
        let build = common::fixture(folder.path()).target_dir(&target).archs([Arch::SM_80]);
        build.features(["twins"]).line_info(line_info).build().unwrap().pop().unwrap()
    };
    let artifact = build(false);
    let scratch = target.join("ptx-matrix/ptx/fixture-kernels");
    let shared = |kernel| {
        let [_, shared] = names_of_files(&scratch, Arch::SM_80, kernel);
        shared
    };
    assert_eq!(shared("twin_min"), shared("twin_max"));
    assert_ne!(shared("twin_min"), shared("small_tile"));

    let text = |artifact: &Artifact| std::fs::read_to_string(&artifact.ptx).unwrap();
    let entries = ["twin_min", "twin_max"].map(|kernel| common::entry(&artifact, kernel));
    for (entry, own, other) in [(0, "min.u32 %r", "max"), (1, "max.u32 %r", "min")] {
        let entry = &entries[entry];
        assert!(entry.contains(own) && !entry.contains(other), "{entry}");
    }
    let swapped =
        |text: &str| text.replace("min", "m__").replace("max", "min").replace("m__", "max");
    assert_eq!(entries[0].replace("77", "88"), swapped(&entries[1]));
    for placeholder in ["ptx_matrix_kernel_", "ptx_matrix_asm_"] {
        assert!(!text(&artifact).contains(placeholder), "{}", text(&artifact));
    }

    // Line information does not change the code.
    let with_lines = build(true);
    assert!(text(&with_lines).contains("twins.rs"), "{}", text(&with_lines));
    for kernel in ["twin_min", "twin_max"] {
        let [without, with] =
            [&artifact, &with_lines].map(|artifact| self::kernel(artifact, kernel));
        assert_eq!((without.registers, without.stack), (with.registers, with.stack));
    }
}

#[test]
fn spills_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let greedy = || common::fixture(folder.path()).archs([Arch::SM_80]).features(["spilling"]);
    let artifacts = greedy().build().unwrap();
    let spilled = kernel(&artifacts[0], "greedy").spill_stores;
    assert!(spilled > 0);
    let error = greedy().deny_local_memory(true).build().unwrap_err().to_string();
    assert!(error.contains("kernel `greedy` for sm_80 has"), "{error}");
    assert!(error.contains("its registers spill"), "{error}");
}

#[test]
fn sums_that_are_read_in_flight_are_refused_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let impatient = || common::fixture(folder.path()).archs([Arch::SM_90A]).features(["in_flight"]);
    let of_other_code = folder.path().join("sm_90a/fixture-kernels.json");
    std::fs::create_dir_all(of_other_code.parent().unwrap()).unwrap();
    std::fs::write(&of_other_code, "{}").unwrap();
    let error = format!("{:#}", impatient().line_info(true).build().unwrap_err());
    assert!(
        error.contains("kernel `impatient`")
            && error.contains(
                "register 1 of its accumulators, \
            in flight"
            ),
        "{error}"
    );
    assert!(error.contains("src/in_flight.rs:26"), "{error}");
    let error = format!("{:#}", impatient().build().unwrap_err());
    assert!(error.contains("`--line-info` names the line of the source"), "{error}");
    assert!(!of_other_code.exists(), "who looks for code finds none");
}

#[test]
fn registers_of_a_that_are_overwritten_in_flight_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hasty = common::fixture(folder.path()).archs([Arch::SM_90A]).features(["overwritten"]);
    let error = format!("{:#}", hasty.build().unwrap_err());
    assert!(error.contains("would compute wrong results"), "{error}");
    assert!(error.contains("kernel `hasty`"), "{error}");
    assert!(error.contains("of its A, in flight"), "{error}");
}

#[test]
fn compile_error_is_rustcs_own() {
    let folder = tempfile::tempdir().unwrap();
    let error = common::fixture(folder.path())
        .archs([Arch::SM_80])
        .features(["broken"])
        .build()
        .unwrap_err();
    let refused = error.downcast_ref::<CompileError>().expect("a compile error");
    assert!(refused.stderr.contains("this crate is broken on purpose"), "{}", refused.stderr);
    assert!(!refused.stderr.contains('\x1b'), "colours were not asked for");
}

#[test]
fn stacks_that_no_gpu_has_are_refused_and_unknown_ones_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let built =
        |feature| common::fixture(folder.path()).archs([Arch::SM_80]).features([feature]).build();
    let error = format!("{:#}", built("stack").unwrap_err());
    assert!(error.contains("kernel `deep` for sm_80 has a stack of 10"), "{error}");
    assert!(error.contains("a thread on a GPU has at most 524288"), "{error}");
    let remarks = built("recursion").unwrap().remove(0).manifest.remarks;
    let told = "kernel `recursive`: the size of its stack is unknown";
    assert!(remarks.iter().any(|remark| remark.starts_with(told)), "{remarks:?}");
}
