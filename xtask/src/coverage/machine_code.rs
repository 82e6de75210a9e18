//! What ptxas makes of the forms, target by target.

use anyhow::Result;
use ptx_matrix::forms::{Form, Nature, Selectors};
use ptx_matrix_build::Toolchain;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::thread;

/// The PTX version that forms are assembled with: the first that has all targets.
const PTX_VERSION: &str = "9.5";

/// The machine instructions that multiply or move matrices.
const MATRIX_INSTRUCTIONS: [&str; 9] = ["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "LDSM", "STSM", "MOVM"];

/// What became of a form for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was not assembled: ptxas refused the target's forms, or the crate says that it has not got this one.
    Refused,
    /// It was assembled, into what is not known: there is no `nvdisasm`.
    Assembled,
    /// It was assembled into that.
    Became(Nature),
}

/// What became of each form for each target.
#[derive(Debug, Default)]
pub struct MachineCode(BTreeMap<&'static str, BTreeMap<String, Outcome>>);

impl MachineCode {
    /// Assembles kernels with one form each, for each target that the crate says has them.
    pub fn of(forms: &[&'static Form], targets: &BTreeSet<&str>) -> Result<Self> {
        let project = crate::kernels();
        let toolchain = Toolchain::find_or_fetch(&project, &Toolchain::store(&project)?, &|step| eprintln!("{step}"))?;
        let jobs = Mutex::new(targets.iter());
        let code = Mutex::new(MachineCode::default());
        thread::scope(|scope| {
            let work = || -> Result<()> {
                while let Some(target) = { jobs.lock().expect("no thread panics").next() } {
                    eprintln!("assembling for {target}");
                    let outcomes = assemble(&toolchain, target, forms)?;
                    let mut code = code.lock().expect("no thread panics");
                    for (form, outcome) in outcomes {
                        code.0.entry(form).or_default().insert((*target).to_owned(), outcome);
                    }
                }
                Ok(())
            };
            let threads: Vec<_> =
                (0..thread::available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
        })?;
        Ok(code.into_inner().expect("no thread panics"))
    }

    pub fn outcome(&self, form: &str, target: &str) -> Outcome {
        self.0.get(form).and_then(|targets| targets.get(target)).copied().unwrap_or(Outcome::Refused)
    }
}

/// Assembles what a target has of the forms.
fn assemble(toolchain: &Toolchain, target: &str, forms: &[&'static Form]) -> Result<Vec<(&'static str, Outcome)>> {
    let forms: Vec<&Form> = forms.iter().copied().filter(|form| form.needs.are_met_by(target)).collect();
    if forms.is_empty() {
        return Ok(Vec::new());
    }
    let folder = crate::target().join("coverage");
    fs::create_dir_all(&folder)?;
    let (ptx, cubin) = (folder.join(format!("{target}.ptx")), folder.join(format!("{target}.cubin")));
    let head = format!(".version {PTX_VERSION}\n.target {target}\n.address_size 64\n");
    fs::write(&ptx, forms.iter().fold(head, |text, form| text + &form.kernel(&form.name(), &Selectors::default())))?;
    if let Err(error) = toolchain.assemble(target, &ptx, &cubin) {
        eprintln!("{target}: {error}");
        return Ok(Vec::new());
    }
    let code = toolchain.disassemble(&cubin)?;
    let outcome = |form: &Form| match &code {
        Some(code) => code.get(&form.name()).map_or(Outcome::Refused, |code| Outcome::Became(nature(code))),
        None => Outcome::Assembled,
    };
    Ok(forms.iter().map(|form| (form.ptx, outcome(form))).collect())
}

/// What the code of a kernel with one form makes of it.
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

    /// Of the GPU whose code was looked at when the list was made, the same comes out; and elsewhere what is known of it.
    #[test]
    fn what_forms_become() {
        let forms: Vec<&Form> = forms::all().collect();
        let code = MachineCode::of(&forms, &BTreeSet::from(["sm_75", "sm_90a"])).unwrap();
        for form in &forms {
            let expected = match form.on_sm_90 {
                Nature::Absent => Outcome::Refused,
                nature => Outcome::Became(nature),
            };
            assert_eq!(code.outcome(form.ptx, "sm_90a"), expected, "{}", form.ptx);
        }
        let on_turing = |form| code.outcome(form, "sm_75");
        assert_eq!(on_turing("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32"), Outcome::Became(Nature::Native));
        assert_eq!(on_turing("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), Outcome::Refused);
        assert_eq!(on_turing("mma.sync.no.such.form"), Outcome::Refused);
    }
}
