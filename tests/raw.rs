//! ptxas assembles every function of `raw` for the lowest target that it needs, and refuses it for
//! the target before.
//!
//! The compiler lists the functions, by expanding the tables that they are made of. So none is
//! forgotten. A kernel takes the address of each function. Then ptxas has to assemble it as a
//! function, even if no other kernel calls it. The PTX of a few builds is assembled for all
//! targets. An error of ptxas shows which function it refuses.
//!
//! The functions of `wgmma` are an exception, because ptxas accepts none of these instructions in a
//! function. The list of `wgmma.mma_async` is compared with the table of forms, and `wgmma.rs`
//! assembles each of these. The instructions that order `wgmma`s are in each kernel in which
//! `ptx/` counts them.

mod compiled;

use compiled::{libraries, root, rustc};
use ptx_matrix::forms;
use ptx_matrix_build::{Arch, Builder, Toolchain};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The targets, each with instructions that the previous one lacks. Next to each is the target of
/// the build that tests these instructions. That target has all of them, so one build serves
/// several targets: ptxas gets the same PTX for each of them.
const TARGETS: [(&str, &str); 7] = [
    ("sm_75", "sm_90a"),
    ("sm_80", "sm_90a"),
    ("sm_89", "sm_90a"),
    ("sm_90", "sm_90a"),
    ("sm_90a", "sm_90a"),
    ("sm_100a", "sm_100a"),
    ("sm_120a", "sm_120a"),
];

/// The lowest target of functions, by the start of their names; the first matching row counts.
/// Functions of a form in a table are not listed: the table has their target.
const NEEDS: [(&str, &str); 75] = [
    ("atom_acq_rel_gpu_global_add_bf16", "sm_90"),
    ("atom_acquire_gpu_global_add_bf16", "sm_90"),
    ("atom_relaxed_cta_shared_add_bf16", "sm_90"),
    ("atom_relaxed_gpu_global_add_bf16", "sm_90"),
    ("atom_release_gpu_global_add_bf16", "sm_90"),
    ("atom_", "sm_75"),
    ("ld_acquire_", "sm_75"),
    ("ld_relaxed_", "sm_75"),
    ("st_relaxed_", "sm_75"),
    ("st_release_", "sm_75"),
    ("bar_", "sm_75"),
    ("barrier_cluster_", "sm_90"),
    ("index::block_in_cluster", "sm_90"),
    ("index::block", "sm_75"),
    ("index::clock", "sm_75"),
    ("index::cluster", "sm_90"),
    ("index::grid", "sm_75"),
    ("index::is_explicit_cluster", "sm_90"),
    ("index::thread", "sm_75"),
    ("cp_async_bulk_", "sm_90"),
    ("cp_async_", "sm_80"),
    ("cp_reduce_async_bulk_", "sm_90"),
    ("createpolicy_", "sm_80"),
    ("cvt_f32_f16", "sm_75"),
    ("cvt_rn_f16_f32", "sm_75"),
    ("cvt_rn_", "sm_80"),
    ("mov_f32_bf16", "sm_75"),
    ("ex2_approx_ftz_bf16x2", "sm_90"),
    ("tanh_approx_bf16x2", "sm_90"),
    ("cos_approx_", "sm_75"),
    ("ex2_approx_", "sm_75"),
    ("lg2_approx_", "sm_75"),
    ("rcp_approx_", "sm_75"),
    ("rsqrt_approx_", "sm_75"),
    ("sin_approx_", "sm_75"),
    ("sqrt_approx_", "sm_75"),
    ("tanh_approx_", "sm_75"),
    ("add_rn_bf16x2", "sm_90"),
    ("sub_rn_bf16x2", "sm_90"),
    ("mul_rn_bf16x2", "sm_90"),
    ("fma_rn_bf16x2", "sm_80"),
    ("add_rn_f16x2", "sm_75"),
    ("sub_rn_f16x2", "sm_75"),
    ("mul_rn_f16x2", "sm_75"),
    ("fma_rn_f16x2", "sm_75"),
    ("prmt_b32", "sm_75"),
    ("elect_sync", "sm_90"),
    ("fence_", "sm_90"),
    ("getctarank_", "sm_90"),
    ("griddepcontrol_", "sm_90"),
    ("ld_shared_cluster_", "sm_90"),
    ("ld_shared_", "sm_75"),
    ("mapa_", "sm_90"),
    // Some of these came before byte counts, clusters and waits did.
    ("mbarrier_arrive_drop_shared_cta_b64_count", "sm_90"),
    ("mbarrier_arrive_drop_shared_cta_b64", "sm_80"),
    ("mbarrier_arrive_shared_cta_b64_count", "sm_90"),
    ("mbarrier_arrive_shared_cta_b64", "sm_80"),
    ("mbarrier_init_", "sm_80"),
    ("mbarrier_inval_", "sm_80"),
    ("mbarrier_pending_count_", "sm_80"),
    ("mbarrier_test_wait_parity_shared_cta_", "sm_80"),
    ("mbarrier_test_wait_shared_cta_", "sm_80"),
    ("mbarrier_", "sm_90"),
    ("prefetch_tensormap", "sm_90"),
    ("setmaxnreg_", "sm_90a"),
    ("red_async_", "sm_90"),
    ("red_relaxed_cta_shared_add_bf16", "sm_90"),
    ("red_relaxed_cta_shared_", "sm_75"),
    ("red_relaxed_gpu_global_add_bf16", "sm_90"),
    ("red_relaxed_gpu_global_", "sm_75"),
    ("shfl_sync_", "sm_75"),
    ("st_async_", "sm_90"),
    ("st_shared_cluster_", "sm_90"),
    ("st_shared_", "sm_75"),
    ("trap", "sm_75"),
];

/// A function: its path in `raw`, and its constant parameters as in the source.
struct Function {
    path: String,
    parameters: String,
}

impl Function {
    /// The function with some constants as arguments.
    fn instance(&self) -> String {
        let constants =
            self.parameters.split(',').filter_map(|parameter| parameter.split(':').nth(1));
        let constant = |kind: &str| match kind.trim() {
            "bool" => "false",
            "usize" => "1",
            _ if self.path.starts_with("setmaxnreg_") => "24",
            _ => "0",
        };
        let constants: Vec<&str> = constants.map(constant).collect();
        let constants = if constants.is_empty() {
            String::new()
        } else {
            format!("::<{}>", constants.join(", "))
        };
        format!("raw::{}{constants}", self.path)
    }

    /// The end of its name in PTX.
    fn in_ptx(&self) -> String {
        format!("_{}", self.path.replace("::", "_"))
    }
}

/// The functions of `raw`, as the compiler expands them.
fn functions() -> Vec<Function> {
    let output = rustc(&libraries())
        // Stable rustc prints the expanded code only with this.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--crate-name=ptx_matrix", "--crate-type=lib", "-Zunpretty=expanded", "src/lib.rs"])
        .output()
        .expect("rustc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, raw) = text.split_once("\npub mod raw {").expect("the module");
    let (raw, _) = raw.split_once("\n}\n").expect("its end");

    let mut functions = Vec::new();
    let mut module = "";
    let mut rest = raw;
    while let Some((line, behind)) = rest.split_once('\n') {
        rest = behind;
        let line = line.trim();
        if let Some(name) = line
            .strip_suffix(" {")
            .and_then(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
        {
            module = if line.starts_with("pub ") { name } else { "" };
        }
        let line = line.strip_prefix("pub ").unwrap_or_default();
        let Some(name) = line.trim_start_matches("unsafe ").strip_prefix("fn ") else { continue };
        if name.starts_with('$') {
            continue; // In a `macro_rules!`, which makes functions.
        }
        let end = name.find(['(', '<']).expect("parameters");
        // The text in angle brackets may span several lines.
        let parameters = if name[end..].starts_with('<') {
            let start = raw.len() - behind.len() - 1 - name.len() + end + 1;
            raw[start..].split_once('>').expect("their end").0
        } else {
            ""
        };
        let path = if module.is_empty() {
            name[..end].to_owned()
        } else {
            format!("{module}::{}", &name[..end])
        };
        functions.push(Function { path, parameters: parameters.to_owned() });
    }
    functions
}

/// The functions by their lowest target.
fn by_target(functions: &[Function]) -> BTreeMap<&'static str, Vec<&Function>> {
    let name = |ptx: &str| ptx.replace("::", "_").replace('.', "_").to_lowercase();
    let of_table: BTreeMap<String, &'static str> = forms::all()
        .map(|form| {
            let least = Arch::supported()
                .find(|arch| form.needs.are_met_by(arch.name()))
                .expect("a target has it");
            (name(form.ptx), least.name())
        })
        .collect();
    let mut unused: BTreeSet<&str> = NEEDS.iter().map(|(start, _)| *start).collect();
    let mut by_target: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for function in functions {
        let target = of_table.get(&function.path).copied().unwrap_or_else(|| {
            let row = NEEDS.iter().find(|(start, _)| function.path.starts_with(start));
            let (start, target) =
                row.unwrap_or_else(|| panic!("`raw::{}` has no row in `NEEDS`", function.path));
            unused.remove(start);
            target
        });
        by_target.entry(target).or_default().push(function);
    }
    assert!(unused.is_empty(), "rows of `NEEDS` that no function needs: {unused:?}");
    by_target
}

/// Builds `raw_addresses` for this target, with a kernel that takes the address of each function.
/// Returns the PTX.
fn assemble(toolchain: &Toolchain, target: &str, functions: &[&Function]) -> String {
    let mut source = "use ptx_matrix::raw;\n\n/// Takes the address of each.\n\
                      #[unsafe(no_mangle)]\n\
                      pub unsafe extern \"ptx-kernel\" fn addresses(out: *mut *const ()) {\n    \
                      unsafe {\n"
        .to_owned();
    for (index, function) in functions.iter().enumerate() {
        writeln!(source, "        out.add({index}).write({} as *const ());", function.instance())
            .unwrap();
    }
    source.push_str("    }\n}\n");
    let folder = root().join("tests/raw_addresses");
    fs::create_dir_all(folder.join("written")).unwrap();
    write_if_new(&folder.join(format!("written/{target}.inc")), &source);
    let builder = Builder::new(folder)
        .toolchain(toolchain.clone())
        .out_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join("raw"));
    let built = builder
        .archs([target.parse().unwrap()])
        .build()
        .unwrap_or_else(|error| panic!("{target}: {error:#}"));
    fs::read_to_string(&built[0].ptx).unwrap()
}

/// The functions in a PTX text: the name and the line range of each body.
fn bodies(ptx: &str) -> Vec<(&str, Range<usize>)> {
    let mut bodies = Vec::new();
    let (mut name, mut start) = (None, 0);
    for (number, line) in (1..).zip(ptx.lines()) {
        if line.starts_with(".func") {
            // The mangled name ends with a unique suffix after the function's name.
            let unique = line.split_whitespace().find(|word| word.starts_with("ptx_matrix_raw_"));
            name = unique.map(|name| {
                name.split("_$_").next().unwrap_or(name).trim_end_matches("_shim_reify_0_")
            });
        } else if line == ";" || line.ends_with(");") {
            name = None; // This declaration has no body.
        } else if line == "{" {
            start = number;
        } else if line == "}" {
            bodies.extend(name.take().map(|name| (name, start..number)));
        }
    }
    bodies
}

/// The functions in this PTX, which was built for `built`, that ptxas refuses for `target`: the
/// names of their bodies.
fn refused<'ptx>(
    toolchain: &Toolchain,
    ptx: &'ptx str,
    (built, target): (&str, &str),
) -> Vec<&'ptx str> {
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("raw-of-{built}-for-{target}.ptx"));
    fs::write(&file, ptx.replace(&format!(".target {built}\n"), &format!(".target {target}\n")))
        .unwrap();
    let Err(log) = toolchain.assemble(target, &file, &file.with_extension("cubin")) else {
        return Vec::new();
    };
    let line =
        |line: &str| line.split_once("; error")?.0.rsplit_once("line ")?.1.trim().parse().ok();
    let lines: Vec<usize> = log.lines().filter_map(line).collect();
    assert!(!lines.is_empty(), "{target}: {log}");
    let bodies =
        bodies(ptx).into_iter().filter(|(_, body)| lines.iter().any(|line| body.contains(line)));
    bodies.map(|(name, _)| name).collect()
}

/// Writes a file only if its text differs, because cargo recompiles rewritten files.
fn write_if_new(file: &Path, text: &str) {
    if fs::read_to_string(file).is_ok_and(|before| before == text) {
        return;
    }
    fs::write(file, text).unwrap();
}

#[test]
fn ptxas_assembles_every_function_for_the_least_target_that_it_needs() {
    let functions = functions();
    let (wgmma, others): (Vec<_>, Vec<_>) =
        functions.into_iter().partition(|function| function.path.starts_with("wgmma_"));
    assert!(others.len() > 700, "{} functions", others.len());

    let project = root().join("kernels");
    let toolchain =
        Toolchain::find_or_fetch(&project, &Toolchain::store().unwrap(), &|_| {}).unwrap();
    let by_target = by_target(&others);
    let builds: BTreeSet<&str> = TARGETS.map(|(_, built)| built).into();
    let ptx: BTreeMap<&str, String> = builds
        .into_iter()
        .map(|built| {
            let brings = TARGETS
                .iter()
                .filter(|(_, by)| *by == built)
                .flat_map(|(target, _)| &by_target[target]);
            (built, assemble(&toolchain, built, &brings.copied().collect::<Vec<_>>()))
        })
        .collect();
    for (index, (target, built)) in TARGETS.into_iter().enumerate() {
        let ptx = &ptx[built];
        let bodies = bodies(ptx);
        let refused = |target| {
            if target == built { Vec::new() } else { refused(&toolchain, ptx, (built, target)) }
        };
        let before = index.checked_sub(1).map(|index| TARGETS[index].0);
        let (refused, refused_before) = (refused(target), before.map(refused));
        for function in &by_target[target] {
            let name = function.in_ptx();
            // Some names of functions are suffixes of others.
            let longer: Vec<String> = others
                .iter()
                .map(Function::in_ptx)
                .filter(|other| *other != name && other.ends_with(&name))
                .collect();
            let is_its = |body: &str| {
                body.ends_with(&name) && !longer.iter().any(|longer| body.ends_with(longer))
            };
            let is_of = |bodies: &[&str]| bodies.iter().any(|body| is_its(body));
            let path = &function.path;
            assert_eq!(
                bodies.iter().filter(|(body, _)| is_its(body)).count(),
                1,
                "{built}: `raw::{path}`"
            );
            assert!(!is_of(&refused), "{target} does not do for `raw::{path}`");
            assert!(
                refused_before.as_ref().is_none_or(|refused| is_of(refused)),
                "{before:?} would do for `raw::{path}`"
            );
        }
    }
    assert_eq!(by_target.len(), TARGETS.len());

    let names = |form: forms::WgmmaForm| {
        ["ss", "rs"].map(|a| format!("{}_{a}", form.ptx.replace("::", "_").replace('.', "_")))
    };
    let of_table: BTreeSet<String> = forms::all_wgmma().flat_map(names).collect();
    let order = [
        "wgmma_fence_sync_aligned",
        "wgmma_commit_group_sync_aligned",
        "wgmma_wait_group_sync_aligned",
        "wgmma_registers",
    ];
    let of_raw =
        wgmma.into_iter().map(|function| function.path).filter(|path| !order.contains(&&**path));
    let of_raw: BTreeSet<String> = of_raw.collect();
    let difference: Vec<_> = of_table.symmetric_difference(&of_raw).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}
