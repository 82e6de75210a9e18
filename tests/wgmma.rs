//! Compares the tables of `wgmma.mma_async` and `wgmma.mma_async.sp` with the forms that ptxas
//! accepts.

mod instructions;

use instructions::only_instructions;
use ptx_matrix::forms::{self, WgmmaForm, WgmmaOptions};
use ptx_matrix_build::Toolchain;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn toolchain() -> Toolchain {
    let project = Path::new(ROOT).join("kernels");
    Toolchain::find_or_fetch(&project, &Toolchain::store().unwrap(), &|_| {}).unwrap()
}

/// The options farthest from the defaults: the last selector, and A and B negated and transposed.
fn last_options(form: &WgmmaForm, a_in_registers: bool) -> WgmmaOptions {
    *form.options(a_in_registers).last().expect("every form has options")
}

/// Assembles kernels for sm_90a with ptxas.
fn assemble(toolchain: &Toolchain, version: &str, name: &str, kernels: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wgmma-{name}.ptx"));
    fs::write(&file, format!(".version {version}\n.target sm_90a\n.address_size 64\n{kernels}"))
        .unwrap();
    toolchain.assemble("sm_90a", &file, &file.with_extension("cubin"))
}

#[test]
fn ptxas_assembles_every_form_from_its_version_on_and_for_no_other_gpu() {
    let toolchain = toolchain();
    let forms: Vec<WgmmaForm> = forms::all_wgmma().collect();
    assert_eq!(forms.len(), 12 * 32 + 9 * 18 + 12 * 32 + 8 * 18);
    for version in ["8.0", "8.2", "8.4"] {
        for in_registers in [false, true] {
            let of_version = forms.iter().filter(|form| form.ptx_version == version);
            let kernel = |form: &WgmmaForm| {
                form.kernel(&format!("whole_{}", form.name()), &last_options(form, in_registers))
            };
            let kernels: Vec<_> = of_version.clone().map(|form| (form.ptx, kernel(form))).collect();
            // These differ in the vectors that load and store D.
            let whole: String =
                of_version.filter(|form| matches!(form.n, 24 | 256)).map(kernel).collect();
            // ptxas takes three times as long for four in each kernel.
            let kernels = only_instructions(&kernels, 1) + &whole;
            assemble(&toolchain, version, &format!("{version}-{in_registers}"), &kernels).unwrap();
        }
    }
    for (version, before) in [("8.2", "8.1"), ("8.4", "8.3")] {
        let late = forms.iter().rfind(|form| form.ptx_version == version).unwrap();
        let refused =
            assemble(&toolchain, before, "early", &late.kernel("kernel", &WgmmaOptions::default()))
                .unwrap_err();
        assert!(refused.contains(version), "{refused}");
    }
    // ptxas refuses a wrong N, also without the rest of the kernel.
    let kernel = forms[0].kernel("kernel", &WgmmaOptions::default()).replace("m64n8k", "m64n9k");
    let wrong = forms[0].ptx.replace("m64n8k", "m64n9k");
    let refused = assemble(&toolchain, "9.0", "wrong", &only_instructions(&[(&wrong, kernel)], 1));
    let refused = refused.unwrap_err();
    assert!(refused.contains("Unknown modifier '.m64n9k16'"), "{refused}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wgmma-elsewhere.ptx");
    for target in ["sm_90", "sm_100a", "sm_120a"] {
        for form in [&forms[0], &forms[forms.len() - 1]] {
            let kernel = form.kernel("kernel", &WgmmaOptions::default());
            fs::write(&file, format!(".version 9.0\n.target {target}\n.address_size 64\n{kernel}"))
                .unwrap();
            assert!(
                toolchain.assemble(target, &file, &file.with_extension("cubin")).is_err(),
                "{target}: {}",
                form.ptx
            );
        }
    }
}

/// For each combination of elements, ptxas refuses the N that the tables lack, and the selector
/// after the last. It also refuses `xor` for `b1`.
#[test]
fn ptxas_refuses_forms_outside_the_table() {
    let toolchain = toolchain();
    let forms: Vec<WgmmaForm> = forms::all_wgmma().collect();
    let with_n = |form: &WgmmaForm, n: usize| {
        form.ptx.replacen(&format!("m64n{}k", form.n), &format!("m64n{n}k"), 1)
    };
    let known: BTreeSet<String> = forms.iter().map(|form| form.ptx.to_owned()).collect();
    let mut lacking = Vec::new();
    for form in forms.iter().filter(|form| form.n == 32) {
        let per_column = form.d / 4;
        let others = (8..=264)
            .step_by(8)
            .map(|n| (n, with_n(form, n)))
            .filter(|(_, ptx)| !known.contains(ptx));
        lacking.extend(others.map(|(n, ptx)| WgmmaForm {
            ptx: ptx.leak(),
            n,
            d: n / 8 * per_column,
            ..*form
        }));
    }
    let xor = forms.iter().filter(|form| form.ptx.ends_with(".and.popc"));
    lacking.extend(
        xor.map(|form| WgmmaForm { ptx: form.ptx.replace(".and.", ".xor.").leak(), ..*form }),
    );
    let sparse = forms.iter().filter(|form| form.n == 32 && form.selectors > 0);
    lacking.extend(sparse.map(|form| WgmmaForm { selectors: form.selectors + 1, ..*form }));
    assert_eq!(lacking.len(), 2 * 12 + (9 + 8) * 15 + 18 + 12 + 8);
    let kernels: String = lacking
        .iter()
        .enumerate()
        .map(|(i, form)| form.kernel(&format!("kernel_{i}"), &last_options(form, false)))
        .collect();
    let refused = assemble(&toolchain, "9.0", "lacking", &kernels).unwrap_err();
    // The line of each kernel has at least one error.
    let lines: BTreeSet<&str> = refused
        .lines()
        .filter(|line| line.contains("error"))
        .filter_map(|line| line.split(", line ").nth(1)?.split(';').next())
        .collect();
    assert!(
        lines.len() >= lacking.len(),
        "{} of {} are refused:\n{refused}",
        lines.len(),
        lacking.len()
    );
}
