//! The machine code that ptxas makes of the forms, for each target.

use anyhow::Result;
use ptx_matrix::forms::{Form, Nature, Selectors, WgmmaForm, WgmmaOptions};
use ptx_matrix_build::Toolchain;
use ptx_matrix_output::errln;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::thread;

/// The PTX version for assembling: the first with all targets.
const PTX_VERSION: &str = "9.5";

/// SASS opcodes that multiply or move matrices.
const MATRIX_INSTRUCTIONS: [&str; 13] = [
    "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "LDSM", "STSM", "MOVM", "HGMMA", "IGMMA",
    "BGMMA", "QGMMA",
];

/// A kernel with one form of an instruction.
struct Kernel {
    form: &'static str,
    name: String,
    text: String,
}

/// The result of assembling a form for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Not assembled: ptxas refused the target's forms, or the crate says that the target lacks
    /// this one.
    Refused,
    /// Assembled into unknown code, because there is no `nvdisasm`.
    Assembled,
    /// Assembled into native or emulating code.
    Became(Nature),
}

/// The outcome of each form for each target.
#[derive(Debug, Default)]
pub struct MachineCode(BTreeMap<&'static str, BTreeMap<String, Outcome>>);

impl MachineCode {
    /// Assembles kernels of one form each, for each target that has the form according to the
    /// crate.
    pub fn of(
        forms: &[&'static Form],
        groups: &[WgmmaForm],
        targets: &BTreeSet<&str>,
    ) -> Result<Self> {
        let project = crate::root().to_owned();
        let toolchain =
            Toolchain::find_or_fetch(&project, &Toolchain::store()?, &|step| errln!("{step}"))?;
        let jobs = Mutex::new(targets.iter());
        let code = Mutex::new(MachineCode::default());
        thread::scope(|scope| {
            let work = || -> Result<()> {
                while let Some(target) = { jobs.lock().expect("no thread panics").next() } {
                    errln!("assembling for {target}");
                    let outcomes = assemble(&toolchain, target, kernels(forms, groups, target))?;
                    let mut code = code.lock().expect("no thread panics");
                    for (form, outcome) in outcomes {
                        let known = code
                            .0
                            .entry(form)
                            .or_default()
                            .entry((*target).to_owned())
                            .or_insert(outcome);
                        *known = known.and(outcome);
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..thread::available_parallelism().map_or(1, usize::from))
                .map(|_| scope.spawn(work))
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
        })?;
        Ok(code.into_inner().expect("no thread panics"))
    }

    pub fn outcome(&self, form: &str, target: &str) -> Outcome {
        self.0
            .get(form)
            .and_then(|targets| targets.get(target))
            .copied()
            .unwrap_or(Outcome::Refused)
    }
}

impl Outcome {
    /// The outcome of a form from those of two of its kernels.
    fn and(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Refused, _) | (_, Outcome::Refused) => Outcome::Refused,
            (Outcome::Became(Nature::Native), other) => other,
            (one, _) => one,
        }
    }
}

/// The kernels of the forms that a target has. For `wgmma`: with A in shared memory, and in
/// registers.
fn kernels(forms: &[&'static Form], groups: &[WgmmaForm], target: &str) -> Vec<Kernel> {
    let forms = forms.iter().filter(|form| form.needs.are_met_by(target)).map(|form| Kernel {
        form: form.ptx,
        name: form.name(),
        text: form.kernel(&form.name(), &Selectors::default()),
    });
    let groups = groups.iter().filter(|_| WgmmaForm::NEEDS.are_met_by(target));
    let groups = groups.flat_map(|form| {
        [false, true].map(|a_in_registers| {
            let name = format!("{}_{}", form.name(), if a_in_registers { "rs" } else { "ss" });
            let options = WgmmaOptions { a_in_registers, ..WgmmaOptions::default() };
            Kernel { form: form.ptx, text: form.kernel(&name, &options), name }
        })
    });
    forms.chain(groups).collect()
}

/// Assembles kernels for a target.
fn assemble(
    toolchain: &Toolchain,
    target: &str,
    kernels: Vec<Kernel>,
) -> Result<Vec<(&'static str, Outcome)>> {
    if kernels.is_empty() {
        return Ok(Vec::new());
    }
    let folder = crate::target().join("coverage");
    fs::create_dir_all(&folder)?;
    let (text, cubin) =
        (folder.join(format!("{target}.ptx")), folder.join(format!("{target}.cubin")));
    let head = format!(".version {PTX_VERSION}\n.target {target}\n.address_size 64\n");
    fs::write(&text, kernels.iter().fold(head, |text, kernel| text + &kernel.text))?;
    if let Err(error) = toolchain.assemble(target, &text, &cubin) {
        errln!("{target}: {error}");
        return Ok(Vec::new());
    }
    let code = toolchain.disassemble(&cubin)?;
    let outcome = |name: &str| match &code {
        Some(code) => code.get(name).map_or(Outcome::Refused, |code| Outcome::Became(nature(code))),
        None => Outcome::Assembled,
    };
    Ok(kernels.iter().map(|kernel| (kernel.form, outcome(&kernel.name))).collect())
}

/// Classifies the code of a kernel with one form.
fn nature(code: &str) -> Nature {
    let opcodes = code.split_whitespace().map(|word| word.split('.').next().unwrap_or_default());
    match opcodes.filter(|opcode| MATRIX_INSTRUCTIONS.contains(opcode)).count() {
        1 => Nature::Native,
        _ => Nature::Emulated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;

    /// On sm_90a, for which the tables say the kind of code, ptxas makes that code. On sm_75, a few
    /// forms are as known.
    #[test]
    fn what_forms_become() {
        let forms: Vec<&Form> = forms::all().collect();
        // One N of `wgmma` is enough: `tests/wgmma.rs` assembles all.
        let groups: Vec<WgmmaForm> = forms::all_wgmma().filter(|form| form.n == 16).collect();
        let code = MachineCode::of(&forms, &groups, &BTreeSet::from(["sm_75", "sm_90a"])).unwrap();
        for form in &groups {
            assert_eq!(
                code.outcome(form.ptx, "sm_90a"),
                Outcome::Became(Nature::Native),
                "{}",
                form.ptx
            );
            assert_eq!(code.outcome(form.ptx, "sm_75"), Outcome::Refused, "{}", form.ptx);
        }
        for form in &forms {
            let expected = match form.on_sm_90 {
                Nature::Absent => Outcome::Refused,
                nature => Outcome::Became(nature),
            };
            assert_eq!(code.outcome(form.ptx, "sm_90a"), expected, "{}", form.ptx);
        }
        let on_turing = |form| code.outcome(form, "sm_75");
        assert_eq!(
            on_turing("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32"),
            Outcome::Became(Nature::Native)
        );
        assert_eq!(
            on_turing("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
            Outcome::Refused
        );
        assert_eq!(on_turing("mma.sync.no.such.form"), Outcome::Refused);
    }
}
