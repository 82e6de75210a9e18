//! A launch refuses PTX of another kernel: one with other parameters, launch bounds or sources.
//! `cargo test -- --ignored` runs these tests on a GPU; without it, they run on a stand-in.

mod stand_in;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fingerprint_kernels as kernels;
use ptx_matrix::launch::{Device, Tensor};
use ptx_matrix::prelude::*;
use ptx_matrix_build::{Arch, Artifact, Builder};
use ptx_matrix_host::{Gpu, GpuDevice, GpuError, Ptx};

#[test]
fn ignored_tests_pass_on_the_stand_in() {
    built();
    stand_in::run_ignored_tests();
}

/// The crate of the kernels.
fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprint_kernels")
}

/// The workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn build(manifest_dir: &Path, out_dir: &str, arch: Arch) -> Artifact {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (target, out) = (temporary.parent().unwrap(), temporary.join(out_dir));
    Builder::new(manifest_dir)
        .target_dir(target)
        .out_dir(out)
        .archs([arch])
        .build()
        .unwrap()
        .remove(0)
}

/// The PTX of the kernels, made once.
fn built() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        fs::read_to_string(build(&source(), "fingerprints", Arch::SM_90A).ptx).unwrap()
    })
}

fn device() -> GpuDevice {
    GpuDevice::new(Gpu::open(0).unwrap(), built()).unwrap()
}

/// The error message of a refused launch.
fn refusal<T>(launched: Result<T, GpuError>) -> String {
    launched.err().expect("a launch of another kernel was not refused").to_string()
}

/// The PTX with another fingerprint of `scale`, as if it had been built that way.
fn with_scale(change: impl Fn(&str) -> String) -> String {
    let ptx: Ptx = built().parse().unwrap();
    let fingerprint = ptx
        .entries
        .iter()
        .find(|entry| entry.name == "scale")
        .unwrap()
        .fingerprint
        .clone()
        .unwrap();
    stand_in::sealed(built(), &[("scale", &change(&fingerprint))], b"")
}

/// The result of a launch of `scale` from these kernels.
fn scale_on(ptx: &str) -> Result<Vec<f32>, GpuError> {
    let device = GpuDevice::new(Gpu::open(0)?, ptx)?;
    let mut data = device.upload(&[1.0_f32; 200])?;
    kernels::scale::launch(&device, 2, &mut data, 3.0)?;
    device.download(&data)
}

#[test]
fn ptx_and_program_have_equal_fingerprints() {
    let ptx: Ptx = built().parse().unwrap();
    assert!(ptx.seal.as_ref().is_some_and(|seal| seal.is_whole));
    let of =
        |name| ptx.entries.iter().find(|entry| entry.name == name).unwrap().fingerprint.as_deref();
    assert_eq!(of("scale"), Some(kernels::scale::INFO.fingerprint));
    assert_eq!(of("same"), Some(kernels::same::INFO.fingerprint));
    let expected = "param _a=Dependent<Global<InByte<e2m1>>>; \
        param _b=Dependent<Option<TensorMapMut<SharedTile<u8, 16, 32, Swizzle32, ColMajor>, 5, \
        Im2col>>>; param gr??e=u16; \
        shared=1024 aligned to 1024; threads=32; cluster=2x1x1; dependent=true; \
        module=fingerprint_kernels; crate=fingerprint-kernels; sources=";
    assert!(
        kernels::same::INFO.fingerprint.starts_with(expected),
        "{}",
        kernels::same::INFO.fingerprint
    );
    for info in kernels::same_args::INSTANCES {
        assert_eq!(of(info.name), Some(info.fingerprint));
    }
    let expected = "param _args=SameArgs {d: GlobalMut<f32>, is_added: bool, terms: [f64 x 2]} \
        of 40 bytes aligned to 8; shared=0 aligned to 1; threads=64; module=fingerprint_kernels; \
        crate=";
    let own = kernels::same_64::INFO.fingerprint;
    assert!(own.starts_with(expected), "{own}");
    // A struct of the same size with another order of fields.
    let params = |fingerprint: &str| fingerprint.split("; ").next().unwrap().to_owned();
    let of_ptx = "param _shape=Shape {rows: u32, cols: u32} of 8 bytes aligned to 4";
    assert_eq!(of("shaped").map(params).as_deref(), Some(of_ptx));
    let own = "param _shape=Shape {cols: u32, rows: u32} of 8 bytes aligned to 4";
    assert_eq!(params(kernels::shaped::INFO.fingerprint), own);
    assert!(ptx.entries.iter().all(|entry| entry.fingerprint.is_some()));
}

#[test]
#[ignore = "needs a GPU"]
fn kernel_with_an_equal_fingerprint_launches() {
    assert_eq!(scale_on(built()).unwrap(), [3.0; 200]);
    let lines = built().replace('\n', "\r\n");
    assert_eq!(scale_on(&lines).unwrap(), [3.0; 200], "a text is the same with other line ends");
}

#[test]
#[ignore = "needs a GPU"]
fn different_kernel_of_equal_sources_is_refused_with_the_difference() {
    let device = device();
    let (mut numbers, words) =
        (device.upload(&[0_u32; 64]).unwrap(), device.upload(&[0_u32; 64]).unwrap());
    let mut halves = device.upload(&[bf16::ZERO; 64]).unwrap();
    let buffer = device.upload(&[bf16::ZERO; 4096]).unwrap();
    type Tile = SharedTile<bf16, 16, 64, Swizzle128>;
    let map = Tensor::<Tile, 3>::new([64, 8, 8]).map(&device, &buffer).unwrap();
    // The first parameter's type in the PTX and in this program; or another difference.
    let of_map = |ptx| (ptx, "TensorMap<SharedTile<bf16, 16, 64, Swizzle128, RowMajor>, 3, Tiled>");
    let shape = kernels::Shape { cols: 2, rows: 3 };
    let params = [
        (
            refusal(kernels::shaped::launch(&device, 1, shape)),
            (
                "Shape {rows: u32, cols: u32} of 8 bytes aligned to 4",
                "Shape {cols: u32, rows: u32} of 8 bytes aligned to 4",
            ),
        ),
        (
            refusal(kernels::doubled::launch(&device, 1, &mut numbers)),
            ("GlobalMut<u64>", "GlobalMut<u32>"),
        ),
        (
            refusal(kernels::late::launch(&device, 1, &mut numbers)),
            ("GlobalMut<u32>", "Dependent<GlobalMut<u32>>"),
        ),
        (refusal(kernels::written::launch(&device, 1, &words)), ("GlobalMut<u32>", "Global<u32>")),
        (
            refusal(kernels::signed::launch(&device, 1, &mut numbers)),
            ("GlobalMut<i32>", "GlobalMut<u32>"),
        ),
        (
            refusal(kernels::rounded::launch(&device, 1, &mut halves)),
            ("GlobalMut<f16>", "GlobalMut<bf16>"),
        ),
        (
            refusal(kernels::other_tile::launch(&device, 1, &map)),
            of_map("TensorMap<SharedTile<bf16, 8, 64, Swizzle128, RowMajor>, 3, Tiled>"),
        ),
        (
            refusal(kernels::other_swizzle::launch(&device, 1, &map)),
            of_map("TensorMap<SharedTile<bf16, 16, 64, Unswizzled128, RowMajor>, 3, Tiled>"),
        ),
        (
            refusal(kernels::other_rank::launch(&device, 1, &map)),
            of_map("TensorMap<SharedTile<bf16, 16, 64, Swizzle128, RowMajor>, 2, Tiled>"),
        ),
        (
            refusal(kernels::other_mode::launch(&device, 1, &map)),
            of_map("TensorMap<SharedTile<bf16, 16, 64, Swizzle128, RowMajor>, 3, Im2col>"),
        ),
        (
            refusal(kernels::other_access::launch(&device, 1, &map)),
            of_map("TensorMapMut<SharedTile<bf16, 16, 64, Swizzle128, RowMajor>, 3, Tiled>"),
        ),
        (
            refusal(kernels::maybe::launch(&device, 1, &map)),
            of_map("Option<TensorMap<SharedTile<bf16, 16, 64, Swizzle128, RowMajor>, 3, Tiled>>"),
        ),
    ];
    for (refused, (theirs, ours)) in params {
        let difference = format!(
            "is `{theirs}` in the PTX and `{ours}` in this program; both were built from the same \
             sources"
        );
        assert!(refused.contains("of the PTX is not this program's: parameter 1 (`"), "{refused}");
        assert!(refused.contains(&difference), "{refused}");
    }
    let others = [
        (
            refusal(kernels::halved::launch(&device, 1)),
            "131072 aligned to 16 in the PTX and 65536 aligned to 16",
        ),
        (
            refusal(kernels::aligned::launch(&device, 1)),
            "1024 aligned to 1024 in the PTX and 1024 aligned to 16",
        ),
        (refusal(kernels::narrow::launch(&device, 1)), "its threads are 64 in the PTX and 32"),
        (
            refusal(kernels::paired::launch(&device, 1)),
            "its clusters are 1x1x1 in the PTX and 2x1x1",
        ),
        (
            refusal(kernels::ahead::launch(&device, 1, &mut numbers)),
            "`dependent` is false in the PTX and true",
        ),
        (
            refusal(kernels::split::launch(&device, 1, &mut numbers)),
            "it takes 2 parameters in the PTX (`u64`, `usize`) and 1",
        ),
    ];
    // Two modules have a kernel of this name, for two targets.
    let elsewhere = refusal(kernels::for_host::elsewhere::launch(&device, 1));
    let difference = "its module is fingerprint_kernels::for_gpu in the PTX and \
                      fingerprint_kernels::for_host in this program";
    assert!(elsewhere.contains(difference), "{elsewhere}");
    for (refused, difference) in others {
        assert!(refused.contains(&format!("{difference} in this program")), "{refused}");
    }
    let expected = "kernel `swapped` of the PTX is not this program's: parameter 1 (`_a`) is \
                    `f32` in the PTX and `u32` in this \
        program; parameter 2 (`_b`) is `u32` in the PTX and `f32` in this program; both were \
        built from the same sources, in which a type or a constant depends on the target or a \
        feature";
    assert_eq!(refusal(kernels::swapped::launch(&device, 1, 1, 2.0)), expected);
    // This also holds for launches without a wait.
    let stream = device.gpu().new_stream().unwrap();
    let mut numbers = stream.upload(&[0_u32; 64]).unwrap();
    let refused = refusal(kernels::doubled::launch(&device.in_stream(&stream), 1, &mut numbers));
    assert!(refused.contains("`GlobalMut<u64>` in the PTX"), "{refused}");
}

#[test]
#[ignore = "needs a GPU"]
fn ptx_of_other_sources_is_refused_but_not_of_another_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fingerprints-elsewhere");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join("helper/src")).unwrap();
    let library = root().display();
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.2.0\"\nedition = \"2024\"\n")
    };
    let dependencies = format!(
        "[dependencies]\nptx-matrix = {{ path = \"{library}\" }}\nfingerprint-helper = {{ path = \
         \"helper\" }}\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), package("fingerprint-kernels") + &dependencies).unwrap();
    fs::write(folder.join("helper/Cargo.toml"), package("fingerprint-helper")).unwrap();
    // The same versions of dependencies, so that cargo neither downloads nor compiles any again.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let read = |path: &str| fs::read_to_string(source().join(path)).unwrap();
    let (text, helper) = (read("src/lib.rs"), read("helper/src/lib.rs"));
    let scale_of = |text: &str, helper: &str| {
        fs::write(folder.join("src/lib.rs"), text).unwrap();
        fs::write(folder.join("helper/src/lib.rs"), helper).unwrap();
        // For this target, the library compiles in a third of the time.
        let built = build(&folder, "fingerprints-elsewhere-ptx", Arch::SM_80);
        scale_on(&fs::read_to_string(built.ptx).unwrap())
    };
    let reformatted =
        text.replace('\n', "\r\n\r\n").replace("const FACTOR", "/* A comment. */ const FACTOR");
    assert_eq!(scale_of(&reformatted, &helper).unwrap(), [3.0; 200]);
    let of = |name: &str| {
        format!(
            "kernel `scale` of the PTX is not this program's: the PTX and this program were built \
             from different sources of crate `{name}: build both again"
        )
    };
    let refused =
        refusal(scale_of(&text.replace("FACTOR: f32 = 1.0", "FACTOR: f32 = 2.0"), &helper));
    assert_eq!(refused, of("fingerprint-kernels`"));
    let refused = refusal(scale_of(&text, &helper.replace("0.0", "1.0")));
    assert_eq!(refused, of("fingerprint-helper`, which `fingerprint-kernels` depends on"));
}

#[test]
#[ignore = "needs a GPU"]
fn ptx_with_missing_or_damaged_fingerprints_is_refused() {
    let refused = refusal(scale_on(stand_in::KERNELS));
    assert!(
        refused.starts_with("this PTX has no fingerprints") && refused.contains("new_unchecked"),
        "{refused}"
    );
    for changed in [
        built().replace("threads=32", "threads=64"),
        built().replace("ret;", "trap;"),
        built()[..built().len() - 3].to_owned(),
        built()
            .lines()
            .filter(|line| !line.starts_with("// kernel scale"))
            .map(|line| format!("{line}\n"))
            .collect(),
        format!("{}// a comment\n", built()),
    ] {
        assert!(refusal(scale_on(&changed)).starts_with("this PTX was changed after its build"));
    }
    let refused = refusal(scale_on(&stand_in::sealed(built(), &[], b"")));
    assert!(refused.starts_with("kernel `scale` of the PTX has no fingerprint"), "{refused}");
    let refused = refusal(scale_on(&with_scale(|_| "what is this".to_owned())));
    assert!(
        refused.contains("it takes 0 parameters in the PTX () and 2 in this program"),
        "{refused}"
    );
    let refused =
        refusal(scale_on(&with_scale(|line| line.replace("ptx-matrix=", "ptx-matrix=9."))));
    assert!(refused.contains("the version of ptx-matrix is 9."), "{refused}");
    assert_eq!(scale_on(&with_scale(str::to_owned)).unwrap(), [3.0; 200]);
}

#[test]
#[ignore = "needs a GPU"]
fn new_unchecked_compares_the_fingerprints_that_exist() {
    let scale_unchecked = |ptx: &str| -> Result<Vec<f32>, GpuError> {
        // SAFETY: the `scale` of these texts takes a slice and a factor, and scales the slice.
        let device = unsafe { GpuDevice::new_unchecked(Gpu::open(0)?, ptx) }?;
        let mut data = device.upload(&[1.0_f32; 200])?;
        kernels::scale::launch(&device, 2, &mut data, 5.0)?;
        device.download(&data)
    };
    assert_eq!(scale_unchecked(stand_in::KERNELS).unwrap(), [5.0; 200]);
    let edited = built().replace("Generated by", "Edited after it was generated by");
    assert_eq!(scale_unchecked(&edited).unwrap(), [5.0; 200]);

    let refused =
        refusal(scale_unchecked(&with_scale(|line| line.replace("factor=f32", "factor=u32"))));
    assert!(refused.contains("parameter 2 (`factor`) is `u32` in the PTX"), "{refused}");
    let cluster = stand_in::KERNELS
        .replace(".maxntid 128, 1, 1", ".maxntid 128, 1, 1\n.reqnctapercluster 2, 1, 1");
    let refused = refusal(scale_unchecked(&cluster));
    assert!(
        refused.ends_with("its clusters are 2x1x1 in the PTX and 1x1x1 in this program"),
        "{refused}"
    );
    let wide = stand_in::KERNELS.replace(".maxntid 128, 1, 1", ".maxntid 256, 1, 1");
    let refused = refusal(scale_unchecked(&wide));
    assert_eq!(
        refused,
        "kernel `scale`: a block of 128 threads; the kernel is compiled for 256 (.maxntid)"
    );
}
