//! Compares the tables of forms with `forms/legal.csv`, which lists the forms that ptxas 13.5
//! accepts, for 26 targets and every PTX version. The list comes from 1.7 million questions to
//! ptxas, and not from this crate or from documents. `cargo xtask legal` makes the list again.

mod instructions;

use instructions::only_instructions;
use ptx_matrix::forms::{self, Form, Nature, Selectors};
use ptx_matrix_build::Toolchain;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::thread;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Legal {
    form: String,
    /// Registers of A, B, C and D.
    registers: [usize; 4],
    targets: BTreeSet<String>,
    ptx_version: String,
    on_sm_90: Nature,
    /// The number of sparsity selectors.
    selectors: usize,
}

fn legal() -> Vec<Legal> {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/forms/legal.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let registers = [7, 8, 9, 10].map(|field: usize| match fields[field] {
            "" => 0,
            number => number.parse().unwrap(),
        });
        let on_sm_90 = match fields[13] {
            "native" => Nature::Native,
            "emulated" => Nature::Emulated,
            "absent" => Nature::Absent,
            other => panic!("{other}"),
        };
        Legal {
            form: fields[1].to_owned(),
            registers,
            targets: fields[11].split(' ').map(str::to_owned).collect(),
            ptx_version: fields[12].to_owned(),
            on_sm_90,
            selectors: fields[15].split_whitespace().count(),
        }
    });
    rows.collect()
}

/// A form of the tables as a row of the list.
fn as_legal(form: &Form, targets: &BTreeSet<String>) -> Legal {
    Legal {
        form: form.ptx.to_owned(),
        registers: [form.a, form.b, form.c, form.d],
        targets: targets.iter().filter(|target| form.needs.are_met_by(target)).cloned().collect(),
        ptx_version: form.ptx_version.to_owned(),
        on_sm_90: form.on_sm_90,
        selectors: form.selectors,
    }
}

fn all_targets(legal: &[Legal]) -> BTreeSet<String> {
    legal.iter().flat_map(|row| &row.targets).cloned().collect()
}

#[test]
fn tables_equal_the_list() {
    let legal = legal();
    let targets = all_targets(&legal);
    let listed: BTreeMap<&str, &Legal> = legal.iter().map(|row| (row.form.as_str(), row)).collect();
    let mut complaints = String::new();
    let mut seen = BTreeSet::new();
    for form in forms::all() {
        let ours = as_legal(form, &targets);
        match listed.get(form.ptx) {
            Some(&theirs) if *theirs == ours => {}
            Some(theirs) => writeln!(complaints, "{ours:?}\nand in the list\n{theirs:?}").unwrap(),
            None => writeln!(complaints, "{} is not in the list", form.ptx).unwrap(),
        }
        assert!(seen.insert(form.ptx), "{} is there twice", form.ptx);
    }
    for row in legal.iter().filter(|row| !seen.contains(row.form.as_str())) {
        writeln!(complaints, "{} is not in the tables", row.form).unwrap();
    }
    assert!(complaints.is_empty(), "{complaints}");
    assert_eq!(seen.len(), 384);
}

/// Forms that ptxas assembles together.
struct Job<'a> {
    target: String,
    version: &'a str,
    forms: Vec<&'a Form>,
    /// Whether it assembles their whole kernels, not only the instructions.
    whole: bool,
}

/// Assembles forms for a target with ptxas.
fn assemble(toolchain: &Toolchain, job: &Job) -> Result<(), String> {
    let Job { target, version, forms, whole } = job;
    let kernels = forms.iter().map(|form| form.kernel(&form.name(), &Selectors::default()));
    let kernels: String = if *whole {
        kernels.collect()
    } else {
        let named = forms.iter().map(|form| form.ptx).zip(kernels);
        // ptxas takes twice as long for one in each kernel.
        only_instructions(&named.collect::<Vec<_>>(), 16)
    };
    let text = format!(".version {version}\n.target {target}\n.address_size 64\n{kernels}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("forms-{target}-{version}.ptx"));
    fs::write(&file, text).unwrap();
    toolchain
        .assemble(target, &file, &file.with_extension("cubin"))
        .map_err(|error| format!("{} forms for {target}:\n{error}", forms.len()))
}

/// Assembles every form for each of its targets, and its kernel with its first PTX version.
#[test]
fn ptxas_assembles_every_form_for_each_of_its_targets() {
    let project = Path::new(ROOT).join("kernels");
    let toolchain =
        Toolchain::find_or_fetch(&project, &Toolchain::store().unwrap(), &|_| {}).unwrap();
    let legal = legal();
    let mut jobs: Vec<Job> = Vec::new();
    for target in all_targets(&legal) {
        let forms: Vec<&Form> =
            forms::all().filter(|form| form.needs.are_met_by(&target)).collect();
        jobs.push(Job { target, version: "9.5", forms, whole: false });
    }
    let mut by_version: BTreeMap<(&str, &str), Vec<&Form>> = BTreeMap::new();
    for form in forms::all() {
        // A target that has the form, and that its first PTX version supports.
        let target = match (form.needs.specific, form.needs.sm) {
            (false, 75) => "sm_75",
            (false, 80) => "sm_80",
            (false, 89) => "sm_89",
            (false, 90) => "sm_90",
            (true, 100) => "sm_100a",
            (true, 120) => "sm_120a",
            other => panic!("{other:?}"),
        };
        by_version.entry((target, form.ptx_version)).or_default().push(form);
    }
    jobs.extend(by_version.into_iter().map(|((target, version), forms)| Job {
        target: target.into(),
        version,
        forms,
        whole: true,
    }));
    let jobs = std::sync::Mutex::new(jobs.into_iter());
    let failures: Vec<String> = thread::scope(|scope| {
        let work = || {
            let next = || jobs.lock().unwrap().next();
            let run = |job: Job| assemble(&toolchain, &job).err();
            std::iter::from_fn(next).filter_map(run).collect::<Vec<String>>()
        };
        let threads: Vec<_> = (0..thread::available_parallelism().map_or(1, usize::from))
            .map(|_| scope.spawn(work))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));

    // ptxas refuses a form elsewhere, also without the rest of its kernel.
    for (form, elsewhere) in [("mma.sync.aligned.m16n8k16", "sm_75"), ("stmatrix", "sm_89")] {
        let forms = forms::all().filter(|of| of.ptx.starts_with(form)).take(1).collect();
        let job = Job { target: elsewhere.into(), version: "9.5", forms, whole: false };
        let refused = assemble(&toolchain, &job).unwrap_err();
        assert!(refused.contains("requires .target sm_"), "{form} for {elsewhere}: {refused}");
    }
}
