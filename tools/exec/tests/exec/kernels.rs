//! The PTX of the kernels for GPUs.

use super::group_form;
use ptx_matrix::forms::{self, Form, Selectors, WgmmaForm, WgmmaOptions, find};
use ptx_matrix::fragment::Selected;
use ptx_matrix_build::Toolchain;
use ptx_matrix_exec::kernel;
use ptx_matrix_host::{Capability, Ptx};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

/// The last selectors of a form.
fn last_selectors(form: &Form) -> Selectors {
    let thread = |last| if form.scales > 0 { last } else { 0 };
    let byte = [0, 3, 2, 0, 0][form.scales];
    Selectors {
        metadata: form.selectors.max(1) as u32 - 1,
        scales_a: Selected { byte, thread: thread(1) },
        scales_b: Selected { byte, thread: thread(3) },
    }
}

/// A kernel: its PTX, a description, and the sizes of its parameters.
type Kernel = (String, String, &'static [usize]);

/// The kernel of a form for the oldest GPU that has it.
fn least(form: &Form) -> Kernel {
    let least = Capability { major: form.needs.sm / 10, minor: form.needs.sm % 10 };
    (form.name(), kernel(form, &last_selectors(form), least).unwrap(), &[8, 8])
}

const HOPPER: Capability = Capability { major: 9, minor: 0 };

/// The kernels of a form of `wgmma`, with A in shared memory and in registers.
fn of_groups(form: WgmmaForm) -> [Kernel; 2] {
    [false, true].map(|a_in_registers| {
        let options = *form.options(a_in_registers).last().unwrap();
        (
            format!("{}-{a_in_registers}", form.name()),
            kernel(&form, &(options, true), HOPPER).unwrap(),
            &[8, 8, 4][..],
        )
    })
}

/// ptxas assembles the kernel of each form, and the loader finds the kernel in the cubin. For
/// `wgmma`, one N of each combination of elements is assembled; `tests/wgmma.rs` assembles every N.
#[test]
fn ptxas_assembles_the_kernel_of_every_form() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let toolchain =
        Toolchain::find_or_fetch(project, &Toolchain::store().unwrap(), &|_| {}).unwrap();
    let groups = forms::all_wgmma().filter(|form| form.n == 8).flat_map(of_groups);
    let jobs = Mutex::new(forms::all().map(least).chain(groups));
    let assemble = |(name, text, params): Kernel| {
        let ptx: Ptx = text.parse().unwrap();
        assert_eq!(
            ptx.entries.iter().map(|entry| (&*entry.name, &*entry.params)).collect::<Vec<_>>(),
            [("exec", params)]
        );
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exec-{name}.ptx"));
        fs::write(&file, text).unwrap();
        let assembled =
            toolchain.assemble(&ptx.target.to_string(), &file, &file.with_extension("cubin"));
        assembled.unwrap_or_else(|error| panic!("{name}: {error}"));
        fs::remove_file(file.with_extension("cubin")).unwrap();
        fs::remove_file(file).unwrap();
    };
    thread::scope(|scope| {
        let work = || {
            while let Some(kernel) = { jobs.lock().unwrap().next() } {
                assemble(kernel)
            }
        };
        (0..thread::available_parallelism().map_or(1, usize::from))
            .for_each(|_| drop(scope.spawn(work)));
    });
}

#[test]
fn error_names_the_gpus_that_have_the_form() {
    let of = |name: &str, major, minor| {
        kernel(find(name).unwrap(), &Selectors::default(), Capability { major, minor })
    };
    let stmatrix = "stmatrix.sync.aligned.m8n8.x4.shared.b16";
    assert_eq!(
        of(stmatrix, 8, 9).unwrap_err().to_string(),
        format!("`{stmatrix}` needs sm_90, and this GPU is sm_89")
    );
    assert!(of(stmatrix, 12, 0).unwrap().contains(".version 7.8\n.target sm_90\n"));
    let bytes = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8";
    assert_eq!(
        of(bytes, 9, 0).unwrap_err().to_string(),
        format!("`{bytes}` needs sm_100a or sm_100f, and this GPU is sm_90")
    );
    assert!(of(bytes, 12, 1).unwrap().contains(".version 8.8\n.target sm_121a\n"));
    let sparse = group_form("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8");
    let of = |major, minor| {
        kernel(&sparse, &(WgmmaOptions::default(), true), Capability { major, minor })
    };
    assert!(of(9, 0).unwrap().contains(".version 8.2\n.target sm_90a\n"));
    assert_eq!(
        of(10, 0).unwrap_err().to_string(),
        format!("`{}` needs sm_90a, and this GPU is sm_100", sparse.ptx)
    );
}
